//! The compiler of federated computations.
//!
//! A [`Pass`](pass::Pass) rewrites a computation into an equivalent one. [`graph`] builds, merges
//! and rewrites the TensorFlow graphs that computations hold, without TensorFlow.

mod error;
pub mod graph;
pub mod pass;
pub mod passes;

pub use error::{CompileError, PassError, Problem};
