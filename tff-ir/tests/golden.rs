//! The computations that the reference printed, against what this crate reads, prints and writes.
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use base64::Engine;
use bytes::Bytes;
use prost::Message;
use serde_json::Value;
use tff_ir::{Comp, Severity, validate, validate_proto};
use tff_proto::v0 as pb;

/// Every record of the reference's computations.
fn records() -> Vec<Value> {
    ["comps.jsonl", "comps_random.jsonl"]
        .iter()
        .flat_map(|file| {
            let path = format!("{}/../testdata/golden/{file}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).expect(&path);
            text.lines().map(|line| serde_json::from_str(line).expect(file)).collect::<Vec<Value>>()
        })
        .collect()
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or_else(|| panic!("{}: no {key}", record["name"]))
}

fn bytes(record: &Value, key: &str) -> Bytes {
    base64::engine::general_purpose::STANDARD.decode(text(record, key)).expect(key).into()
}

fn read(bytes: &Bytes) -> Comp {
    let proto = pb::Computation::decode(bytes.clone()).expect("a computation");
    Comp::from_proto(&proto).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn what_is_read_is_written_byte_for_byte() {
    let mut count = 0;
    for record in records() {
        for key in ["proto", "call_dominant_proto", "native_proto"] {
            let bytes = bytes(&record, key);
            let written = read(&bytes).to_proto().expect("not too deep").encode_to_vec();
            assert_eq!(Bytes::from(written), bytes, "{} {key}", record["name"]);
            count += 1;
        }
    }
    assert_eq!(count, 300);
}

#[test]
fn example_processes_are_read_and_written_byte_for_byte() {
    let folder = format!("{}/../examples/digits", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("examples") {
        let path = entry.expect("entry").path();
        if path.extension().is_some_and(|it| it == "pb") {
            let bytes = Bytes::from(std::fs::read(&path).expect("file"));
            let written = read(&bytes).to_proto().expect("not too deep").encode_to_vec();
            assert_eq!(Bytes::from(written), bytes, "{}", path.display());
            count += 1;
        }
    }
    assert!(count >= 8, "{count} files");
}

#[test]
fn forms_print_as_the_reference_prints_them() {
    for record in records() {
        let comp = read(&bytes(&record, "proto"));
        assert_eq!(comp.ty().to_string(), text(&record, "type"), "{}", record["name"]);
        assert_eq!(comp.to_string(), text(&record, "compact"), "{}", record["name"]);
        assert_eq!(comp.formatted().to_string(), text(&record, "formatted"), "{}", record["name"]);
        let (drawn, expected) = (comp.structural().to_string(), text(&record, "structural"));
        assert_eq!(drawn, expected, "{}\n{drawn}\nexpected\n{expected}", record["name"]);
    }
}

#[test]
fn what_the_reference_wrote_is_valid() {
    for record in records() {
        for key in ["proto", "call_dominant_proto", "native_proto"] {
            let bytes = bytes(&record, key);
            let errors: Vec<_> =
                validate(&read(&bytes)).into_iter().filter(|it| it.severity == Severity::Error).collect();
            assert!(errors.is_empty(), "{} {key}: {errors:?}", record["name"]);
            let proto = pb::Computation::decode(bytes).expect("a computation");
            assert_eq!(validate_proto(&proto), validate(&Comp::from_proto(&proto).expect("a computation")));
        }
    }
}
