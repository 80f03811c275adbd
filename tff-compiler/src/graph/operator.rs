//! Operators on values of a graph, applied to each tensor, with TensorFlow's rules of dtypes and
//! broadcasting.

use super::builder::GraphBuilder;
use super::constant::defined_dims;
use super::error::GraphError;
use super::nodes;
use super::wire::{Tensor, Wire};
use crate::elementwise::{BinaryOp, broadcast_shape};
use tff_types::{DType, Shape, TensorType, Type, TypeKind};

/// TensorFlow's op.
const fn op_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "AddV2",
        BinaryOp::Subtract => "Sub",
        BinaryOp::Multiply => "Mul",
        BinaryOp::Divide => "RealDiv",
        BinaryOp::Minimum => "Minimum",
        BinaryOp::Maximum => "Maximum",
        BinaryOp::FloorMod => "FloorMod",
        BinaryOp::LeftShift => "LeftShift",
        BinaryOp::LessEqual => "LessEqual",
    }
}

impl GraphBuilder {
    /// Applies an operator to two values: to tensors, or to the corresponding tensors of two
    /// structs of the same structure; where only the left value is a struct, to each of its tensors
    /// with the right one. The dtypes must be the same; shapes are broadcast.
    ///
    /// # Errors
    /// [`GraphError::Structures`], [`GraphError::Shapes`], [`GraphError::MixedDTypes`],
    /// [`GraphError::DType`], [`GraphError::Operand`] for sequences.
    pub fn binary(&mut self, op: BinaryOp, left: &Wire, right: &Wire) -> Result<Wire, GraphError> {
        match (left.ty().kind(), right.ty().kind()) {
            (TypeKind::Tensor(left_ty), TypeKind::Tensor(right_ty)) => {
                let shape = broadcast_shape(&left_ty.shape, &right_ty.shape)
                    .ok_or_else(|| shapes(&left_ty.shape, &right_ty.shape))?;
                if left_ty.dtype != right_ty.dtype {
                    let (left, right) = (left_ty.dtype, right_ty.dtype);
                    return Err(GraphError::MixedDTypes { op: op_name(op), left, right });
                }
                let dtype = op.operand(left_ty.dtype);
                let dtype = dtype.ok_or(GraphError::DType { op: op_name(op), dtype: left_ty.dtype })?;
                let (left, right) = (self.cast(left, dtype)?, self.cast(right, dtype)?);
                let ty = Type::tensor(op.result(dtype), shape);
                self.operation(op_name(op), &[&left, &right], &[("T", nodes::dtype(dtype))], ty)
            }
            (TypeKind::Struct(_), TypeKind::Struct(_)) => {
                check_same_names(left.ty(), right.ty())?;
                let pairs = left.elements()?.into_iter().zip(right.elements()?);
                let results: Vec<_> =
                    pairs.map(|(left, right)| self.binary(op, &left, &right)).collect::<Result<_, _>>()?;
                like(left.ty(), results)
            }
            (TypeKind::Struct(_), TypeKind::Tensor(_)) => {
                let elements = left.elements()?.into_iter();
                let results: Vec<_> = elements.map(|left| self.binary(op, &left, right)).collect::<Result<_, _>>()?;
                like(left.ty(), results)
            }
            (TypeKind::Tensor(_), TypeKind::Struct(_)) => {
                Err(GraphError::Structures { left: left.ty().clone(), right: right.ty().clone() })
            }
            (TypeKind::Tensor(_) | TypeKind::Struct(_), _) => Err(not_numbers(right.ty())),
            _ => Err(not_numbers(left.ty())),
        }
    }

    /// Makes a value fit for an operator whose other operand is of type `target`: a value that is
    /// assignable stays, and a tensor is broadcast to the shape of each tensor of the target and
    /// cast to its dtype.
    ///
    /// # Errors
    /// [`GraphError::Structures`] where a struct is to become another one or a tensor,
    /// [`GraphError::Shapes`], [`GraphError::UndefinedShape`], [`GraphError::Operand`] for
    /// sequences.
    pub fn upcast(&mut self, value: &Wire, target: &Type) -> Result<Wire, GraphError> {
        match (value.ty().kind(), target.kind()) {
            (TypeKind::Tensor(_) | TypeKind::Struct(_), TypeKind::Tensor(_) | TypeKind::Struct(_)) => {}
            (TypeKind::Tensor(_) | TypeKind::Struct(_), _) => return Err(not_numbers(target)),
            _ => return Err(not_numbers(value.ty())),
        }
        if target.is_assignable_from(value.ty()) {
            return Ok(value.clone());
        }
        match (value.ty().kind(), target.kind()) {
            (TypeKind::Tensor(_), TypeKind::Tensor(tensor)) => {
                let broadcast = self.broadcast(value, tensor)?;
                self.cast(&broadcast, tensor.dtype)
            }
            (TypeKind::Tensor(_), TypeKind::Struct(structure)) => {
                let elements = structure.elements().iter();
                let results: Vec<_> =
                    elements.map(|element| self.upcast(value, &element.ty)).collect::<Result<_, _>>()?;
                like(target, results)
            }
            _ => Err(GraphError::Structures { left: target.clone(), right: value.ty().clone() }),
        }
    }

    /// A value with all its tensors cast to a dtype.
    ///
    /// # Errors
    /// [`GraphError::DType`] where strings are involved, [`GraphError::Operand`] for sequences.
    pub fn cast(&mut self, value: &Wire, dtype: DType) -> Result<Wire, GraphError> {
        let tensor = match value.ty().kind() {
            TypeKind::Tensor(tensor) => tensor,
            TypeKind::Struct(_) => {
                let elements = value.elements()?.into_iter();
                let results: Vec<_> = elements.map(|element| self.cast(&element, dtype)).collect::<Result<_, _>>()?;
                return like(value.ty(), results);
            }
            _ => return Err(not_numbers(value.ty())),
        };
        if tensor.dtype == dtype {
            return Ok(value.clone());
        }
        if [tensor.dtype, dtype].contains(&DType::String) {
            return Err(GraphError::DType { op: "Cast", dtype: DType::String });
        }
        let attrs = [("SrcT", nodes::dtype(tensor.dtype)), ("DstT", nodes::dtype(dtype))];
        self.operation("Cast", &[value], &attrs, Type::tensor(dtype, tensor.shape.clone()))
    }

    /// A tensor broadcast to the shape of another type, of whatever dtype that is. Scalars stay:
    /// operators broadcast them by themselves, but a constant is to be of the full shape.
    pub(super) fn broadcast(&mut self, value: &Wire, target: &TensorType) -> Result<Wire, GraphError> {
        let Some(tensor) = value.ty().as_tensor() else { return Err(not_numbers(value.ty())) };
        if tensor.shape.is_scalar() || target.shape == tensor.shape {
            return Ok(value.clone());
        }
        let shapes = || shapes(&target.shape, &tensor.shape);
        let undefined = || GraphError::UndefinedShape { ty: Type::tensor(target.dtype, target.shape.clone()) };
        let dims = defined_dims(target).ok_or_else(undefined)?;
        if broadcast_shape(&target.shape, &tensor.shape).ok_or_else(shapes)? != target.shape {
            return Err(shapes());
        }
        let dims: Vec<_> =
            dims.iter().map(|&dim| i64::try_from(dim)).collect::<Result<_, _>>().map_err(|_| shapes())?;
        let dims = self.constant_node(DType::Int64, nodes::int64_vector(&dims))?;
        let attrs = [("T", nodes::dtype(tensor.dtype)), ("Tidx", nodes::dtype(DType::Int64))];
        let leaf = value.as_leaf().ok_or_else(|| not_numbers(value.ty()))?;
        let result = self.add("BroadcastTo", &[leaf, &dims], &attrs)?;
        Ok(Wire::leaf(Type::tensor(tensor.dtype, target.shape.clone()), result))
    }

    /// The same value, whose use fails with a message unless every element of `condition`, a
    /// `bool` tensor, holds.
    ///
    /// # Errors
    /// [`GraphError::Operand`] where the condition is no tensor of `bool`.
    pub fn assert(&mut self, condition: &Wire, message: &str, value: &Wire) -> Result<Wire, GraphError> {
        let bad = || GraphError::Operand { what: "a tensor of bool", ty: condition.ty().clone() };
        let tensor = condition.ty().as_tensor().filter(|tensor| tensor.dtype == DType::Bool).ok_or_else(bad)?;
        let mut holds = condition.as_leaf().ok_or_else(bad)?.clone();
        if !tensor.shape.is_scalar() {
            let flat = self.constant_node(DType::Int64, nodes::int64_vector(&[-1]))?;
            let attrs = [("T", nodes::dtype(DType::Bool)), ("Tshape", nodes::dtype(DType::Int64))];
            let vector = self.add("Reshape", &[&holds, &flat], &attrs)?;
            let axis = self.constant_node(DType::Int64, nodes::int64_vector(&[0]))?;
            holds = self.add("All", &[&vector, &axis], &[("Tidx", nodes::dtype(DType::Int64))])?;
        }
        let message = self.constant_node(DType::String, nodes::string_scalar(message))?;
        let check = self.add("Assert", &[&holds, &message], &[("T", nodes::dtypes(&[DType::String]))])?;
        self.after(value, &check)
    }

    /// The same value, not available before a node has run.
    fn after(&mut self, value: &Wire, node: &Tensor) -> Result<Wire, GraphError> {
        match (value.ty().kind(), value.as_leaf()) {
            (TypeKind::Tensor(ty), Some(tensor)) => {
                let result = self.add_after("Identity", &[tensor], Some(node), &[("T", nodes::dtype(ty.dtype))])?;
                Ok(Wire::leaf(value.ty().clone(), result))
            }
            (TypeKind::Struct(_), _) => {
                let elements = value.elements()?.into_iter();
                let results: Vec<_> = elements.map(|element| self.after(&element, node)).collect::<Result<_, _>>()?;
                like(value.ty(), results)
            }
            _ => Err(not_numbers(value.ty())),
        }
    }

    /// A node on tensors; its result is of this type.
    fn operation(
        &mut self,
        op: &str,
        operands: &[&Wire],
        attrs: nodes::Attrs<'_>,
        ty: Type,
    ) -> Result<Wire, GraphError> {
        let leaf = |wire: &&Wire| wire.as_leaf().cloned().ok_or_else(|| not_numbers(wire.ty()));
        let tensors: Vec<_> = operands.iter().map(leaf).collect::<Result<_, _>>()?;
        let tensor = self.add(op, &tensors.iter().collect::<Vec<_>>(), attrs)?;
        Ok(Wire::leaf(ty, tensor))
    }
}

fn shapes(left: &Shape, right: &Shape) -> GraphError {
    GraphError::Shapes { left: left.clone(), right: right.clone() }
}

fn not_numbers(ty: &Type) -> GraphError {
    GraphError::Operand { what: "tensors or structs of them", ty: ty.clone() }
}

/// A struct of these elements with the names of another type.
fn like(ty: &Type, elements: Vec<Wire>) -> Result<Wire, GraphError> {
    let names = ty.as_struct().map(tff_types::StructType::elements).unwrap_or_default();
    Wire::structure(names.iter().map(|element| element.name.clone()).zip(elements))
}

fn check_same_names(left: &Type, right: &Type) -> Result<(), GraphError> {
    let names = |ty: &Type| -> Option<Vec<_>> {
        Some(ty.as_struct()?.elements().iter().map(|element| element.name.clone()).collect())
    };
    if names(left) == names(right) {
        Ok(())
    } else {
        Err(GraphError::Structures { left: left.clone(), right: right.clone() })
    }
}
