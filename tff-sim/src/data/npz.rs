//! NumPy's `.npz`: each array is a column, its first dimension the rows. A `.npy` is one array, a column of the file's name.
//!
//! Arrays that are stored as they are, as `numpy.savez` does, are read in chunks; those that are compressed are in memory.

use super::DataError;
use super::cells::FrozenCells;
use super::columns::{Column, Plan};
use super::convert::{ColumnData, push_keys, tensors};
use super::divide::Keys;
use super::table::{Chunks, Part, Request, chunks_of, rows_of_chunk};
use crate::files::{FileProblem, name_of};
use crate::npy::{self, Elements, Header, NpyError};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use zip::{CompressionMethod, ZipArchive};

type Result<T> = std::result::Result<T, DataError>;

/// The rows that are read at a time.
const CHUNK: usize = 1024;
/// The most bytes of an array that is in memory.
const MAX_ARRAY: usize = 64 << 30;

/// Opens an archive.
pub(super) fn open(path: &Path, request: &Request<'_>) -> Result<Part> {
    let name = name_of(path);
    let fail = |error: zip::result::ZipError| DataError::Format { name: name.clone(), problem: error.to_string() };
    let mut archive = ZipArchive::new(open_file(path, &name)?).map_err(fail)?;
    let mut arrays = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(fail)?;
        let Some(column) = entry.name().strip_suffix(".npy").map(str::to_owned) else { continue };
        // What is no array of numbers or text may lie beside those that are.
        let header = match Header::read(&mut entry) {
            Ok(header) if !header.dims.is_empty() => header,
            Ok(_) | Err(NpyError::DType(_)) => continue,
            Err(error) => return Err(array_error(&name, &column, error)),
        };
        let is_stored = entry.compression() == CompressionMethod::Stored && !header.is_fortran;
        let at = entry.data_start().filter(|_| is_stored).map(|start| start + header.length);
        let available = entry.size().saturating_sub(header.length);
        arrays.push(NpzArray { column, index, header, at, available, in_memory: None });
    }
    let load = |archive: &mut ZipArchive<_>, array: &NpzArray| {
        let mut entry = archive.by_index(array.index).map_err(fail)?;
        let bytes = Header::read(&mut entry).and_then(|header| npy::read_elements(&header, &mut entry, MAX_ARRAY));
        bytes.map_err(|error| array_error(&name, &array.column, error))
    };
    let shape = needed(&name, &mut arrays, request, |array| load(&mut archive, array))?;
    part(name.clone(), archive.into_inner(), arrays, shape)
}

/// Opens a single array.
pub(super) fn open_npy(path: &Path, request: &Request<'_>) -> Result<Part> {
    let name = name_of(path);
    let column = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut file = open_file(path, &name)?;
    let header = Header::read(&mut file).map_err(|error| array_error(&name, &column, error))?;
    if header.dims.is_empty() {
        return Err(DataError::mismatch(name, "an array with a dimension for the rows", "a scalar"));
    }
    let at = Some(header.length).filter(|_| !header.is_fortran);
    let file_size = file.get_ref().metadata().map_err(|error| FileProblem::Io(error).of(&name))?.len();
    let available = file_size.saturating_sub(header.length);
    let mut arrays = [NpzArray { column, index: 0, header, at, available, in_memory: None }];
    let shape = needed(&name, &mut arrays, request, |array| {
        // The header has been read: the elements follow.
        let bytes = npy::read_elements(&array.header, &mut file, MAX_ARRAY);
        bytes.map_err(|error| array_error(&name, &array.column, error))
    })?;
    part(name, file, arrays.into(), shape)
}

fn open_file(path: &Path, name: &str) -> Result<BufReader<File>> {
    File::open(path).map(BufReader::new).map_err(|error| FileProblem::Io(error).of(name).into())
}

/// What is needed of the arrays.
struct Shape {
    header: Vec<Column>,
    plan: Plan,
    key_columns: Vec<usize>,
    n_rows: usize,
}

/// Checks that the arrays that are needed have equally many rows, and loads those that cannot be read in chunks.
fn needed(
    name: &str,
    arrays: &mut [NpzArray],
    request: &Request<'_>,
    mut load: impl FnMut(&NpzArray) -> Result<Vec<u8>>,
) -> Result<Shape> {
    let header: Vec<Column> = arrays.iter().map(NpzArray::as_column).collect();
    let plan = request.plan(name, &header)?;
    let key_columns = request.key_positions(name, &header)?;
    let mut needed = plan.columns();
    needed.extend(&key_columns);
    let mut n_rows = None;
    for (_, array) in (0..).zip(arrays).filter(|(column, _)| needed.contains(column)) {
        let rows = array.n_rows();
        if *n_rows.get_or_insert(rows) != rows {
            let place = format!("{name}: array {}", array.column);
            return Err(DataError::mismatch(place, format!("{} rows, as others have", n_rows.unwrap_or(0)), rows));
        }
        if array.at.is_none() {
            array.in_memory = Some(load(array)?);
            continue;
        }
        let expected = array.header.n_bytes().map_err(|error| array_error(name, &array.column, error))?;
        if expected as u64 > array.available {
            let found = usize::try_from(array.available).unwrap_or(usize::MAX);
            return Err(array_error(name, &array.column, NpyError::Size { expected: expected.to_string(), found }));
        }
    }
    Ok(Shape { header, plan, key_columns, n_rows: n_rows.unwrap_or(0) })
}

fn part(name: String, file: BufReader<File>, arrays: Vec<NpzArray>, shape: Shape) -> Result<Part> {
    let Shape { header, plan, key_columns, n_rows } = shape;
    let reader = Npz { name, file: Mutex::new(file), arrays, header, n_rows };
    let mut keys = vec![Keys::default(); key_columns.len()];
    for (&column, keys) in key_columns.iter().zip(&mut keys) {
        let place = format!("{}: array {}", reader.name, reader.header.get(column).map_or("", |it| it.name.as_str()));
        push_keys(keys, &place, &reader.rows(column, 0..n_rows)?)?;
    }
    Ok(Part { plan, keys, own: None, chunks: chunks_of(n_rows, CHUNK), reader: Box::new(reader) })
}

fn array_error(name: &str, column: &str, error: NpyError) -> DataError {
    DataError::Format { name: name.to_owned(), problem: format!("array {column}: {error}") }
}

/// The file, and where its arrays are.
#[derive(Debug)]
struct Npz {
    name: String,
    file: Mutex<BufReader<File>>,
    arrays: Vec<NpzArray>,
    header: Vec<Column>,
    n_rows: usize,
}

#[derive(Debug)]
struct NpzArray {
    column: String,
    /// The position in the archive.
    index: usize,
    header: Header,
    /// Where the elements begin in the file, if they can be read there.
    at: Option<u64>,
    /// How many bytes of elements there are.
    available: u64,
    /// The elements otherwise, where they are needed.
    in_memory: Option<Vec<u8>>,
}

impl NpzArray {
    fn n_rows(&self) -> usize {
        self.header.dims.first().map_or(0, |&rows| usize::try_from(rows).unwrap_or(usize::MAX))
    }

    fn as_column(&self) -> Column {
        let width = self.header.dims.iter().skip(1).fold(1u64, |width, dim| width.saturating_mul(*dim));
        Column { name: self.column.clone(), width: usize::try_from(width).unwrap_or(usize::MAX) }
    }
}

impl Npz {
    fn rows(&self, column: usize, rows: Range<usize>) -> Result<(ColumnData, usize)> {
        let (Some(array), Some(Column { width, .. })) = (self.arrays.get(column), self.header.get(column)) else {
            return Err(DataError::mismatch(&self.name, "an array", "none"));
        };
        let too_large = || {
            let error = NpyError::Size { expected: format!("at most {MAX_ARRAY}"), found: usize::MAX };
            array_error(&self.name, &array.column, error)
        };
        let size = width.checked_mul(array.header.stored.size()).ok_or_else(too_large)?;
        let (Some(start), Some(length)) = (rows.start.checked_mul(size), rows.len().checked_mul(size)) else {
            return Err(too_large());
        };
        if length > MAX_ARRAY {
            return Err(too_large());
        }
        let bytes = match (&array.in_memory, array.at) {
            (Some(bytes), _) => bytes.get(start..start + length).unwrap_or_default().to_vec(),
            (None, Some(at)) => {
                let mut bytes = Vec::new();
                let io = |error| DataError::from(FileProblem::Io(error).of(&self.name));
                let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(at.saturating_add(start as u64))).map_err(io)?;
                (&mut *file).take(length as u64).read_to_end(&mut bytes).map_err(io)?;
                bytes
            }
            (None, None) => Vec::new(),
        };
        if bytes.len() != length {
            let error = NpyError::Size { expected: length.to_string(), found: bytes.len() };
            return Err(array_error(&self.name, &array.column, error));
        }
        let data = match npy::decode(array.header.stored, bytes) {
            Elements::Dense(dtype, bytes) => ColumnData::Dense(dtype, bytes),
            Elements::Strings(strings) => ColumnData::Strings(strings),
        };
        Ok((data, *width))
    }
}

impl Chunks for Npz {
    fn read(&self, plan: &Plan, chunk_idx: usize) -> Result<Vec<FrozenCells>> {
        let rows = rows_of_chunk(chunk_idx, CHUNK, self.n_rows);
        tensors(&self.name, plan, &self.header, rows.clone(), |column| self.rows(column, rows.clone()))
    }
}
