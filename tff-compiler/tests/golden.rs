//! The pipelines on recorded computations.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use serde_json::Value as Json;
use tff_compiler::{CompileOptions, call_dominant, compile_to_native};
use tff_ir::Comp;
use tff_proto::v0 as pb;

fn records(file: &str) -> Vec<Json> {
    let path = format!("{}/../testdata/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn comp(record: &Json, field: &str) -> Option<Comp> {
    let bytes = STANDARD.decode(record[field].as_str()?).unwrap();
    Some(Comp::from_proto(&pb::Computation::decode(bytes.as_slice()).unwrap()).unwrap())
}

fn check(file: &str, least: usize) {
    let mut cases = 0;
    let mut problems = Vec::new();
    for record in records(file) {
        let (Some(comp), Some(expected)) = (comp(&record, "proto"), comp(&record, "call_dominant_proto")) else {
            continue;
        };
        cases += 1;
        let found = call_dominant(&comp, &CompileOptions::default()).unwrap().comp;
        if !found.is_alpha_equivalent_to(&expected) {
            problems.push(format!("{}:\nexpected {expected}\n   found {found}", record["name"]));
        }
        let native = compile_to_native(&comp, &CompileOptions::default()).unwrap().comp;
        if native.ty() != self::comp(&record, "native_proto").unwrap().ty() {
            problems.push(format!("{}: expected {}, found {}", record["name"], expected.ty(), native.ty()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(cases >= least, "only {cases} cases");
}

#[test]
fn call_dominant_form_of_recorded_computations() {
    check("comps.jsonl", 52);
}

#[test]
fn call_dominant_form_of_random_computations() {
    check("comps_random.jsonl", 48);
}
