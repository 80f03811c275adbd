//! Tensors go in and come out bit for bit.

use crate::support::*;
use bytes::Bytes;
use std::sync::Arc;
use tff_exec::Value;
use tff_exec::leaf::Keep;
use tff_ir::{Array, TensorFlowBinding};
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_types::{DType, FunctionType, Shape, Type};

fn identity(dtype: DType) -> (tff_ir::TensorFlow, FunctionType) {
    let number = dtype.number();
    let nodes = vec![placeholder("x", number), node("y", "Identity", &["x"], &[("T", Attr::Type(number))])];
    let any = Type::tensor(dtype, Shape::unknown_rank());
    (comp(&graph(nodes), Some(tensor("x:0")), tensor("y:0")), function(Some(any.clone()), any))
}

/// Elements of every bit pattern, as far as the type has them.
fn sample(dtype: DType, dims: &[u64]) -> Array {
    let count = usize::try_from(dims.iter().product::<u64>()).unwrap();
    let Some(size) = dtype.size() else {
        let strings: Vec<Bytes> = (0..count)
            .map(|index| match index % 4 {
                0 => Bytes::new(),
                1 => Bytes::from_static(b"\0a\0"),
                2 => Bytes::from_static(&[0xff, 0xfe, 0x80]),
                _ => Bytes::from(vec![0xc3; 5000]),
            })
            .collect();
        return Array::strings(dims, strings).unwrap();
    };
    let byte = |index: usize| if dtype == DType::Bool { (index % 2) as u8 } else { (index * 37 + 251) as u8 };
    Array::dense(dtype, dims, (0..count * size).map(byte).collect::<Bytes>()).unwrap()
}

#[test]
fn every_dtype_and_shape_round_trips() {
    for dtype in DType::ALL {
        let (comp, ty) = identity(dtype);
        let prepared = prepare(comp, &ty).unwrap();
        for dims in [&[][..], &[1], &[7], &[2, 3, 4], &[0], &[3, 0, 2]] {
            let sample = sample(dtype, dims);
            let result = prepared.call(Some(&Value::array(sample.clone()))).unwrap();
            assert_eq!(array(&result), &sample, "{dtype} {dims:?}");
            // A result as an argument again: it is in TensorFlow's memory already.
            assert_eq!(array(&prepared.call(Some(&result)).unwrap()), &sample, "{dtype} {dims:?}");
        }
    }
}

#[test]
fn not_a_number_keeps_its_bits() {
    let (comp, ty) = identity(DType::Float32);
    let bits = [0x7fc0_0001_u32, 0xff80_0001, 0x8000_0000].map(u32::to_le_bytes).concat();
    let nans = Array::dense(DType::Float32, [3], Bytes::from(bits)).unwrap();
    assert_eq!(array(&run(comp, &ty, Some(&Value::array(nans.clone()))).unwrap()), &nans);
}

#[test]
fn parameter_may_be_the_result() {
    let pair = TensorFlowBinding::Struct(vec![tensor("x"), tensor("x:0")]);
    let comp = comp(&graph(vec![placeholder("x", INT32)]), Some(tensor("x:0")), pair);
    let int32 = Type::scalar(DType::Int32);
    let ty = function(Some(int32.clone()), Type::tuple([int32.clone(), int32]).unwrap());
    let result = run(comp, &ty, Some(&int(5))).unwrap();
    assert_eq!(elements(&result).iter().map(array).collect::<Vec<_>>(), [array(&int(5)), array(&int(5))]);
}

#[test]
fn result_without_tensors_checks_the_argument() {
    let empty = Type::tuple([]).unwrap();
    let comp = comp(&graph(vec![placeholder("x", INT32)]), Some(tensor("x:0")), TensorFlowBinding::Struct(vec![]));
    let ty = function(Some(Type::scalar(DType::Int32)), empty);
    let prepared = prepare(comp, &ty).unwrap();
    assert!(elements(&prepared.call(Some(&int(1))).unwrap()).is_empty());
    assert_eq!(prepared.call(Some(&float(1.0))).unwrap_err().to_string(), "expected int32, found float32");
}

#[test]
fn session_token_is_fed() {
    let nodes = vec![placeholder("token", STRING), node("y", "Identity", &["token"], &[("T", Attr::Type(STRING))])];
    let mut comp = comp(&graph(nodes), None, tensor("y"));
    comp.session_token = "token:0".into();
    let result = run(comp, &function(None, Type::scalar(DType::String)), None).unwrap();
    assert_eq!(array(&result).as_strings().unwrap(), [Bytes::new()]);
}

#[test]
fn equal_computation_is_prepared_once() {
    let leaf = leaf_with(tff_exec::leaf::tensorflow::TensorFlowOptions {
        keep: Keep { max_values: 1, ..Keep::default() },
        ..Default::default()
    });
    let (first, ty) = identity(DType::Int32);
    let (first, second) = (Arc::new(first.clone()), Arc::new(first));
    let prepared = leaf.prepare(&first, &ty).unwrap();
    assert!(Arc::ptr_eq(&prepared, &leaf.prepare(&second, &ty).unwrap()));
    assert!(Arc::ptr_eq(&prepared, &leaf.prepare(&first, &ty).unwrap()));
    // Another type is another computation, also of the same graph; it makes the first one go.
    let narrow = function(Some(Type::scalar(DType::Int32)), Type::scalar(DType::Int32));
    assert!(!Arc::ptr_eq(&prepared, &leaf.prepare(&first, &narrow).unwrap()));
    assert!(!Arc::ptr_eq(&prepared, &leaf.prepare(&first, &ty).unwrap()));
    // Which stays usable.
    assert_eq!(array(&prepared.call(Some(&int(3))).unwrap()), array(&int(3)));
}

#[test]
fn calls_run_at_once() {
    let nodes = vec![
        placeholder("x", FLOAT),
        float_const("one", 1.0),
        node("y", "AddV2", &["x", "one"], &[("T", Attr::Type(FLOAT))]),
    ];
    let float32 = Type::scalar(DType::Float32);
    let prepared =
        prepare(comp(&graph(nodes), Some(tensor("x")), tensor("y")), &function(Some(float32.clone()), float32));
    let prepared = prepared.unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let prepared = &prepared;
            scope.spawn(move || {
                for _ in 0..200 {
                    let result = prepared.call(Some(&float(thread.into()))).unwrap();
                    assert_eq!(array(&result), array(&float(f32::from(thread) + 1.0)));
                }
            });
        }
    });
}
