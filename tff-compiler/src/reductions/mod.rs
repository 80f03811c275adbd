//! The bodies of intrinsics. An intrinsic that the evaluator does not implement has a body here: a function
//! of intrinsics that the evaluator implements, and of graphs or modules.

mod federated;
mod generic;
mod leaf;
mod secure;
mod sequence;

use crate::error::Problem;
use tff_ir::{Comp, Intrinsic};
use tff_types::{FunctionType, Type};

pub(crate) use leaf::Leaf;

/// Makes the body of an intrinsic for the type that it has, of functions that this leaf runs.
pub(crate) type Reduction = fn(Leaf, &Type) -> Result<Comp, Problem>;

/// The reduction of an intrinsic; `None` for one that runtimes compute by themselves.
///
/// Where `insecure`, also those of secure aggregations, to ones that are not secure: for tests and simulations.
pub(crate) fn find(intrinsic: &Intrinsic, insecure: bool) -> Option<Reduction> {
    let secure = |reduction: Reduction| insecure.then_some(reduction);
    match intrinsic {
        Intrinsic::FederatedMean => Some(federated::mean),
        Intrinsic::FederatedWeightedMean => Some(federated::weighted_mean),
        Intrinsic::FederatedMin => Some(federated::min),
        Intrinsic::FederatedMax => Some(federated::max),
        Intrinsic::FederatedSum => Some(federated::sum),
        Intrinsic::GenericDivide => Some(generic::divide),
        Intrinsic::GenericMultiply => Some(generic::multiply),
        Intrinsic::GenericPlus => Some(generic::plus),
        Intrinsic::GenericZero => Some(generic::zero),
        Intrinsic::SequenceSum => Some(sequence::sum),
        Intrinsic::FederatedSecureSumBitwidth => secure(secure::sum_bitwidth),
        Intrinsic::FederatedSecureModularSum => secure(secure::modular_sum),
        Intrinsic::FederatedSecureSum => secure(secure::sum),
        Intrinsic::FederatedSecureSelect => secure(secure::select),
        Intrinsic::FederatedAggregate
        | Intrinsic::FederatedApply
        | Intrinsic::FederatedBroadcast
        | Intrinsic::FederatedEvalAtClients
        | Intrinsic::FederatedEvalAtServer
        | Intrinsic::FederatedMap
        | Intrinsic::FederatedMapAllEqual
        | Intrinsic::FederatedSelect
        | Intrinsic::FederatedValueAtClients
        | Intrinsic::FederatedValueAtServer
        | Intrinsic::FederatedZipAtClients
        | Intrinsic::FederatedZipAtServer
        | Intrinsic::SequenceMap
        | Intrinsic::SequenceReduce
        | Intrinsic::Other(_) => None,
    }
}

/// Whether the compiler replaces an intrinsic by others and by small functions. Where `insecure`, also secure
/// aggregations, by what computes the same without security.
#[must_use]
pub fn is_reduced(intrinsic: &Intrinsic, insecure: bool) -> bool {
    find(intrinsic, insecure).is_some()
}

/// The parameter of an intrinsic that is a function.
fn parameter(ty: &Type) -> Result<(&FunctionType, &Type), Problem> {
    let function = ty.as_function();
    function
        .and_then(|function| Some((function, function.parameter.as_ref()?)))
        .ok_or_else(|| Problem::expected("an intrinsic that takes an argument", ty))
}

/// `(arg -> result)`, the result being made from the reference to the parameter.
fn lambda(parameter: &Type, result: impl FnOnce(Comp) -> Result<Comp, Problem>) -> Result<Comp, Problem> {
    let argument = Comp::reference("arg", parameter.clone())?;
    Ok(Comp::lambda(Some(("arg", parameter.clone())), result(argument)?)?)
}
