//! Graph surgery: calling one graph many times.
#![allow(clippy::expect_used, reason = "a benchmark without its input has nothing to measure")]

use criterion::{Criterion, criterion_group, criterion_main};
use std::sync::Arc;
use tff_benches::add;
use tff_compiler::graph::{GraphBuilder, Wire};
use tff_ir::{Comp, CompiledComputation, TensorFlow};
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

fn graph_surgery(criterion: &mut Criterion) {
    let add = add(1).expect("a graph");
    let pair = graph_of(&add).and_then(|(_, ty)| ty.parameter.clone()).expect("a parameter");
    let mut group = criterion.benchmark_group("graph");
    group.bench_function("call_1000_times", |bencher| bencher.iter(|| sums(&add, &pair, 1000)));
    group.finish();
}

criterion_group!(benches, graph_surgery);
criterion_main!(benches);
