//! Every graph that the compiler builds or merges is run by TensorFlow.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod generic;
mod golden;
mod merged;
mod modules;

use bytes::Bytes;
use std::sync::{Arc, LazyLock};
use tff_compiler::graph::{GraphBuilder, GraphError, Wire};
use tff_exec::leaf::tensorflow::{Library, TensorFlowOptions};
use tff_exec::{ExecError, Sequence, TensorFlow, Value};
use tff_ir::{Array, Comp, CompKind, CompiledComputation, Scalar};
use tff_types::{DType, FunctionType, TensorType, Type, TypeKind};

static LEAF: LazyLock<TensorFlow> = LazyLock::new(|| {
    let library = Library::Path(tff_benches::repository_file(".native/tensorflow"));
    TensorFlow::new(TensorFlowOptions { library, kernels: false, ..TensorFlowOptions::default() })
});

/// The graph that a computation is, with its type.
fn graph_of(comp: &Comp) -> (&Arc<tff_ir::TensorFlow>, &FunctionType) {
    match (comp.kind(), comp.ty().as_function()) {
        (CompKind::CompiledComputation(CompiledComputation::TensorFlow(graph)), Some(ty)) => (graph, ty),
        _ => panic!("{comp} is no graph"),
    }
}

fn try_run(comp: &Comp, argument: Option<&Value>) -> Result<Value, ExecError> {
    let (graph, ty) = graph_of(comp);
    LEAF.prepare(graph, ty)?.call(argument)
}

#[track_caller]
fn run(comp: &Comp, argument: Option<&Value>) -> String {
    show(&try_run(comp, argument).unwrap_or_else(|error| panic!("{} does not run: {error:?}", comp.ty())))
}

/// The elements of all tensors; those of one kind look like the debug form of the Rust type.
fn show(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => show_array(tensor.array()),
        Value::Struct(elements) => format!("<{}>", elements.iter().map(show).collect::<Vec<_>>().join(",")),
        Value::Sequence(sequence) => {
            let elements = sequence.elements(&*LEAF).unwrap();
            format!("({})", elements.iter().map(show).collect::<Vec<_>>().join(","))
        }
        other => panic!("a graph gave {}", other.describe()),
    }
}

fn show_array(array: &Array) -> String {
    let elements: Vec<_> = array.scalars().map(|scalar| show_scalar(&scalar)).collect();
    let dims: Vec<_> = array.dims().iter().map(ToString::to_string).collect();
    match dims.as_slice() {
        [] => elements.concat(),
        dims => format!("[{}]{{{}}}", dims.join(","), elements.join(" ")),
    }
}

fn show_scalar(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int8(value) => value.to_string(),
        Scalar::Int16(value) => value.to_string(),
        Scalar::Int32(value) => value.to_string(),
        Scalar::Int64(value) => value.to_string(),
        Scalar::UInt8(value) => value.to_string(),
        Scalar::UInt16(value) => value.to_string(),
        Scalar::UInt32(value) => value.to_string(),
        Scalar::UInt64(value) => value.to_string(),
        Scalar::Float16(value) => format!("{value:?}"),
        Scalar::BFloat16(value) => format!("{value:?}"),
        Scalar::Float32(value) => format!("{value:?}"),
        Scalar::Float64(value) => format!("{value:?}"),
        Scalar::Complex64(re, im) => format!("{re:?}+{im:?}i"),
        Scalar::Complex128(re, im) => format!("{re:?}+{im:?}i"),
        Scalar::String(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
    }
}

/// A value of a type: its tensors count from 1 on in a period of five, its sequences have three
/// elements, and what is not known of a shape is 2.
fn sample(ty: &Type) -> Value {
    match ty.kind() {
        TypeKind::Tensor(tensor) => Value::array(sample_array(tensor)),
        TypeKind::Struct(structure) => {
            Value::structure(structure.elements().iter().map(|element| sample(&element.ty)).collect::<Vec<_>>())
        }
        TypeKind::Sequence(sequence) => {
            let elements: Vec<_> = (0..3).map(|_| sample(&sequence.element)).collect();
            Value::Sequence(Sequence::from_elements(sequence.element.clone(), elements))
        }
        _ => panic!("no sample of {ty}"),
    }
}

fn sample_array(ty: &TensorType) -> Array {
    let dims: Vec<u64> = ty.shape.dims().unwrap_or_default().iter().map(|dim| dim.unwrap_or(2)).collect();
    let count: u64 = dims.iter().product();
    let elements: Vec<_> = (0..count).map(|index| small(u8::try_from(index % 5).unwrap() + 1, ty.dtype)).collect();
    Array::from_scalars(ty.dtype, dims, &elements).unwrap()
}

/// A small number as an element.
fn small(value: u8, dtype: DType) -> Scalar {
    let signed = i8::try_from(value).unwrap();
    match dtype {
        DType::Bool => Scalar::Bool(value % 2 == 1),
        DType::Int8 => Scalar::Int8(signed),
        DType::Int16 => Scalar::Int16(value.into()),
        DType::Int32 => Scalar::Int32(value.into()),
        DType::Int64 => Scalar::Int64(value.into()),
        DType::UInt8 => Scalar::UInt8(value),
        DType::UInt16 => Scalar::UInt16(value.into()),
        DType::UInt32 => Scalar::UInt32(value.into()),
        DType::UInt64 => Scalar::UInt64(value.into()),
        DType::Float16 => Scalar::Float16(signed.into()),
        DType::BFloat16 => Scalar::BFloat16(signed.into()),
        DType::Float32 => Scalar::Float32(value.into()),
        DType::Float64 => Scalar::Float64(value.into()),
        DType::Complex64 => Scalar::Complex64(value.into(), 1.0),
        DType::Complex128 => Scalar::Complex128(value.into(), 1.0),
        DType::String => Scalar::String(Bytes::from(format!("s{value}"))),
    }
}

/// A computation of this parameter, made by `f` out of it.
#[track_caller]
fn build(ty: &Type, f: impl FnOnce(&mut GraphBuilder, &Wire) -> Result<Wire, GraphError>) -> Comp {
    let mut graph = GraphBuilder::new();
    let argument = graph.parameter(ty).unwrap();
    let result = f(&mut graph, &argument).unwrap();
    graph.finish(&result).unwrap()
}

/// Calls a graph within another one.
fn call(graph: &mut GraphBuilder, function: &Comp, argument: Option<&Wire>) -> Result<Wire, GraphError> {
    let (tensorflow, ty) = graph_of(function);
    graph.call(tensorflow, ty, argument)
}

/// Parses a type.
fn ty(text: &str) -> Type {
    text.parse().unwrap()
}
