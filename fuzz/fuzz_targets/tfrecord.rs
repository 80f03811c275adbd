//! Records are read or refused; what is read are the bytes that stand there, with the checksums that they have.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tff_sim::tfrecord::{checksum, read};

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let mut written = Vec::new();
    for record_idx in 0.. {
        match read(&mut rest, record_idx) {
            Ok(Some(record)) => {
                let length = (record.len() as u64).to_le_bytes();
                written.extend_from_slice(&length);
                written.extend_from_slice(&checksum(&length).to_le_bytes());
                written.extend_from_slice(&record);
                written.extend_from_slice(&checksum(&record).to_le_bytes());
            }
            Ok(None) => return assert_eq!(written, bytes),
            Err(error) => {
                assert!(bytes.starts_with(&written));
                return drop(error.to_string());
            }
        }
    }
});
