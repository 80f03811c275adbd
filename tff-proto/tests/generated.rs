//! The committed code is what the generator makes of `proto/` today.
//!
//! `UPDATE=1 cargo test -p tff-proto --test generated` writes it anew.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message;
use prost_types::FileDescriptorSet;

/// Only what the compiler must see; imports follow.
const ROOTS: [&str; 3] =
    ["tensorflow_federated/proto/v0/executor.proto", "tensorflow/core/protobuf/config.proto", "xla/service/hlo.proto"];

fn path_of(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

fn compile() -> FileDescriptorSet {
    protox::compile(ROOTS, [path_of("../proto")]).unwrap()
}

/// What the service tells of itself: its own messages, without those that are only packed in them.
fn service_descriptors() -> Vec<u8> {
    protox::compile([ROOTS[0]], [path_of("../proto")]).unwrap().encode_to_vec()
}

fn generate(descriptors: FileDescriptorSet, out_dir: &Path) {
    let mut config = tonic_prost_build::Config::new();
    config.enable_type_names().type_name_domain(["."], "type.googleapis.com");
    let service = r#"#[cfg(feature = "service")]"#;
    tonic_prost_build::configure()
        .out_dir(out_dir)
        .bytes(".")
        .btree_map(".")
        // Most attributes are small and a graph has many: without the boxes
        // each would take the 416 bytes of a tensor.
        .boxed(".tensorflow.AttrValue.value.tensor")
        .boxed(".tensorflow.AttrValue.value.list")
        .compile_well_known_types(true)
        // Its comments hold code in other languages, which rustdoc would run.
        .disable_comments([".google.protobuf"])
        .client_mod_attribute(".", service)
        .server_mod_attribute(".", service)
        .emit_rerun_if_changed(false)
        .compile_fds_with_config(descriptors, config)
        .unwrap();
    fs::write(out_dir.join("executor.desc"), service_descriptors()).unwrap();
}

fn read_all(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

#[test]
fn committed_code_is_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    generate(compile(), dir.path());
    let fresh = read_all(dir.path());
    let committed_dir = path_of("src/generated");
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        for name in read_all(&committed_dir).keys() {
            fs::remove_file(committed_dir.join(name)).unwrap();
        }
        for (name, content) in &fresh {
            fs::write(committed_dir.join(name), content).unwrap();
        }
    }
    let committed = read_all(&committed_dir);
    assert!(
        committed.keys().eq(fresh.keys()),
        "other files than the generator makes: {:?}, not {:?}; run with UPDATE=1",
        committed.keys(),
        fresh.keys()
    );
    for (name, content) in &fresh {
        assert!(committed[name] == *content, "{name} is out of date; run with UPDATE=1");
    }
}
