//! Calls of intrinsics, with the types that follow from their arguments.

use crate::error::Problem;
use tff_ir::{BuildError, Comp, Intrinsic, StructElement};
use tff_types::{FederatedType, Placement, PlacementSpec, Type, TypeError, TypeKind};

/// A call of the intrinsic, which takes and returns these types.
pub(crate) fn create_call(
    intrinsic: Intrinsic,
    argument: Comp,
    parameter: Type,
    result: Type,
) -> Result<Comp, Problem> {
    let ty = Type::function(Some(parameter), result)?;
    Ok(Comp::call(Comp::intrinsic(intrinsic, ty)?, Some(argument))?)
}

/// `federated_map`, `federated_map_all_equal` or `federated_apply`, as the placement and the bit of
/// the value say.
pub(crate) fn create_map_or_apply(function: Comp, value: Comp) -> Result<Comp, Problem> {
    let (federated, placement) = placed(value.ty())?;
    let all_equal = federated.all_equal;
    let intrinsic = match (placement, all_equal) {
        (Placement::Server, _) => Intrinsic::FederatedApply,
        (Placement::Clients, true) => Intrinsic::FederatedMapAllEqual,
        (Placement::Clients, false) => Intrinsic::FederatedMap,
    };
    let Some(ty) = function.ty().as_function() else {
        return Err(BuildError::NotAFunction { found: function.ty().clone() }.into());
    };
    let mapped = ty.parameter.clone().ok_or_else(|| BuildError::UnexpectedArgument { argument: value.ty().clone() })?;
    let result = Type::federated(ty.result.clone(), placement, all_equal)?;
    let parameter = Type::tuple([function.ty().clone(), Type::federated(mapped, placement, all_equal)?])?;
    create_call(intrinsic, Comp::tuple([function, value])?, parameter, result)
}

/// `federated_zip_at_clients` or `federated_zip_at_server`, of a struct of values that are all at
/// one placement. The result has the bit that is usual there.
pub(crate) fn create_zip(value: Comp) -> Result<Comp, Problem> {
    let placement = placement_of(value.ty())?;
    let result = Type::federated(value.ty().strip_placement(), placement, placement.default_all_equal())?;
    let parameter = with_default_bits(value.ty())?;
    let intrinsic = match placement {
        Placement::Clients => Intrinsic::FederatedZipAtClients,
        Placement::Server => Intrinsic::FederatedZipAtServer,
    };
    create_call(intrinsic, value, parameter, result)
}

/// `federated_value_at_clients` or `federated_value_at_server`.
pub(crate) fn create_value(value: Comp, placement: Placement) -> Result<Comp, Problem> {
    let ty = value.ty().clone();
    let result = Type::federated(ty.clone(), placement, true)?;
    let intrinsic = match placement {
        Placement::Clients => Intrinsic::FederatedValueAtClients,
        Placement::Server => Intrinsic::FederatedValueAtServer,
    };
    create_call(intrinsic, value, ty, result)
}

/// `federated_broadcast`.
pub(crate) fn create_broadcast(value: Comp) -> Result<Comp, Problem> {
    let (federated, _) = placed(value.ty())?;
    let (ty, result) = (value.ty().clone(), Type::at_clients_all_equal(federated.member.clone())?);
    create_call(Intrinsic::FederatedBroadcast, value, ty, result)
}

/// The functions of a `federated_aggregate`, and its zero.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    pub(crate) zero: Comp,
    pub(crate) accumulate: Comp,
    pub(crate) merge: Comp,
    pub(crate) report: Comp,
}

/// `federated_aggregate`. The type of the accumulators is that of the first parameter of
/// `accumulate`.
pub(crate) fn create_aggregate(value: Comp, aggregation: Aggregation) -> Result<Comp, Problem> {
    let Aggregation { zero, accumulate, merge, report } = aggregation;
    let (federated, _) = placed(value.ty())?;
    let Some(ty) = report.ty().as_function() else {
        return Err(BuildError::NotAFunction { found: report.ty().clone() }.into());
    };
    let accumulator =
        accumulate.ty().as_function().and_then(|ty| ty.parameter.as_ref()?.as_struct()?.elements().first());
    let accumulator = accumulator.map_or_else(|| zero.ty().clone(), |element| element.ty.clone());
    let result = Type::at_server(ty.result.clone())?;
    let functions = [accumulate.ty().clone(), merge.ty().clone(), report.ty().clone()];
    let values = [Type::at_clients(federated.member.clone())?, accumulator];
    let parameter = Type::tuple(values.into_iter().chain(functions))?;
    let argument = Comp::tuple([value, zero, accumulate, merge, report])?;
    create_call(Intrinsic::FederatedAggregate, argument, parameter, result)
}

/// `(x -> x)`.
pub(crate) fn create_identity(ty: &Type) -> Result<Comp, Problem> {
    let x = Comp::reference("x", ty.clone())?;
    Ok(Comp::lambda(Some(("x", ty.clone())), x)?)
}

/// The element of a value that may be a struct written out.
pub(crate) fn create_selection(source: &Comp, index: usize) -> Result<Comp, BuildError> {
    match source.as_struct().and_then(|structure| structure.elements.get(index)) {
        Some(StructElement { value, .. }) => Ok(value.clone()),
        None => Comp::selection(source.clone(), index),
    }
}

/// A federated type at a placement that is known.
pub(crate) fn placed(ty: &Type) -> Result<(&FederatedType, Placement), Problem> {
    match ty.as_federated() {
        Some(federated) => match &federated.placement {
            PlacementSpec::Value(placement) => Ok((federated, *placement)),
            PlacementSpec::Label(_) => Err(Problem::expected("a placement that is known", ty)),
        },
        None => Err(Problem::expected("a federated value", ty)),
    }
}

/// The one placement of all leaves of a struct.
pub(crate) fn placement_of(ty: &Type) -> Result<Placement, Problem> {
    let mut found = None;
    collect_placement(ty, &mut found)?;
    found.ok_or_else(|| Problem::expected("at least one federated value to zip", ty))
}

fn collect_placement(ty: &Type, found: &mut Option<Placement>) -> Result<(), Problem> {
    if let Some(structure) = ty.as_struct() {
        return structure.elements().iter().try_for_each(|element| collect_placement(&element.ty, found));
    }
    let (_, placement) = placed(ty)?;
    if *found.get_or_insert(placement) == placement {
        Ok(())
    } else {
        Err(Problem::expected("values of the same placement to zip", ty))
    }
}

/// The type with every federated part that is not inside a function having the bit that is usual
/// at its placement.
pub(crate) fn with_default_bits(ty: &Type) -> Result<Type, TypeError> {
    match ty.kind() {
        TypeKind::Federated(federated) => match &federated.placement {
            PlacementSpec::Value(placement) => Ok(ty.with_all_equal(placement.default_all_equal())),
            PlacementSpec::Label(_) => Ok(ty.clone()),
        },
        TypeKind::Struct(structure) if ty.contains_federated() => {
            let elements = structure.elements().iter();
            let elements = elements.map(|element| Ok((element.name.clone(), with_default_bits(&element.ty)?)));
            Type::structure(elements.collect::<Result<Vec<_>, TypeError>>()?)
        }
        _ => Ok(ty.clone()),
    }
}
