//! The data of clients, from tables.

mod cells;
mod columns;
mod table;

pub(crate) use columns::Columns;
pub(crate) use table::load;

use serde::Deserialize;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use tff_exec::Value;

/// The data of one client.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// What identifies it: the value of the column, or the number of the client.
    pub(crate) id: ClientId,
    /// A sequence, built once for all rounds.
    pub(crate) data: Value,
}

/// What identifies a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum ClientId {
    /// By the value of a column.
    Name(String),
    /// By number, from 0.
    Number(usize),
}

/// How the rows of a table become the data of clients: the section `[data]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataConfig {
    /// The table, a file of comma-separated values with a header.
    pub(crate) csv: PathBuf,
    /// Which rows belong to which client.
    pub(crate) clients: ClientsBy,
    /// The number of rows in a batch. It is needed where the tensors of the element type have a
    /// batch dimension, and only there.
    pub(crate) batch_size: Option<NonZeroUsize>,
    /// Whether rows that fill no batch are left out, so that all batches are of one size.
    #[serde(default)]
    pub(crate) drop_remainder: bool,
    /// How often each client goes through its rows.
    #[serde(default = "once")]
    pub(crate) epochs: NonZeroU32,
    /// Which columns make up the members of the elements.
    pub(crate) columns: Columns,
}

const fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// Which rows belong to which client.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClientsBy {
    /// Those with the same value in this column; clients in the order in which they occur.
    Column(String),
    /// Row `r`, counted from 0, belongs to client `r` modulo this number.
    Modulo(NonZeroUsize),
}
