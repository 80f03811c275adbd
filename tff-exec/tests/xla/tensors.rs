//! Tensors of every element type and of any shape, in and out.

use crate::hlo::{Alias, Aliases, MAY_ALIAS, MUST_ALIAS, Module, comp, double, module, shape, tensor, tensors};
use crate::support::*;
use bytes::Bytes;
use half::{bf16, f16};
use tff_exec::Value;
use tff_ir::{Array, Scalar};
use tff_proto::xla::{PrimitiveType, ShapeProto};
use tff_types::{DType, FunctionType, Shape, Type};

const TYPES: [(DType, PrimitiveType); 15] = [
    (DType::Bool, PrimitiveType::Pred),
    (DType::Int8, PrimitiveType::S8),
    (DType::Int16, PrimitiveType::S16),
    (DType::Int32, PrimitiveType::S32),
    (DType::Int64, PrimitiveType::S64),
    (DType::UInt8, PrimitiveType::U8),
    (DType::UInt16, PrimitiveType::U16),
    (DType::UInt32, PrimitiveType::U32),
    (DType::UInt64, PrimitiveType::U64),
    (DType::Float16, PrimitiveType::F16),
    (DType::BFloat16, PrimitiveType::Bf16),
    (DType::Float32, PrimitiveType::F32),
    (DType::Float64, PrimitiveType::F64),
    (DType::Complex64, PrimitiveType::C64),
    (DType::Complex128, PrimitiveType::C128),
];

/// A small number of this element type; a truth value is whether it is odd.
fn scalar(dtype: DType, number: u8) -> Scalar {
    match dtype {
        DType::Bool => Scalar::Bool(number % 2 == 1),
        DType::Int8 => Scalar::Int8(number as i8),
        DType::Int16 => Scalar::Int16(number.into()),
        DType::Int32 => Scalar::Int32(number.into()),
        DType::Int64 => Scalar::Int64(number.into()),
        DType::UInt8 => Scalar::UInt8(number),
        DType::UInt16 => Scalar::UInt16(number.into()),
        DType::UInt32 => Scalar::UInt32(number.into()),
        DType::UInt64 => Scalar::UInt64(number.into()),
        DType::Float16 => Scalar::Float16(f16::from(number)),
        DType::BFloat16 => Scalar::BFloat16(bf16::from(number)),
        DType::Float32 => Scalar::Float32(number.into()),
        DType::Float64 => Scalar::Float64(number.into()),
        DType::Complex64 => Scalar::Complex64(number.into(), 0.5),
        DType::Complex128 => Scalar::Complex128(number.into(), 0.5),
        DType::String => panic!("XLA has no strings"),
    }
}

fn array(dtype: DType, dims: &[u64], scalars: &[Scalar]) -> Value {
    Value::array(Array::from_scalars(dtype, dims, scalars).unwrap())
}

fn unary(dtype: DType, dims: &[u64]) -> FunctionType {
    let ty = Type::tensor(dtype, Shape::fixed(dims.iter().copied()));
    FunctionType { parameter: Some(ty.clone()), result: ty }
}

#[test]
fn every_element_type() {
    assert_eq!(TYPES.len() + 1, DType::ALL.len());
    for (dtype, primitive) in TYPES {
        let prepared = prepare(comp(&double(primitive, &[3]), Some(tensor(0)), tensor(0)), &unary(dtype, &[3]));
        let argument = array(dtype, &[3], &[1, 2, 3].map(|number| scalar(dtype, number)));
        let result = prepared.unwrap().call(Some(&argument)).unwrap();
        let expected: Vec<Scalar> = match dtype {
            DType::Bool => [true, false, true].map(Scalar::Bool).to_vec(),
            DType::Complex64 => [2.0, 4.0, 6.0].map(|re| Scalar::Complex64(re, 1.0)).to_vec(),
            DType::Complex128 => [2.0, 4.0, 6.0].map(|re| Scalar::Complex128(re, 1.0)).to_vec(),
            _ => [2, 4, 6].map(|number| scalar(dtype, number)).to_vec(),
        };
        assert_eq!(arrays(&result), arrays(&array(dtype, &[3], &expected)), "{dtype}");
    }
}

#[test]
fn shapes_without_elements_and_of_many_dimensions() {
    for dims in [&[][..], &[0], &[2, 0, 3], &[1, 1, 1, 1, 1, 1, 1, 2]] {
        let wire: Vec<i64> = dims.iter().map(|&dim| i64::try_from(dim).unwrap()).collect();
        let module = double(PrimitiveType::F32, &wire);
        let prepared = prepare(comp(&module, Some(tensor(0)), tensor(0)), &unary(DType::Float32, dims)).unwrap();
        let len = usize::try_from(dims.iter().product::<u64>()).unwrap();
        let result = prepared.call(Some(&floats(dims, &vec![1.5; len]))).unwrap();
        assert_eq!(arrays(&result), arrays(&floats(dims, &vec![3.0; len])));
    }
}

/// A module may lay out its result otherwise than row-major; values are row-major.
#[test]
fn other_layouts() {
    // A `LayoutProto` in which the first dimension is the one closest together.
    let layout = Some(Bytes::from_static(&[0x0a, 2, 0, 1]));
    let columns = ShapeProto { layout, ..shape(PrimitiveType::F32, &[2, 3]) };
    let rows = shape(PrimitiveType::F32, &[2, 3]);
    for (parameter, result) in [(&rows, &columns), (&columns, &rows), (&columns, &columns)] {
        let module = module(std::slice::from_ref(parameter), &[("copy", result.clone(), &[0], &[])], &[1]);
        let prepared = prepare(comp(&module, Some(tensor(0)), tensor(0)), &unary(DType::Float32, &[2, 3])).unwrap();
        let argument = floats(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(arrays(&prepared.call(Some(&argument)).unwrap()), arrays(&argument));
    }
}

/// A parameter that a module gives back is a result of its own, and outlives the argument.
#[test]
fn results_that_are_parameters() {
    let pair = [shape(PrimitiveType::F32, &[2]), shape(PrimitiveType::S32, &[])];
    let comp = comp(&module(&pair, &[], &[1, 0, 1]), Some(tensors(&[1, 0])), tensors(&[1, 2, 0]));
    let (float32, int32) = (Type::tensor(DType::Float32, Shape::fixed([2])), Type::scalar(DType::Int32));
    let ty = FunctionType {
        parameter: Some(Type::tuple([int32.clone(), float32.clone()]).unwrap()),
        result: Type::tuple([float32, int32.clone(), int32]).unwrap(),
    };
    let prepared = prepare(comp, &ty).unwrap();
    let argument = Value::structure([int(7), floats(&[2], &[1.0, 2.0])]);
    let result = prepared.call(Some(&argument)).unwrap();
    drop((argument, prepared));
    assert_eq!(arrays(&result), arrays(&Value::structure([floats(&[2], &[1.0, 2.0]), int(7), int(7)])));
}

#[test]
fn results_are_arguments_of_the_next_call() {
    let module = double(PrimitiveType::F32, &[4]);
    let prepared = prepare(comp(&module, Some(tensor(0)), tensor(0)), &unary(DType::Float32, &[4])).unwrap();
    let mut values = vec![floats(&[4], &[1.0, -2.0, 0.0, 0.5])];
    for _ in 0..10 {
        values.push(prepared.call(values.last()).unwrap());
    }
    for (round, value) in values.iter().enumerate() {
        let factor = 2f32.powi(i32::try_from(round).unwrap());
        assert_eq!(arrays(value), arrays(&floats(&[4], &[factor, -2.0 * factor, 0.0, 0.5 * factor])));
    }
}

#[test]
fn one_computation_on_many_threads() {
    let module = double(PrimitiveType::S32, &[64]);
    let prepared = prepare(comp(&module, Some(tensor(0)), tensor(0)), &unary(DType::Int32, &[64])).unwrap();
    let shared = array(DType::Int32, &[64], &vec![Scalar::Int32(21); 64]);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (prepared, shared) = (&prepared, &shared);
            scope.spawn(move || {
                for round in 0..50 {
                    let own = array(DType::Int32, &[64], &vec![Scalar::Int32(thread * 100 + round); 64]);
                    for (argument, expected) in [(&own, 2 * (thread * 100 + round)), (shared, 42)] {
                        let result = prepared.call(Some(argument)).unwrap();
                        assert_eq!(
                            arrays(&result),
                            arrays(&array(DType::Int32, &[64], &vec![Scalar::Int32(expected); 64]))
                        );
                    }
                }
            });
        }
    });
}

/// A module may ask for a parameter to be overwritten by a result, as JAX does for what its caller
/// donates. It is somebody's value here.
#[test]
fn arguments_stay_as_they_are() {
    let aliasing = |kind| {
        let alias = Alias { result: vec![0], parameter: 0, within_parameter: vec![], kind };
        let aliases = Some(Aliases { entries: vec![alias] });
        let module = Module { aliases, ..double(PrimitiveType::F32, &[1000]) };
        prepare(comp(&module, Some(tensor(0)), tensor(0)), &unary(DType::Float32, &[1000])).unwrap()
    };
    let prepared = aliasing(MAY_ALIAS);
    let first = floats(&[1000], &[1.0; 1000]);
    // An uploaded argument, and one that is the result of a call.
    let second = prepared.call(Some(&first)).unwrap();
    let third = prepared.call(Some(&second)).unwrap();
    let again = prepared.call(Some(&second)).unwrap();
    // What must be overwritten is refused, or is not overwritten either.
    match aliasing(MUST_ALIAS).call(Some(&second)) {
        Ok(value) => assert_eq!(arrays(&value), arrays(&again)),
        Err(error) => assert!(error.to_string().starts_with("module `test`: XLA failed: "), "{error}"),
    }
    for (value, expected) in [(first, 1.0), (second, 2.0), (third, 4.0), (again, 4.0)] {
        assert_eq!(arrays(&value), arrays(&floats(&[1000], &[expected; 1000])));
    }
}
