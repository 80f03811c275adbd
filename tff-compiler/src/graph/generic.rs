//! The graphs that do the same for every type, each a computation of its own: constants, operators,
//! identity, packing. The reductions of intrinsics are made of them.

use super::builder::GraphBuilder;
use super::constant::Fill;
use super::error::GraphError;
use super::operator::BinaryOp;
use super::wire::Wire;
use std::sync::Arc;
use tff_ir::{Array, Comp};
use tff_types::{MAX_DEPTH, Type, TypeError};

/// `( -> T)` for the array's own type: a literal as a graph.
///
/// # Errors
/// As [`GraphBuilder::constant`].
pub fn literal(array: &Array) -> Result<Comp, GraphError> {
    let mut graph = GraphBuilder::new();
    let result = graph.constant(array)?;
    graph.finish(&result)
}

/// `( -> T)`: every element of every tensor of the type is the same.
///
/// # Errors
/// As [`GraphBuilder::fill`].
pub fn constant(fill: &Fill, ty: &Type) -> Result<Comp, GraphError> {
    let mut graph = GraphBuilder::new();
    let result = graph.fill(fill, ty)?;
    graph.finish(&result)
}

/// `( -> T)`: the array broadcast to every tensor of the type.
///
/// # Errors
/// As [`GraphBuilder::broadcast_constant`].
pub fn broadcast_constant(array: &Array, ty: &Type) -> Result<Comp, GraphError> {
    let mut graph = GraphBuilder::new();
    let result = graph.broadcast_constant(array, ty)?;
    graph.finish(&result)
}

/// `( -> T)`: zeros.
///
/// # Errors
/// As [`GraphBuilder::fill`].
pub fn zero(ty: &Type) -> Result<Comp, GraphError> {
    constant(&Fill::Zero, ty)
}

/// `(T -> T)`: the argument.
///
/// # Errors
/// As [`GraphBuilder::parameter`].
pub fn identity(ty: &Type) -> Result<Comp, GraphError> {
    let mut graph = GraphBuilder::new();
    let argument = graph.parameter(ty)?;
    graph.finish(&argument)
}

/// `(<T,U> -> R)`: an operator on the two elements of the argument, whose tensors must be of the
/// same dtypes; see [`GraphBuilder::binary`]. `ty` is the type of the argument.
///
/// # Errors
/// [`GraphError::Operand`] where that is no struct of two, and those of the operator.
pub fn binary_operator(op: BinaryOp, ty: &Type) -> Result<Comp, GraphError> {
    on_pair(ty, |graph, left, right| graph.binary(op, left, right))
}

/// As [`binary_operator`], with the right element first made fit for the left one; see
/// [`GraphBuilder::upcast`].
///
/// # Errors
/// As [`binary_operator`], and those of the conversion.
pub fn binary_operator_with_upcast(op: BinaryOp, ty: &Type) -> Result<Comp, GraphError> {
    on_pair(ty, |graph, left, right| {
        let right = graph.upcast(right, left.ty())?;
        graph.binary(op, left, &right)
    })
}

fn on_pair(
    ty: &Type,
    apply: impl FnOnce(&mut GraphBuilder, &Wire, &Wire) -> Result<Wire, GraphError>,
) -> Result<Comp, GraphError> {
    let mut graph = GraphBuilder::new();
    let elements = graph.parameter(ty)?.elements();
    let Some([left, right]) = elements.as_deref().ok() else {
        return Err(GraphError::Operand { what: "a struct of two elements", ty: ty.clone() });
    };
    let result = apply(&mut graph, left, right)?;
    graph.finish(&result)
}

/// What a value is made of, in terms of the argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packing {
    /// The part of the argument that these positions lead to; none is the whole of it.
    Part(Vec<usize>),
    /// A struct.
    Struct(Vec<(Option<Arc<str>>, Packing)>),
}

/// `(T -> R)`: parts of the argument, selected and put together anew.
///
/// # Errors
/// [`GraphError::Operand`] and [`GraphError::IndexOutOfRange`] for a part that is not there,
/// [`GraphError::Type`] for names that are wrong and a result nested too deep.
pub fn pack(ty: &Type, packing: &Packing) -> Result<Comp, GraphError> {
    let mut graph = GraphBuilder::new();
    let argument = graph.parameter(ty)?;
    let result = packed(&argument, packing, MAX_DEPTH)?;
    graph.finish(&result)
}

fn packed(argument: &Wire, packing: &Packing, depth: u32) -> Result<Wire, GraphError> {
    let depth = depth.checked_sub(1).ok_or(TypeError::TooDeep)?;
    match packing {
        Packing::Part(path) => path.iter().try_fold(argument.clone(), |wire, &index| wire.element(index)),
        Packing::Struct(elements) => {
            let elements: Vec<_> = elements
                .iter()
                .map(|(name, packing)| Ok((name.clone(), packed(argument, packing, depth)?)))
                .collect::<Result<_, GraphError>>()?;
            Wire::structure(elements)
        }
    }
}
