//! The sequence intrinsics.

use super::federated::arguments;
use super::run::Context;
use crate::{ExecError, Function, Place, Sequence, Value};
use std::sync::Arc;
use tff_types::{SequenceType, Type};

fn sequence(value: &Value) -> Result<&Sequence, ExecError> {
    match value {
        Value::Sequence(sequence) => Ok(sequence),
        _ => Err(ExecError::mismatch("a sequence", value.describe())),
    }
}

/// `sequence_map`: `<(T -> U),T*>` to `U*`. The function is called once for each element.
pub(super) fn map(ctx: &Context<'_>, ty: &Type, argument: &Value) -> Result<Value, ExecError> {
    let [function, value] = arguments(argument)?;
    let elements = sequence(value)?.elements(ctx.host.datasets())?;
    let mapped = elements.iter().enumerate().map(|(index, element)| {
        ctx.apply(function, Some(element.clone())).map_err(|error| error.at(Place::Element(index, None)))
    });
    let mapped: Arc<[Value]> = mapped.collect::<Result<_, _>>()?;
    let declared = ty.as_function().and_then(|function| function.result.as_sequence());
    Ok(Value::Sequence(Sequence::from_elements(element_type(declared, function)?, mapped)))
}

/// The type of the elements that a function gives: from the sequence's own type where that is known, or else
/// from the function's.
pub(super) fn element_type(declared: Option<&SequenceType>, function: &Value) -> Result<Type, ExecError> {
    let derived = || function.as_function().and_then(Function::result_type).cloned();
    let element = declared.map(|sequence| sequence.element.clone()).or_else(derived);
    element.ok_or_else(|| ExecError::mismatch("a function", function.describe()))
}

/// `sequence_reduce`: `<T*,U,(<U,T> -> U)>` to `U`, a left fold from zero in the sequence's order.
pub(super) fn reduce(ctx: &Context<'_>, argument: &Value) -> Result<Value, ExecError> {
    let [value, zero, op] = arguments(argument)?;
    let elements = sequence(value)?.elements(ctx.host.datasets())?;
    if let Some(folded) = ctx.fold(op, zero, &elements) {
        return folded;
    }
    elements.iter().enumerate().try_fold(zero.clone(), |accumulator, (index, element)| {
        let pair = Value::structure([accumulator, element.clone()]);
        ctx.apply(op, Some(pair)).map_err(|error| error.at(Place::Element(index, None)))
    })
}
