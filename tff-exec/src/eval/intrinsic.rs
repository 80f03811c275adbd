//! The intrinsics that the evaluator runs.

use super::run::Context;
use super::{federated, sequences};
use crate::{EvalError, ExecError, Value};
use tff_ir::Intrinsic;
use tff_types::Type;

/// Runs an intrinsic of this type on its argument.
type Native = fn(&Context<'_>, &Type, Value) -> Result<Value, ExecError>;

/// The implementation of an intrinsic. `None` for one that a compiler has to reduce to those that have one.
pub(crate) fn native(intrinsic: &Intrinsic) -> Option<Native> {
    let run: Native = match intrinsic {
        Intrinsic::FederatedAggregate => |ctx, _, argument| federated::aggregate(ctx, &argument),
        Intrinsic::FederatedApply | Intrinsic::FederatedMap => |ctx, _, argument| federated::map(ctx, &argument),
        Intrinsic::FederatedMapAllEqual => |ctx, _, argument| federated::map_all_equal(ctx, &argument),
        Intrinsic::FederatedBroadcast => |_, _, argument| federated::broadcast(argument),
        Intrinsic::FederatedEvalAtClients => |ctx, _, argument| federated::eval_at_clients(ctx, &argument),
        Intrinsic::FederatedEvalAtServer => |ctx, _, argument| federated::eval_at_server(ctx, &argument),
        Intrinsic::FederatedSelect => |ctx, ty, argument| federated::select(ctx, ty, &argument),
        Intrinsic::FederatedValueAtClients => |_, _, argument| federated::value_at_clients(argument),
        Intrinsic::FederatedValueAtServer => |_, _, argument| federated::value_at_server(argument),
        Intrinsic::FederatedZipAtClients => |_, _, argument| federated::zip_at_clients(&argument),
        Intrinsic::FederatedZipAtServer => |_, _, argument| federated::zip_at_server(&argument),
        Intrinsic::SequenceMap => |ctx, ty, argument| sequences::map(ctx, ty, &argument),
        Intrinsic::SequenceReduce => |ctx, _, argument| sequences::reduce(ctx, &argument),
        Intrinsic::FederatedMean
        | Intrinsic::FederatedMin
        | Intrinsic::FederatedMax
        | Intrinsic::FederatedSecureSum
        | Intrinsic::FederatedSecureSumBitwidth
        | Intrinsic::FederatedSecureSelect
        | Intrinsic::FederatedSum
        | Intrinsic::FederatedWeightedMean
        | Intrinsic::GenericPlus
        | Intrinsic::GenericMultiply
        | Intrinsic::GenericDivide
        | Intrinsic::GenericZero
        | Intrinsic::SequenceSum
        | Intrinsic::FederatedSecureModularSum
        | Intrinsic::Other(_) => return None,
    };
    Some(run)
}

/// Whether the evaluator implements an intrinsic, so that a compiler may leave it in.
#[must_use]
pub fn is_native(intrinsic: &Intrinsic) -> bool {
    native(intrinsic).is_some()
}

pub(super) fn unknown(intrinsic: &Intrinsic) -> EvalError {
    match intrinsic {
        Intrinsic::FederatedSecureSum
        | Intrinsic::FederatedSecureSumBitwidth
        | Intrinsic::FederatedSecureModularSum
        | Intrinsic::FederatedSecureSelect => EvalError::SecureAggregation(intrinsic.uri().into()),
        _ => EvalError::UnknownIntrinsic(intrinsic.uri().into()),
    }
}
