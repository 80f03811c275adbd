//! What the tests share: the leaf, an executor, and the computations in `testdata`.

use crate::runtime;
use bytes::Bytes;
use prost::Message;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use tff_exec::leaf::Prepared;
use tff_exec::{ExecError, Executor, Value, Xla};
use tff_ir::{Array, Comp, CompiledComputation, Scalar};
use tff_proto::v0 as pb;
use tff_types::{DType, FunctionType, Type, TypeKind};

/// One leaf for all tests of the process, as an executor has one.
pub(crate) fn leaf() -> &'static Xla {
    static LEAF: LazyLock<Xla> = LazyLock::new(|| Xla::new(runtime::options()));
    &LEAF
}

/// One executor for all tests of the process.
pub(crate) fn executor() -> &'static Executor {
    static EXECUTOR: LazyLock<Executor> = LazyLock::new(|| {
        let mut options = runtime::executor_options();
        options.threads = Some(4);
        Executor::new(options)
    });
    &EXECUTOR
}

pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/xla").join(name)
}

/// A computation that TFF's JAX frontend serialized.
pub(crate) fn computation(name: &str) -> Comp {
    let bytes = std::fs::read(file(&format!("{name}.pb"))).unwrap();
    Comp::from_proto(&pb::Computation::decode(&*bytes).unwrap()).unwrap()
}

pub(crate) fn xla(comp: &Comp) -> (Arc<tff_ir::Xla>, FunctionType) {
    let Some(CompiledComputation::Xla(xla)) = comp.as_compiled() else { panic!("no XLA: {comp}") };
    (xla.clone(), comp.ty().as_function().unwrap().clone())
}

pub(crate) fn prepare(comp: tff_ir::Xla, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
    leaf().prepare(&Arc::new(comp), ty)
}

/// The argument and the result that the reference recorded for a computation.
pub(crate) struct Recorded {
    pub(crate) argument: Option<Value>,
    pub(crate) result: Value,
}

pub(crate) fn recorded(name: &str, ty: &FunctionType) -> Recorded {
    let json: Json = serde_json::from_slice(&std::fs::read(file(&format!("{name}.json"))).unwrap()).unwrap();
    let arrays = |key: &str| json[key].as_array().unwrap().iter().map(array_of).collect::<Vec<_>>().into_iter();
    let argument = ty.parameter.as_ref().map(|ty| assemble(ty, &mut arrays("args")));
    Recorded { argument, result: assemble(&ty.result, &mut arrays("expect")) }
}

fn array_of(json: &Json) -> Array {
    let dtype: DType = json["dtype"].as_str().unwrap().parse().unwrap();
    let dims: Vec<u64> = json["shape"].as_array().unwrap().iter().map(|dim| dim.as_u64().unwrap()).collect();
    let hex = json["hex"].as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    Array::dense(dtype, dims, (0..hex.len()).step_by(2).map(byte).collect::<Vec<u8>>().into()).unwrap()
}

/// The value of this type that these tensors make up, in depth-first order.
pub(crate) fn assemble(ty: &Type, arrays: &mut impl Iterator<Item = Array>) -> Value {
    match ty.kind() {
        TypeKind::Struct(structure) => {
            let elements: Vec<Value> = structure.elements().iter().map(|it| assemble(&it.ty, arrays)).collect();
            Value::structure(elements)
        }
        _ => Value::array(arrays.next().unwrap()),
    }
}

/// The tensors of a value, in depth-first order.
pub(crate) fn arrays(value: &Value) -> Vec<Array> {
    match value {
        Value::Tensor(tensor) => vec![tensor.array().clone()],
        Value::Struct(elements) => elements.iter().flat_map(arrays).collect(),
        other => panic!("no tensors: {other:?}"),
    }
}

/// Compares values, floats to within some units of their precision.
#[track_caller]
pub(crate) fn assert_close(name: &str, found: &Value, expected: &Value) {
    let (found, expected) = (arrays(found), arrays(expected));
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((found.dtype(), found.dims()), (expected.dtype(), expected.dims()), "{name}");
        for (a, b) in found.scalars().zip(expected.scalars()) {
            let close = match (&a, &b) {
                (Scalar::Float32(a), Scalar::Float32(b)) => (a - b).abs() <= 1e-5 * b.abs().max(1.0),
                (a, b) => a == b,
            };
            assert!(close, "{name}: {a:?} is not {b:?}");
        }
    }
}

pub(crate) fn int(value: i32) -> Value {
    Value::scalar(Scalar::Int32(value))
}

pub(crate) fn floats(dims: &[u64], values: &[f32]) -> Value {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Value::array(Array::dense(DType::Float32, dims, Bytes::from(bytes)).unwrap())
}
