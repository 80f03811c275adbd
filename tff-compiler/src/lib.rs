//! The compiler of federated computations: from any computation that a frontend serializes to one
//! that something can run, without Python and without TensorFlow.
//!
//! A [pass] rewrites a computation into an equivalent one; a pipeline runs [passes] in order.
//! [`graph`] builds, merges and rewrites the TensorFlow graphs that computations hold, [`hlo`] builds
//! the XLA modules that take their place among modules.
//!
//! ```
//! use tff_compiler::{CompileOptions, call_dominant};
//! use tff_ir::text::{Environment, parse};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let comp = parse("(x:<a=int32> -> (y:int32 -> <y,y>)(x.a))", &Environment::default())?.comp;
//! let compiled = call_dominant(&comp, &CompileOptions::default())?;
//! assert_eq!(compiled.comp.to_string(), "(x -> <x[0],x[0]>)");
//! # Ok(())
//! # }
//! ```

mod bodies;
mod create;
mod elementwise;
mod error;
pub mod extract;
pub mod forms;
mod free_names;
pub mod graph;
pub mod hlo;
mod leaves;
mod local;
pub mod pass;
pub mod passes;
mod pipelines;
mod reductions;
mod rename;
mod retype;
mod substitution;

pub use elementwise::{BinaryOp, Fill};
pub use error::{CompileError, PassError, Problem};
pub use pipelines::{CompileOptions, Compiled, call_dominant, compile_to_native};
