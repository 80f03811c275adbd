//! What prepared graphs take is given back.

use crate::support::*;
use std::sync::Arc;
use std::time::Duration;
use tff_exec::TensorFlow;
use tff_exec::leaf::Keep;
use tff_exec::leaf::tensorflow::TensorFlowOptions;
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::tensor_shape_proto::Dim;
use tff_proto::tensorflow::{TensorProto, TensorShapeProto};
use tff_types::{DType, Type};

/// The elements of the constant: 4 MB.
const N: i64 = 1_000_000;

/// Prepares and calls a graph with a constant of its own, which every element of is `number`.
fn run_large(leaf: &TensorFlow, number: f32) {
    let shape = TensorShapeProto { dim: vec![Dim { size: N, ..Dim::default() }], unknown_rank: false };
    let content = std::iter::repeat_n(number.to_le_bytes(), N as usize).collect::<Vec<_>>().into_flattened();
    let large = TensorProto {
        dtype: FLOAT,
        tensor_shape: Some(shape),
        tensor_content: content.into(),
        ..TensorProto::default()
    };
    let reduce = [("T", Attr::Type(FLOAT)), ("Tidx", Attr::Type(INT32)), ("keep_dims", Attr::B(false))];
    let axis = TensorProto {
        dtype: INT32,
        tensor_shape: Some(TensorShapeProto::default()),
        int_val: vec![0],
        ..TensorProto::default()
    };
    let nodes = vec![constant("large", large), constant("axis", axis), node("y", "Max", &["large", "axis"], &reduce)];
    let comp = comp(&graph(nodes), None, tensor("y"));
    let prepared = leaf.prepare(&Arc::new(comp), &function(None, Type::scalar(DType::Float32))).unwrap();
    assert_eq!(array(&prepared.call(None).unwrap()), array(&float(number)));
}

/// The resident memory of the process, in bytes.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn graphs_that_nobody_uses_give_their_memory_back() {
    let keep = Keep { max_unused_bytes: 30_000_000, unused_for: Duration::ZERO, ..Keep::default() };
    let leaf = leaf_with(TensorFlowOptions { keep, ..TensorFlowOptions::default() });
    (0..5).for_each(|number| run_large(&leaf, number as f32));
    let before = resident();
    (5..60).for_each(|number| run_large(&leaf, number as f32));
    leaf.tidy();
    assert_eq!(leaf.tidy(), (0, 0));
    // A graph that stayed would take some 20 MB.
    let after = resident();
    assert!(after < before + before / 5, "{before} bytes before, {after} after");
}
