//! The sessions of a graph. Every call finds the same initial state as the first one.

use super::ffi::{Failure, Graph, NativeSession, Operation};
use super::session;
use super::watch::Watch;
use crate::leaf::Until;
use std::sync::{Arc, Mutex, PoisonError};

/// The sessions of a graph.
pub(super) enum Sessions {
    /// One for all calls, also at the same time: nothing is left behind in it.
    Shared {
        /// Makes the next one, when a call that is no longer needed has closed this one.
        graph: Graph,
        /// The session.
        session: Mutex<Arc<NativeSession>>,
    },
    /// As many as there are calls at the same time; after each call the variables are destroyed.
    /// That is one more run, of some microseconds, where a new session builds the executors of its
    /// graph anew: half a millisecond for a small one.
    Reset {
        /// Makes more sessions.
        graph: Graph,
        /// Sessions that no call is using.
        free: Mutex<Vec<Arc<NativeSession>>>,
        /// The ops that destroy the variables.
        destroyers: Vec<Operation>,
    },
    /// A new one for each call: tables and random generators cannot be reset.
    New(Graph),
}

impl Sessions {
    /// Runs `call` in a session that no earlier call has changed, until it is no longer needed.
    ///
    /// # Errors
    /// That of the call, and where no session can be made.
    pub(super) fn with<T>(
        &self,
        watch: &Watch,
        until: &Until,
        call: impl Fn(&NativeSession) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let open = |graph| session::open(graph).map(Arc::new);
        let run = |session: &Arc<NativeSession>| watch.during(until, session, || call(session));
        match self {
            Self::Shared { graph, session } => loop {
                let lock = || session.lock().unwrap_or_else(PoisonError::into_inner);
                let current = lock().clone();
                let result = run(&current);
                if result.is_ok() || !current.is_closed() {
                    return result;
                }
                // A call that is no longer needed has ended all: this one too, or it runs again.
                let next = open(graph)?;
                let mut session = lock();
                if Arc::ptr_eq(&session, &current) {
                    *session = next;
                }
                drop(session);
                if until.check().is_err() {
                    return result;
                }
            },
            Self::New(graph) => run(&open(graph)?),
            Self::Reset { graph, free, destroyers } => {
                let lock = || free.lock().unwrap_or_else(PoisonError::into_inner);
                let returned = lock().pop();
                let session = match returned {
                    Some(session) => session,
                    None => open(graph)?,
                };
                let result = run(&session)?;
                let targets: Vec<&Operation> = destroyers.iter().collect();
                // After a failure the session is given up instead.
                if session::run(&session, [], &targets, &[]).is_ok() {
                    lock().push(session);
                }
                Ok(result)
            }
        }
    }
}
