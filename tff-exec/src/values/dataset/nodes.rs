//! The parts of graphs, as messages.

use tff_ir::ArrayError;
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::tensor_shape_proto::Dim;
use tff_proto::tensorflow::{AttrValue, NodeDef, TensorProto, TensorShapeProto};
use tff_types::Shape;

/// The most dimensions that TensorFlow gives a tensor; it ends the process where there are more.
const MAX_RANK: usize = 254;

/// TensorFlow multiplies the dimensions from the left and ends the process where that overflows,
/// also where a later one is 0.
pub(crate) fn check_dims(dims: &[u64]) -> Result<(), ArrayError> {
    let product = dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim.max(1)));
    let fits = product.is_some_and(|product| i64::try_from(product).is_ok());
    if fits && dims.len() <= MAX_RANK { Ok(()) } else { Err(ArrayError::TooLarge(dims.to_vec())) }
}

/// An attribute.
pub(crate) const fn attr(value: Attr) -> AttrValue {
    AttrValue { value: Some(value) }
}

/// A node of a graph.
pub(crate) fn node<'a>(
    name: &str,
    op: &str,
    inputs: &[&str],
    attrs: impl IntoIterator<Item = (&'a str, Attr)>,
) -> NodeDef {
    NodeDef {
        name: name.to_owned(),
        op: op.to_owned(),
        input: inputs.iter().map(|&input| input.to_owned()).collect(),
        attr: attrs.into_iter().map(|(name, value)| (name.to_owned(), attr(value))).collect(),
        ..NodeDef::default()
    }
}

/// A node of a constant tensor.
pub(crate) fn constant(name: &str, tensor: TensorProto) -> NodeDef {
    node(name, "Const", &[], [("dtype", Attr::Type(tensor.dtype)), ("value", Attr::Tensor(Box::new(tensor)))])
}

/// The message of a shape.
pub(crate) fn tensor_shape(shape: &Shape) -> TensorShapeProto {
    let (dims, unknown_rank) = shape.to_wire();
    let dim = dims.into_iter().map(|size| Dim { size, name: String::new() }).collect();
    TensorShapeProto { dim, unknown_rank }
}

/// Attributes that are lists.
pub(crate) mod attr_list {
    use super::{Attr, Shape, tensor_shape};
    use tff_proto::tensorflow::attr_value::ListValue;

    /// Of element types, by their numbers.
    pub(crate) fn types(types: &[i32]) -> Attr {
        Attr::List(Box::new(ListValue { r#type: types.to_vec(), ..ListValue::default() }))
    }

    /// Of shapes.
    pub(crate) fn shapes<'a>(shapes: impl IntoIterator<Item = &'a Shape>) -> Attr {
        Attr::List(Box::new(ListValue {
            shape: shapes.into_iter().map(tensor_shape).collect(),
            ..ListValue::default()
        }))
    }
}
