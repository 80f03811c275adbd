//! Tables: rows that are divided among clients, and read when a client is sampled.

use super::batches::Batches;
use super::cells::FrozenCells;
use super::columns::{Column, Columns, Plan, position};
use super::config::{DataConfig, Format};
use super::divide::{Division, Keys, Rows, divide};
use super::{ClientId, DataError, KeyProblem, Source};
use crate::files::name_of;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tff_exec::Value;
use tff_types::{Type, TypeKind};

type Result<T> = std::result::Result<T, DataError>;

/// The most elements of the sequences of all clients together.
const MAX_ELEMENTS: usize = 1 << 26;
/// How many bytes of chunks that were read are kept.
const KEPT_CHUNKS: usize = 256 << 20;
/// Of tables up to this many bytes, the values of clients are kept, too.
const KEPT_VALUES: usize = 64 << 20;

/// What a table is opened for.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) config: &'a DataConfig,
    /// The type of the elements.
    element: &'a Type,
    columns: Columns,
    /// The columns whose values are read when the table is opened, and the keys that name them.
    pub(super) keys: Vec<(&'a str, &'static str)>,
}

impl<'a> Request<'a> {
    pub(super) fn new(config: &'a DataConfig, element: &'a Type) -> Self {
        let clients = config.clients.as_ref().and_then(|by| by.column());
        let label = config.label.as_deref().map(|label| (label, "data.label"));
        let columns = config.columns.clone().unwrap_or_else(|| by_name(element));
        Self { config, element, columns, keys: clients.into_iter().chain(label).collect() }
    }

    /// How elements are made of the columns of this file.
    pub(super) fn plan(&self, name: &str, header: &[Column]) -> Result<Plan> {
        let full_batch = self.config.batch_size.filter(|_| self.config.drop_remainder).map(|size| size.get() as u64);
        Plan::new(self.element, &self.columns, header, full_batch).map_err(|error| error.in_file(name))
    }

    /// The positions of the columns that are read at once.
    pub(super) fn key_positions(&self, name: &str, header: &[Column]) -> Result<Vec<usize>> {
        let position = |&(column, key): &(&str, &'static str)| {
            position(header, column).map_err(|problem| problem.at(key).in_file(name))
        };
        self.keys.iter().map(position).collect()
    }
}

/// The columns of the names of the members. What has no name is a whole record.
fn by_name(ty: &Type) -> Columns {
    let TypeKind::Struct(structure) = ty.kind() else { return Columns::Pattern(RECORD.to_owned()) };
    let member = |name: &str, ty: &Type| match ty.kind() {
        TypeKind::Struct(_) => by_name(ty),
        _ => Columns::Pattern(name.to_owned()),
    };
    let members = structure.elements().iter().map(|it| (it.name.as_deref().unwrap_or_default(), &it.ty));
    Columns::Named(members.map(|(name, ty)| (name.to_owned(), member(name, ty))).collect::<BTreeMap<_, _>>())
}

/// The column that holds a whole record, where rows are records.
pub(super) const RECORD: &str = "serialized_example_proto";

/// A file that was opened: what is known of all rows, and what reads them.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) plan: Plan,
    /// The values of the columns of [`Request::keys`].
    pub(super) keys: Vec<Keys>,
    /// The client of each row, where the format says it.
    pub(super) own: Option<Keys>,
    /// How many rows each chunk has.
    pub(super) chunks: Vec<usize>,
    pub(super) reader: Box<dyn Chunks>,
}

/// Rows that are read in chunks.
pub(super) trait Chunks: std::fmt::Debug + Send + Sync {
    /// For each tensor of the plan, what the rows of the chunk at this position have.
    fn read(&self, plan: &Plan, chunk_idx: usize) -> Result<Vec<FrozenCells>>;
}

fn open_file(path: &Path, request: &Request<'_>) -> Result<Part> {
    let name = name_of(path);
    let config = request.config;
    let format = if config.csv.is_empty() { config.format.or_else(|| Format::of(path)) } else { Some(Format::Csv) };
    let Some(format) = format else {
        let expected = "a format, which the name of the file does not say";
        return Err(KeyProblem::expected(expected, "none").at("data.format").in_file(&name));
    };
    if let (Some(split), true) = (&request.config.split, format != Format::Sqlite) {
        return Err(KeyProblem::expected("no split, which only databases have", split).at("data.split").in_file(&name));
    }
    match format {
        Format::Csv => super::csv::open(path, request),
        #[cfg(feature = "arrow")]
        Format::Parquet => super::arrow::open_parquet(path, request),
        #[cfg(feature = "arrow")]
        Format::Arrow => super::arrow::open_ipc(path, request),
        #[cfg(feature = "numpy")]
        Format::Npz => super::npz::open(path, request),
        #[cfg(feature = "numpy")]
        Format::Npy => super::npz::open_npy(path, request),
        #[cfg(feature = "sqlite")]
        Format::Sqlite => super::sqlite::open(path, request),
        #[cfg(feature = "tfrecord")]
        Format::Tfrecord => super::tfrecord::open(path, request),
        #[allow(unreachable_patterns, reason = "which formats are left depends on the features")]
        _ => {
            let expected = "a format that this program was built with";
            Err(KeyProblem::expected(expected, format!("{format:?}").to_lowercase()).at("data.format").in_file(&name))
        }
    }
}

/// The files that are meant. A folder stands for its files, one a client, by name.
fn files(config: &DataConfig) -> Result<Vec<(PathBuf, Option<String>)>> {
    let paths = match (config.csv.as_slice(), config.file.as_slice()) {
        ([], []) => {
            return Err(KeyProblem::Missing { reason: "it says where the data is".to_owned() }.at("data.file"));
        }
        (paths, []) | ([], paths) => paths,
        (_, _) => return Err(KeyProblem::expected("either data.csv or data.file", "both").at("data.file")),
    };
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push((path.clone(), None));
            continue;
        }
        let io = |error| DataError::from(crate::FileProblem::Io(error).of(name_of(path)));
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path).map_err(io)? {
            entries.push(entry.map_err(io)?.path());
        }
        entries.retain(|entry| entry.is_file() && (config.format.is_some() || Format::of(entry).is_some()));
        entries.sort();
        if entries.is_empty() {
            return Err(DataError::mismatch(name_of(path), "files of data", "none"));
        }
        let inside = if config.stays_inside { Some(path.canonicalize().map_err(io)?) } else { None };
        for mut file in entries {
            let client = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            if let Some(folder) = &inside {
                // What is checked is what is opened.
                let target = file.canonicalize().map_err(io)?;
                if !target.starts_with(folder) {
                    let expected = format!("a file in the folder {}", path.display());
                    return Err(DataError::mismatch(name_of(&file), expected, "a link that leads out of it"));
                }
                file = target;
            }
            files.push((file, client));
        }
    }
    Ok(files)
}

/// A table of one or several files.
#[derive(Debug)]
struct Table {
    /// What it is called in messages.
    name: String,
    element: Type,
    batches: Batches,
    parts: Vec<(Plan, Box<dyn Chunks>)>,
    /// For each chunk the part, the position there, and the row of the table at which it ends.
    chunks: Vec<(usize, usize, usize)>,
    kept: Mutex<Kept>,
    keys: Vec<Keys>,
}

/// Chunks that were read, the latest ones last.
#[derive(Debug, Default)]
struct Kept {
    chunks: VecDeque<(usize, Arc<Vec<FrozenCells>>)>,
    bytes: usize,
}

impl DataConfig {
    /// Opens the source, of elements of type `element`.
    ///
    /// # Errors
    /// Where the data cannot be read, or its columns do not fit the type.
    pub fn open(&self, element: &Type) -> Result<Opened> {
        if !(0.0..1.0).contains(&self.held_out) {
            let expected = "a number from 0 to below 1";
            return Err(KeyProblem::expected(expected, self.held_out.to_string()).at("data.held_out"));
        }
        let request = Request::new(self, element);
        let files = files(self)?;
        let name = match files.as_slice() {
            [(path, _)] => name_of(path),
            _ => self.csv.iter().chain(&self.file).map(|path| name_of(path)).collect::<Vec<_>>().join(", "),
        };
        let parts: Result<Vec<_>> =
            files.iter().map(|(path, client)| Ok((open_file(path, &request)?, client))).collect();
        let parts = parts?;
        let plan = parts.first().map(|(part, _)| &part.plan);
        let batches = plan.map(|plan| Batches::new(self, plan, element)).transpose()?;
        let Some(batches) = batches else { return Err(DataError::mismatch(name, "a file", "none")) };

        let mut table = Table {
            name,
            element: element.clone(),
            batches,
            parts: Vec::new(),
            chunks: Vec::new(),
            kept: Mutex::default(),
            keys: vec![Keys::default(); request.keys.len()],
        };
        let mut own = Some(Keys::default());
        let mut n_rows = 0usize;
        for (part_idx, (part, client)) in parts.into_iter().enumerate() {
            let start = n_rows;
            for (chunk_idx, rows) in part.chunks.iter().enumerate() {
                n_rows = n_rows.saturating_add(*rows);
                table.chunks.push((part_idx, chunk_idx, n_rows));
            }
            table.keys.iter_mut().zip(&part.keys).for_each(|(all, keys)| all.extend(keys));
            match (client, &part.own, &mut own) {
                // The name of a file in a folder is the client, as the data within does not say it.
                (Some(client), None, Some(own)) => (start..n_rows).for_each(|_| own.push(client)),
                (_, Some(keys), Some(own)) => own.extend(keys),
                _ => own = None,
            }
            table.parts.push((part.plan, part.reader));
        }
        let n_rows = match u32::try_from(n_rows) {
            Ok(0) => return Err(DataError::mismatch(table.name, "rows", "none")),
            Ok(n_rows) => n_rows,
            Err(_) => return Err(DataError::mismatch(table.name, "fewer than 2^32 rows", n_rows)),
        };
        let by_column = self.clients.as_ref().is_some_and(|by| by.column().is_some());
        let keys = table.keys.first().filter(|_| by_column);
        let mut division = divide(self, &Rows { name: &table.name, n_rows, keys, own: own.as_ref() })?;
        let held_out = (self.held_out > 0.0).then(|| division.hold_out(self.held_out, self.seed));
        let table = Arc::new(table);
        let held_out = held_out.map(|division| TableSource::new(&table, division, n_rows)).transpose()?;
        Ok(Opened { clients: TableSource::new(&table, division, n_rows)?, held_out, has_label: self.label.is_some() })
    }
}

/// The data that a section `[data]` describes.
#[derive(Debug)]
pub struct Opened {
    clients: TableSource,
    held_out: Option<TableSource>,
    has_label: bool,
}

/// How many rows a client has.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ClientSummary {
    /// The client.
    pub client: ClientId,
    /// How many rows it has.
    pub rows: usize,
    /// How many rows are held out for the evaluation.
    pub held_out: usize,
    /// How many rows it has of each class, by the order of [`Opened::classes`]; those held out are not counted.
    pub classes: Vec<usize>,
}

impl Opened {
    /// The source of the clients' data, and that of what is held out of it.
    #[must_use]
    pub fn into_sources(self) -> (Box<dyn Source>, Option<Box<dyn Source>>) {
        let held_out = self.held_out.map(|source| -> Box<dyn Source> { Box::new(source) });
        (Box::new(self.clients), held_out)
    }

    /// The classes in the column of the key `label`, in the order in which they occur; none where there is no such key.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        self.labels().map_or(&[], |keys| &keys.names)
    }

    fn labels(&self) -> Option<&Keys> {
        self.clients.table.keys.last().filter(|_| self.has_label)
    }

    /// How the rows are divided.
    #[must_use]
    pub fn summary(&self) -> Vec<ClientSummary> {
        let labels = self.labels();
        let Division { ids, rows } = &self.clients.division;
        let held_out = |client_idx| {
            self.held_out
                .as_ref()
                .and_then(|it| it.division.rows.get(client_idx))
                .map_or(0, |rows: &Vec<u32>| rows.len())
        };
        let client = |(client_idx, (id, rows)): (usize, (&ClientId, &Vec<u32>))| {
            let mut classes = vec![0; labels.map_or(0, |keys| keys.names.len())];
            for label in
                labels.into_iter().flat_map(|keys| rows.iter().filter_map(|&row| keys.of_row.get(row as usize)))
            {
                if let Some(count) = classes.get_mut(*label as usize) {
                    *count += 1;
                }
            }
            ClientSummary { client: id.clone(), rows: rows.len(), held_out: held_out(client_idx), classes }
        };
        ids.iter().zip(rows).enumerate().map(client).collect()
    }
}

/// The clients of a table.
#[derive(Debug)]
struct TableSource {
    table: Arc<Table>,
    division: Division,
    /// The values of clients, where they are kept.
    values: Vec<OnceLock<Value>>,
}

impl TableSource {
    fn new(table: &Arc<Table>, division: Division, n_rows: u32) -> Result<Self> {
        let batches = &table.batches;
        let counts = || division.rows.iter().map(|rows| batches.of(rows.len()).count());
        let (count, without) = (counts().sum::<usize>(), counts().filter(|&count| count == 0).count());
        let (name, n_clients, size) = (&table.name, division.rows.len(), batches.size);
        if without > 0 && size > 1 {
            tracing::warn!(
                "{name}: data.drop_remainder leaves {without} of {n_clients} clients without a batch: \
                 they have fewer than {size} rows"
            );
        }
        let epochs = batches.epochs;
        if count.saturating_mul(epochs) > MAX_ELEMENTS {
            return Err(KeyProblem::TooManyElements { count, epochs, limit: MAX_ELEMENTS }.at("data.epochs"));
        }
        let bytes_of_row = table.parts.first().map_or(0, |(plan, _)| plan.bytes_of_row());
        let is_small = bytes_of_row.saturating_mul(n_rows as usize) <= KEPT_VALUES;
        let values = if is_small { vec![OnceLock::new(); n_clients] } else { Vec::new() };
        Ok(Self { table: table.clone(), division, values })
    }
}

impl Source for TableSource {
    fn clients(&self) -> &[ClientId] {
        &self.division.ids
    }

    fn data(&self, client_idx: usize) -> Result<Value> {
        let n_clients = self.division.ids.len();
        let rows = self.division.rows.get(client_idx).ok_or(DataError::NoClient { client_idx, n_clients })?;
        if let Some(value) = self.values.get(client_idx).and_then(OnceLock::get) {
            return Ok(value.clone());
        }
        let value = self.table.sequence(rows)?;
        Ok(match self.values.get(client_idx) {
            Some(kept) => kept.get_or_init(|| value).clone(),
            None => value,
        })
    }
}

impl Table {
    /// The sequence of a client with these rows, which are in ascending order unless they were listed.
    fn sequence(&self, rows: &[u32]) -> Result<Value> {
        let Some((plan, _)) = self.parts.first() else { return Err(DataError::mismatch(&self.name, "a file", "none")) };
        let mut gathered: Vec<Vec<FrozenCells>> = vec![Vec::new(); plan.tensors.len()];
        let mut rest = rows;
        while let Some(&first) = rest.first() {
            let chunk_idx = self.chunks.partition_point(|&(_, _, end)| end <= first as usize);
            let start = chunk_idx.checked_sub(1).and_then(|before| self.chunks.get(before)).map_or(0, |chunk| chunk.2);
            let end = self.chunks.get(chunk_idx).map_or(0, |chunk| chunk.2);
            let is_here = |row: &&u32| (start..end).contains(&(**row as usize));
            let n_here = rest.iter().take_while(is_here).count();
            if n_here == 0 {
                return Err(DataError::mismatch(&self.name, format!("a row {first}"), format!("{end} rows")));
            }
            let (here, after) = rest.split_at(n_here);
            let positions: Vec<usize> = here.iter().map(|&row| row as usize - start).collect();
            let cells = self.chunk(chunk_idx)?;
            for ((tensor, cells), gathered) in plan.tensors.iter().zip(cells.iter()).zip(&mut gathered) {
                gathered.push(cells.rows(&positions, tensor.width * tensor.dtype.size().unwrap_or(1)));
            }
            rest = after;
        }
        let empty =
            |(tensor, parts): (&super::columns::TensorPlan, Vec<FrozenCells>)| FrozenCells::concat(tensor.dtype, parts);
        let cells: Vec<FrozenCells> = plan.tensors.iter().zip(gathered).map(empty).collect();
        self.batches.sequence(plan, &self.element, &cells, rows.len())
    }

    fn chunk(&self, chunk_idx: usize) -> Result<Arc<Vec<FrozenCells>>> {
        // Whoever panicked with the lock left a list that is complete.
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cells)) = kept().chunks.iter().find(|(kept_idx, _)| *kept_idx == chunk_idx) {
            return Ok(cells.clone());
        }
        let chunk = self.chunks.get(chunk_idx).and_then(|&(part, at, _)| Some((self.parts.get(part)?, at)));
        let Some(((plan, reader), at)) = chunk else {
            return Err(DataError::mismatch(&self.name, format!("a chunk {chunk_idx}"), self.chunks.len()));
        };
        let cells = Arc::new(reader.read(plan, at)?);
        let bytes = |cells: &[FrozenCells]| cells.iter().map(FrozenCells::bytes).sum::<usize>();
        let mut kept = kept();
        kept.bytes += bytes(&cells);
        kept.chunks.push_back((chunk_idx, cells.clone()));
        while kept.bytes > KEPT_CHUNKS && kept.chunks.len() > 1 {
            if let Some((_, oldest)) = kept.chunks.pop_front() {
                kept.bytes = kept.bytes.saturating_sub(bytes(&oldest));
            }
        }
        Ok(cells)
    }
}

/// Chunks of rows of one size, for formats that have none themselves.
pub(super) fn chunks_of(n_rows: usize, size: usize) -> Vec<usize> {
    (0..n_rows).step_by(size.max(1)).map(|start| size.max(1).min(n_rows - start)).collect()
}

/// The rows of a chunk that [`chunks_of`] made.
pub(super) fn rows_of_chunk(chunk_idx: usize, size: usize, n_rows: usize) -> Range<usize> {
    let start = chunk_idx.saturating_mul(size).min(n_rows);
    start..start.saturating_add(size).min(n_rows)
}
