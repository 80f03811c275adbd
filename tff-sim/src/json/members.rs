//! The values inside of sequences and federated values, for code that writes them.

use super::WriteError;
use std::fmt;
use std::sync::Arc;
use tff_exec::{Clients, ExecError, Executor, Sequence, Value};

/// Reads the elements of a sequence.
type ReadElements<'a> = dyn Fn(&Sequence) -> Result<Arc<[Value]>, ExecError> + 'a;

/// Gets at the values inside of other values.
pub struct Members<'a> {
    elements: Box<ReadElements<'a>>,
    n_clients: Option<usize>,
}

impl fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Members").field("n_clients", &self.n_clients).finish_non_exhaustive()
    }
}

impl<'a> Members<'a> {
    /// Of results of this executor. `n_clients` says how often a value that all clients have is written where its type
    /// does not say that it is the same for all.
    #[must_use]
    pub fn of(executor: &'a Executor, n_clients: Option<usize>) -> Self {
        Self::new(|sequence| sequence.elements(executor.tensorflow()), n_clients)
    }

    /// With this reader of sequences.
    pub fn new(elements: impl Fn(&Sequence) -> Result<Arc<[Value]>, ExecError> + 'a, n_clients: Option<usize>) -> Self {
        Self { elements: Box::new(elements), n_clients }
    }

    /// The elements of a sequence.
    ///
    /// # Errors
    /// Where it is a dataset that cannot be read.
    pub fn elements(&self, sequence: &Sequence) -> Result<Arc<[Value]>, WriteError> {
        Ok((self.elements)(sequence)?)
    }

    /// The value of each client.
    ///
    /// # Errors
    /// [`WriteError::UnknownClients`] where only their number is missing.
    pub fn each<'v>(&self, clients: &'v Clients) -> Result<Vec<&'v Value>, WriteError> {
        match clients {
            Clients::Each(values) => Ok(values.iter().collect()),
            Clients::AllEqual(value) => Ok(vec![&**value; self.n_clients.ok_or(WriteError::UnknownClients)?]),
        }
    }

    /// The value that all clients have, where the type says so.
    ///
    /// # Errors
    /// [`WriteError::NoClients`] if it has no members.
    pub fn common<'v>(&self, clients: &'v Clients) -> Result<&'v Value, WriteError> {
        clients.get(0).ok_or(WriteError::NoClients)
    }
}
