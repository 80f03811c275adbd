//! `tf.train.Example`: named lists of numbers or strings, the rows of TFRecord files and of TFF's client data.

use super::DataError;
use super::cells::{Cells, FrozenCells, shown};
use super::columns::{Column, Plan, TensorPlan};
use super::convert::Number;
use super::divide::Keys;
use super::table::{Chunks, Part, RECORD, Request};
use bytes::Bytes;
use prost::Message;
use std::collections::BTreeMap;
use std::fmt::Debug;
use tff_types::DType;

type Result<T> = std::result::Result<T, DataError>;

/// TensorFlow's message; names and numbers are its own.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Example {
    #[prost(message, optional, tag = "1")]
    features: Option<Features>,
}

#[derive(Clone, PartialEq, Message)]
struct Features {
    #[prost(btree_map = "string, message", tag = "1")]
    feature: BTreeMap<String, Feature>,
}

#[derive(Clone, PartialEq, Message)]
struct Feature {
    #[prost(oneof = "Kind", tags = "1, 2, 3")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Kind {
    #[prost(message, tag = "1")]
    Bytes(BytesList),
    #[prost(message, tag = "2")]
    Floats(FloatList),
    #[prost(message, tag = "3")]
    Ints(Int64List),
}

#[derive(Clone, PartialEq, Message)]
struct BytesList {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    value: Vec<Bytes>,
}

#[derive(Clone, PartialEq, Message)]
struct FloatList {
    #[prost(float, repeated, tag = "1")]
    value: Vec<f32>,
}

#[derive(Clone, PartialEq, Message)]
struct Int64List {
    #[prost(int64, repeated, tag = "1")]
    value: Vec<i64>,
}

impl Kind {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(list) => list.value.len(),
            Self::Floats(list) => list.value.len(),
            Self::Ints(list) => list.value.len(),
        }
    }
}

impl Example {
    fn feature(&self, name: &str) -> Option<&Kind> {
        self.features.as_ref()?.feature.get(name)?.kind.as_ref()
    }
}

/// Records that are examples, read a chunk at a time.
pub(super) trait Records: Debug + Send + Sync + 'static {
    /// How many records each chunk has.
    fn chunks(&self) -> Vec<usize>;

    /// The records of the chunk at this position.
    fn read(&self, chunk_idx: usize) -> Result<Vec<Bytes>>;
}

/// The table of these records, of which `first` is the first. `own` says whose each row is, if the file does.
pub(super) fn open(
    name: &str,
    records: impl Records,
    first: &Bytes,
    own: Option<Keys>,
    request: &Request<'_>,
) -> Result<Part> {
    let (examples, plan) = Examples::new(name, first, request)?;
    let chunks = records.chunks();
    let mut keys = vec![Keys::default(); examples.key_columns.len()];
    if !keys.is_empty() {
        let mut row = 0;
        for chunk_idx in 0..chunks.len() {
            for record in records.read(chunk_idx)? {
                examples.push_keys(&mut keys, row, &record)?;
                row += 1;
            }
        }
    }
    let starts = chunks.iter().scan(0, |next, n_rows| Some(std::mem::replace(next, *next + n_rows))).collect();
    Ok(Part { plan, keys, own, chunks, reader: Box::new(Reader { records, starts, examples }) })
}

/// Reads the tensors of chunks of records.
#[derive(Debug)]
struct Reader<R> {
    records: R,
    /// The first row of each chunk.
    starts: Vec<usize>,
    examples: Examples,
}

impl<R: Records> Chunks for Reader<R> {
    fn read(&self, plan: &Plan, chunk_idx: usize) -> Result<Vec<FrozenCells>> {
        let first = self.starts.get(chunk_idx).copied().unwrap_or(0);
        self.examples.tensors(plan, first, &self.records.read(chunk_idx)?)
    }
}

/// How records become tensors.
#[derive(Debug)]
struct Examples {
    /// The file, in messages.
    name: String,
    header: Vec<Column>,
    key_columns: Vec<usize>,
}

impl Examples {
    /// Takes the columns from the first record; what they are called, and how many elements they have.
    fn new(name: &str, first: &Bytes, request: &Request<'_>) -> Result<(Self, Plan)> {
        let record = Column { name: RECORD.to_owned(), width: 1 };
        let mut header = Vec::new();
        // A record that is taken as a whole need not be an example.
        if let Ok(example) = Example::decode(first.clone()) {
            let features = example.features.unwrap_or_default().feature.into_iter();
            header.extend(features.filter_map(|(name, feature)| Some(Column { name, width: feature.kind?.len() })));
        }
        header.push(record);
        let plan = request.plan(name, &header)?;
        let key_columns = request.key_positions(name, &header)?;
        Ok((Self { name: name.to_owned(), header, key_columns }, plan))
    }

    /// No more than the values of the columns that are needed to open the table.
    fn push_keys(&self, keys: &mut [Keys], row: usize, record: &Bytes) -> Result<()> {
        if self.key_columns.is_empty() {
            return Ok(());
        }
        let example = self.decode(row, record)?;
        for (&column, keys) in self.key_columns.iter().zip(keys) {
            let column = self.header.get(column).map_or("", |column| column.name.as_str());
            let wrong = |found: String| DataError::mismatch(self.place(row, column), "one number or text", found);
            match example.feature(column) {
                Some(Kind::Ints(list)) if list.value.len() == 1 => {
                    list.value.iter().for_each(|number| keys.push(&number.to_string()));
                }
                Some(Kind::Bytes(list)) if list.value.len() == 1 => {
                    for bytes in &list.value {
                        keys.push(std::str::from_utf8(bytes).map_err(|_| wrong(shown(bytes)))?);
                    }
                }
                Some(other) => return Err(wrong(format!("{} elements", other.len()))),
                None => return Err(wrong("no such feature".to_owned())),
            }
        }
        Ok(())
    }

    fn place(&self, row: usize, column: &str) -> String {
        format!("{}: record {row}: feature {column}", self.name)
    }

    fn decode(&self, row: usize, record: &Bytes) -> Result<Example> {
        Example::decode(record.clone()).map_err(|error| DataError::Format {
            name: self.name.clone(),
            problem: format!("record {row}: expected a tf.train.Example, found {error}"),
        })
    }

    /// The tensors of these records, the first of which is counted as `first` in messages.
    fn tensors(&self, plan: &Plan, first: usize, records: &[Bytes]) -> Result<Vec<FrozenCells>> {
        let mut cells: Vec<Cells> = plan.tensors.iter().map(|tensor| Cells::new(tensor.dtype)).collect();
        let needs_features = plan.columns().iter().any(|&column| column + 1 < self.header.len());
        for (row, record) in (first..).zip(records) {
            let example = if needs_features { self.decode(row, record)? } else { Example::default() };
            for (tensor, cells) in plan.tensors.iter().zip(&mut cells) {
                self.push(tensor, cells, row, record, &example)?;
            }
        }
        Ok(cells.into_iter().map(Cells::freeze).collect())
    }

    fn push(
        &self,
        tensor: &TensorPlan,
        cells: &mut Cells,
        row: usize,
        record: &Bytes,
        example: &Example,
    ) -> Result<()> {
        for &column in &tensor.columns {
            let Some(column) = self.header.get(column) else { continue };
            let wrong =
                |expected: String, found: String| DataError::mismatch(self.place(row, &column.name), expected, found);
            if column.name == RECORD {
                match cells {
                    Cells::Strings(strings) => strings.push(record.clone()),
                    Cells::Dense(_) => return Err(wrong(DType::String.to_string(), tensor.dtype.to_string())),
                }
                continue;
            }
            let kind = example.feature(&column.name);
            let kind = kind.ok_or_else(|| wrong(tensor.dtype.to_string(), "no such feature".to_owned()))?;
            if kind.len() != column.width {
                return Err(wrong(format!("{} elements", column.width), kind.len().to_string()));
            }
            let unfit = |found: String| wrong(tensor.dtype.to_string(), found);
            match kind {
                Kind::Ints(list) => list.value.iter().try_for_each(|&int| {
                    let number = Number::Int(int.into());
                    cells.push_number(tensor.dtype, number).ok_or_else(|| unfit(format!("int64 {int}")))
                })?,
                Kind::Floats(list) => list.value.iter().try_for_each(|&float| {
                    let number = Number::Float(float.into());
                    cells.push_number(tensor.dtype, number).ok_or_else(|| unfit(format!("float32 {float}")))
                })?,
                Kind::Bytes(list) => match cells {
                    Cells::Strings(strings) => strings.extend(list.value.iter().cloned()),
                    Cells::Dense(_) => return Err(unfit("str".to_owned())),
                },
            }
        }
        Ok(())
    }
}
