//! What ends a run early, and the listener for its progress.

use crate::leaf::{self, Until};
use crate::{ExecError, NotFiniteClients};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tff_ir::Intrinsic;

/// The options of one call of a program: when it ends early, and the listener for its progress.
///
/// A call that ends early does so between two calls of functions, or while a TensorFlow graph runs: a
/// module of XLA that runs is not interrupted. Workers are not waited for.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// When the call ends with [`ExecError::Deadline`].
    pub deadline: Option<Instant>,
    /// Ends the call with [`ExecError::GivenUp`].
    pub cancel: Option<Cancel>,
    /// Is told of each intrinsic and each client, on whatever thread computes: it must be quick.
    pub progress: Option<Arc<ReportProgress>>,
    /// Collects the clients for which something is computed that is not finite. Clients on workers are not looked
    /// at.
    pub not_finite: Option<NotFiniteClients>,
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("deadline", &self.deadline)
            .field("cancel", &self.cancel)
            .field("progress", &self.progress.is_some())
            .field("not_finite", &self.not_finite)
            .finish()
    }
}

/// Cancels calls, from any thread. Clones cancel the same calls.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends all calls that have it among their options, now and later.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is told of a run.
pub type ReportProgress = dyn Fn(Progress<'_>) + Send + Sync;

/// Something that has happened in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// An intrinsic was called.
    Started {
        /// The intrinsic.
        intrinsic: &'a Intrinsic,
    },
    /// The part of one client is done. Of clients on workers this is not told.
    Client {
        /// The intrinsic.
        intrinsic: &'a Intrinsic,
        /// The position of the client.
        client_idx: usize,
    },
    /// An intrinsic has ended. Where the clients are on workers, these may still compute it.
    Finished {
        /// The intrinsic.
        intrinsic: &'a Intrinsic,
    },
}

/// The same as [`CallOptions`], as the evaluator looks at it.
#[derive(Clone, Copy)]
pub(crate) struct Control<'a> {
    /// Set when nobody needs the value any more.
    given_up: Option<&'a Arc<AtomicBool>>,
    deadline: Option<Instant>,
    pub(super) progress: Option<&'a ReportProgress>,
    pub(super) not_finite: Option<&'a NotFiniteClients>,
}

impl<'a> From<&'a CallOptions> for Control<'a> {
    fn from(options: &'a CallOptions) -> Self {
        let given_up = options.cancel.as_ref().map(|cancel| &cancel.0);
        let (progress, not_finite) = (options.progress.as_deref(), options.not_finite.as_ref());
        Self { given_up, deadline: options.deadline, progress, not_finite }
    }
}

impl<'a> Control<'a> {
    /// Ends the run once this is set.
    pub(crate) const fn ending(given_up: &'a Arc<AtomicBool>, not_finite: Option<&'a NotFiniteClients>) -> Self {
        Self { given_up: Some(given_up), deadline: None, progress: None, not_finite }
    }

    /// Whether the run may go on.
    ///
    /// # Errors
    /// [`ExecError::GivenUp`], [`ExecError::Deadline`].
    pub(crate) fn check(&self) -> Result<(), ExecError> {
        leaf::check(self.given_up.map(|given_up| &**given_up), self.deadline)
    }

    /// The same for a leaf, which another thread looks at while it runs.
    pub(super) fn until(&self) -> Until {
        Until { given_up: self.given_up.cloned(), deadline: self.deadline }
    }
}
