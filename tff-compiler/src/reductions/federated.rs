//! Sums, means and extremes of the values of clients, as aggregations.

use super::{Leaf, lambda, parameter};
use crate::create::{
    Aggregation, create_aggregate, create_identity, create_map_or_apply, create_selection, create_value, create_zip,
    placed,
};
use crate::elementwise::{BinaryOp, Fill};
use crate::error::Problem;
use tff_ir::{Comp, Intrinsic, Scalar};
use tff_types::{Placement, Type};

/// `federated_sum`: starts from zero and adds.
pub(super) fn sum(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    let (_, value) = parameter(ty)?;
    lambda(value, |value| fold(leaf, value, &Fill::Zero, BinaryOp::Add))
}

/// `federated_min`: starts from the greatest finite number.
pub(super) fn min(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    let (_, value) = parameter(ty)?;
    lambda(value, |value| fold(leaf, value, &Fill::Highest, BinaryOp::Minimum))
}

/// `federated_max`: starts from the lowest finite number.
pub(super) fn max(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    let (_, value) = parameter(ty)?;
    lambda(value, |value| fold(leaf, value, &Fill::Lowest, BinaryOp::Maximum))
}

/// `federated_mean`: the weighted mean with every weight one, so that each tensor is divided by the
/// number of clients in its own dtype.
pub(super) fn mean(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    let (function, value) = parameter(ty)?;
    check_average(&Intrinsic::FederatedMean, ty, &function.result)?;
    lambda(value, |value| {
        let member = &placed(value.ty())?.0.member;
        let one = Comp::call(leaf.constant(&Fill::Number(Scalar::Int32(1)), member)?, None)?;
        let weight = create_value(one, Placement::Clients)?;
        quotient_of_sums(leaf, Comp::tuple([value, weight])?)
    })
}

/// `federated_weighted_mean`: the sum of the values times their weights, over the sum of the
/// weights. Without any weight that is zero over zero.
pub(super) fn weighted_mean(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    let (function, argument) = parameter(ty)?;
    check_average(&Intrinsic::FederatedWeightedMean, ty, &function.result)?;
    lambda(argument, |argument| {
        let weight = create_selection(&argument, 1)?;
        let pair = create_zip(argument)?;
        let member = &placed(pair.ty())?.0.member;
        let product = create_map_or_apply(leaf.binary_operator_with_upcast(BinaryOp::Multiply, member)?, pair)?;
        quotient_of_sums(leaf, Comp::tuple([product, weight])?)
    })
}

/// The sum of the first values over that of the second ones.
fn quotient_of_sums(leaf: Leaf, pair: Comp) -> Result<Comp, Problem> {
    let sums = fold(leaf, create_zip(pair)?, &Fill::Zero, BinaryOp::Add)?;
    let member = &placed(sums.ty())?.0.member;
    create_map_or_apply(leaf.binary_operator_with_upcast(BinaryOp::Divide, member)?, sums)
}

/// An aggregation by an operator that is associative and commutative.
pub(super) fn fold(leaf: Leaf, value: Comp, initial: &Fill, op: BinaryOp) -> Result<Comp, Problem> {
    let member = &placed(value.ty())?.0.member;
    let zero = Comp::call(leaf.constant(initial, member)?, None)?;
    let operator = leaf.binary_operator(op, &Type::tuple([member.clone(), member.clone()])?)?;
    let report = create_identity(member)?;
    create_aggregate(value, Aggregation { zero, accumulate: operator.clone(), merge: operator, report })
}

/// Checks that the members have a mean of their own type, which integers do not.
fn check_average(intrinsic: &Intrinsic, ty: &Type, result: &Type) -> Result<(), Problem> {
    let member = result.as_federated().map(|federated| &federated.member);
    match member {
        Some(member) if member.is_average_compatible() => Ok(()),
        Some(_) => Err(Problem::Intrinsic {
            uri: intrinsic.uri().to_owned(),
            ty: ty.clone(),
            reason: "only floating and complex numbers have a mean of their type",
        }),
        None => Err(Problem::expected("a federated result", result)),
    }
}
