//! Files of TFRecord whose records are examples. Where each record begins is read when the file is opened.

use super::DataError;
use super::example;
use super::table::{Part, Request, chunks_of, rows_of_chunk};
use crate::files::{FileProblem, name_of};
use crate::tfrecord::{self, TfrecordError};
use bytes::Bytes;
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

type Result<T> = std::result::Result<T, DataError>;

/// The records that are read at a time.
const CHUNK: usize = 1024;

/// Opens the file.
pub(super) fn open(path: &Path, request: &Request<'_>) -> Result<Part> {
    let name = name_of(path);
    let file = File::open(path).map_err(|error| FileProblem::Io(error).of(&name))?;
    let mut file = BufReader::new(file);
    let starts = tfrecord::index(&mut file).map_err(|error| format(&name, &error))?;
    let n_rows = starts.len();
    let records = Records { name: name.clone(), file: Mutex::new(file), starts };
    let first = records.rows(0..n_rows.min(1))?;
    let Some(first) = first.first() else { return Err(DataError::mismatch(&name, "records", "none")) };
    example::open(&name, records, first, None, request)
}

fn format(name: &str, error: &TfrecordError) -> DataError {
    DataError::Format { name: name.to_owned(), problem: error.to_string() }
}

#[derive(Debug)]
struct Records {
    name: String,
    file: Mutex<BufReader<File>>,
    /// Where each record begins.
    starts: Vec<u64>,
}

impl Records {
    fn rows(&self, rows: Range<usize>) -> Result<Vec<Bytes>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let start = self.starts.get(rows.start).copied().unwrap_or(0);
        file.seek(SeekFrom::Start(start)).map_err(|error| FileProblem::Io(error).of(&self.name))?;
        let mut records = Vec::with_capacity(rows.len());
        for row in rows {
            let record = tfrecord::read(&mut *file, row).map_err(|error| format(&self.name, &error))?;
            records.push(
                record.ok_or_else(|| format(&self.name, &TfrecordError::Truncated { record: row, expected: 1 }))?,
            );
        }
        Ok(records)
    }
}

impl example::Records for Records {
    fn chunks(&self) -> Vec<usize> {
        chunks_of(self.starts.len(), CHUNK)
    }

    fn read(&self, chunk_idx: usize) -> Result<Vec<Bytes>> {
        self.rows(rows_of_chunk(chunk_idx, CHUNK, self.starts.len()))
    }
}
