//! The data of clients: where it comes from, and how it becomes values.

mod cells;
mod columns;
mod error;
mod table;

pub use columns::Columns;
pub use error::{DataError, KeyProblem};

use serde::Deserialize;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use tff_exec::Value;
use tff_types::Type;

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

/// How the rows of a table become the data of clients: the section `[data]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// The table, a file of comma-separated values with a header.
    pub csv: PathBuf,
    /// Which rows belong to which client.
    pub clients: ClientsBy,
    /// The number of rows in a batch. It is needed where the tensors of the element type have a
    /// batch dimension, and only there.
    pub batch_size: Option<NonZeroUsize>,
    /// Whether rows that fill no batch are left out, so that all batches are of one size.
    #[serde(default)]
    pub drop_remainder: bool,
    /// How often each client goes through its rows.
    #[serde(default = "once")]
    pub epochs: NonZeroU32,
    /// Which columns make up the members of the elements.
    pub columns: Columns,
}

impl DataConfig {
    /// Opens the source, of elements of type `element`.
    ///
    /// # Errors
    /// Where the table cannot be read, or its columns do not fit the type.
    pub fn open(&self, element: &Type) -> Result<Box<dyn Source>, DataError> {
        Ok(Box::new(table::load(&self.csv, self, element)?))
    }
}

const fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// Which rows belong to which client.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "ClientsTable")]
pub enum ClientsBy {
    /// Those with the same value in this column; clients in the order in which they occur.
    Column(String),
    /// Row `r`, counted from 0, belongs to client `r` modulo this number.
    Modulo(NonZeroUsize),
}

/// [`ClientsBy`] as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "{ column = NAME } or { modulo = N }")]
struct ClientsTable {
    column: Option<String>,
    modulo: Option<NonZeroUsize>,
}

impl TryFrom<ClientsTable> for ClientsBy {
    type Error = &'static str;

    fn try_from(table: ClientsTable) -> Result<Self, Self::Error> {
        match (table.column, table.modulo) {
            (Some(column), None) => Ok(Self::Column(column)),
            (None, Some(modulo)) => Ok(Self::Modulo(modulo)),
            (Some(_), Some(_)) => Err("expected one of `column` and `modulo`, found both"),
            (None, None) => Err("expected one of `column` and `modulo`, found none"),
        }
    }
}
