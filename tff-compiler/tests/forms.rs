//! Forms of recorded computations: their parts are of the recorded types, and what the reference
//! refuses is refused for the same reason.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use prost::Message;
use serde_json::Value as Json;
use std::collections::HashMap;
use tff_compiler::forms::{DistributeAggregateForm, MapReduceForm};
use tff_compiler::{CompileError, CompileOptions, call_dominant};
use tff_ir::Comp;
use tff_proto::v0 as pb;

fn records() -> Vec<Json> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/forms.jsonl");
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn comp(record: &Json) -> Comp {
    let bytes = STANDARD.decode(record["proto"].as_str().unwrap()).unwrap();
    Comp::from_proto(&pb::Computation::decode(bytes.as_slice()).unwrap()).unwrap()
}

type Parts = Vec<(String, Comp)>;

fn owned(parts: &[(&'static str, &Comp)]) -> Parts {
    parts.iter().map(|(role, part)| ((*role).to_owned(), (*part).clone())).collect()
}

/// The parts, and the computation they make up.
fn form(record: &Json) -> Result<(Parts, Comp), CompileError> {
    let (comp, options) = (comp(record), CompileOptions::default());
    match record["kind"].as_str().unwrap() {
        "distribute_aggregate" => {
            let form = DistributeAggregateForm::from_comp(&comp, &options)?;
            Ok((owned(&form.parts()), form.to_comp()?))
        }
        _ => {
            let form = MapReduceForm::from_comp(&comp, &options)?;
            Ok((owned(&form.parts()), form.to_comp()?))
        }
    }
}

/// What the reference's reasons have in common with ours.
const REASONS: [(&str, &str); 4] = [
    ("same placement", "same placement"),
    ("unbound references", "unbound reference"),
    ("broadcast dependent on aggregate", "broadcast dependent on aggregate"),
    ("two arguments", "two arguments"),
];

/// A text with generated names numbered in the order in which they occur.
fn renamed(text: &str) -> String {
    let text = text.replace("<lambda>_arg", "_lambda_arg").replace("ignored_param", "_ignored");
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut result = String::new();
    let mut name = String::new();
    for char in text.chars().chain([' ']) {
        if char.is_alphanumeric() || char == '_' || char == '#' {
            name.push(char);
            continue;
        }
        if name.starts_with('_') {
            let next = names.len();
            result.push_str(&format!("n{}", names.entry(name.clone()).or_insert(next)));
        } else {
            result.push_str(&name);
        }
        name.clear();
        result.push(char);
    }
    // The reference selects from a block what ours has as its result.
    let result = result.trim_end().to_owned();
    match (result.find("in <intrinsic_args_from_before_comp="), result.strip_suffix(",intermediate_state=<>>)[0])")) {
        (Some(_), Some(start)) => start.replace("in <intrinsic_args_from_before_comp=", "in ") + "))",
        _ => result,
    }
}

#[test]
fn recorded_forms() {
    let mut problems = Vec::new();
    let records = records();
    assert_eq!(records.len(), 36);
    for record in &records {
        let name = format!("{} as {}", record["name"], record["kind"]);
        match (form(record), record["error"].as_str()) {
            (Ok((parts, whole)), None) => {
                let types: HashMap<_, _> =
                    parts.iter().map(|(role, part)| (role.clone(), part.ty().to_string())).collect();
                let expected: HashMap<String, String> = serde_json::from_value(record["parts"].clone()).unwrap();
                for (role, expected) in &expected {
                    if Some(expected) != types.get(role) {
                        problems.push(format!("{name}: {role}: expected {expected}, found {:?}", types.get(role)));
                    }
                }
                for (role, part) in &parts {
                    let Some(expected) = record["parts_compact"][role].as_str() else { continue };
                    let found = part.to_string();
                    if renamed(expected) != renamed(&found) {
                        problems.push(format!("{name}: {role}:\nexpected {expected}\n   found {found}"));
                    }
                }
                if whole.ty() != comp(record).ty() {
                    problems.push(format!("{name}: of type {} again", whole.ty()));
                }
                if let Err(error) = call_dominant(&whole, &CompileOptions::default()) {
                    problems.push(format!("{name}: {error}"));
                }
            }
            (Err(found), Some(expected)) => {
                let reason = REASONS.iter().find(|(theirs, _)| expected.contains(theirs)).unwrap().1;
                if !found.to_string().contains(reason) {
                    problems.push(format!("{name}: expected {expected}, found {found}"));
                }
            }
            (found, expected) => {
                let found = found.map(|(parts, _)| parts).map_err(|error| error.to_string());
                problems.push(format!("{name}: expected {expected:?}, found {found:?}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
