//! The compiler of federated computations.
//!
//! [`graph`] builds, merges and rewrites the TensorFlow graphs that computations hold, without
//! TensorFlow.

pub mod graph;
