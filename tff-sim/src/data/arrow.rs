//! Apache Parquet, and Apache Arrow's IPC as a file (Feather) or a stream, as data sets of Hugging Face are stored.
//!
//! A chunk is a row group or a record batch. A stream has no index and is in memory.

use super::DataError;
use super::cells::FrozenCells;
use super::columns::{Column, Plan};
use super::convert::{ColumnData, push_keys, tensors};
use super::divide::Keys;
use super::table::{Chunks, Part, Request};
use crate::files::{FileProblem, name_of};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, Schema};
use bytes::Bytes;
use half::f16;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use tff_types::DType;

type Result<T> = std::result::Result<T, DataError>;

/// How many lists a list may be nested in.
const MAX_NESTED: usize = 8;

/// What the readers of the formats say is wrong, on one line.
fn format(name: &str, error: &dyn std::fmt::Display) -> DataError {
    let problem = error.to_string();
    DataError::Format { name: name.to_owned(), problem: problem.lines().next().unwrap_or_default().to_owned() }
}

fn open_read(path: &Path, name: &str) -> Result<File> {
    Ok(File::open(path).map_err(|error| FileProblem::Io(error).of(name))?)
}

/// Opens a Parquet file.
pub(super) fn open_parquet(path: &Path, request: &Request<'_>) -> Result<Part> {
    let name = name_of(path);
    let file = open_read(path, &name)?;
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|it| format(&name, &it))?;
    let groups = metadata.metadata().row_groups();
    let rows: Option<Vec<usize>> = groups.iter().map(|group| usize::try_from(group.num_rows()).ok()).collect();
    let rows = rows.ok_or_else(|| DataError::mismatch(&name, "row groups", "one with a negative number of rows"))?;
    let schema = metadata.schema().clone();
    Batches { name, schema, rows, kind: Kind::Parquet { file, metadata }, header: Vec::new() }.into_part(request)
}

/// Opens a file or a stream of Arrow's IPC.
pub(super) fn open_ipc(path: &Path, request: &Request<'_>) -> Result<Part> {
    const MAGIC: &[u8] = b"ARROW1";
    let name = name_of(path);
    let mut file = open_read(path, &name)?;
    let mut start = Vec::new();
    let io = |error| DataError::from(FileProblem::Io(error).of(&name));
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut start).map_err(io)?;
    file.rewind().map_err(io)?;
    let arrow = |error: ArrowError| format(&name, &error);
    if start != MAGIC {
        let reader = StreamReader::try_new(BufReader::new(file), None).map_err(arrow)?;
        let schema = reader.schema();
        let batches = reader.collect::<std::result::Result<Vec<_>, _>>().map_err(arrow)?;
        let rows = batches.iter().map(RecordBatch::num_rows).collect();
        return Batches { name, schema, rows, kind: Kind::Stream(batches), header: Vec::new() }.into_part(request);
    }
    let reader = FileReader::try_new(BufReader::new(file), Some(Vec::new())).map_err(arrow)?;
    let rows: std::result::Result<Vec<usize>, _> = reader.map(|batch| batch.map(|batch| batch.num_rows())).collect();
    let rows = rows.map_err(arrow)?;
    let reader = FileReader::try_new(BufReader::new(open_read(path, &name)?), None).map_err(arrow)?;
    let (schema, path) = (reader.schema(), path.to_owned());
    Batches { name, schema, rows, kind: Kind::File(path), header: Vec::new() }.into_part(request)
}

/// Record batches.
#[derive(Debug)]
struct Batches {
    name: String,
    schema: std::sync::Arc<Schema>,
    /// How many rows each batch has.
    rows: Vec<usize>,
    kind: Kind,
    header: Vec<Column>,
}

#[derive(Debug)]
enum Kind {
    Parquet { file: File, metadata: ArrowReaderMetadata },
    File(PathBuf),
    Stream(Vec<RecordBatch>),
}

impl Batches {
    fn into_part(mut self, request: &Request<'_>) -> Result<Part> {
        let lists = |ty: &DataType| matches!(ty, DataType::List(_) | DataType::LargeList(_));
        // How long lists are is said by the first row only.
        let fields = self.schema.fields();
        let is_open: Vec<usize> =
            (0..).zip(fields).filter(|(_, field)| has(field.data_type(), lists)).map(|it| it.0).collect();
        let first = self.rows.iter().position(|&rows| rows > 0);
        let widths = match first {
            Some(batch_idx) if !is_open.is_empty() => self.columns(batch_idx, &is_open, true)?,
            _ => Vec::new(),
        };
        let width = |column: usize, ty: &DataType| match is_open.iter().position(|&open| open == column) {
            Some(position) => widths.get(position).map_or(1, |(_, width)| *width),
            None => fixed_width(ty),
        };
        let column = |(column, field): (usize, &std::sync::Arc<arrow_schema::Field>)| Column {
            name: field.name().clone(),
            width: width(column, field.data_type()),
        };
        self.header = fields.iter().enumerate().map(column).collect();
        let plan = request.plan(&self.name, &self.header)?;
        let key_columns = request.key_positions(&self.name, &self.header)?;
        let mut keys = vec![Keys::default(); key_columns.len()];
        for batch_idx in 0..self.rows.len() {
            if key_columns.is_empty() {
                break;
            }
            for ((column, &position), keys) in
                self.columns(batch_idx, &key_columns, false)?.iter().zip(&key_columns).zip(&mut keys)
            {
                let column_name = self.header.get(position).map_or("", |it| it.name.as_str());
                push_keys(keys, &format!("{}: column {column_name}", self.name), column)?;
            }
        }
        Ok(Part { plan, keys, own: None, chunks: self.rows.clone(), reader: Box::new(self) })
    }

    /// These columns, in ascending order of position or not, of a batch; only the first row where that is enough.
    fn columns(&self, batch_idx: usize, columns: &[usize], only_first: bool) -> Result<Vec<(ColumnData, usize)>> {
        let mut sorted = columns.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let batches = self.batches(batch_idx, &sorted, only_first)?;
        let start: usize = self.rows.iter().take(batch_idx).sum();
        let column = |&column: &usize| {
            let position = sorted.binary_search(&column).unwrap_or_default();
            let name = self.schema.fields().get(column).map_or("", |field| field.name().as_str());
            let mut parts = Vec::new();
            let mut row = start;
            for batch in &batches {
                let data = batch.columns().get(position);
                let data = data.ok_or_else(|| DataError::mismatch(&self.name, format!("a column {name}"), "none"))?;
                let data = if only_first { data.slice(0, data.len().min(1)) } else { data.clone() };
                let flat = flatten(&data, MAX_NESTED).map_err(|bad| {
                    let place = format!("{}: row {}: column {name}", self.name, row + bad.row);
                    DataError::mismatch(place, bad.expected, bad.found)
                })?;
                row += batch.num_rows();
                parts.push(flat);
            }
            join(parts).ok_or_else(|| {
                DataError::mismatch(format!("{}: column {name}", self.name), "lists of one length", "lists of several")
            })
        };
        columns.iter().map(column).collect()
    }

    fn batches(&self, batch_idx: usize, columns: &[usize], only_first: bool) -> Result<Vec<RecordBatch>> {
        let fail = |error: &dyn std::fmt::Display| format(&self.name, error);
        match &self.kind {
            Kind::Parquet { file, metadata } => {
                let file = file.try_clone().map_err(|error| FileProblem::Io(error).of(&self.name))?;
                let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
                let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
                let n_rows = if only_first { 1 } else { self.rows.get(batch_idx).copied().unwrap_or(0) };
                let builder = builder.with_row_groups(vec![batch_idx]).with_projection(mask);
                let reader =
                    builder.with_batch_size(n_rows.max(1)).with_limit(n_rows).build().map_err(|it| fail(&it))?;
                reader.collect::<std::result::Result<_, _>>().map_err(|error: ArrowError| fail(&error))
            }
            Kind::File(path) => {
                let file = BufReader::new(open_read(path, &self.name)?);
                let mut reader = FileReader::try_new(file, Some(columns.to_vec())).map_err(|it| fail(&it))?;
                reader.set_index(batch_idx).map_err(|it| fail(&it))?;
                let batch = reader.next().transpose().map_err(|it| fail(&it))?;
                Ok(batch.into_iter().collect())
            }
            Kind::Stream(batches) => {
                let batch = batches.get(batch_idx).map(|batch| batch.project(columns)).transpose();
                Ok(batch.map_err(|it| fail(&it))?.into_iter().collect())
            }
        }
    }
}

impl Chunks for Batches {
    fn read(&self, plan: &Plan, chunk_idx: usize) -> Result<Vec<FrozenCells>> {
        let columns = plan.columns();
        let data = self.columns(chunk_idx, &columns, false)?;
        let start: usize = self.rows.iter().take(chunk_idx).sum();
        let n_rows = self.rows.get(chunk_idx).copied().unwrap_or(0);
        tensors(&self.name, plan, &self.header, start..start + n_rows, |column| {
            let position = columns.binary_search(&column).unwrap_or_default();
            data.get(position).cloned().ok_or_else(|| DataError::mismatch(&self.name, "a column", "none"))
        })
    }
}

/// Whether a type, or what it is a list of, is one of these.
fn has(ty: &DataType, is: impl Fn(&DataType) -> bool + Copy) -> bool {
    match ty {
        DataType::FixedSizeList(field, _) | DataType::List(field) | DataType::LargeList(field) => {
            is(ty) || has(field.data_type(), is)
        }
        _ => is(ty),
    }
}

fn fixed_width(ty: &DataType) -> usize {
    match ty {
        DataType::FixedSizeList(field, size) => {
            usize::try_from(*size).unwrap_or(0).saturating_mul(fixed_width(field.data_type()))
        }
        _ => 1,
    }
}

/// Why an array has no elements of tensors.
struct Bad {
    row: usize,
    expected: &'static str,
    found: String,
}

/// The bytes of an Arrow buffer, without a copy.
struct Shared(ArrayRef, fn(&dyn Array) -> &[u8]);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        (self.1)(&*self.0)
    }
}

/// The elements of a column and how many a row has.
fn flatten(array: &ArrayRef, depth: usize) -> std::result::Result<(ColumnData, usize), Bad> {
    let bad = |row, expected, found: String| Bad { row, expected, found };
    let first_gap = || (0..array.len()).find(|&row| array.is_null(row)).unwrap_or(0);
    let has_gaps = array.null_count() > 0;
    if has_gaps && !array.data_type().is_floating() && !matches!(array.data_type(), DataType::Dictionary(..)) {
        return Err(bad(first_gap(), "a value", "a gap".to_owned()));
    }
    macro_rules! dense {
        ($arrow:ty, $dtype:ident) => {{
            let bytes = Bytes::from_owner(Shared(array.clone(), values::<$arrow>));
            Ok((ColumnData::Dense(DType::$dtype, bytes), 1))
        }};
    }
    // As pandas reads it, a gap among floats is a NaN.
    macro_rules! float {
        ($arrow:ty, $dtype:ident, $nan:expr) => {{
            if !has_gaps {
                return dense!($arrow, $dtype);
            }
            let numbers = array.as_primitive::<$arrow>().iter().map(|number| number.unwrap_or($nan));
            let bytes: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes()).collect();
            Ok((ColumnData::Dense(DType::$dtype, bytes.into()), 1))
        }};
    }
    macro_rules! strings {
        ($array:expr) => {{
            let strings = $array.iter().map(|string| {
                let string: &[u8] = string.unwrap_or_default().as_ref();
                Bytes::copy_from_slice(string)
            });
            Ok((ColumnData::Strings(strings.collect()), 1))
        }};
    }
    match array.data_type() {
        DataType::Boolean => {
            let bytes: Vec<u8> = array.as_boolean().iter().map(|bit| u8::from(bit.unwrap_or_default())).collect();
            Ok((ColumnData::Dense(DType::Bool, bytes.into()), 1))
        }
        DataType::Int8 => dense!(Int8Type, Int8),
        DataType::Int16 => dense!(Int16Type, Int16),
        DataType::Int32 => dense!(Int32Type, Int32),
        DataType::Int64 => dense!(Int64Type, Int64),
        DataType::UInt8 => dense!(UInt8Type, UInt8),
        DataType::UInt16 => dense!(UInt16Type, UInt16),
        DataType::UInt32 => dense!(UInt32Type, UInt32),
        DataType::UInt64 => dense!(UInt64Type, UInt64),
        DataType::Float16 => float!(Float16Type, Float16, f16::NAN),
        DataType::Float32 => float!(Float32Type, Float32, f32::NAN),
        DataType::Float64 => float!(Float64Type, Float64, f64::NAN),
        DataType::Utf8 => strings!(array.as_string::<i32>()),
        DataType::LargeUtf8 => strings!(array.as_string::<i64>()),
        DataType::Utf8View => strings!(array.as_string_view()),
        DataType::Binary => strings!(array.as_binary::<i32>()),
        DataType::LargeBinary => strings!(array.as_binary::<i64>()),
        DataType::BinaryView => strings!(array.as_binary_view()),
        DataType::Dictionary(..) => {
            if has_gaps {
                return Err(bad(first_gap(), "a value", "a gap".to_owned()));
            }
            let dictionary = array.as_any_dictionary();
            let keys = dictionary.normalized_keys();
            let (values, width) = flatten(dictionary.values(), depth)?;
            Ok((take(&values, width, &keys), width))
        }
        DataType::FixedSizeList(_, size) if depth > 0 => {
            let list = array.as_fixed_size_list();
            let (values, width) = flatten(list.values(), depth - 1)?;
            let size = usize::try_from(*size).unwrap_or(0).saturating_mul(width);
            Ok((values, size))
        }
        DataType::List(_) if depth > 0 => {
            let list = array.as_list::<i32>();
            of_list(list.values(), list.offsets().iter().map(|&offset| i64::from(offset)), depth)
        }
        DataType::LargeList(_) if depth > 0 => {
            let list = array.as_list::<i64>();
            of_list(list.values(), list.offsets().iter().copied(), depth)
        }
        other => Err(bad(0, "numbers, text or lists of them", other.to_string())),
    }
}

fn values<T: ArrowPrimitiveType>(array: &dyn Array) -> &[u8] {
    let values = array.as_primitive::<T>().values();
    values.inner().as_slice()
}

/// The elements of lists, which must be of one length.
fn of_list(
    values: &ArrayRef,
    offsets: impl Iterator<Item = i64>,
    depth: usize,
) -> std::result::Result<(ColumnData, usize), Bad> {
    let offsets: Vec<usize> = offsets.map(|offset| usize::try_from(offset).unwrap_or(0)).collect();
    let (start, end) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
    let lengths = || offsets.iter().zip(offsets.iter().skip(1)).map(|(start, end)| end.saturating_sub(*start));
    let length = lengths().next().unwrap_or(0);
    if let Some((row, other)) = lengths().enumerate().find(|(_, other)| *other != length) {
        return Err(Bad { row, expected: "lists of one length", found: format!("{length}, then {other} elements") });
    }
    let (values, width) = flatten(&values.slice(start, end.saturating_sub(start)), depth - 1)?;
    Ok((values, width.saturating_mul(length)))
}

/// The rows at these positions, each of `width` elements.
fn take(data: &ColumnData, width: usize, positions: &[usize]) -> ColumnData {
    match data {
        ColumnData::Dense(dtype, bytes) => {
            let size = width.saturating_mul(dtype.size().unwrap_or(1));
            let rows =
                positions.iter().filter_map(|row| bytes.get(row.checked_mul(size)?..(row + 1).checked_mul(size)?));
            ColumnData::Dense(*dtype, rows.flatten().copied().collect())
        }
        ColumnData::Strings(strings) => {
            let rows = positions.iter().filter_map(|row| strings.get(row * width..(row + 1) * width));
            ColumnData::Strings(rows.flatten().cloned().collect())
        }
    }
}

/// The parts of a column one after the other; `None` where their rows have different numbers of elements.
fn join(mut parts: Vec<(ColumnData, usize)>) -> Option<(ColumnData, usize)> {
    if parts.len() <= 1 {
        return parts.pop();
    }
    let (first, width) = parts.first()?.clone();
    if parts.iter().any(|(_, other)| *other != width) {
        return None;
    }
    Some(match first {
        ColumnData::Dense(dtype, _) => {
            let bytes =
                parts.iter().flat_map(|(part, _)| if let ColumnData::Dense(_, it) = part { &it[..] } else { &[] });
            (ColumnData::Dense(dtype, bytes.copied().collect()), width)
        }
        ColumnData::Strings(_) => {
            let strings = parts
                .into_iter()
                .flat_map(|(part, _)| if let ColumnData::Strings(it) = part { it } else { Vec::new() });
            (ColumnData::Strings(strings.collect()), width)
        }
    })
}
