//! The values inside of sequences and federated values, for whoever prints them.

use anyhow::{Context, Result};
use std::fmt;
use std::sync::Arc;
use tff_exec::{Clients, ExecError, Sequence, Value};

/// Reads the elements of a sequence.
type ReadElements<'a> = dyn Fn(&Sequence) -> Result<Arc<[Value]>, ExecError> + 'a;

/// Gets at the values inside of other values.
pub(crate) struct Members<'a> {
    /// Reads a sequence.
    pub(crate) elements: &'a ReadElements<'a>,
    /// The number of clients, if there are any.
    pub(crate) n_clients: Option<usize>,
}

impl fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Members").field("n_clients", &self.n_clients).finish_non_exhaustive()
    }
}

impl Members<'_> {
    /// The elements of a sequence.
    pub(crate) fn elements(&self, sequence: &Sequence) -> Result<Arc<[Value]>> {
        Ok((self.elements)(sequence)?)
    }

    /// The value of each client.
    pub(crate) fn each<'v>(&self, clients: &'v Clients) -> Result<Vec<&'v Value>> {
        match clients {
            Clients::Each(values) => Ok(values.iter().collect()),
            Clients::AllEqual(value) => {
                let n_clients = self.n_clients.context("the number of clients is not known: give --clients")?;
                Ok(vec![&**value; n_clients])
            }
        }
    }

    /// The value that all clients have, where the type says so.
    pub(crate) fn common<'v>(&self, clients: &'v Clients) -> Result<&'v Value> {
        clients.get(0).context("a value at no clients has no member")
    }
}
