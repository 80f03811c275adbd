//! The computations that the reference serialized, with the results that it computed.

use crate::support::leaf;
use serde_json::Value as Json;
use tff_exec::{Sequence, Value};
use tff_ir::{Array, CompiledComputation, Scalar};
use tff_proto::v0 as pb;
use tff_testing::{comp_of, decode_base64, message, records};
use tff_types::Type;

fn decode_value(proto: &pb::Value) -> Value {
    match proto.value.as_ref().unwrap() {
        pb::value::Value::Array(array) => Value::array(Array::from_proto(array).unwrap()),
        pb::value::Value::Struct(structure) => {
            Value::structure(structure.element.iter().map(|it| decode_value(it.value.as_ref().unwrap())))
        }
        pb::value::Value::Sequence(sequence) => {
            let element = Type::from_proto(sequence.element_type.as_ref().unwrap()).unwrap();
            let Some(pb::value::sequence::Value::SerializedGraphDef(graph)) = &sequence.value else {
                panic!("no graph")
            };
            Value::Sequence(Sequence::from_dataset(element, graph.clone()))
        }
        other => panic!("unexpected argument {other:?}"),
    }
}

#[track_caller]
fn assert_same(name: &str, value: &Value, expected: &Json) {
    if let Some(elements) = expected.get("list").or(expected.get("struct")) {
        let elements = elements.as_array().unwrap();
        let values = match value {
            Value::Struct(values) => values.clone(),
            Value::Sequence(sequence) => sequence.elements(leaf()).unwrap().iter().cloned().collect(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(values.len(), elements.len(), "{name}");
        for (value, expected) in values.iter().zip(elements) {
            // An element of a struct is `[name, value]`.
            assert_same(name, value, expected.get(1).unwrap_or(expected));
        }
        return;
    }
    let Value::Tensor(tensor) = value else { panic!("{name}: {value:?}") };
    let array = tensor.array();
    let dims: Vec<u64> = expected["shape"].as_array().unwrap().iter().map(|dim| dim.as_u64().unwrap()).collect();
    assert_eq!(array.dims(), dims, "{name}");
    let dtype = array.dtype().to_string().replace("str", "string");
    assert_eq!(dtype, expected["dtype"].as_str().unwrap(), "{name}");
    let numbers = expected["array"].as_array().unwrap();
    assert_eq!(array.len(), numbers.len(), "{name}");
    for (scalar, number) in array.scalars().zip(numbers) {
        assert!(is_close(&scalar, number), "{name}: {scalar:?} is not {number}");
    }
}

fn is_close(scalar: &Scalar, expected: &Json) -> bool {
    let near = |found: f64, expected: &Json| {
        let expected = expected.as_f64().unwrap();
        (found - expected).abs() <= 1e-5 * expected.abs()
    };
    match scalar {
        Scalar::Bool(value) => expected.as_bool() == Some(*value),
        Scalar::Int8(value) => expected.as_i64() == Some((*value).into()),
        Scalar::Int16(value) => expected.as_i64() == Some((*value).into()),
        Scalar::Int32(value) => expected.as_i64() == Some((*value).into()),
        Scalar::Int64(value) => expected.as_i64() == Some(*value),
        Scalar::UInt8(value) => expected.as_u64() == Some((*value).into()),
        Scalar::UInt16(value) => expected.as_u64() == Some((*value).into()),
        Scalar::UInt32(value) => expected.as_u64() == Some((*value).into()),
        Scalar::UInt64(value) => expected.as_u64() == Some(*value),
        Scalar::Float16(value) => near(value.to_f64(), expected),
        Scalar::BFloat16(value) => near(value.to_f64(), expected),
        Scalar::Float32(value) => near((*value).into(), expected),
        Scalar::Float64(value) => near(*value, expected),
        Scalar::Complex64(re, im) => near((*re).into(), &expected[0]) && near((*im).into(), &expected[1]),
        Scalar::Complex128(re, im) => near(*re, &expected[0]) && near(*im, &expected[1]),
        Scalar::String(bytes) => expected.as_str().map(str::as_bytes) == Some(bytes),
    }
}

#[test]
fn results_are_those_of_the_reference() {
    let mut count = 0;
    for record in records("testdata/golden/comps.jsonl") {
        let Some(result) = record.get("result") else { continue };
        let name = record["name"].as_str().unwrap();
        // As the frontend wrote it, and as the reference's compiler optimized it.
        for proto in ["proto", "native_proto"].into_iter().filter(|name| record[name].is_string()) {
            let comp = comp_of(&record, proto);
            let Some(CompiledComputation::TensorFlow(compiled)) = comp.as_compiled() else { continue };
            let argument = record["args"].as_str().map(|args| decode_value(&message(decode_base64(args))));
            let prepared = leaf().prepare(compiled, comp.ty().as_function().unwrap()).unwrap();
            for _ in 0..3 {
                let value = prepared.call(argument.as_ref()).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_same(name, &value, result);
            }
            count += 1;
        }
    }
    assert_eq!(count, 52);
}
