//! Running: one call of a TensorFlow graph, and sums of values over clients: many small ones, some
//! large ones.
#![allow(clippy::expect_used, clippy::unreachable, reason = "a benchmark without its input has nothing to measure")]

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::sync::Arc;
use tff_benches::{add, executor, federated_sum, repository_file};
use tff_exec::leaf::Prepared;
use tff_exec::leaf::tensorflow::{Library, TensorFlowOptions};
use tff_exec::{TensorFlow, Value};
use tff_ir::{Array, Comp, CompKind, CompiledComputation};
use tff_types::DType;

fn ones(n: usize) -> Value {
    let bytes: Bytes = std::iter::repeat_n(1f32.to_le_bytes(), n).flatten().collect::<Vec<u8>>().into();
    Value::array(Array::dense(DType::Float32, [n as u64], bytes).expect("an array"))
}

fn one_call(criterion: &mut Criterion) {
    let argument = Value::structure([ones(1), ones(1)]);
    for (name, kernels) in [("run/call_add_1", true), ("run/tensorflow_add_1", false)] {
        let prepared = prepare(&add(1).expect("a computation"), kernels);
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| prepared.call(Some(&argument)).expect("a value"));
        });
    }
}

/// The leaf's own, with or without kernels.
fn prepare(comp: &Comp, kernels: bool) -> Arc<dyn Prepared> {
    let library = Library::Path(repository_file(".native/tensorflow"));
    let leaf = TensorFlow::new(TensorFlowOptions { library, kernels, ..TensorFlowOptions::default() });
    match (comp.kind(), comp.ty().as_function()) {
        (CompKind::CompiledComputation(CompiledComputation::TensorFlow(comp)), Some(ty)) => {
            leaf.prepare(comp, ty).expect("a graph that is taken")
        }
        _ => unreachable!("a TensorFlow computation"),
    }
}

fn aggregate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("run");
    for (clients, floats) in [(1_000, 8), (100, 10_000), (50, 1_000_000)] {
        let program = executor().prepare(&federated_sum(floats).expect("a computation")).expect("a program");
        let n = usize::try_from(floats).expect("a number of elements");
        let argument = Value::at_clients((0..clients).map(|_| ones(n)));
        group.throughput(Throughput::Elements(clients * floats));
        group.bench_function(format!("federated_sum_{clients}_clients_{floats}_floats"), |bencher| {
            bencher.iter(|| program.call(Some(argument.clone()), None).expect("a value"));
        });
    }
    group.finish();
}

criterion_group!(benches, one_call, aggregate);
criterion_main!(benches);
