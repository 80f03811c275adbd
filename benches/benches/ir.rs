//! Computations of growing size: everything that a reader of one does, and whether its time grows
//! in proportion.
#![allow(clippy::expect_used, reason = "a benchmark without its input has nothing to measure")]

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use prost::Message;
use std::hint::black_box;
use tff_benches::repository_file;
use tff_ir::text::{Environment, PrintOptions, parse, print};
use tff_ir::{Array, BuildError, Comp, Scalar, validate};
use tff_proto::v0 as pb;

/// `(let v0=0,v1=<v0,v0>[0],v2=<v1,v1>[0],… in vN)`
fn chain(locals: usize) -> Result<Comp, BuildError> {
    let zero = Comp::literal(Array::from_scalar(Scalar::Int32(0)));
    let ty = zero.ty().clone();
    let value = |index: usize| {
        if index == 0 {
            return Ok(zero.clone());
        }
        let reference = Comp::reference(format!("v{}", index - 1), ty.clone())?;
        Comp::selection(Comp::tuple([reference.clone(), reference])?, 0)
    };
    let locals = (0..locals).map(|index| Ok((format!("v{index}"), value(index)?)));
    let locals: Vec<(String, Comp)> = locals.collect::<Result<_, BuildError>>()?;
    let result = Comp::reference(format!("v{}", locals.len() - 1), ty.clone())?;
    Comp::block(locals, result)
}

fn read(bytes: &Bytes) -> Comp {
    let proto = pb::Computation::decode(bytes.clone()).expect("a message");
    Comp::from_proto(&proto).expect("a computation")
}

fn locals(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("block of locals");
    group.sample_size(10);
    for size in [1_000, 10_000, 100_000] {
        let comp = chain(size).expect("a block");
        let bytes = Bytes::from(comp.to_proto().expect("a message").encode_to_vec());
        let text = print(&comp, &PrintOptions::default()).expect("text").text;
        group.throughput(Throughput::Elements(size as u64));
        group.bench_function(BenchmarkId::new("decode", size), |bencher| bencher.iter(|| read(&bytes)));
        group.bench_function(BenchmarkId::new("validate", size), |bencher| bencher.iter(|| validate(black_box(&comp))));
        group.bench_function(BenchmarkId::new("print compact", size), |bencher| bencher.iter(|| comp.to_string()));
        group.bench_function(BenchmarkId::new("print formatted", size), |bencher| {
            bencher.iter(|| comp.formatted().to_string())
        });
        group.bench_function(BenchmarkId::new("print text", size), |b| {
            b.iter(|| print(&comp, &PrintOptions::default()))
        });
        group.bench_function(BenchmarkId::new("parse text", size), |bencher| {
            bencher.iter(|| parse(&text, &Environment::default()))
        });
        group.bench_function(BenchmarkId::new("encode", size), |bencher| bencher.iter(|| comp.to_proto()));
    }
    group.finish();
}

/// What a worker does first with the process of federated averaging in the examples, 126 KB.
fn next(criterion: &mut Criterion) {
    let bytes = Bytes::from(std::fs::read(repository_file("examples/digits/next.pb")).expect("the example"));
    criterion.bench_function("decode, validate and print next", |bencher| {
        bencher.iter(|| {
            let comp = read(&bytes);
            (validate(&comp), comp.to_string())
        });
    });
}

criterion_group!(benches, locals, next);
criterion_main!(benches);
