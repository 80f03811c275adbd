//! The deadline and the cancellation of a run of a leaf.

use crate::ExecError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// When a call is no longer needed. By default, it is always needed.
#[derive(Clone, Debug, Default)]
pub struct Until {
    /// Set when nobody needs the result any more.
    pub given_up: Option<Arc<AtomicBool>>,
    /// When the call ends at the latest.
    pub deadline: Option<Instant>,
}

impl Until {
    /// Whether the call may go on.
    ///
    /// # Errors
    /// [`ExecError::GivenUp`], [`ExecError::Deadline`].
    pub fn check(&self) -> Result<(), ExecError> {
        check(self.given_up.as_deref(), self.deadline)
    }
}

/// The same as [`Until::check`], with borrowed parts.
pub(crate) fn check(given_up: Option<&AtomicBool>, deadline: Option<Instant>) -> Result<(), ExecError> {
    if given_up.is_some_and(|given_up| given_up.load(Ordering::Relaxed)) {
        return Err(ExecError::GivenUp);
    }
    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        return Err(ExecError::Deadline);
    }
    Ok(())
}
