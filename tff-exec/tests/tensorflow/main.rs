//! The TensorFlow leaf on the real library.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod ending;
mod errors;
mod golden;
mod kernels;
mod memory;
mod reductions;
mod sequences;
mod state;
mod support;
mod tensors;
