//! What our compiler makes of every recorded computation gives the recorded result.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

mod recorded;

use prost::Message;
use recorded::{check, records};
use serde_json::{Value as Json, json};
use std::process::Command;
use tff_compiler::{CompileOptions, call_dominant, compile_to_native};
use tff_testing::comp_of;

fn native(record: &Json) -> Result<Vec<u8>, String> {
    let compiled =
        compile_to_native(&comp_of(record, "proto"), &CompileOptions::default()).map_err(|error| error.to_string())?;
    Ok(compiled.comp.to_proto().map_err(|error| error.to_string())?.encode_to_vec())
}

#[test]
fn recorded_computations_give_their_results() {
    check("comps.jsonl", native, &[], 49);
}

#[test]
fn random_computations_give_their_results() {
    check("comps_random.jsonl", native, &[], 48);
}

/// Compiles without security and runs on JSON; the result or the message.
fn insecurely(name: &str, argument: &str) -> Result<Json, String> {
    let record = records("comps.jsonl").into_iter().find(|record| record["name"] == name).unwrap();
    let mut options = CompileOptions::default();
    options.insecure_aggregation = true;
    let compiled = compile_to_native(&comp_of(&record, "proto"), &options).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("comp.pb");
    std::fs::write(&file, compiled.comp.to_proto().unwrap().encode_to_vec()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tff"));
    let output = command.arg("run").arg(file).args(["--json", "--arg", argument]).output().unwrap();
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

#[test]
fn secure_sums_are_summed_and_checked() {
    assert_eq!(insecurely("secure_sum", "[1, 2, 100]"), Ok(json!(103)));
    let refused = insecurely("secure_sum", "[1, 101, 3]").unwrap_err();
    assert!(refused.contains("client value larger than maximum specified for secure sum"), "{refused}");
    assert_eq!(insecurely("secure_bitwidth", "[1, 2, 255]"), Ok(json!(258)));
    let refused = insecurely("secure_bitwidth", "[1, 256, 3]").unwrap_err();
    assert!(refused.contains("client value larger than maximum specified for secure sum"), "{refused}");
}

#[test]
fn secure_sums_stay_unless_asked_for() {
    let record = records("comps.jsonl").into_iter().find(|record| record["name"] == "secure_sum").unwrap();
    let compiled = compile_to_native(&comp_of(&record, "proto"), &CompileOptions::default()).unwrap().comp;
    assert!(compiled.is_alpha_equivalent_to(&call_dominant(&compiled, &CompileOptions::default()).unwrap().comp));
    assert!(compiled.to_string().contains("federated_secure_sum(<"), "{compiled}");
}
