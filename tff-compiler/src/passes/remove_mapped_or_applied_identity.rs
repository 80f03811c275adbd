//! Drops maps of the identity: the result is the value that is mapped.

use crate::error::PassError;
use crate::pass::Pass;
use crate::retype::rewrite_values;
use tff_ir::{Comp, Intrinsic, Transformed};

/// Drops calls of `federated_map`, `federated_map_all_equal`, `federated_apply` and `sequence_map`
/// with the identity, `(x -> x)`.
///
/// `federated_map(<(a -> a),v>)` becomes `v`, also where that is all-equal and the map is not.
#[derive(Clone, Copy, Debug)]
pub struct RemoveMappedOrAppliedIdentity;

impl Pass for RemoveMappedOrAppliedIdentity {
    fn name(&self) -> &'static str {
        "remove_mapped_or_applied_identity"
    }

    fn description(&self) -> &'static str {
        "drops maps of the identity"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        rewrite_values(comp, &mut |comp| {
            let mapped = mapped(&comp).filter(|value| comp.ty().is_assignable_from(value.ty()));
            Ok(mapped.map_or_else(|| Transformed::no(comp.clone()), |value| Transformed::yes(value.clone())))
        })
    }
}

/// The value that the identity is mapped over.
fn mapped(comp: &Comp) -> Option<&Comp> {
    let call = comp.as_call()?;
    let is_map = matches!(
        call.function.as_intrinsic()?,
        Intrinsic::FederatedMap | Intrinsic::FederatedMapAllEqual | Intrinsic::FederatedApply | Intrinsic::SequenceMap
    );
    let [function, value] = call.argument.as_ref()?.as_struct()?.elements.as_ref() else { return None };
    (is_map && is_identity(&function.value)).then_some(&value.value)
}

fn is_identity(comp: &Comp) -> bool {
    comp.as_lambda().is_some_and(|lambda| match (&lambda.parameter, lambda.result.as_reference()) {
        (Some(parameter), Some(reference)) => parameter.name == reference.name,
        _ => false,
    })
}
