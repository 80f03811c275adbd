//! The passes on recorded cases: what the reference makes of a computation is what ours makes of
//! it, up to the names of parameters and locals.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use serde_json::Value as Json;
use tff_compiler::pass::{Pass, run_pass};
use tff_compiler::passes;
use tff_ir::Comp;
use tff_ir::text::{Environment, parse};

fn comp(text: &str) -> Comp {
    parse(text, &Environment::default()).unwrap().comp
}

fn transforms() -> Vec<Json> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/vectors.json");
    let vectors: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    vectors["transforms"].as_array().unwrap().clone()
}

/// Where the reference is wrong: what is right.
fn right(before: &str) -> Option<&'static str> {
    match before {
        // A local that hides the one it refers to does not make that one superfluous.
        "(let a=lit int32 1,a=a in a)" => Some("(let a=lit int32 1,a=a in a)"),
        // The inner function returns the parameter of the outer one, not its own.
        "(x:int32 -> (y:int32 -> (x:int32 -> <x,y>))(x)(lit int32 10))" => Some("(x:int32 -> <lit int32 10,x>)"),
        _ => None,
    }
}

/// A pass by its name, with one that drops what it leaves over where the reference does both.
fn apply(name: &str, before: &Comp) -> Option<Result<Comp, String>> {
    let passes: &[&dyn Pass] = match name {
        "remove_mapped_or_applied_identity" => &[&passes::RemoveMappedOrAppliedIdentity],
        "remove_unused_block_locals" => &[&passes::RemoveUnusedBlockLocals],
        "uniquify_reference_names" => &[&passes::UniquifyReferenceNames],
        "to_call_dominant" => &[&passes::ToCallDominant, &passes::RemoveUnusedBlockLocals],
        _ => return None,
    };
    Some(passes.iter().try_fold(before.clone(), |comp, pass| {
        run_pass(*pass, &comp).map(|transformed| transformed.comp).map_err(|error| error.to_string())
    }))
}

#[test]
fn recorded_transformations() {
    let mut cases = 0;
    let mut problems = Vec::new();
    for record in transforms() {
        let before = record["before"].as_str().unwrap();
        let Some(found) = apply(record["name"].as_str().unwrap(), &comp(before)) else { continue };
        cases += 1;
        let right = right(before).or(record["after"].as_str());
        // What the reference left alone wrongly, by its text, is not wrong up to names.
        match (found, right) {
            (Ok(found), Some(right)) if found.is_alpha_equivalent_to(&comp(right)) => {}
            (Err(_), None) => {}
            (found, right) => problems.push(format!("{before}: expected {right:?}, found {found:?}")),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(cases >= 30, "only {cases} cases");
}
