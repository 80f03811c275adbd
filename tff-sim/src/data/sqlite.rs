//! TFF's client data: a database with a table `examples(split_name, client_id, serialized_example_proto)`.
//!
//! A chunk is a client: its rows are read when it is sampled. What is compressed with LZMA is unpacked into a file that
//! vanishes with the source.

use super::DataError;
use super::divide::Keys;
use super::example;
use super::table::{Part, Request};
use crate::files::{FileProblem, name_of};
use bytes::Bytes;
use liblzma::read::XzDecoder;
use liblzma::stream::Stream;
use rusqlite::{Connection, OpenFlags, params};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tempfile::NamedTempFile;

type Result<T> = std::result::Result<T, DataError>;

/// How much memory decompression may take.
const LZMA_MEMORY: u64 = 1 << 30;

const CLIENTS: &str = "SELECT client_id, COUNT(*) FROM examples WHERE ?1 IS NULL OR split_name = ?1 \
                       GROUP BY client_id ORDER BY client_id";
const ROWS: &str = "SELECT serialized_example_proto FROM examples WHERE client_id = ?2 AND (?1 IS NULL OR split_name = ?1) \
                    ORDER BY rowid";

/// Opens the database.
pub(super) fn open(path: &Path, request: &Request<'_>) -> Result<Part> {
    let name = name_of(path);
    let is_packed = path.extension().is_some_and(|it| it == "lzma" || it == "xz");
    let unpacked = if is_packed { Some(unpack(path).map_err(|it| FileProblem::Io(it).of(&name))?) } else { None };
    let file = unpacked.as_ref().map_or(path, NamedTempFile::path);
    // A file that is not there would be told from one that is no database only by a number.
    File::open(file).map_err(|error| FileProblem::Io(error).of(&name))?;
    let sql = |error: rusqlite::Error| sql_error(&name, &error);
    let connection =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX);
    let connection = connection.map_err(sql)?;
    let split = request.config.split.clone();

    let mut clients = Vec::new();
    let mut counts = Vec::new();
    {
        let mut statement = connection.prepare(CLIENTS).map_err(sql)?;
        let mut rows = statement.query(params![split]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            clients.push(row.get::<_, String>(0).map_err(sql)?);
            let count: i64 = row.get(1).map_err(sql)?;
            counts.push(usize::try_from(count).unwrap_or(0));
        }
    }
    if clients.is_empty() {
        let expected =
            split.as_ref().map_or_else(|| "clients".to_owned(), |split| format!("clients in the split {split}"));
        return Err(DataError::mismatch(&name, expected, "none"));
    }
    let mut own = Keys::default();
    for (client, &count) in clients.iter().zip(&counts) {
        (0..count).for_each(|_| own.push(client));
    }
    let records =
        Records { name: name.clone(), connection: Mutex::new(connection), split, clients, counts, _unpacked: unpacked };
    let first = example::Records::read(&records, 0)?;
    let Some(first) = first.first() else { return Err(DataError::mismatch(&name, "rows", "none")) };
    example::open(&name, records, first, Some(own), request)
}

fn unpack(path: &Path) -> io::Result<NamedTempFile> {
    let stream = Stream::new_auto_decoder(LZMA_MEMORY, 0).map_err(io::Error::from)?;
    let mut reader = XzDecoder::new_stream(BufReader::new(File::open(path)?), stream);
    let mut file = NamedTempFile::new()?;
    io::copy(&mut reader, &mut file)?;
    Ok(file)
}

fn sql_error(name: &str, error: &rusqlite::Error) -> DataError {
    let problem = error.to_string();
    DataError::Format { name: name.to_owned(), problem: problem.lines().next().unwrap_or_default().to_owned() }
}

#[derive(Debug)]
struct Records {
    name: String,
    connection: Mutex<Connection>,
    split: Option<String>,
    clients: Vec<String>,
    /// How many rows each client has.
    counts: Vec<usize>,
    /// Deleted when it is dropped, behind the connection.
    _unpacked: Option<NamedTempFile>,
}

impl example::Records for Records {
    fn chunks(&self) -> Vec<usize> {
        self.counts.clone()
    }

    /// The records of the client at this position.
    fn read(&self, client_idx: usize) -> Result<Vec<Bytes>> {
        let (Some(client), Some(&count)) = (self.clients.get(client_idx), self.counts.get(client_idx)) else {
            return Err(DataError::NoClient { client_idx, n_clients: self.clients.len() });
        };
        let sql = |error: rusqlite::Error| sql_error(&self.name, &error);
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = connection.prepare_cached(ROWS).map_err(sql)?;
        let mut rows = statement.query(params![self.split, client]).map_err(sql)?;
        let mut records = Vec::with_capacity(count);
        while let Some(row) = rows.next().map_err(sql)? {
            let record = row.get_ref(0).map_err(sql)?.as_bytes();
            let record = record.map_err(|error| {
                let place = format!("{}: client {client}: row {}", self.name, records.len());
                DataError::mismatch(place, "bytes", error)
            })?;
            records.push(Bytes::copy_from_slice(record));
        }
        if records.len() != count {
            // Someone wrote to the database.
            let place = format!("{}: client {client}", self.name);
            return Err(DataError::mismatch(place, format!("{count} rows, as before"), records.len()));
        }
        Ok(records)
    }
}
