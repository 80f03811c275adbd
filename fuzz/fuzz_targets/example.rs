//! Records of client data, as `tf.train.Example` or as anything else, become tensors or an error with the place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Write;
use tff_exec::Value;
use tff_sim::data::DataConfig;
use tff_sim::tfrecord::checksum;
use tff_types::Type;

fuzz_target!(|bytes: &[u8]| {
    // Two records: what the first one has is what the second one must have.
    let half = bytes.len() / 2;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    for record in [&bytes[..half], &bytes[half..]] {
        let length = (record.len() as u64).to_le_bytes();
        for part in [&length[..], &checksum(&length).to_le_bytes(), record, &checksum(record).to_le_bytes()] {
            file.write_all(part).expect("written");
        }
    }
    let element: Type = "<x=float32[?],label=int32,s=str>".parse().expect("a type");
    let config = format!("file = {:?}\nformat = \"tfrecord\"\nclients = {{ modulo = 1 }}", file.path());
    let config: DataConfig = toml::from_str(&config).expect("a configuration");
    let data = config.open(&element).and_then(|opened| opened.into_sources().0.data(0));
    match data {
        Ok(Value::Sequence(rows)) => assert_eq!(rows.known_elements().map(|rows| rows.len()), Some(2)),
        Ok(other) => panic!("{other:?}"),
        Err(error) => assert!(error.to_string().lines().count() <= 1, "{error}"),
    }
});
