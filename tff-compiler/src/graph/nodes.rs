//! Making nodes of a graph: their attributes, and the constants they hold.

use bytes::Bytes;
use std::collections::BTreeMap;
use tff_ir::{Array, Scalar};
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::{ListValue, Value};
use tff_types::{DType, Shape};

/// Numbers of TensorFlow's `DataType` that no dtype of a type has.
pub(crate) const VARIANT: i32 = tf::DataType::DtVariant as i32;

pub(crate) type Attrs<'a> = &'a [(&'a str, Value)];

/// A node of this name, op, inputs and attributes.
pub(crate) fn node(name: &str, op: &str, input: Vec<String>, attrs: Attrs<'_>) -> tf::NodeDef {
    let attr: BTreeMap<_, _> =
        attrs.iter().map(|(name, value)| ((*name).to_owned(), tf::AttrValue { value: Some(value.clone()) })).collect();
    tf::NodeDef { name: name.to_owned(), op: op.to_owned(), input, attr, ..tf::NodeDef::default() }
}

/// An attribute that is an element type.
pub(crate) fn dtype(dtype: DType) -> Value {
    Value::Type(dtype.number())
}

/// An attribute that is a shape.
pub(crate) fn shape(shape: &Shape) -> Value {
    let (dims, unknown_rank) = shape.to_wire();
    Value::Shape(shape_proto(&dims, unknown_rank))
}

/// An attribute that is a list of element types.
pub(crate) fn dtypes(dtypes: &[DType]) -> Value {
    let numbers = dtypes.iter().map(|dtype| dtype.number()).collect();
    Value::List(Box::new(ListValue { r#type: numbers, ..ListValue::default() }))
}

/// An attribute that is a constant.
pub(crate) fn tensor(tensor: tf::TensorProto) -> Value {
    Value::Tensor(Box::new(tensor))
}

fn shape_proto(dims: &[i64], unknown_rank: bool) -> tf::TensorShapeProto {
    let dim = |&size: &i64| tf::tensor_shape_proto::Dim { size, name: String::new() };
    tf::TensorShapeProto { dim: dims.iter().map(dim).collect(), unknown_rank }
}

fn empty_tensor(dtype: DType, dims: &[u64]) -> tf::TensorProto {
    let dims: Vec<_> = dims.iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect();
    tf::TensorProto {
        dtype: dtype.number(),
        tensor_shape: Some(shape_proto(&dims, false)),
        ..tf::TensorProto::default()
    }
}

/// The elements of an array as a constant. Bytes are shared, not copied.
pub(crate) fn array_tensor(array: &Array) -> tf::TensorProto {
    let mut tensor = empty_tensor(array.dtype(), array.dims());
    if let Some(bytes) = array.as_dense() {
        tensor.tensor_content = bytes.clone();
    }
    tensor.string_val = array.as_strings().unwrap_or_default().to_vec();
    tensor
}

/// A constant of these dimensions whose every element is this scalar, stored once: TensorFlow
/// repeats the last element of a list that is shorter than the shape asks for.
pub(crate) fn filled_tensor(scalar: &Scalar, dims: &[u64]) -> tf::TensorProto {
    let mut tensor = empty_tensor(scalar.dtype(), dims);
    match scalar {
        Scalar::Bool(value) => tensor.bool_val = vec![*value],
        Scalar::Int8(value) => tensor.int_val = vec![(*value).into()],
        Scalar::Int16(value) => tensor.int_val = vec![(*value).into()],
        Scalar::Int32(value) => tensor.int_val = vec![*value],
        Scalar::Int64(value) => tensor.int64_val = vec![*value],
        Scalar::UInt8(value) => tensor.int_val = vec![(*value).into()],
        Scalar::UInt16(value) => tensor.int_val = vec![(*value).into()],
        Scalar::UInt32(value) => tensor.uint32_val = vec![*value],
        Scalar::UInt64(value) => tensor.uint64_val = vec![*value],
        Scalar::Float16(value) => tensor.half_val = vec![value.to_bits().into()],
        Scalar::BFloat16(value) => tensor.half_val = vec![value.to_bits().into()],
        Scalar::Float32(value) => tensor.float_val = vec![*value],
        Scalar::Float64(value) => tensor.double_val = vec![*value],
        Scalar::Complex64(re, im) => tensor.scomplex_val = vec![*re, *im],
        Scalar::Complex128(re, im) => tensor.dcomplex_val = vec![*re, *im],
        Scalar::String(value) => tensor.string_val = vec![value.clone()],
    }
    tensor
}

/// A vector of `int64`: dimensions, axes.
pub(crate) fn int64_vector(values: &[i64]) -> tf::TensorProto {
    let mut tensor = empty_tensor(DType::Int64, &[values.len() as u64]);
    tensor.tensor_content = values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>().into();
    tensor
}

/// A scalar string.
pub(crate) fn string_scalar(value: &str) -> tf::TensorProto {
    filled_tensor(&Scalar::String(Bytes::copy_from_slice(value.as_bytes())), &[])
}
