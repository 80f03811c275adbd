//! Running: one call of a TensorFlow graph, and a sum of many values over clients.
#![allow(clippy::expect_used, reason = "a benchmark without its input has nothing to measure")]

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tff_benches::{add, executor, federated_sum};
use tff_exec::Value;
use tff_ir::Array;
use tff_types::DType;

fn ones(n: usize) -> Value {
    let bytes: Bytes = std::iter::repeat_n(1f32.to_le_bytes(), n).flatten().collect::<Vec<u8>>().into();
    Value::array(Array::dense(DType::Float32, [n as u64], bytes).expect("an array"))
}

fn tensorflow_call(criterion: &mut Criterion) {
    let program = executor().prepare(&add(1).expect("a computation")).expect("a program");
    let argument = Value::structure([ones(1), ones(1)]);
    criterion.bench_function("run/tensorflow_add_1", |bencher| {
        bencher.iter(|| program.call(Some(argument.clone()), None).expect("a value"));
    });
}

fn aggregate(criterion: &mut Criterion) {
    const CLIENTS: usize = 100;
    const FLOATS: usize = 10_000;
    let program = executor().prepare(&federated_sum(FLOATS as u64).expect("a computation")).expect("a program");
    let argument = Value::at_clients((0..CLIENTS).map(|_| ones(FLOATS)));
    let mut group = criterion.benchmark_group("run");
    group.throughput(Throughput::Elements((CLIENTS * FLOATS) as u64));
    group.bench_function("federated_sum_100_clients_10000_floats", |bencher| {
        bencher.iter(|| program.call(Some(argument.clone()), None).expect("a value"));
    });
    group.finish();
}

criterion_group!(benches, tensorflow_call, aggregate);
criterion_main!(benches);
