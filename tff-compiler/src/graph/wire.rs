//! The values within a graph: a type and, parallel to it, the tensors that make up the value.

use super::error::GraphError;
use std::fmt;
use std::sync::Arc;
use tff_types::Type;

/// A value within a graph that a [`GraphBuilder`](super::GraphBuilder) makes, cheap to clone.
///
/// A tensor of the type is a tensor of the graph; a sequence is a tensor of dtype variant, the
/// dataset. A wire is of use only to the builder that handed it out.
#[derive(Clone, Debug)]
pub struct Wire {
    ty: Type,
    tensors: Tensors,
}

/// The tensors of a value, parallel to its type.
#[derive(Clone, Debug)]
pub(crate) enum Tensors {
    Leaf(Tensor),
    Struct(Arc<[Tensors]>),
}

/// One output of a node of the graph.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) node: Arc<str>,
    pub(crate) index: u32,
    /// Whether something that was called goes into it, not just the parameter and constants.
    pub(crate) from_call: bool,
}

impl Tensor {
    /// The name as inputs of nodes spell it: the first output by the name of the node alone.
    pub(crate) fn input(&self) -> String {
        if self.index == 0 { self.node.as_ref().to_owned() } else { self.to_string() }
    }
}

/// The name as bindings spell it, `node:0`.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node, self.index)
    }
}

impl Wire {
    pub(crate) fn new(ty: Type, tensors: Tensors) -> Self {
        Self { ty, tensors }
    }

    pub(crate) fn leaf(ty: Type, tensor: Tensor) -> Self {
        Self { ty, tensors: Tensors::Leaf(tensor) }
    }

    /// A struct of these values.
    ///
    /// # Errors
    /// [`GraphError::Type`]: a name that is empty or occurs twice, or a type too large.
    pub fn structure<N: Into<Arc<str>>>(
        elements: impl IntoIterator<Item = (Option<N>, Self)>,
    ) -> Result<Self, GraphError> {
        let (types, tensors): (Vec<_>, Vec<_>) =
            elements.into_iter().map(|(name, wire)| ((name, wire.ty), wire.tensors)).unzip();
        Ok(Self { ty: Type::structure(types)?, tensors: Tensors::Struct(tensors.into()) })
    }

    /// The element at this position.
    ///
    /// # Errors
    /// [`GraphError::Operand`] where it is no struct, [`GraphError::IndexOutOfRange`].
    pub fn element(&self, index: usize) -> Result<Self, GraphError> {
        let elements = self.elements()?;
        let len = elements.len();
        elements.into_iter().nth(index).ok_or(GraphError::IndexOutOfRange { index, len })
    }

    /// The elements, in order.
    ///
    /// # Errors
    /// [`GraphError::Operand`] where it is no struct.
    pub fn elements(&self) -> Result<Vec<Self>, GraphError> {
        let (Some(structure), Tensors::Struct(tensors)) = (self.ty.as_struct(), &self.tensors) else {
            return Err(GraphError::Operand { what: "a struct", ty: self.ty.clone() });
        };
        let elements = structure.elements().iter().zip(tensors.iter());
        Ok(elements.map(|(element, tensors)| Self::new(element.ty.clone(), tensors.clone())).collect())
    }

    /// The type of the value.
    #[must_use]
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    pub(crate) fn tensors(&self) -> &Tensors {
        &self.tensors
    }

    /// The one tensor, if it is a tensor or a sequence.
    pub(crate) fn as_leaf(&self) -> Option<&Tensor> {
        if let Tensors::Leaf(tensor) = &self.tensors { Some(tensor) } else { None }
    }
}

impl Tensors {
    /// Visits every tensor, in order.
    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(&Tensor)) {
        match self {
            Self::Leaf(tensor) => visit(tensor),
            Self::Struct(elements) => elements.iter().for_each(|element| element.for_each(visit)),
        }
    }
}
