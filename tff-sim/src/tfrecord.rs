//! TensorFlow's files of records: each is a length, a checksum of it, bytes, and a checksum of them.

use bytes::Bytes;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use thiserror::Error;

/// The most bytes of a record.
const MAX_RECORD: u64 = 256 << 20;
/// The bytes before a record: its length and the checksum of that.
pub(crate) const HEADER: u64 = 12;
/// The bytes behind it: its checksum.
pub(crate) const FOOTER: u64 = 4;

/// Why a file is none of records.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TfrecordError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It ends within a record.
    #[error("record {record}: expected {expected} more bytes, found the end of the file")]
    Truncated {
        /// The record, counted from 0.
        record: usize,
        /// How many bytes are missing at least.
        expected: u64,
    },
    /// A checksum is not that of the bytes.
    #[error("record {record}: expected the checksum {expected:#010x} of its {what}, found {found:#010x}")]
    Checksum {
        /// The record, counted from 0.
        record: usize,
        /// What the checksum is of.
        what: &'static str,
        /// What the bytes have.
        expected: u32,
        /// What the file has.
        found: u32,
    },
    /// A record is too long.
    #[error("record {record}: expected at most {MAX_RECORD} bytes, found {found}")]
    TooLong {
        /// The record, counted from 0.
        record: usize,
        /// How long it is.
        found: u64,
    },
}

/// The checksum that the format has: CRC-32C, rotated and shifted.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Reads the length before a record; `None` at the end of the file.
fn read_length(reader: &mut impl Read, record: usize) -> Result<Option<u64>, TfrecordError> {
    let mut header = Vec::new();
    reader.take(HEADER).read_to_end(&mut header)?;
    let (Some(length), Some(found)) = (header.first_chunk::<8>(), header.last_chunk::<4>()) else {
        let expected = HEADER - header.len() as u64;
        return if header.is_empty() { Ok(None) } else { Err(TfrecordError::Truncated { record, expected }) };
    };
    if header.len() as u64 != HEADER {
        return Err(TfrecordError::Truncated { record, expected: HEADER - header.len() as u64 });
    }
    check(record, "length", length, *found)?;
    match u64::from_le_bytes(*length) {
        length if length > MAX_RECORD => Err(TfrecordError::TooLong { record, found: length }),
        length => Ok(Some(length)),
    }
}

fn check(record: usize, what: &'static str, bytes: &[u8], found: [u8; 4]) -> Result<(), TfrecordError> {
    let (expected, found) = (checksum(bytes), u32::from_le_bytes(found));
    if expected == found { Ok(()) } else { Err(TfrecordError::Checksum { record, what, expected, found }) }
}

/// Reads the next record; `None` at the end of the file. It is counted as `record` in messages.
///
/// # Errors
/// [`TfrecordError`].
pub fn read(reader: &mut impl Read, record: usize) -> Result<Option<Bytes>, TfrecordError> {
    let Some(length) = read_length(reader, record)? else { return Ok(None) };
    let mut bytes = Vec::new();
    reader.take(length + FOOTER).read_to_end(&mut bytes)?;
    let missing = (length + FOOTER).saturating_sub(bytes.len() as u64);
    let Some((data, found)) = bytes.split_last_chunk::<4>().filter(|_| missing == 0) else {
        return Err(TfrecordError::Truncated { record, expected: missing });
    };
    check(record, "bytes", data, *found)?;
    bytes.truncate(bytes.len() - 4);
    Ok(Some(bytes.into()))
}

/// Where each record begins. Only lengths are read and checked; the bytes are skipped.
pub(crate) fn index(file: &mut (impl Read + Seek)) -> Result<Vec<u64>, TfrecordError> {
    let end = file.seek(SeekFrom::End(0))?;
    let mut at = file.seek(SeekFrom::Start(0))?;
    let mut starts = Vec::new();
    loop {
        let Some(length) = read_length(file, starts.len())? else { return Ok(starts) };
        let next = at + HEADER + length + FOOTER;
        if next > end {
            return Err(TfrecordError::Truncated { record: starts.len(), expected: next - end });
        }
        starts.push(at);
        let skipped = i64::try_from(length + FOOTER).map_err(|_| io::Error::from(ErrorKind::InvalidData))?;
        file.seek_relative(skipped)?;
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(records: &[&[u8]]) -> Vec<u8> {
        let mut file = Vec::new();
        for record in records {
            let length = (record.len() as u64).to_le_bytes();
            file.extend_from_slice(&length);
            file.extend_from_slice(&checksum(&length).to_le_bytes());
            file.extend_from_slice(record);
            file.extend_from_slice(&checksum(record).to_le_bytes());
        }
        file
    }

    fn read_all(mut file: &[u8]) -> Result<Vec<Bytes>, TfrecordError> {
        let mut records = Vec::new();
        while let Some(record) = read(&mut file, records.len())? {
            records.push(record);
        }
        Ok(records)
    }

    #[test]
    fn records_are_read() {
        assert_eq!(read_all(&written(&[b"a", b"", b"bcd"])).unwrap(), ["a", "", "bcd"]);
        assert_eq!(read_all(b"").unwrap().len(), 0);
        assert_eq!(index(&mut io::Cursor::new(written(&[b"a", b"", b"bcd"]))).unwrap(), [0, 17, 33]);
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_found() {
        let file = written(&[b"abc", b"de"]);
        for end in 1..file.len() {
            let cut = &file[..end];
            let at_a_record = end == 19;
            assert_eq!(read_all(cut).is_ok(), at_a_record, "{end}");
            assert_eq!(index(&mut io::Cursor::new(cut)).is_ok(), at_a_record, "{end}");
        }
        for position in 0..file.len() {
            let mut changed = file.clone();
            changed[position] ^= 1;
            assert!(matches!(read_all(&changed), Err(TfrecordError::Checksum { .. })), "{position}");
        }
    }
}
