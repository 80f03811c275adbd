//! What intrinsics compute with, as far as their signatures cannot say it: a sum is one of numbers.

use crate::Intrinsic;
use crate::diag::{OneLine, Shown};
use tff_types::{DType, Type};

/// Why no runtime computes an instance of an intrinsic, though its signature allows the type. What contains abstract
/// types may be replaced by something that fits.
pub(crate) fn doubtful_operand(intrinsic: &Intrinsic, ty: &Type) -> Option<String> {
    let parameter = ty.as_function()?.parameter.as_ref().filter(|parameter| !parameter.contains_abstract())?;
    let operand = |index: usize| parameter.as_struct()?.elements().get(index).map(|element| &element.ty);
    let member = |ty| Type::as_federated(ty).map(|federated| &federated.member);
    let uri = intrinsic.uri();
    let unless = |fits: bool, expected: &str, found: &Type| {
        (!fits).then(|| format!("{uri} takes {expected}, found {}", Shown(found)))
    };
    let sum = |ty: &Type| ty.check_sum_compatible().err().map(|error| format!("{uri}: {}", OneLine(&error)));
    let mean = |ty: &Type| unless(ty.is_average_compatible(), "floating-point or complex numbers", ty);
    match intrinsic {
        Intrinsic::FederatedSum => sum(parameter),
        Intrinsic::SequenceSum => sum(&parameter.as_sequence()?.element),
        Intrinsic::FederatedMean => mean(parameter),
        Intrinsic::FederatedWeightedMean => mean(operand(0)?).or_else(|| sum(operand(1)?)),
        Intrinsic::FederatedMin | Intrinsic::FederatedMax => {
            unless(parameter.is_min_max_compatible(), "integers or floating-point numbers", parameter)
        }
        Intrinsic::FederatedSecureSum
        | Intrinsic::FederatedSecureSumBitwidth
        | Intrinsic::FederatedSecureModularSum => {
            let (value, bound) = (member(operand(0)?)?, operand(1)?);
            let is_bound = bound.is_single_integer_or_matches_structure(value);
            unless(value.is_structure_of_integers(), "integers", value)
                .or_else(|| unless(is_bound, "one integer as bound, or one for each tensor", bound))
        }
        Intrinsic::FederatedSelect | Intrinsic::FederatedSecureSelect => {
            let keys = member(operand(0)?)?;
            let are_keys = keys.as_tensor().is_some_and(|it| it.dtype == DType::Int32 && it.shape.rank() == Some(1));
            unless(are_keys, "a vector of int32 keys", keys)
        }
        Intrinsic::FederatedAggregate
        | Intrinsic::FederatedApply
        | Intrinsic::FederatedBroadcast
        | Intrinsic::FederatedEvalAtClients
        | Intrinsic::FederatedEvalAtServer
        | Intrinsic::FederatedMap
        | Intrinsic::FederatedMapAllEqual
        | Intrinsic::FederatedValueAtClients
        | Intrinsic::FederatedValueAtServer
        | Intrinsic::FederatedZipAtClients
        | Intrinsic::FederatedZipAtServer
        | Intrinsic::GenericPlus
        | Intrinsic::GenericMultiply
        | Intrinsic::GenericDivide
        | Intrinsic::GenericZero
        | Intrinsic::SequenceMap
        | Intrinsic::SequenceReduce
        | Intrinsic::Other(_) => None,
    }
}
