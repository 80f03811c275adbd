//! The data of clients: where it comes from, and how it becomes values.

#[cfg(feature = "arrow")]
mod arrow;
mod batches;
mod cells;
mod columns;
mod config;
#[cfg(any(feature = "arrow", feature = "numpy", feature = "sqlite", feature = "tfrecord"))]
mod convert;
mod csv;
mod divide;
mod error;
#[cfg(any(feature = "sqlite", feature = "tfrecord"))]
mod example;
mod named;
#[cfg(feature = "numpy")]
mod npz;
mod records;
#[cfg(feature = "sqlite")]
mod sqlite;
mod table;
#[cfg(feature = "tfrecord")]
mod tfrecord;

pub use columns::Columns;
pub use config::{ClientsBy, DataConfig, Dirichlet, Format, Shards};
pub use error::{DataError, KeyProblem};
pub use named::{NamedSources, parse_named};
pub use table::{ClientSummary, Opened};

use tff_exec::Value;

/// Where the data of clients comes from.
///
/// A source is opened for one type of elements. A simulation asks it for the clients that take part in a round, when
/// they do, from one thread.
pub trait Source: std::fmt::Debug + Send + Sync {
    /// What identifies each client, in the order that sampling and results follow.
    fn clients(&self) -> &[ClientId];

    /// The data of the client at this position of [`Source::clients`]: a sequence of elements of the type that the
    /// source was opened for.
    ///
    /// # Errors
    /// Where the data cannot be read.
    fn data(&self, client_idx: usize) -> Result<Value, DataError>;
}

/// Clients whose data is in memory already.
#[derive(Clone, Debug, Default)]
pub struct InMemory {
    ids: Vec<ClientId>,
    data: Vec<Value>,
}

impl FromIterator<(ClientId, Value)> for InMemory {
    fn from_iter<I: IntoIterator<Item = (ClientId, Value)>>(clients: I) -> Self {
        let (ids, data) = clients.into_iter().unzip();
        Self { ids, data }
    }
}

impl Source for InMemory {
    fn clients(&self) -> &[ClientId] {
        &self.ids
    }

    fn data(&self, client_idx: usize) -> Result<Value, DataError> {
        let n_clients = self.data.len();
        self.data.get(client_idx).cloned().ok_or(DataError::NoClient { client_idx, n_clients })
    }
}

/// What identifies a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(untagged)]
pub enum ClientId {
    /// By the value of a column.
    Name(String),
    /// By number, from 0.
    Number(usize),
}
