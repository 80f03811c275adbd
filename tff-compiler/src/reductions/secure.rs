//! Secure aggregations without their security: what they compute, for tests and simulations.
//!
//! Sums that fail for values of clients that are too large are graphs in any case: a module cannot
//! fail.

use super::federated::fold;
use super::{Leaf, lambda, parameter};
use crate::create::{
    Aggregation, create_aggregate, create_map_or_apply, create_selection, create_value, create_zip, placed,
};
use crate::elementwise::{BinaryOp, Fill};
use crate::error::Problem;
use crate::graph::{GraphBuilder, GraphError, Wire, generic};
use std::sync::Arc;
use tff_ir::{Array, Comp, Intrinsic, Scalar};
use tff_types::{DType, Placement, Type, TypeKind};

/// How many bits the values of clients may have.
const MAX_BITS: i64 = 62;

/// `federated_secure_sum`: a sum that fails where a value of a client is greater than the maximum.
pub(super) fn sum(_: Leaf, ty: &Type) -> Result<Comp, Problem> {
    let (_, argument) = parameter(ty)?;
    lambda(argument, |argument| sum_up_to(create_selection(&argument, 0)?, create_selection(&argument, 1)?))
}

/// `federated_secure_sum_bitwidth`: as the sum up to the greatest number of so many bits.
pub(super) fn sum_bitwidth(_: Leaf, ty: &Type) -> Result<Comp, Problem> {
    let (_, argument) = parameter(ty)?;
    lambda(argument, |argument| {
        let bits = create_selection(&argument, 1)?;
        let max = Comp::call(greatest_of_bits(bits.ty())?, Some(bits))?;
        sum_up_to(create_selection(&argument, 0)?, max)
    })
}

/// `federated_secure_modular_sum`: the remainder of the sum, with the sign of the modulus.
pub(super) fn modular_sum(leaf: Leaf, ty: &Type) -> Result<Comp, Problem> {
    let (_, argument) = parameter(ty)?;
    lambda(argument, |argument| {
        let sum = fold(leaf, create_selection(&argument, 0)?, &Fill::Zero, BinaryOp::Add)?;
        let modulus = create_value(create_selection(&argument, 1)?, Placement::Server)?;
        let pair = create_zip(Comp::tuple([sum, modulus])?)?;
        let member = &placed(pair.ty())?.0.member;
        create_map_or_apply(leaf.binary_operator_with_upcast(BinaryOp::FloorMod, member)?, pair)
    })
}

/// `federated_secure_select`: `federated_select`, which shows the server what clients ask for.
pub(super) fn select(_: Leaf, ty: &Type) -> Result<Comp, Problem> {
    Ok(Comp::intrinsic(Intrinsic::FederatedSelect, ty.clone())?)
}

/// The accumulator is the sum so far and the maximum.
fn sum_up_to(value: Comp, max: Comp) -> Result<Comp, Problem> {
    let member = placed(value.ty())?.0.member.clone();
    let zero = Comp::tuple([Comp::call(generic::zero(&member)?, None)?, max])?;
    let accumulator = zero.ty().clone();
    let report = generic::pack(&accumulator, &generic::Packing::Part(vec![0]))?;
    let accumulate = on_pair(&accumulator, &member, |graph, sum, max, value| {
        let value = checked(graph, value, max)?;
        graph.binary(BinaryOp::Add, sum, &value)
    })?;
    let merge = on_pair(&accumulator, &accumulator, |graph, sum, _, other| {
        graph.binary(BinaryOp::Add, sum, &other.element(0)?)
    })?;
    create_aggregate(value, Aggregation { zero, accumulate, merge, report })
}

/// `(<<V,M>,T> -> <V,M>)`: the new sum from the old one, the maximum, and what is added.
fn on_pair(
    accumulator: &Type,
    added: &Type,
    sum: impl FnOnce(&mut GraphBuilder, &Wire, &Wire, &Wire) -> Result<Wire, GraphError>,
) -> Result<Comp, Problem> {
    let mut graph = GraphBuilder::new();
    let argument = graph.parameter(&Type::tuple([accumulator.clone(), added.clone()])?)?;
    let (state, added) = (argument.element(0)?, argument.element(1)?);
    let max = state.element(1)?;
    let sum = sum(&mut graph, &state.element(0)?, &max, &added)?;
    let result = Wire::structure([(None::<Arc<str>>, sum), (None, max)])?;
    Ok(graph.finish(&result)?)
}

/// The value, whose use fails where a part of it is greater than the maximum, which is one for all
/// tensors or one for each.
fn checked(graph: &mut GraphBuilder, value: &Wire, max: &Wire) -> Result<Wire, GraphError> {
    const MESSAGE: &str = "client value larger than maximum specified for secure sum";
    let Ok(elements) = value.elements() else {
        let (number, most) = (graph.cast(value, DType::Int64)?, graph.cast(max, DType::Int64)?);
        let fits = graph.binary(BinaryOp::LessEqual, &number, &most)?;
        return graph.assert(&fits, MESSAGE, value);
    };
    let maxima = max.elements().unwrap_or_else(|_| vec![max.clone(); elements.len()]);
    let names: Vec<_> =
        value.ty().as_struct().into_iter().flat_map(|it| it.elements()).map(|it| it.name.clone()).collect();
    let checked = elements.iter().zip(&maxima).map(|(value, max)| checked(graph, value, max));
    let checked = checked.collect::<Result<Vec<_>, _>>()?;
    Wire::structure(names.into_iter().zip(checked))
}

/// `(B -> M)`: for each number of bits the greatest number that has so many.
fn greatest_of_bits(bits: &Type) -> Result<Comp, Problem> {
    let mut graph = GraphBuilder::new();
    let argument = graph.parameter(bits)?;
    let result = greatest(&mut graph, &argument)?;
    Ok(graph.finish(&result)?)
}

fn greatest(graph: &mut GraphBuilder, bits: &Wire) -> Result<Wire, Problem> {
    match bits.ty().kind() {
        TypeKind::Tensor(_) => {
            let bits = graph.cast(bits, DType::Int64)?;
            let constant =
                |graph: &mut GraphBuilder, number| graph.constant(&Array::from_scalar(Scalar::Int64(number)));
            let (one, most) = (constant(graph, 1)?, constant(graph, MAX_BITS)?);
            let fits = graph.binary(BinaryOp::LessEqual, &bits, &most)?;
            let bits = graph.assert(&fits, "bitwidth larger than 62 for secure sum", &bits)?;
            let power = graph.binary(BinaryOp::LeftShift, &one, &bits)?;
            Ok(graph.binary(BinaryOp::Subtract, &power, &one)?)
        }
        TypeKind::Struct(structure) => {
            let elements = structure.elements().iter().zip(bits.elements()?);
            let elements = elements.map(|(element, bits)| Ok((element.name.clone(), greatest(graph, &bits)?)));
            Ok(Wire::structure(elements.collect::<Result<Vec<_>, Problem>>()?)?)
        }
        _ => Err(Problem::expected("numbers of bits", bits.ty())),
    }
}
