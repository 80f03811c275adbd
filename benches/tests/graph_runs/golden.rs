//! The graphs of real computations, called, merged, pruned and reconfigured.

use crate::{build, call, graph_of, run, sample, show, try_run};
use prost::Message;
use std::collections::HashSet;
use std::sync::Arc;
use tff_benches::repository_file;
use tff_compiler::graph::{self, Wire};
use tff_exec::Value;
use tff_ir::{Comp, CompKind, CompiledComputation};
use tff_proto::v0 as pb;

/// All different graphs of the computations by hand.
fn golden() -> Vec<Comp> {
    let mut found = Vec::new();
    for file in ["comps.jsonl", "comps_random.jsonl"] {
        for record in tff_testing::records(&format!("testdata/golden/{file}")) {
            for field in ["proto", "native_proto"].into_iter().filter(|field| record[field].is_string()) {
                collect(&tff_testing::bytes(&record, field), &mut found);
            }
        }
    }
    found
}

/// All different graphs of the example.
fn digits() -> Vec<Comp> {
    let mut found = Vec::new();
    for file in ["initialize.pb", "next.pb", "evaluate.pb", "next.native.pb", "get_model_weights.pb"] {
        collect(&std::fs::read(repository_file("examples/digits").join(file)).unwrap(), &mut found);
    }
    found
}

fn collect(bytes: &[u8], found: &mut Vec<Comp>) {
    let proto = pb::Computation::decode(bytes).unwrap();
    let mut pending = vec![Comp::from_proto_lenient(&proto).unwrap()];
    let mut seen: HashSet<_> = found.iter().map(key).collect();
    while let Some(comp) = pending.pop() {
        if matches!(comp.kind(), CompKind::CompiledComputation(CompiledComputation::TensorFlow(_)))
            && seen.insert(key(&comp))
        {
            found.push(comp);
        } else {
            pending.extend(comp.children().cloned());
        }
    }
}

fn key(comp: &Comp) -> (Arc<tff_ir::TensorFlow>, String) {
    (graph_of(comp).0.clone(), comp.ty().to_string())
}

fn argument_of(comp: &Comp) -> Option<Value> {
    graph_of(comp).1.parameter.as_ref().map(sample)
}

/// Whether another run gives something else.
fn is_random(comp: &Comp) -> bool {
    let ops = graph::op_names(graph_of(comp).0).unwrap();
    ops.iter().any(|op| op.contains("Random") || op.contains("Shuffle"))
}

/// What a graph gives by itself, with its sample argument; `None` where it cannot take that.
fn alone(comp: &Comp) -> Option<String> {
    try_run(comp, argument_of(comp).as_ref()).ok().map(|value| show(&value))
}

/// `(x -> <f(x),f(x)>)`.
fn twice(comp: &Comp) -> Comp {
    let mut builder = graph::GraphBuilder::new();
    let argument = graph_of(comp).1.parameter.as_ref().map(|ty| builder.parameter(ty).unwrap());
    let results = [0, 1].map(|_| (None::<&str>, call(&mut builder, comp, argument.as_ref()).unwrap()));
    builder.finish(&Wire::structure(results).unwrap()).unwrap()
}

#[track_caller]
fn check_each(comps: &[Comp], least: usize) {
    let mut run_count = 0;
    for comp in comps {
        let doubled = twice(comp);
        let Some(expected) = alone(comp) else { continue };
        run_count += 1;
        let found = run(&doubled, argument_of(comp).as_ref());
        if !is_random(comp) {
            assert_eq!(found, format!("<{expected},{expected}>"), "{}", comp.ty());
        }
    }
    assert!(run_count >= least, "only {run_count} of {} graphs ran", comps.len());
}

#[test]
fn each_golden_graph_called_twice() {
    check_each(&golden(), 60);
}

#[test]
fn each_graph_of_the_example_called_twice() {
    check_each(&digits(), 20);
}

#[test]
fn golden_graphs_one_after_another() {
    let comps: Vec<_> = golden().into_iter().filter(|comp| !is_random(comp)).collect();
    let mut run_count = 0;
    for first in &comps {
        let Some(parameter) = &graph_of(first).1.parameter else { continue };
        let argument = argument_of(first);
        let Ok(between) = try_run(first, argument.as_ref()) else { continue };
        for second in &comps {
            let fits = graph_of(second).1.parameter.as_ref();
            if !fits.is_some_and(|parameter| parameter.is_assignable_from(&graph_of(first).1.result)) {
                continue;
            }
            let Ok(expected) = try_run(second, Some(&between)) else { continue };
            let merged = build(parameter, |graph, argument| {
                let between = call(graph, first, Some(argument))?;
                call(graph, second, Some(&between))
            });
            assert_eq!(run(&merged, argument.as_ref()), show(&expected), "{} then {}", first.ty(), second.ty());
            run_count += 1;
        }
    }
    assert!(run_count >= 100, "only {run_count} pairs ran");
}

#[test]
fn reconfigured_graphs_run_the_same() {
    let mut comps = golden();
    comps.extend(digits());
    let mut reconfigured = 0;
    for comp in comps.iter().filter(|comp| !is_random(comp)) {
        let Some(expected) = alone(comp) else { continue };
        let original = graph_of(comp).0;
        let configured = graph::disable_call_rewriting(original).unwrap();
        reconfigured += usize::from(configured.is_some());
        let configured = configured.map_or_else(|| original.clone(), Arc::new);
        assert_eq!(graph::disable_call_rewriting(&configured).unwrap(), None);
        let comp = Comp::compiled(CompiledComputation::TensorFlow(configured), comp.ty().clone()).unwrap();
        assert_eq!(run(&comp, argument_of(&comp).as_ref()), expected, "{}", comp.ty());
    }
    assert!(reconfigured >= 5, "only {reconfigured} graphs call functions");
}
