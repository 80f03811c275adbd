//! Compiling: a federated averaging round in every form, and long blocks of maps.
#![allow(clippy::expect_used, reason = "a benchmark without its input has nothing to measure")]

use bytes::Bytes;
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tff_benches::{add, repository_file};
use tff_compiler::forms::{DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::{CompileOptions, call_dominant, compile_to_native};
use tff_ir::{Comp, Intrinsic};
use tff_proto::{Limits, decode, v0};
use tff_types::Type;

fn message(name: &str) -> v0::Computation {
    let bytes = Bytes::from(std::fs::read(repository_file(name)).expect("the example"));
    decode(&bytes, &Limits::default()).expect("a computation")
}

fn fed_avg(criterion: &mut Criterion) {
    let message = message("examples/digits/next.pb");
    let options = CompileOptions::default();
    let mut group = criterion.benchmark_group("fed_avg_next");
    // A computation remembers what was found valid in it: each time it is one that was just decoded.
    let mut bench = |name: &str, compile: &dyn Fn(&Comp)| {
        let decoded = || Comp::from_proto_lenient(&message).expect("a computation");
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(decoded, |comp| compile(comp), BatchSize::SmallInput);
        });
    };
    bench("to_call_dominant", &|comp| drop(black_box(call_dominant(comp, &options).expect("a form"))));
    bench("native", &|comp| drop(black_box(compile_to_native(comp, &options).expect("a form"))));
    bench("map_reduce", &|comp| drop(black_box(MapReduceForm::from_comp(comp, &options).expect("a form"))));
    bench("distribute_aggregate", &|comp| {
        drop(black_box(DistributeAggregateForm::from_comp(comp, &options).expect("a form")));
    });
    bench("mergeable", &|comp| drop(black_box(MergeableCompForm::from_comp(comp, &options).expect("a form"))));
    group.finish();
}

/// `(v -> (let v1=federated_map(<…,v>),v2=federated_map(<…,v1>),… in vn))`, each map adding a client's
/// value to itself by one and the same graph.
fn maps(count: usize) -> Comp {
    let add = add(1).expect("a graph");
    let element: Type = "float32[1]".parse().expect("a type");
    let clients = Type::at_clients(element.clone()).expect("a type");
    let value = |index: usize| Comp::reference(format!("v{index}"), clients.clone()).expect("a reference");
    let x = Comp::reference("x", element.clone()).expect("a reference");
    let twice = Comp::call(add, Some(Comp::tuple([x.clone(), x]).expect("a pair"))).expect("a call");
    let twice = Comp::lambda(Some(("x", element)), twice).expect("a function");
    let parameter = Type::tuple([twice.ty().clone(), clients.clone()]).expect("a type");
    let map = Type::function(Some(parameter), clients.clone()).expect("a type");
    let map = Comp::intrinsic(Intrinsic::FederatedMap, map).expect("an intrinsic");
    let locals = (1..=count).map(|index| {
        let argument = Comp::tuple([twice.clone(), value(index - 1)]).expect("a pair");
        (format!("v{index}"), Comp::call(map.clone(), Some(argument)).expect("a call"))
    });
    let block = Comp::block(locals, value(count)).expect("a block");
    Comp::lambda(Some(("v0", clients)), block).expect("a function")
}

fn long_blocks(criterion: &mut Criterion) {
    let options = CompileOptions::default();
    let mut group = criterion.benchmark_group("block_of_maps");
    group.sample_size(10);
    for count in [1000, 10_000] {
        let comp = maps(count);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_with_input(BenchmarkId::new("to_call_dominant", count), &comp, |bencher, comp| {
            bencher.iter(|| call_dominant(comp, &options).expect("a form"));
        });
        group.bench_with_input(BenchmarkId::new("native", count), &comp, |bencher, comp| {
            bencher.iter(|| compile_to_native(comp, &options).expect("a form"));
        });
    }
    group.finish();
}

criterion_group!(benches, fed_avg, long_blocks);
criterion_main!(benches);
