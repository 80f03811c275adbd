//! TensorFlow graphs: built, merged and rewritten, without TensorFlow.
//!
//! A [`GraphBuilder`] makes one graph out of a parameter, constants, operators and calls of other
//! graphs. It returns a [`Wire`] for each value: a type and the tensors that make up the
//! value. The functions of [`generic`] are the graphs that the reductions of intrinsics need,
//! complete as computations.
//!
//! Everything here is deterministic: the same calls give the same bytes, in every process.
//!
//! ```
//! use tff_compiler::BinaryOp;
//! use tff_compiler::graph::GraphBuilder;
//! use tff_types::{DType, Type};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut graph = GraphBuilder::new();
//! let x = graph.parameter(&Type::scalar(DType::Int32))?;
//! let twice = graph.binary(BinaryOp::Add, &x, &x)?;
//! assert_eq!(graph.finish(&twice)?.ty().to_string(), "(int32 -> int32)");
//! # Ok(())
//! # }
//! ```

mod binding;
mod builder;
mod cache_id;
mod call;
mod config;
mod constant;
mod def;
mod error;
pub mod generic;
mod identity;
mod library;
mod nodes;
mod operator;
mod ops;
mod read;
mod source;
mod wire;

#[cfg(test)]
mod dump;

pub use builder::GraphBuilder;
pub use cache_id::cache_id;
pub use config::disable_call_rewriting;
pub use error::GraphError;
pub(crate) use error::brief;
pub(crate) use identity::SameBody;
pub use ops::{check_allowed_ops, check_disallowed_ops, op_names};
pub use wire::Wire;
