//! What the tests share: the leaf on the library in `.native`, values, and small graphs.

use bytes::Bytes;
use prost::Message;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use tff_exec::leaf::Prepared;
use tff_exec::leaf::tensorflow::{Library, TensorFlowOptions};
use tff_exec::{ExecError, TensorFlow, Value};
use tff_ir::{Array, Opaque, Scalar, SequenceBinding, TensorFlowBinding};
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::{AttrValue, GraphDef, NodeDef, TensorProto, TensorShapeProto, VersionDef};
use tff_types::{DType, FunctionType, Shape, Type};

pub(crate) const FLOAT: i32 = 1;
pub(crate) const INT32: i32 = 3;
pub(crate) const STRING: i32 = 7;
pub(crate) const INT64: i32 = 9;
pub(crate) const VARIANT: i32 = 21;

/// The library that the environment names, else the one in `.native` in a folder above the crate.
pub(crate) fn native_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("TENSORFLOW_DIR") {
        return dir.into();
    }
    let start = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = start.ancestors().map(|dir| dir.join(".native/tensorflow")).find(|dir| dir.is_dir());
    dir.expect("no .native/tensorflow above the crate: run scripts/native.sh")
}

pub(crate) fn leaf_with(options: TensorFlowOptions) -> TensorFlow {
    TensorFlow::new(TensorFlowOptions { library: Library::Path(native_dir()), ..options })
}

/// One leaf for all tests of the process, as an executor has one. It runs everything in
/// TensorFlow.
pub(crate) fn leaf() -> &'static TensorFlow {
    static LEAF: LazyLock<TensorFlow> =
        LazyLock::new(|| leaf_with(TensorFlowOptions { kernels: false, ..TensorFlowOptions::default() }));
    &LEAF
}

/// A node; an attribute of type `i32` is an element type.
pub(crate) fn node(name: &str, op: &str, inputs: &[&str], attrs: &[(&str, Attr)]) -> NodeDef {
    NodeDef {
        name: name.to_owned(),
        op: op.to_owned(),
        input: inputs.iter().map(|&input| input.to_owned()).collect(),
        attr: attrs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), AttrValue { value: Some(value.clone()) }))
            .collect(),
        ..NodeDef::default()
    }
}

pub(crate) fn placeholder(name: &str, dtype: i32) -> NodeDef {
    node(name, "Placeholder", &[], &[("dtype", Attr::Type(dtype))])
}

pub(crate) fn constant(name: &str, tensor: TensorProto) -> NodeDef {
    node(name, "Const", &[], &[("dtype", Attr::Type(tensor.dtype)), ("value", Attr::Tensor(Box::new(tensor)))])
}

pub(crate) fn float_const(name: &str, value: f32) -> NodeDef {
    constant(name, TensorProto { dtype: FLOAT, float_val: vec![value], ..scalar_proto() })
}

pub(crate) fn int64_const(name: &str, value: i64) -> NodeDef {
    constant(name, TensorProto { dtype: INT64, int64_val: vec![value], ..scalar_proto() })
}

fn scalar_proto() -> TensorProto {
    TensorProto { tensor_shape: Some(TensorShapeProto::default()), ..TensorProto::default() }
}

pub(crate) fn graph(nodes: Vec<NodeDef>) -> GraphDef {
    let versions = Some(VersionDef { producer: 1575, min_consumer: 12, ..VersionDef::default() });
    GraphDef { node: nodes, versions, ..GraphDef::default() }
}

pub(crate) fn tensor(name: &str) -> TensorFlowBinding {
    TensorFlowBinding::Tensor(name.into())
}

pub(crate) fn variant(name: &str) -> TensorFlowBinding {
    TensorFlowBinding::Sequence(SequenceBinding::Variant(name.into()))
}

pub(crate) fn graph_string(name: &str) -> TensorFlowBinding {
    TensorFlowBinding::Sequence(SequenceBinding::GraphDef(name.into()))
}

pub(crate) fn comp(
    graph: &GraphDef,
    parameter: Option<TensorFlowBinding>,
    result: TensorFlowBinding,
) -> tff_ir::TensorFlow {
    let value = Bytes::from(graph.encode_to_vec());
    tff_ir::TensorFlow {
        graph: Opaque { type_url: "type.googleapis.com/tensorflow.GraphDef".into(), value },
        parameter,
        result,
        initialize_op: "".into(),
        session_token: "".into(),
        cache_key: None,
        layout_map: None,
    }
}

pub(crate) fn function(parameter: Option<Type>, result: Type) -> FunctionType {
    FunctionType { parameter, result }
}

pub(crate) fn prepare(comp: tff_ir::TensorFlow, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
    leaf().prepare(&Arc::new(comp), ty)
}

/// One call of a computation that is prepared for it.
pub(crate) fn run(comp: tff_ir::TensorFlow, ty: &FunctionType, argument: Option<&Value>) -> Result<Value, ExecError> {
    prepare(comp, ty)?.call(argument)
}

pub(crate) fn array(value: &Value) -> &Array {
    match value {
        Value::Tensor(tensor) => tensor.array(),
        other => panic!("no tensor: {other:?}"),
    }
}

pub(crate) fn elements(value: &Value) -> Vec<Value> {
    match value {
        Value::Struct(elements) => elements.to_vec(),
        Value::Sequence(sequence) => sequence.elements(leaf()).unwrap().to_vec(),
        other => panic!("no elements: {other:?}"),
    }
}

pub(crate) fn float(value: f32) -> Value {
    Value::scalar(Scalar::Float32(value))
}

pub(crate) fn int(value: i32) -> Value {
    Value::scalar(Scalar::Int32(value))
}

pub(crate) fn floats(dims: &[u64], values: &[f32]) -> Value {
    let scalars: Vec<Scalar> = values.iter().copied().map(Scalar::Float32).collect();
    Value::array(Array::from_scalars(DType::Float32, dims, &scalars).unwrap())
}

pub(crate) fn ty(dtype: DType, dims: &[Option<u64>]) -> Type {
    Type::tensor(dtype, Shape::new(dims.iter().copied()))
}
