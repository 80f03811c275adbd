//! Why a leaf refuses a computation, or fails while it runs one.

use super::ExecError;
use std::collections::TryReserveError;

/// What is wrong with a compiled computation, or went wrong in it.
///
/// The frames of [`ExecError::At`] around it say which part of the computation is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeafError {
    /// The graph or module is another message, damaged, or takes or gives what no tensor is.
    #[error("{0}")]
    Body(String),
    /// The bindings contradict the type, or the graph or module.
    #[error("{0}")]
    Binding(String),
    /// A graph without an op of this name, which something is bound to.
    #[error("the graph has no op `{0}`")]
    UnknownOp(String),
    /// The library refused the graph or module, or failed while it ran.
    #[error("{message}")]
    Native {
        /// The library's code, as `INVALID_ARGUMENT`.
        code: &'static str,
        /// The library's message.
        message: String,
    },
    /// A run gave something else than the computation promises.
    #[error("{0}")]
    Result(String),
    /// There is no memory for a result.
    #[error(transparent)]
    Memory(#[from] TryReserveError),
}

/// The name of a leaf, for its errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafName(pub(crate) &'static str);

impl LeafName {
    /// The leaf cannot prepare a computation.
    pub(crate) fn refuses(self, reason: LeafError) -> ExecError {
        ExecError::Prepare { leaf: self.0, reason }
    }

    /// As [`Self::refuses`], for bindings.
    pub(crate) fn misbound(self, reason: impl Into<String>) -> ExecError {
        self.refuses(LeafError::Binding(reason.into()))
    }

    /// A computation failed while it ran.
    pub(crate) fn failed(self, reason: LeafError) -> ExecError {
        ExecError::Run { leaf: self.0, reason }
    }

    /// As [`Self::failed`], for what a run gave.
    pub(crate) fn gave(self, reason: impl Into<String>) -> ExecError {
        self.failed(LeafError::Result(reason.into()))
    }
}
