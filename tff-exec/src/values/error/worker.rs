//! What goes wrong with the workers that clients are on.

use super::text;
use std::sync::Arc;

/// Why a worker could not do its part of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// The worker cannot be reached, does not answer in time, or no longer knows what it held. The
    /// program can be run again without it.
    #[error("worker {worker} is unavailable: {}", text(.reason))]
    Unavailable {
        /// Its address.
        worker: Arc<str>,
        /// What shows that.
        reason: String,
    },
    /// The worker refused something or failed at it. Any other worker would too.
    #[error("worker {worker}: {} ({status})", text(.message))]
    Failed {
        /// Its address.
        worker: Arc<str>,
        /// The status of the protocol, as `INVALID_ARGUMENT`.
        status: &'static str,
        /// The worker's own message.
        message: String,
    },
}
