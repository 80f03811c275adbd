//! The modules that the reductions of intrinsics are made of, each a computation of its own.

use super::builder::ModuleBuilder;
use super::operator::{binary, upcast};
use super::value::{Value, finish};
use crate::elementwise::{BinaryOp, Fill};
use tff_ir::Comp;
use tff_types::Type;

/// `( -> T)`: every element of every tensor of the type is the same; as
/// [`graph::generic::constant`](crate::graph::generic::constant).
#[must_use]
pub fn constant(fill: &Fill, ty: &Type) -> Option<Comp> {
    let mut module = ModuleBuilder::default();
    let result = Value::of_type(ty, &mut |ty| module.fill(&fill.scalar(ty.dtype)?, &ty.shape))?;
    finish(module, None, &result)
}

/// `(<T,U> -> R)`: an operator on the two elements of the argument, of type `ty`; as
/// [`graph::generic::binary_operator`](crate::graph::generic::binary_operator).
///
/// Modulo zero an integer stays as it is, where a graph would fail.
#[must_use]
pub fn binary_operator(op: BinaryOp, ty: &Type) -> Option<Comp> {
    on_pair(ty, |module, [left, right], _| binary(module, op, left, right))
}

/// As [`binary_operator`], with the right element first made fit for the left one; as
/// [`graph::generic::binary_operator_with_upcast`](crate::graph::generic::binary_operator_with_upcast).
///
/// No module converts floats to integers, complex numbers to real ones, or truth values: XLA would
/// give others.
#[must_use]
pub fn binary_operator_with_upcast(op: BinaryOp, ty: &Type) -> Option<Comp> {
    on_pair(ty, |module, [left, right], [left_ty, right_ty]| {
        let right = upcast(module, right, right_ty, left_ty)?;
        binary(module, op, left, &right)
    })
}

fn on_pair(
    ty: &Type,
    apply: impl FnOnce(&mut ModuleBuilder, [&Value; 2], [&Type; 2]) -> Option<Value>,
) -> Option<Comp> {
    let [left_ty, right_ty] = ty.as_struct()?.elements() else { return None };
    let mut module = ModuleBuilder::default();
    let mut parameter = |ty| Value::of_type(ty, &mut |ty| Some(module.parameter(ty)));
    let (left, right) = (parameter(&left_ty.ty)?, parameter(&right_ty.ty)?);
    let result = apply(&mut module, [&left, &right], [&left_ty.ty, &right_ty.ty])?;
    finish(module, Some(ty), &result)
}
