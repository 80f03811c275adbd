//! The extension module `federated_runtime._native`: computations, types and programs for Python.
//!
//! It turns Python's objects into values and back, and keeps Python responsive while something runs. Nothing is
//! computed here.

mod buffer;
mod command;
mod computation;
mod error;
mod executor;
mod form;
mod handler;
mod leaf;
mod numpy;
mod read;
mod run;
mod types;
mod value;
mod write;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::command::{tff, worker};
    #[pymodule_export]
    use crate::computation::{Computation, Problem, load};
    #[pymodule_export]
    use crate::executor::{Executor, Program, after_fork};
    #[pymodule_export]
    use crate::form::Form;
    #[pymodule_export]
    use crate::handler::add_xla_handlers;
    #[pymodule_export]
    use crate::run::Cancel;
    #[pymodule_export]
    use crate::types::Type;
    #[pymodule_export]
    use crate::value::{Value, sample_clients};
}
