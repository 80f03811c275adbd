//! Operators on values of any type: local, federated, or structs of such.

use super::{Leaf, lambda, parameter};
use crate::create::{create_map_or_apply, create_selection, create_value, create_zip, placed};
use crate::elementwise::{BinaryOp, Fill};
use crate::error::Problem;
use tff_ir::Comp;
use tff_types::{Type, TypeKind};

/// `generic_plus`: the sum.
pub(super) fn plus(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    operator(leaf, BinaryOp::Add, ty)
}

/// `generic_multiply`: the product.
pub(super) fn multiply(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    operator(leaf, BinaryOp::Multiply, ty)
}

/// `generic_divide`: the true quotient.
pub(super) fn divide(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    operator(leaf, BinaryOp::Divide, ty)
}

/// `generic_zero`: zero at every leaf. It is no function.
pub(super) fn zero(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    match ty.kind() {
        TypeKind::Federated(_) => {
            let (federated, placement) = placed(ty)?;
            create_value(zero(leaf, &federated.member)?, placement)
        }
        TypeKind::Struct(structure) if ty.contains_federated() => {
            let elements = structure.elements().iter();
            let elements = elements.map(|element| Ok((element.name.clone(), zero(leaf, &element.ty)?)));
            Ok(Comp::structure(elements.collect::<Result<Vec<_>, Problem>>()?)?)
        }
        _ => Ok(Comp::call(leaf.constant(&Fill::Zero, ty)?, None)?),
    }
}

fn operator(leaf: Leaf, op: BinaryOp, ty: &Type) -> Result<Comp, Problem> {
    let (_, argument) = parameter(ty)?;
    if !argument.contains_federated() {
        return leaf.binary_operator(op, argument);
    }
    lambda(argument, |argument| apply(leaf, op, create_selection(&argument, 0)?, create_selection(&argument, 1)?))
}

/// Applies the operator where the values are: element by element in structs.
fn apply(leaf: Leaf, op: BinaryOp, left: Comp, right: Comp) -> Result<Comp, Problem> {
    match left.ty().kind() {
        TypeKind::Federated(_) => {
            let pair = create_zip(Comp::tuple([left, right])?)?;
            let member = &placed(pair.ty())?.0.member;
            create_map_or_apply(leaf.binary_operator(op, member)?, pair)
        }
        TypeKind::Struct(structure) if left.ty().contains_federated() => {
            let elements = structure.elements().iter().enumerate().map(|(index, element)| {
                let result = apply(leaf, op, create_selection(&left, index)?, create_selection(&right, index)?)?;
                Ok((element.name.clone(), result))
            });
            Ok(Comp::structure(elements.collect::<Result<Vec<_>, Problem>>()?)?)
        }
        TypeKind::Tensor(_) | TypeKind::Struct(_) => {
            let pair = Comp::tuple([left, right])?;
            Ok(Comp::call(leaf.binary_operator(op, pair.ty())?, Some(pair))?)
        }
        _ => Err(Problem::expected("numbers, federated or not", left.ty())),
    }
}
