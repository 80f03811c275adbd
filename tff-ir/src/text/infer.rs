//! Infers the types of intrinsics that are written without one, from the arguments of their calls.
//!
//! The rules give the same types as the reference's constructors, so a text that it prints is read
//! as the computation that it printed.

use super::ast::{Id, Written, WrittenKind};
use super::error::{TextError, TextProblem};
use super::resolve::{Hint, Resolver};
use crate::{BuildError, Comp, Intrinsic};
use std::sync::Arc;
use tff_types::{DType, Placement, PlacementSpec, Type, TypeError, TypeKind};

/// The intrinsic as called with this argument, and the argument.
pub(super) fn call(
    resolver: &mut Resolver<'_>,
    callee: &Written,
    intrinsic: &Intrinsic,
    argument: Id,
) -> Result<(Comp, Comp), TextError> {
    let written = resolver.written(argument)?;
    let argument = match &written.kind {
        WrittenKind::Struct { elements } => functions_last(resolver, written, intrinsic, elements)?,
        _ => resolver.comp(argument, &Hint::None)?,
    };
    let ty = instance(intrinsic, argument.ty()).map_err(|problem| resolver.error(callee.span, problem))?;
    let function = Comp::intrinsic(intrinsic.clone(), ty).map_err(|error| resolver.error(callee.span, error))?;
    Ok((function, argument))
}

/// Reads a struct of values and functions, where the parameters of functions follow from the types
/// of the other elements.
fn functions_last(
    resolver: &mut Resolver<'_>,
    written: &Written,
    intrinsic: &Intrinsic,
    elements: &[(Option<Arc<str>>, Id)],
) -> Result<Comp, TextError> {
    let mut parts: Vec<Option<Comp>> = vec![None; elements.len()];
    let is_lambda = |it: &Written| matches!(&it.kind, WrittenKind::Lambda { parameter: Some((_, None)), .. });
    for lambdas in [false, true] {
        for (index, (_, id)) in elements.iter().enumerate() {
            if is_lambda(resolver.written(*id)?) != lambdas {
                continue;
            }
            let types: Vec<Option<&Type>> = parts.iter().map(|part| part.as_ref().map(Comp::ty)).collect();
            let hint = if lambdas { parameter(intrinsic, index, &types) } else { None };
            let part = resolver.comp(*id, &hint.map_or(Hint::None, Hint::Parameter))?;
            if let Some(place) = parts.get_mut(index) {
                *place = Some(part);
            }
        }
    }
    let parts = elements.iter().zip(parts).filter_map(|((name, _), part)| Some((name.clone(), part?)));
    let comp = Comp::structure(parts).map_err(|error| resolver.error(written.span, error))?;
    resolver.place(&comp, written.span);
    Ok(comp)
}

/// The type of the parameter of the function at this position of the argument, from the types of
/// the other elements.
fn parameter(intrinsic: &Intrinsic, index: usize, types: &[Option<&Type>]) -> Option<Type> {
    let at = |index: usize| types.get(index).copied().flatten();
    let member = |index| at(index).and_then(Type::as_federated).map(|it| &it.member);
    let element = |index| at(index).and_then(Type::as_sequence).map(|it| &it.element);
    let pair = |left: Option<&Type>, right: Option<&Type>| Type::tuple([left?.clone(), right?.clone()]).ok();
    match (intrinsic, index) {
        (Intrinsic::FederatedMap | Intrinsic::FederatedMapAllEqual | Intrinsic::FederatedApply, 0) => {
            member(1).cloned()
        }
        (Intrinsic::SequenceMap, 0) => element(1).cloned(),
        (Intrinsic::SequenceReduce, 2) => pair(at(1), element(0)),
        (Intrinsic::FederatedAggregate, 2) => pair(at(1), member(0)),
        (Intrinsic::FederatedAggregate, 3) => pair(accumulated(types), accumulated(types)),
        (Intrinsic::FederatedAggregate, 4) => accumulated(types).cloned(),
        (Intrinsic::FederatedSelect | Intrinsic::FederatedSecureSelect, 3) => {
            pair(member(2), Some(&Type::scalar(DType::Int32)))
        }
        _ => None,
    }
}

/// The type in which `federated_aggregate` accumulates: what its second function is given, which
/// may say less than the type of zero.
fn accumulated<'t>(types: &[Option<&'t Type>]) -> Option<&'t Type> {
    let accumulate = types.get(2).copied().flatten()?.as_function()?;
    Some(&accumulate.parameter.as_ref()?.as_struct()?.elements().first()?.ty)
}

/// The type of the intrinsic where it is called with an argument of this type.
pub(super) fn instance(intrinsic: &Intrinsic, argument: &Type) -> Result<Type, TextProblem> {
    let invalid = |error: TypeError| TextProblem::Build(BuildError::Type(error));
    match intrinsic {
        Intrinsic::FederatedZipAtClients => zip(argument, Placement::Clients).map_err(invalid),
        Intrinsic::FederatedZipAtServer => zip(argument, Placement::Server).map_err(invalid),
        Intrinsic::FederatedAggregate => {
            let widened = with_accumulated_zero(argument).map_err(invalid)?;
            instantiate(intrinsic, widened.as_ref().unwrap_or(argument))
        }
        // What the quotient is, the signature does not say.
        Intrinsic::GenericDivide => Err(TextProblem::IntrinsicNeedsType(intrinsic.uri().to_owned())),
        _ => instantiate(intrinsic, argument),
    }
}

/// The instance of the signature whose parameter is the argument as it is, but for what the
/// signature does not have: names of what is a list of arguments, and all-equal bits.
fn instantiate(intrinsic: &Intrinsic, argument: &Type) -> Result<Type, TextProblem> {
    let needs_type = || TextProblem::IntrinsicNeedsType(intrinsic.uri().to_owned());
    let template = intrinsic.def().ok_or_else(needs_type)?.template();
    let parameter = template.as_function().and_then(|function| function.parameter.as_ref());
    let argument = parameter.and_then(|parameter| as_parameter(parameter, argument).ok()).unwrap_or(argument.clone());
    let instance = template
        .instantiate(&argument)
        .map_err(|error| TextProblem::Intrinsic { uri: intrinsic.uri().to_owned(), error: Box::new(error) })?;
    let exact = instance.as_function().map(|function| Type::function(Some(argument), function.result.clone()));
    Ok(exact.and_then(Result::ok).filter(|ty| intrinsic.check_instance(ty).is_ok()).unwrap_or(instance))
}

/// The argument with the names and all-equal bits that the parameter of a signature has.
fn as_parameter(parameter: &Type, argument: &Type) -> Result<Type, TypeError> {
    match (parameter.kind(), argument.kind()) {
        (TypeKind::Federated(federated), TypeKind::Federated(_)) => Ok(argument.with_all_equal(federated.all_equal)),
        (TypeKind::Struct(parameters), TypeKind::Struct(arguments)) if parameters.len() == arguments.len() => {
            let pairs = parameters.elements().iter().zip(arguments.elements());
            let elements: Vec<Type> =
                pairs.map(|(it, argument)| as_parameter(&it.ty, &argument.ty)).collect::<Result<_, _>>()?;
            Type::tuple(elements)
        }
        _ => Ok(argument.clone()),
    }
}

/// The argument of `federated_aggregate` with the type in which it accumulates in the place of that
/// of zero.
fn with_accumulated_zero(argument: &Type) -> Result<Option<Type>, TypeError> {
    let Some(structure) = argument.as_struct() else { return Ok(None) };
    let types: Vec<Option<&Type>> = structure.elements().iter().map(|element| Some(&element.ty)).collect();
    let Some(zero) = accumulated(&types) else { return Ok(None) };
    let elements = structure.elements().iter().enumerate();
    Type::tuple(elements.map(|(index, element)| if index == 1 { zero.clone() } else { element.ty.clone() })).map(Some)
}

/// The type of a zip: what is placed at clients may differ from client to client.
fn zip(argument: &Type, placement: Placement) -> Result<Type, TypeError> {
    let parameter = argument.transform_postorder(&mut |ty: Type| -> Result<Type, TypeError> {
        Ok(match ty.kind() {
            TypeKind::Federated(federated) if federated.placement == PlacementSpec::Value(Placement::Clients) => {
                ty.with_all_equal(false)
            }
            _ => ty,
        })
    })?;
    let result = Type::federated(argument.strip_placement(), placement, placement.default_all_equal())?;
    Type::function(Some(parameter), result)
}
