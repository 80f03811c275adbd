//! Removes the placement from a federated computation: the result is what one member computes.

use crate::create::create_selection;
use crate::error::{PassError, Problem};
use crate::retype::{Retype, retype};
use tff_ir::{Comp, CompKind, Intrinsic, UniqueNames};
use tff_types::{PlacementSpec, Type, TypeError};

/// Removes the placement from a computation in which everything is at one placement and nothing is
/// communicated: types become those of the members, maps become calls.
///
/// `(v -> federated_map(<(a -> a),v>))` becomes `(v -> (a -> a)(v))`.
///
/// # Errors
/// [`Problem::Expected`] where values are at several placements, or data are federated;
/// [`Problem::NotLocal`] for intrinsics that combine members.
pub fn strip_placement(comp: &Comp) -> Result<Comp, PassError> {
    check_one_placement(comp)?;
    retype(comp, &mut Strip { names: UniqueNames::new(comp) })
}

fn check_one_placement(comp: &Comp) -> Result<(), PassError> {
    let mut found: Option<&PlacementSpec> = None;
    for part in comp.preorder() {
        let Some(federated) = part.ty().as_federated() else { continue };
        if matches!(part.kind(), CompKind::Data(_)) {
            let found = part.ty().to_string();
            return Err(PassError::at(part, Problem::Expected { expected: "no data that are federated", found }));
        }
        let first = *found.get_or_insert(&federated.placement);
        if *first != federated.placement {
            let found = format!("{first} and {}", federated.placement);
            return Err(PassError::at(part, Problem::Expected { expected: "values of the same placement", found }));
        }
    }
    Ok(())
}

struct Strip {
    names: UniqueNames,
}

impl Retype for Strip {
    fn ty(&self, ty: &Type) -> Result<Type, TypeError> {
        Ok(ty.strip_placement())
    }

    fn call(&mut self, call: &Comp, function: &Comp, argument: Option<Comp>) -> Result<Comp, PassError> {
        let stripped = self.intrinsic(function)?;
        let at_call = |problem: tff_ir::BuildError| PassError::at(call, problem);
        match (kind_of(function), argument) {
            (Some(Kind::Placing), Some(argument)) => Ok(argument),
            (Some(Kind::Mapping), Some(argument)) if argument.as_struct().is_some() => {
                let (function, value) = (create_selection(&argument, 0)?, create_selection(&argument, 1)?);
                Comp::call(function, Some(value)).map_err(at_call)
            }
            (_, argument) => Comp::call(stripped, argument).map_err(at_call),
        }
    }

    fn intrinsic(&mut self, intrinsic: &Comp) -> Result<Comp, PassError> {
        let kind = kind_of(intrinsic).ok_or_else(|| {
            let what = format!("the intrinsic {}", intrinsic.as_intrinsic().map_or("", Intrinsic::uri));
            PassError::at(intrinsic, Problem::NotLocal { what })
        })?;
        let parameter = intrinsic.ty().as_function().and_then(|function| function.parameter.as_ref());
        let Some(parameter) = parameter.map(Type::strip_placement) else { return Ok(intrinsic.clone()) };
        let name = self.names.next_name();
        let argument = Comp::reference(name.clone(), parameter.clone())?;
        let result = match kind {
            Kind::Placing => argument,
            Kind::Mapping => Comp::call(Comp::selection(argument.clone(), 0)?, Some(Comp::selection(argument, 1)?))?,
            Kind::Evaluating => Comp::call(argument, None)?,
        };
        Ok(Comp::lambda(Some((name, parameter)), result)?)
    }
}

/// What an intrinsic does to each member.
#[derive(Clone, Copy)]
enum Kind {
    /// Nothing.
    Placing,
    /// It calls the first element of its argument with the second one.
    Mapping,
    /// It calls its argument.
    Evaluating,
}

fn kind_of(intrinsic: &Comp) -> Option<Kind> {
    match intrinsic.as_intrinsic()? {
        Intrinsic::FederatedValueAtClients
        | Intrinsic::FederatedValueAtServer
        | Intrinsic::FederatedZipAtClients
        | Intrinsic::FederatedZipAtServer => Some(Kind::Placing),
        Intrinsic::FederatedMap | Intrinsic::FederatedMapAllEqual | Intrinsic::FederatedApply => Some(Kind::Mapping),
        Intrinsic::FederatedEvalAtClients | Intrinsic::FederatedEvalAtServer => Some(Kind::Evaluating),
        _ => None,
    }
}
