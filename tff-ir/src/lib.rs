//! The computations of TensorFlow Federated as a typed tree.

mod array;

pub use array::{Array, ArrayError, Scalar};
