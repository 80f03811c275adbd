//! Graph surgery: calling one graph many times, and pruning the graphs of a federated averaging round.
#![allow(clippy::expect_used, reason = "a benchmark without its input has nothing to measure")]

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use std::sync::Arc;
use tff_benches::{add, repository_file};
use tff_compiler::graph::{self, GraphBuilder, Wire};
use tff_ir::{Comp, CompiledComputation, TensorFlow};
use tff_proto::{Limits, decode, v0};
use tff_types::{FunctionType, Type};

fn graph_of(comp: &Comp) -> Option<(&Arc<TensorFlow>, &FunctionType)> {
    match comp.as_compiled() {
        Some(CompiledComputation::TensorFlow(graph)) => Some((graph, comp.ty().as_function()?)),
        _ => None,
    }
}

/// `x[0]` plus `x[1]` plus `x[1]` and so on, each sum by a call.
fn sums(add: &Comp, pair: &Type, calls: usize) -> Comp {
    let (function, ty) = graph_of(add).expect("a graph");
    let mut graph = GraphBuilder::new();
    let argument = graph.parameter(pair).expect("a pair");
    let (mut sum, right) = (argument.element(0).expect("a sum"), argument.element(1).expect("a summand"));
    for _ in 0..calls {
        let pair = Wire::structure([(None::<&str>, sum), (None, right.clone())]).expect("a pair");
        sum = graph.call(function, ty, Some(&pair)).expect("a call");
    }
    graph.finish(&sum).expect("a graph")
}

/// All graphs of the round, with repetition.
fn round() -> Vec<Comp> {
    let bytes = Bytes::from(std::fs::read(repository_file("examples/digits/next.pb")).expect("the example"));
    let message: v0::Computation = decode(&bytes, &Limits::default()).expect("a computation");
    let mut pending = vec![Comp::from_proto_lenient(&message).expect("a computation")];
    let mut found = Vec::new();
    while let Some(comp) = pending.pop() {
        pending.extend(comp.children().cloned());
        if graph_of(&comp).is_some() {
            found.push(comp);
        }
    }
    found
}

fn graph_surgery(criterion: &mut Criterion) {
    let add = add(1).expect("a graph");
    let pair = graph_of(&add).and_then(|(_, ty)| ty.parameter.clone()).expect("a parameter");
    let graphs = round();
    let mut group = criterion.benchmark_group("graph");
    group.bench_function("call_1000_times", |bencher| bencher.iter(|| sums(&add, &pair, 1000)));
    group.bench_function("fed_avg_next_prune", |bencher| {
        bencher.iter(|| {
            let graphs = graphs.iter().filter_map(|comp| Some((graph_of(comp)?.0, comp.ty())));
            graphs.map(|(graph, ty)| graph::prune(graph, ty).expect("a graph")).collect::<Vec<_>>()
        });
    });
    group.finish();
}

criterion_group!(benches, graph_surgery);
criterion_main!(benches);
