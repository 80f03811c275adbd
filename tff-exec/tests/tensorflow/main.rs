//! The TensorFlow leaf on the real library.

mod golden;
mod support;
