#![doc = include_str!("../README.md")]

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
pub use reductions::is_reduced;
