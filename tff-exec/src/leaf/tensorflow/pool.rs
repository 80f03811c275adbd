//! The sessions of a graph, lent such that every call finds the state that the first one found.

use super::ffi::{Failure, Graph, Operation, Session};
use super::session;
use std::sync::{Mutex, PoisonError};

/// The sessions of a graph.
pub(super) enum Sessions {
    /// One for all calls, also at the same time: nothing is left behind in it.
    Shared(Session),
    /// As many as there are calls at the same time; after each call the variables are destroyed.
    /// That is one more run, of some microseconds, where a new session builds the executors of its
    /// graph anew: half a millisecond for a small one.
    Reset {
        /// Makes more sessions.
        graph: Graph,
        /// Sessions that no call is using.
        free: Mutex<Vec<Session>>,
        /// The ops that destroy the variables.
        destroyers: Vec<Operation>,
    },
    /// A new one for each call: tables and random generators cannot be reset.
    New(Graph),
}

impl Sessions {
    /// Runs `call` in a session that no earlier call has changed.
    ///
    /// # Errors
    /// That of the call, and where no session can be made.
    pub(super) fn with<T>(&self, call: impl FnOnce(&Session) -> Result<T, Failure>) -> Result<T, Failure> {
        match self {
            Self::Shared(session) => call(session),
            Self::New(graph) => call(&session::open(graph)?),
            Self::Reset { graph, free, destroyers } => {
                let lock = || free.lock().unwrap_or_else(PoisonError::into_inner);
                let returned = lock().pop();
                let session = match returned {
                    Some(session) => session,
                    None => session::open(graph)?,
                };
                let result = call(&session)?;
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
