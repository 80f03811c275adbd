//! The section `[data]` of a configuration.

use super::Columns;
use serde::{Deserialize, Deserializer};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

/// How the rows of a table become the data of clients: the section `[data]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// Tables of comma-separated values with a header; the same as `file` with the format `csv`.
    #[serde(default, deserialize_with = "one_or_several")]
    pub csv: Vec<PathBuf>,
    /// Files of any format, one after the other, or a folder of files, one a client.
    #[serde(default, deserialize_with = "one_or_several")]
    pub file: Vec<PathBuf>,
    /// The format, where the names of the files do not say it.
    pub format: Option<Format>,
    /// The split of a database of clients' data, such as `train`; all where it is not given.
    pub split: Option<String>,
    /// What stands between two cells of comma-separated values; where it is not given, a tab in `.tsv`, else a comma.
    pub delimiter: Option<char>,
    /// What stands around a cell of comma-separated values that has delimiters or lines in it; empty where nothing does.
    #[serde(default = "quote")]
    pub quote: String,
    /// Whether the first row of comma-separated values names the columns. Otherwise they are called `0`, `1` and so on.
    #[serde(default = "yes")]
    pub header: bool,
    /// Cells that stand for a missing value, such as `["", "NA"]`.
    #[serde(default)]
    pub missing: Vec<String>,
    /// What is read in the place of a missing value; `nan` where it is not given.
    pub fill: Option<String>,
    /// Cells by the column that are read as their position in this list.
    #[serde(default)]
    pub categories: std::collections::BTreeMap<String, Vec<String>>,
    /// Which rows belong to which client. It may be left out where the format says so itself.
    pub clients: Option<ClientsBy>,
    /// What decides how rows are divided, where chance does, and which rows are held out.
    #[serde(default)]
    pub seed: u64,
    /// The fewest rows of a client. Clients with fewer are left out; a division by a Dirichlet distribution is drawn again.
    #[serde(default)]
    pub min_rows: usize,
    /// The share of each client's rows that only the evaluation sees, at least 0 and below 1.
    #[serde(default)]
    pub held_out: f64,
    /// The column whose values are classes, where they are counted.
    pub label: Option<String>,
    /// The number of rows in a batch. It is needed where the tensors of the element type have a
    /// batch dimension, and only there.
    pub batch_size: Option<NonZeroUsize>,
    /// Whether rows that fill no batch are left out, so that all batches are of one size.
    #[serde(default)]
    pub drop_remainder: bool,
    /// How often each client goes through its rows.
    #[serde(default = "once")]
    pub epochs: NonZeroU32,
    /// Which columns make up the members of the elements; those of the same names where it is not given.
    pub columns: Option<Columns>,
    /// Whether links in a folder may lead only to files in this folder.
    #[serde(skip)]
    pub(super) stays_inside: bool,
}

impl DataConfig {
    /// The rows of a file, divided as its format says.
    #[must_use]
    pub fn of_file(path: PathBuf) -> Self {
        Self {
            csv: Vec::new(),
            file: vec![path],
            format: None,
            split: None,
            delimiter: None,
            quote: quote(),
            header: true,
            missing: Vec::new(),
            fill: None,
            categories: std::collections::BTreeMap::new(),
            clients: None,
            seed: 0,
            min_rows: 0,
            held_out: 0.0,
            label: None,
            batch_size: None,
            drop_remainder: false,
            epochs: once(),
            columns: None,
            stays_inside: false,
        }
    }

    /// Where the data is, for changing paths.
    pub fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        self.csv.iter_mut().chain(&mut self.file)
    }
}

const fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn quote() -> String {
    "\"".to_owned()
}

fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a path or a list of paths")]
    enum Paths {
        One(PathBuf),
        Several(Vec<PathBuf>),
    }
    Ok(match Paths::deserialize(deserializer)? {
        Paths::One(path) => vec![path],
        Paths::Several(paths) => paths,
    })
}

/// How a file holds rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Comma-separated values, perhaps compressed with gzip or zstd.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow's IPC, a file (Feather) or a stream.
    Arrow,
    /// Arrays of NumPy, one a column: `.npz`.
    Npz,
    /// One array of NumPy, whose column has the name of the file: `.npy`.
    Npy,
    /// TFF's client data: a database with a table `examples`, perhaps compressed with LZMA.
    Sqlite,
    /// Records of TensorFlow, each a `tf.train.Example`.
    Tfrecord,
}

impl Format {
    /// The format that the name of a file says.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = [".gz", ".zst", ".lzma", ".xz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        Some(match name.rsplit_once('.')?.1 {
            "csv" | "tsv" => Self::Csv,
            "parquet" => Self::Parquet,
            "arrow" | "feather" | "ipc" => Self::Arrow,
            "npz" => Self::Npz,
            "npy" => Self::Npy,
            "sqlite" | "db" => Self::Sqlite,
            "tfrecord" | "tfrecords" => Self::Tfrecord,
            _ => return None,
        })
    }
}

/// Which rows belong to which client. Where chance decides, it is the seed's, and the same on every machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "ClientsTable")]
pub enum ClientsBy {
    /// Those with the same value in this column; clients in the order in which they occur.
    Column(String),
    /// Row `r`, counted from 0, belongs to client `r` modulo this number.
    Modulo(NonZeroUsize),
    /// Clients of the same size, each with rows from everywhere.
    Iid(NonZeroUsize),
    /// Client `k`, counted from 1, has a part of the rows as `k`.
    Linear(NonZeroUsize),
    /// Client `k`, counted from 1, has a part of the rows as `k²`.
    Square(NonZeroUsize),
    /// Client `k` has a part of the rows as `exp(k)`.
    Exponential(NonZeroUsize),
    /// The classes of each client by a Dirichlet distribution.
    Dirichlet(Dirichlet),
    /// A few classes for each client.
    Shards(Shards),
    /// The rows of each client, counted from 0.
    List(Vec<Vec<u32>>),
}

/// [`ClientsBy`] as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with one way to divide rows, such as { modulo = N }")]
struct ClientsTable {
    column: Option<String>,
    modulo: Option<NonZeroUsize>,
    iid: Option<NonZeroUsize>,
    linear: Option<NonZeroUsize>,
    square: Option<NonZeroUsize>,
    exponential: Option<NonZeroUsize>,
    dirichlet: Option<Dirichlet>,
    shards: Option<Shards>,
    list: Option<Vec<Vec<u32>>>,
}

impl TryFrom<ClientsTable> for ClientsBy {
    type Error = String;

    fn try_from(table: ClientsTable) -> Result<Self, Self::Error> {
        let ways = [
            table.column.map(Self::Column),
            table.modulo.map(Self::Modulo),
            table.iid.map(Self::Iid),
            table.linear.map(Self::Linear),
            table.square.map(Self::Square),
            table.exponential.map(Self::Exponential),
            table.dirichlet.map(Self::Dirichlet),
            table.shards.map(Self::Shards),
            table.list.map(Self::List),
        ];
        let mut found: Vec<Self> = ways.into_iter().flatten().collect();
        match (found.pop(), found.pop()) {
            (Some(way), None) => Ok(way),
            (Some(second), Some(first)) => {
                Err(format!("expected one way to divide rows, found {} and {}", first.key(), second.key()))
            }
            (None, _) => Err("expected a way to divide rows, such as { modulo = N }, found none".to_owned()),
        }
    }
}

/// A division in which each class is spread over the clients by shares of its own, drawn from a symmetric Dirichlet
/// distribution: the smaller `alpha`, the fewer classes has a client.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dirichlet {
    /// The number of clients.
    pub clients: NonZeroUsize,
    /// The parameter of the distribution, above 0.
    pub alpha: f64,
    /// The column with the class.
    pub label: String,
    /// Whether a client that has its part of all rows gets nothing of further classes; true where it is not given.
    #[serde(default = "yes")]
    pub balance: bool,
}

const fn yes() -> bool {
    true
}

/// A division in which the rows are sorted by label and cut into shards of one size, and each client gets some shards.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shards {
    /// The number of clients.
    pub clients: NonZeroUsize,
    /// The number of shards that each client gets.
    pub shards: NonZeroUsize,
    /// The column with the label.
    pub label: String,
}

impl ClientsBy {
    /// The key that names this way.
    pub(super) const fn key(&self) -> &'static str {
        match self {
            Self::Column(_) => "data.clients.column",
            Self::Modulo(_) => "data.clients.modulo",
            Self::Iid(_) => "data.clients.iid",
            Self::Linear(_) => "data.clients.linear",
            Self::Square(_) => "data.clients.square",
            Self::Exponential(_) => "data.clients.exponential",
            Self::Dirichlet(_) => "data.clients.dirichlet",
            Self::Shards(_) => "data.clients.shards",
            Self::List(_) => "data.clients.list",
        }
    }

    /// How many clients it makes, where that is said.
    pub(super) fn n_clients(&self) -> Option<usize> {
        match self {
            Self::Column(_) | Self::List(_) => None,
            Self::Modulo(n) | Self::Iid(n) | Self::Linear(n) | Self::Square(n) | Self::Exponential(n) => Some(n.get()),
            Self::Dirichlet(options) => Some(options.clients.get()),
            Self::Shards(options) => Some(options.clients.get()),
        }
    }

    /// The column that decides, and the key that names it.
    pub(super) fn column(&self) -> Option<(&str, &'static str)> {
        match self {
            Self::Column(column) => Some((column, "data.clients.column")),
            Self::Dirichlet(options) => Some((&options.label, "data.clients.dirichlet.label")),
            Self::Shards(options) => Some((&options.label, "data.clients.shards.label")),
            _ => None,
        }
    }
}
