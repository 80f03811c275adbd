//! Constants of a graph: literals, and values that fill every tensor of a type.

use super::binding::tensors_of;
use super::builder::GraphBuilder;
use super::error::GraphError;
use super::nodes;
use super::wire::{Tensor, Wire};
use crate::elementwise::Fill;
use tff_ir::Array;
use tff_proto::tensorflow as tf;
use tff_types::{DType, TensorType, Type};

impl GraphBuilder {
    /// A constant tensor, of the dtype and shape of the array.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`], [`GraphError::TooManyNodes`].
    pub fn constant(&mut self, array: &Array) -> Result<Wire, GraphError> {
        let size = array.as_strings().map_or(0, |strings| strings.iter().map(|it| it.len()).sum());
        self.reserve(1, array.as_dense().map_or(size, |bytes| bytes.len()))?;
        let tensor = self.constant_node(array.dtype(), nodes::array_tensor(array))?;
        Ok(Wire::leaf(array.ty(), tensor))
    }

    /// A value of this type, of tensors and structs of them, with every element the same.
    ///
    /// # Errors
    /// [`GraphError::UndefinedShape`] for a shape that is not fully defined,
    /// [`GraphError::UnsupportedType`] for a sequence, [`GraphError::Scalar`] where there is no
    /// such element of a dtype.
    pub fn fill(&mut self, fill: &Fill, ty: &Type) -> Result<Wire, GraphError> {
        let tensors = tensors_of(ty, &mut |ty| {
            let tensor = ty.as_tensor().ok_or_else(|| GraphError::UnsupportedType { ty: ty.clone() })?;
            let scalar = fill.scalar(tensor.dtype).ok_or_else(|| no_element(fill, tensor.dtype))?;
            let dims = defined_dims(tensor).ok_or_else(|| GraphError::UndefinedShape { ty: ty.clone() })?;
            self.constant_node(tensor.dtype, nodes::filled_tensor(&scalar, &dims))
        })?;
        Ok(Wire::new(ty.clone(), tensors))
    }

    /// A constant that is no value of a type of its own: dimensions, axes.
    pub(super) fn constant_node(&mut self, dtype: DType, tensor: tf::TensorProto) -> Result<Tensor, GraphError> {
        self.add("Const", &[], &[("dtype", nodes::dtype(dtype)), ("value", nodes::tensor(tensor))])
    }
}

/// The dimensions, if all are known.
pub(super) fn defined_dims(tensor: &TensorType) -> Option<Vec<u64>> {
    tensor.shape.dims()?.iter().copied().collect()
}

fn no_element(fill: &Fill, dtype: DType) -> GraphError {
    match fill {
        Fill::Zero => GraphError::NoSuchNumber { number: "zero", dtype },
        Fill::Lowest => GraphError::NoSuchNumber { number: "lowest", dtype },
        Fill::Highest => GraphError::NoSuchNumber { number: "highest", dtype },
        Fill::Number(scalar) => GraphError::Scalar { value: format!("{scalar:?}"), dtype },
    }
}
