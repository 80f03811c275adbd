//! The passes, on fixtures and on recorded cases.
//!
//! A fixture is a file `tests/passes/NAME/CASE.tff`: NAME is that of the pass, CASE says what it shows. It
//! holds a comment, the computation before, a line `----`, and what comes of it: the compact text of the
//! computation, `unchanged`, or `error: ` and the message. A line `====` separates several such cases.
//! `comp#LABEL` is what `bodies.rs` says. `UPDATE=1` writes what comes of it into the files.
//!
//! Two kinds of comments have a meaning: `// options: …` for the pass (`insecure`, `allowed OP…`,
//! `disallowed OP…`), and `// show: …` for what else is shown (`type`, `ids`, `memory`, `graphs`).

use crate::bodies::{comp, shown};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tff_compiler::extract;
use tff_compiler::pass::{Pass, run_pass};
use tff_compiler::passes::{self, ALL, CheckOps, ReduceIntrinsics};
use tff_ir::{Comp, CompiledComputation, TensorFlow};
use tff_proto::tensorflow as tf;
use tff_testing::{field, table};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes")
}

/// The names of what is in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_pass_has_a_folder() {
    let passes: Vec<_> = ALL.iter().map(|pass| pass.name()).collect();
    assert_eq!(names(&folder()), passes, "the folders of tests/passes, and the passes");
    for pass in passes {
        let folder = folder().join(pass);
        let texts: Vec<_> =
            names(&folder).iter().map(|name| std::fs::read_to_string(folder.join(name)).unwrap()).collect();
        assert!(
            texts.iter().any(|text| text.contains("\n----\nunchanged")),
            "{pass}: no fixture of what it leaves alone"
        );
        // Some passes change what the text does not show; they say so.
        let changes = |text: &String| text.split("\n----\n").skip(1).any(|after| !after.starts_with("unchanged"));
        assert!(
            texts.iter().any(|text| changes(text) || text.contains("// show: ")),
            "{pass}: no fixture of what it does"
        );
    }
}

#[test]
fn fixtures() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut problems = Vec::new();
    for pass in names(&folder()) {
        for name in names(&folder().join(&pass)) {
            let path = folder().join(&pass).join(&name);
            let expected = std::fs::read_to_string(&path).unwrap();
            let found: Vec<_> = expected.split("\n====\n").map(|case| outcome(&pass, case.trim())).collect();
            let found = found.join("\n====\n");
            if update {
                std::fs::write(&path, found).unwrap();
            } else if found != expected {
                problems.push(format!("{pass}/{name}: expected\n{expected}\nfound\n{found}"));
            }
        }
    }
    assert!(problems.is_empty(), "UPDATE=1 accepts what comes of the fixtures\n{}", problems.join("\n"));
}

/// One case, with what comes of it now.
fn outcome(pass: &str, case: &str) -> String {
    let given = case.split_once("\n----").map_or(case, |(given, _)| given);
    let directive =
        |kind: &str| given.lines().find_map(|line| line.strip_prefix("// ")?.strip_prefix(kind)).unwrap_or("");
    let text: String = given.lines().filter(|line| !line.starts_with("// ")).collect::<Vec<_>>().join("\n");
    let before = comp(&text);
    let options = directive("options: ");
    let after = match with_pass(pass, options, |pass| run_pass(pass, &before)) {
        Err(error) => format!("error: {error}"),
        Ok(after) => {
            assert!(after.changed || after.comp.ptr_eq(&before), "{pass}: it says that nothing changed: {case}");
            let again = with_pass(pass, options, |pass| run_pass(pass, &after.comp)).unwrap().comp;
            assert!(again.is_alpha_equivalent_to(&after.comp), "{pass}: done twice, it gives {again}: {case}");
            let is_same = after.comp == before;
            let text = if is_same { "unchanged".to_owned() } else { shown(&after.comp) };
            format!("{text}{}", extra(directive("show: "), &before, &after.comp))
        }
    };
    format!("{given}\n----\n{after}\n")
}

fn with_pass<T>(name: &str, options: &str, run: impl FnOnce(&dyn Pass) -> T) -> T {
    let (kind, ops) = options.split_once(' ').unwrap_or((options, ""));
    let ops: BTreeSet<_> = ops.split_whitespace().map(str::to_owned).collect();
    match kind {
        "" => run(*ALL.iter().find(|pass| pass.name() == name).unwrap()),
        "insecure" if name == "reduce_intrinsics" => run(&ReduceIntrinsics { insecure: true }),
        "allowed" if name == "check_ops" => run(&CheckOps { allowed: Some(ops), ..CheckOps::default() }),
        "disallowed" if name == "check_ops" => run(&CheckOps { disallowed: ops, ..CheckOps::default() }),
        _ => panic!("{name} has no options {options}"),
    }
}

/// What else of a computation is to be shown.
fn extra(what: &str, before: &Comp, after: &Comp) -> String {
    match what {
        "" => String::new(),
        "type" => format!("\n: {}", after.ty()),
        "ids" => graphs(after).iter().map(|graph| format!("\nid {:016x}", graph.cache_key.unwrap_or(0))).collect(),
        "memory" => format!("\ngraphs in memory: {} before, {} after", in_memory(before), in_memory(after)),
        "graphs" => graphs(after).iter().flat_map(|graph| nodes(graph)).map(|node| format!("\n{node}")).collect(),
        other => panic!("nothing shows {other}"),
    }
}

/// The graphs of a computation, in order.
fn graphs(comp: &Comp) -> Vec<&Arc<TensorFlow>> {
    let graph = |part: &'_ Comp| matches!(part.as_compiled(), Some(CompiledComputation::TensorFlow(_)));
    comp.preorder().filter(|part| graph(part)).map(tff_testing::graph).collect()
}

/// How many graphs of a computation there are in memory.
fn in_memory(comp: &Comp) -> usize {
    graphs(comp).iter().map(|graph| Arc::as_ptr(graph).addr()).collect::<BTreeSet<_>>().len()
}

/// The nodes of a graph, with what configures the calls of functions.
fn nodes(graph: &TensorFlow) -> Vec<String> {
    let graph: tf::GraphDef = tff_testing::message(graph.graph.value.clone());
    let node = |node: &tf::NodeDef| {
        let config = match node.attr.get("config_proto").and_then(|attr| attr.value.as_ref()) {
            Some(tf::attr_value::Value::S(config)) => {
                let config: tf::ConfigProto = tff_testing::message(config.clone());
                let rewriting = config.graph_options.unwrap().rewrite_options.unwrap();
                format!(" disable_meta_optimizer={}", rewriting.disable_meta_optimizer)
            }
            _ => String::new(),
        };
        format!("{} = {}({}){config}", node.name, node.op, node.input.join(", "))
    };
    graph.node.iter().map(node).collect()
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
fn apply(name: &str, before: &Comp) -> Result<Comp, String> {
    let passes: &[&dyn Pass] = match name {
        "remove_mapped_or_applied_identity" => &[&passes::RemoveMappedOrAppliedIdentity],
        "remove_unused_block_locals" => &[&passes::RemoveUnusedBlockLocals],
        "uniquify_reference_names" => &[&passes::UniquifyReferenceNames],
        "to_call_dominant" => &[&passes::ToCallDominant, &passes::RemoveUnusedBlockLocals],
        "normalize_types" => return extract::normalize_types(before).map_err(|error| error.problem.to_string()),
        "strip_placement" => return extract::strip_placement(before).map_err(|error| error.problem.to_string()),
        _ => {
            let paths = paths(name.strip_prefix("as_function_of_some_subparameters").unwrap());
            let function = extract::as_function_of_some_subparameters(before, &paths);
            return function.map_err(|error| error.to_string());
        }
    };
    passes.iter().try_fold(before.clone(), |comp, pass| {
        run_pass(*pass, &comp).map(|transformed| transformed.comp).map_err(|error| error.to_string())
    })
}

/// Reads paths, written as `[(0,), (1, 1)]`.
fn paths(text: &str) -> Vec<Vec<usize>> {
    let path = |path: &str| path.split([',', ' ']).filter(|it| !it.is_empty()).map(|it| it.parse().unwrap()).collect();
    text.split('(').skip(1).map(|rest| path(rest.split(')').next().unwrap())).collect()
}

/// What the reference makes of a computation is what ours makes of it, up to the names of parameters and
/// locals.
#[test]
fn recorded_transformations() {
    let mut cases = 0;
    let mut problems = Vec::new();
    let vectors: Json = table("testdata/golden/vectors.json");
    for record in vectors["transforms"].as_array().unwrap() {
        let before = field(record, "before");
        let found = apply(field(record, "name"), &comp(before));
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
    assert!(cases == 44, "only {cases} cases");
}
