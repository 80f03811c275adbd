//! Operators on sequences.

use super::{Leaf, lambda, parameter};
use crate::create::create_call;
use crate::elementwise::{BinaryOp, Fill};
use crate::error::Problem;
use tff_ir::{Comp, Intrinsic};
use tff_types::Type;

/// `sequence_sum`: a reduction that starts from zero and adds.
pub(super) fn sum(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    let (_, sequence) = parameter(ty)?;
    let element = &sequence.as_sequence().ok_or_else(|| Problem::expected("a sequence", sequence))?.element;
    lambda(sequence, |value| {
        let zero = Comp::call(leaf.constant(&Fill::Zero, element)?, None)?;
        let operator = leaf.binary_operator(BinaryOp::Add, &Type::tuple([element.clone(), element.clone()])?)?;
        let argument = Comp::tuple([value, zero, operator])?;
        let parameter = argument.ty().clone();
        create_call(Intrinsic::SequenceReduce, argument, parameter, element.clone())
    })
}
