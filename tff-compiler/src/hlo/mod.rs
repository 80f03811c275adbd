//! XLA modules: built as messages, without XLA.
//!
//! The functions here are to modules what those of [`graph::generic`](crate::graph::generic) are to
//! graphs: computations that do the same for every type, with the same results. The parameters of
//! a module are the tensors of the argument, in depth-first order; its results, in one tuple, are
//! those of the result.
//!
//! XLA has neither strings nor sequences, needs the size of every dimension, and cannot fail while
//! it runs. If a computation is not possible for this reason, or is wrong in itself, there is no module:
//! then the graph takes its place, or the error that making the graph gives.
//!
//! Everything here is deterministic: the same calls give the same bytes, in every process.
//!
//! ```
//! use tff_compiler::BinaryOp;
//! use tff_compiler::hlo;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sum = hlo::binary_operator(BinaryOp::Add, &"<float32[3],float32[3]>".parse()?);
//! assert_eq!(sum.map(|comp| comp.ty().to_string()).as_deref(), Some("(<float32[3],float32[3]> -> float32[3])"));
//! assert!(hlo::binary_operator(BinaryOp::Add, &"<float32[?],float32[?]>".parse()?).is_none());
//! # Ok(())
//! # }
//! ```

mod builder;
mod generic;
mod operator;
mod shape;
mod value;

pub use generic::{binary_operator, binary_operator_with_upcast, constant};
