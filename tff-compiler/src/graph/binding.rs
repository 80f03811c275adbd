//! Bindings as flat lists of tensors, checked against the type they belong to.

use super::def::TensorName;
use super::error::GraphError;
use super::nodes::VARIANT;
use super::wire::Tensors;
use std::sync::Arc;
use tff_ir::{SequenceBinding, TensorFlowBinding};
use tff_types::{DType, Type, TypeKind};

/// One tensor of a binding.
#[derive(Clone, Debug)]
pub(crate) struct BoundTensor {
    pub(crate) tensor: TensorName,
    pub(crate) content: Content,
    /// The type of this part: of a tensor or a sequence.
    pub(crate) ty: Type,
}

impl BoundTensor {
    /// The number of TensorFlow's `DataType` that the tensor is of.
    pub(crate) fn dtype_number(&self) -> i32 {
        match (self.content, self.ty.as_tensor()) {
            (Content::Tensor, Some(tensor)) => tensor.dtype.number(),
            (Content::Tensor | Content::Dataset, _) => VARIANT,
            (Content::DatasetGraph, _) => DType::String.number(),
        }
    }
}

/// What a tensor of a binding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A tensor of the type.
    Tensor,
    /// A dataset.
    Dataset,
    /// A string: the graph of a dataset.
    DatasetGraph,
}

/// The tensors of a binding, in order.
///
/// # Errors
/// [`GraphError::Binding`], [`GraphError::TensorName`], [`GraphError::UnsupportedType`].
pub(crate) fn bound_tensors(
    side: &'static str,
    ty: &Type,
    binding: &TensorFlowBinding,
) -> Result<Vec<BoundTensor>, GraphError> {
    let mut found = Vec::new();
    // The type bounds the depth.
    collect(side, ty, binding, &mut found)?;
    Ok(found)
}

fn collect(
    side: &'static str,
    ty: &Type,
    binding: &TensorFlowBinding,
    found: &mut Vec<BoundTensor>,
) -> Result<(), GraphError> {
    let mismatch = || GraphError::Binding { side, ty: ty.clone() };
    let (name, content) = match (ty.kind(), binding) {
        (TypeKind::Struct(structure), TensorFlowBinding::Struct(bindings)) => {
            if structure.len() != bindings.len() {
                return Err(mismatch());
            }
            let mut pairs = structure.elements().iter().zip(bindings);
            return pairs.try_for_each(|(element, binding)| collect(side, &element.ty, binding, found));
        }
        (TypeKind::Tensor(_), TensorFlowBinding::Tensor(name)) => (name, Content::Tensor),
        (TypeKind::Sequence(_), TensorFlowBinding::Sequence(sequence)) => match sequence {
            SequenceBinding::Variant(name) => (name, Content::Dataset),
            SequenceBinding::GraphDef(name) => (name, Content::DatasetGraph),
        },
        (TypeKind::Struct(_) | TypeKind::Tensor(_) | TypeKind::Sequence(_), _) => return Err(mismatch()),
        _ => return Err(GraphError::UnsupportedType { ty: ty.clone() }),
    };
    let tensor = TensorName::parse(name)
        .ok_or_else(|| GraphError::TensorName { user: format!("the binding of the {side}"), name: name.to_string() })?;
    found.push(BoundTensor { tensor, content, ty: ty.clone() });
    Ok(())
}

/// The binding of a value whose sequences are datasets.
pub(crate) fn binding(ty: &Type, tensors: &Tensors) -> TensorFlowBinding {
    match tensors {
        Tensors::Struct(elements) => {
            let types = ty.as_struct().map(tff_types::StructType::elements).unwrap_or_default();
            TensorFlowBinding::Struct(
                types.iter().zip(elements.iter()).map(|(element, tensors)| binding(&element.ty, tensors)).collect(),
            )
        }
        Tensors::Leaf(tensor) => {
            let name: Arc<str> = tensor.to_string().into();
            if ty.as_sequence().is_some() {
                TensorFlowBinding::Sequence(SequenceBinding::Variant(name))
            } else {
                TensorFlowBinding::Tensor(name)
            }
        }
    }
}

/// Tensors parallel to a type, each part made from the type of a tensor or sequence.
///
/// # Errors
/// [`GraphError::UnsupportedType`] for every other type, and those of `leaf`.
pub(crate) fn tensors_of(
    ty: &Type,
    leaf: &mut dyn FnMut(&Type) -> Result<super::wire::Tensor, GraphError>,
) -> Result<Tensors, GraphError> {
    match ty.kind() {
        TypeKind::Struct(structure) => {
            let elements: Vec<_> =
                structure.elements().iter().map(|element| tensors_of(&element.ty, leaf)).collect::<Result<_, _>>()?;
            Ok(Tensors::Struct(elements.into()))
        }
        TypeKind::Tensor(_) | TypeKind::Sequence(_) => Ok(Tensors::Leaf(leaf(ty)?)),
        _ => Err(GraphError::UnsupportedType { ty: ty.clone() }),
    }
}
