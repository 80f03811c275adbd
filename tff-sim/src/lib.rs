//! Simulations of federated computations, as a library.

mod compiler;
pub mod computation;
pub mod data;
pub mod files;
pub mod forms;
pub mod json;
mod read;
pub mod simulation;

pub use compiler::compiler;
pub use files::{FileError, FileProblem};
pub use read::read;
