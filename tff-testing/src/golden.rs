//! The files of the repository that tests read: tables, recorded computations, examples.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use prost::Message;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use tff_ir::Comp;
use tff_proto::v0 as pb;

/// The path of a file of the repository: `testdata/golden/comps.jsonl`.
#[must_use]
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The native libraries that tests run on, each as the environment variable that leads the commands to it and its path:
/// what the environment already says, else what `scripts/native.sh` put into the repository. A command finds them
/// itself only where its executable or its folder is below the repository.
#[must_use]
pub fn native_libraries() -> [(&'static str, PathBuf); 2] {
    let provisioned =
        [("TENSORFLOW_DIR", ".native/tensorflow"), ("TFF_PJRT_PLUGIN", ".native/pjrt/pjrt_c_api_cpu_plugin.so")];
    provisioned.map(|(variable, path)| {
        let own = std::env::var_os(variable).filter(|own| !own.is_empty());
        (variable, own.map_or_else(|| repository(path), PathBuf::from))
    })
}

#[track_caller]
fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The records of a file of one JSON value a line: `testdata/golden/comps.jsonl`.
#[must_use]
#[track_caller]
pub fn records(path: &str) -> Vec<Json> {
    let record = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{path}: {error}: {line}"));
    read(path).lines().map(record).collect()
}

/// The one JSON value of a file: `testdata/golden/vectors.json`.
#[must_use]
#[track_caller]
pub fn table(path: &str) -> Json {
    serde_json::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The text in a field of a record.
#[must_use]
#[track_caller]
pub fn field<'a>(record: &'a Json, name: &str) -> &'a str {
    record[name].as_str().unwrap_or_else(|| panic!("no text {name} in {record}"))
}

/// The bytes in a field of a record, which are in base64 there.
#[must_use]
#[track_caller]
pub fn bytes(record: &Json, name: &str) -> Bytes {
    decode_base64(field(record, name))
}

/// The bytes that a text in base64 stands for.
#[must_use]
#[track_caller]
pub fn decode_base64(text: &str) -> Bytes {
    STANDARD.decode(text).unwrap_or_else(|error| panic!("{error}: {text}")).into()
}

/// Bytes in base64.
#[must_use]
pub fn encode_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// A message from its bytes.
#[must_use]
#[track_caller]
pub fn message<M: Message + Default>(bytes: impl Into<Bytes>) -> M {
    M::decode(bytes.into()).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn from_wire(bytes: Bytes) -> Comp {
    Comp::from_proto(&message::<pb::Computation>(bytes)).unwrap_or_else(|error| panic!("{error}"))
}

/// The computation in a field of a record: `proto`, `call_dominant_proto`, `native_proto`.
#[must_use]
#[track_caller]
pub fn comp_of(record: &Json, name: &str) -> Comp {
    from_wire(bytes(record, name))
}

/// A computation among the examples: `digits/next.pb`.
#[must_use]
#[track_caller]
pub fn example(name: &str) -> Comp {
    let path = repository("examples").join(name);
    from_wire(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).into())
}
