//! Decoding of a federated averaging round: bytes to messages to the checked tree, and back.
#![allow(clippy::expect_used, reason = "a benchmark without its input has nothing to measure")]

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use prost::Message;
use tff_benches::repository_file;
use tff_ir::Comp;
use tff_proto::{Limits, decode, v0};

fn decode_computation(criterion: &mut Criterion) {
    let bytes = Bytes::from(std::fs::read(repository_file("examples/digits/next.native.pb")).expect("the example"));
    let message: v0::Computation = decode(&bytes, &Limits::default()).expect("a computation");
    let comp = Comp::from_proto(&message).expect("a computation");
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("fed_avg_next_bytes_to_proto", |bencher| {
        bencher.iter(|| decode::<v0::Computation>(&bytes, &Limits::default()).expect("a computation"));
    });
    group.bench_function("fed_avg_next_proto_to_comp", |bencher| {
        bencher.iter(|| Comp::from_proto(&message).expect("a computation"));
    });
    group.bench_function("fed_avg_next_comp_to_bytes", |bencher| {
        bencher.iter(|| comp.to_proto().expect("a message").encode_to_vec());
    });
    group.finish();
}

criterion_group!(benches, decode_computation);
criterion_main!(benches);
