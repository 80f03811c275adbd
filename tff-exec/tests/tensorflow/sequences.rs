//! Sequences, as elements and as datasets, both ways.

use crate::support::*;
use bytes::Bytes;
use prost::Message;
use tff_exec::leaf::tensorflow::TensorFlowOptions;
use tff_exec::{ExecError, Sequence, Value};
use tff_ir::{Array, Scalar};
use tff_proto::tensorflow::attr_value::{ListValue, Value as Attr};
use tff_proto::tensorflow::{NodeDef, TensorShapeProto};
use tff_types::{DType, Shape, Type};

fn types(types: &[i32]) -> Attr {
    Attr::List(Box::new(ListValue { r#type: types.to_vec(), ..ListValue::default() }))
}

fn shapes(count: usize) -> Attr {
    let unknown = TensorShapeProto { unknown_rank: true, ..TensorShapeProto::default() };
    Attr::List(Box::new(ListValue { shape: vec![unknown; count], ..ListValue::default() }))
}

/// Writes the elements, reads them back through TensorFlow.
#[track_caller]
fn round_trip(element: &Type, elements: Vec<Value>) -> Vec<Value> {
    let written = Sequence::from_elements(element.clone(), elements).dataset().unwrap();
    let read = Sequence::from_dataset(element.clone(), written);
    read.elements(leaf()).unwrap().to_vec()
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => a == b,
        (Value::Struct(a), Value::Struct(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b)),
        _ => false,
    }
}

#[track_caller]
fn check_round_trip(element: &Type, elements: Vec<Value>) {
    let read = round_trip(element, elements.clone());
    assert_eq!(read.len(), elements.len());
    for (read, written) in read.iter().zip(&elements) {
        assert!(same(read, written), "{read:?} is not {written:?}");
    }
}

#[test]
fn every_dtype_round_trips() {
    for dtype in DType::ALL {
        let element = |index: u8| match dtype.size() {
            Some(size) => Array::dense(dtype, [2], Bytes::from(vec![index % 2; 2 * size])).unwrap(),
            None => Array::strings([2], vec![Bytes::new(), Bytes::from(vec![0xff, 0, index])]).unwrap(),
        };
        let elements = (0..5).map(|index| Value::array(element(index))).collect::<Vec<_>>();
        check_round_trip(&ty(dtype, &[Some(2)]), elements.clone());
        check_round_trip(&ty(dtype, &[None]), elements);
    }
}

#[test]
fn empty_sequences_round_trip() {
    let pair =
        Type::structure([(Some("b"), ty(DType::Float32, &[None, Some(3)])), (Some("a"), Type::scalar(DType::String))]);
    for element in [
        Type::scalar(DType::Int32),
        ty(DType::Float32, &[Some(0), Some(2)]),
        pair.unwrap(),
        Type::tensor(DType::Int64, Shape::unknown_rank()),
    ] {
        check_round_trip(&element, vec![]);
    }
}

#[test]
fn elements_without_content_round_trip() {
    check_round_trip(&ty(DType::Float32, &[Some(0)]), vec![floats(&[0], &[]); 3]);
}

#[test]
fn last_batch_may_be_smaller() {
    let batch = |rows: u16| floats(&[rows.into(), 2], &(0..rows * 2).map(f32::from).collect::<Vec<_>>());
    check_round_trip(&ty(DType::Float32, &[None, Some(2)]), vec![batch(8), batch(8), batch(3)]);
    check_round_trip(
        &Type::tensor(DType::Float32, Shape::unknown_rank()),
        vec![batch(1), float(1.0), batch(0), batch(4), batch(4)],
    );
}

#[test]
fn named_elements_keep_their_declared_order() {
    let int32 = || Type::scalar(DType::Int32);
    let inner = Type::structure([(Some("y"), Type::scalar(DType::Float32)), (Some("x"), int32())]).unwrap();
    let element = Type::structure([
        (Some("c"), int32()),
        (Some("b"), inner),
        (Some("a"), Type::tuple([int32(), Type::scalar(DType::String)]).unwrap()),
    ])
    .unwrap();
    let value = |index: i32| {
        let string = Value::scalar(Scalar::String(Bytes::from(vec![0; 3])));
        Value::structure([
            int(index),
            Value::structure([float(0.5), int(-index)]),
            Value::structure([int(index * 10), string]),
        ])
    };
    check_round_trip(&element, (0..4).map(value).collect());
}

#[test]
fn many_elements_round_trip() {
    // More than are read at first where shapes are not known.
    let elements: Vec<Value> = (0..10_000).map(int).collect();
    check_round_trip(&Type::scalar(DType::Int32), elements.clone());
    check_round_trip(&Type::tensor(DType::Int32, Shape::unknown_rank()), elements);
}

#[test]
fn datasets_are_deterministic() {
    let element = ty(DType::Int32, &[None]);
    let write = || {
        let array = |count: usize| Array::dense(DType::Int32, [count as u64], Bytes::from(vec![7; count * 4])).unwrap();
        Sequence::from_elements(element.clone(), [1, 1, 2, 1].map(|count| Value::array(array(count))))
            .dataset()
            .unwrap()
    };
    assert_eq!(write(), write());
}

#[test]
fn elements_are_checked_when_written() {
    let element = Type::structure([(Some("x"), ty(DType::Float32, &[Some(2)]))]).unwrap();
    let good = Value::structure([floats(&[2], &[1.0, 2.0])]);
    let bad = Value::structure([floats(&[1], &[1.0])]);
    let error = Sequence::from_elements(element, [good, bad]).dataset().unwrap_err();
    insta::assert_snapshot!(error, @"[1].x: expected float32[2], found float32[1]");
}

#[test]
fn elements_are_checked_when_read() {
    let written = Sequence::from_elements(
        ty(DType::Int32, &[None]),
        [Value::array(Array::from_scalars(DType::Int32, [3], &[1, 2, 3].map(Scalar::Int32)).unwrap())],
    );
    let graph = written.dataset().unwrap();
    let read = |element: Type| Sequence::from_dataset(element, graph.clone()).elements(leaf()).unwrap_err();
    insta::assert_snapshot!(read(ty(DType::Int32, &[Some(2)])), @"[0]: expected int32[2], found int32[3]");
    let dtype = read(ty(DType::Float32, &[Some(3)]));
    assert!(matches!(dtype, ExecError::Run { .. }), "{dtype}");
    let arity = read(Type::tuple([ty(DType::Int32, &[Some(3)]), Type::scalar(DType::Int32)]).unwrap());
    assert!(matches!(arity, ExecError::Run { .. }), "{arity}");
    for garbage in [&b""[..], b"no graph", &[0xff; 40]] {
        let error = Sequence::from_dataset(Type::scalar(DType::Int32), Bytes::from_static(garbage))
            .elements(leaf())
            .unwrap_err();
        assert!(matches!(error, ExecError::Run { .. }), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn element_types_without_datasets_are_refused() {
    let write = |element: Type| Sequence::from_elements(element, []).dataset().unwrap_err();
    insta::assert_snapshot!(write(Type::tuple([]).unwrap()), @"a dataset of elements without tensors, of type <>, is not supported");
    let mixed = Type::structure([(Some("a"), Type::scalar(DType::Int32)), (None, Type::scalar(DType::Int32))]).unwrap();
    insta::assert_snapshot!(write(mixed), @"a dataset of structs with some elements named, <a=int32,int32>, is not supported");
}

/// `0, 1, 2, …` below `stop`, then `count` times, -1 for without end.
fn range(stop: i64, count: i64) -> Vec<NodeDef> {
    let outputs = || [("output_types", types(&[INT64])), ("output_shapes", shapes(1))];
    vec![
        int64_const("start", 0),
        int64_const("stop", stop),
        int64_const("step", 1),
        node("range", "RangeDataset", &["start", "stop", "step"], &outputs()),
        int64_const("count", count),
        node("repeat", "RepeatDataset", &["range", "count"], &outputs()),
    ]
}

fn serialized(mut nodes: Vec<NodeDef>, dataset: &str) -> Bytes {
    nodes.push(node("dataset", "_Retval", &[dataset], &[("T", Attr::Type(VARIANT)), ("index", Attr::I(0))]));
    graph(nodes).encode_to_vec().into()
}

#[test]
fn endless_dataset_is_refused() {
    let graph = serialized(range(3, -1), "repeat");
    for element in [Type::scalar(DType::Int64), Type::tensor(DType::Int64, Shape::unknown_rank())] {
        let error = Sequence::from_dataset(element, graph.clone()).elements(leaf()).unwrap_err();
        assert!(matches!(error, ExecError::Limit { .. }), "{error}");
    }
}

#[test]
fn long_dataset_is_refused() {
    let leaf = leaf_with(TensorFlowOptions { max_sequence_elements: 10, ..TensorFlowOptions::default() });
    let read = |stop, element: &Type| {
        Sequence::from_dataset(element.clone(), serialized(range(stop, 1), "repeat")).elements(&leaf)
    };
    for element in [Type::scalar(DType::Int64), Type::tensor(DType::Int64, Shape::unknown_rank())] {
        assert_eq!(read(10, &element).unwrap().len(), 10);
        insta::allow_duplicates! {
            insta::assert_snapshot!(read(11, &element).unwrap_err(), @"the number of elements of a sequence exceeds the limit of 10");
        }
    }
    let leaf = leaf_with(TensorFlowOptions { max_sequence_bytes: 1000, ..TensorFlowOptions::default() });
    let read = |stop, element: &Type| {
        Sequence::from_dataset(element.clone(), serialized(range(stop, 1), "repeat")).elements(&leaf)
    };
    for element in [Type::scalar(DType::Int64), Type::tensor(DType::Int64, Shape::unknown_rank())] {
        assert_eq!(read(10, &element).unwrap().len(), 10);
        let error = read(1 << 40, &element).unwrap_err();
        assert!(matches!(error, ExecError::Limit { .. }), "{error}");
    }
}

/// Takes the first two elements of the parameter, as a dataset.
fn take_two() -> tff_ir::TensorFlow {
    let nodes = vec![
        placeholder("x", VARIANT),
        int64_const("two", 2),
        node(
            "take",
            "TakeDataset",
            &["x:0", "two"],
            &[("output_types", types(&[INT32])), ("output_shapes", shapes(1))],
        ),
    ];
    comp(&graph(nodes), Some(variant("x:0")), variant("take:0"))
}

#[test]
fn datasets_enter_and_leave_graphs() {
    let ints = Type::sequence(Type::scalar(DType::Int32)).unwrap();
    let sequence = Value::Sequence(Sequence::from_elements(Type::scalar(DType::Int32), [4, 5, 6].map(int)));
    let prepared = prepare(take_two(), &function(Some(ints.clone()), ints)).unwrap();
    let result = prepared.call(Some(&sequence)).unwrap();
    assert_eq!(elements(&result).iter().map(array).collect::<Vec<_>>(), [array(&int(4)), array(&int(5))]);
    // And in again.
    let result = prepared.call(Some(&result)).unwrap();
    assert_eq!(elements(&result).len(), 2);
    insta::assert_snapshot!(
        prepared.call(Some(&Value::Sequence(Sequence::from_elements(Type::scalar(DType::Float32), [float(1.0)])))).unwrap_err(),
        @"expected a sequence of int32, found a sequence of float32"
    );
    insta::assert_snapshot!(prepared.call(Some(&int(1))).unwrap_err(), @"expected a sequence of int32, found int32");
}

#[test]
fn dataset_of_a_graph_is_the_same_bytes_every_time() {
    let ints = Type::sequence(Type::scalar(DType::Int32)).unwrap();
    let sequence = Value::Sequence(Sequence::from_elements(Type::scalar(DType::Int32), [4, 5, 6].map(int)));
    let prepared = prepare(take_two(), &function(Some(ints.clone()), ints)).unwrap();
    let bytes = || match prepared.call(Some(&sequence)).unwrap() {
        Value::Sequence(sequence) => sequence.dataset().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(bytes(), bytes());
}

#[test]
fn serialized_datasets_enter_and_leave_graphs() {
    let nodes = vec![placeholder("x", STRING), node("y", "Identity", &["x"], &[("T", Attr::Type(STRING))])];
    let comp = comp(&graph(nodes), Some(graph_string("x:0")), graph_string("y:0"));
    let ints = Type::sequence(Type::scalar(DType::Int32)).unwrap();
    let sequence = Value::Sequence(Sequence::from_elements(Type::scalar(DType::Int32), [4, 5].map(int)));
    let result = run(comp, &function(Some(ints.clone()), ints), Some(&sequence)).unwrap();
    assert_eq!(elements(&result).iter().map(array).collect::<Vec<_>>(), [array(&int(4)), array(&int(5))]);
}

#[test]
fn parameter_sequence_may_be_the_result() {
    let comp = comp(&graph(vec![placeholder("x", VARIANT)]), Some(variant("x")), variant("x:0"));
    let ints = Type::sequence(Type::scalar(DType::Int32)).unwrap();
    let sequence = Value::Sequence(Sequence::from_elements(Type::scalar(DType::Int32), [4, 5].map(int)));
    let result = run(comp, &function(Some(ints.clone()), ints), Some(&sequence)).unwrap();
    assert_eq!(elements(&result).len(), 2);
}

#[test]
fn datasets_are_read_at_once_from_several_threads() {
    let element = Type::scalar(DType::Int32);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let element = &element;
            scope.spawn(move || {
                for count in 0..20 {
                    let elements: Vec<Value> = (0..count).map(|index| int(thread * 100 + index)).collect();
                    check_round_trip(element, elements);
                }
            });
        }
    });
}
