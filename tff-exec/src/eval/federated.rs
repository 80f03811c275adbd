//! The federated intrinsics.
//!
//! Values of clients are in the order of the clients. An aggregation is a left fold from zero over
//! them; for no clients, it is zero. `merge` joins partial aggregates of several workers and is not
//! called here.

use super::run::Context;
use super::sequences::element_type;
use crate::{Clients, ExecError, Place, Sequence, Value};
use std::collections::HashMap;
use std::sync::Arc;
use tff_ir::Scalar;
use tff_types::{DType, Type};

/// The elements of a struct argument of exactly `N` elements.
pub(crate) fn arguments<const N: usize>(argument: &Value) -> Result<&[Value; N], ExecError> {
    let elements = match argument {
        Value::Struct(elements) => &elements[..],
        _ => &[],
    };
    elements
        .try_into()
        .map_err(|_| ExecError::mismatch(format!("a struct of {N} elements as argument"), argument.describe()))
}

fn clients(value: &Value) -> Result<&Clients, ExecError> {
    match value {
        Value::Clients(clients) => Ok(clients),
        _ => Err(ExecError::mismatch("a value at CLIENTS", value.describe())),
    }
}

/// For how many clients there is a member.
fn n_members(ctx: &Context<'_>, clients: &Clients) -> Result<usize, ExecError> {
    match clients {
        Clients::Each(members) => Ok(members.here()?.len()),
        Clients::AllEqual(_) => ctx.n_clients(),
    }
}

fn server(value: &Value) -> Result<&Value, ExecError> {
    match value {
        Value::Server(member) => Ok(member),
        _ => Err(ExecError::mismatch("a value at SERVER", value.describe())),
    }
}

/// Whether anything in the value is placed.
pub(crate) fn is_placed(value: &Value) -> bool {
    match value {
        Value::Server(_) | Value::Clients(_) => true,
        Value::Struct(elements) => elements.iter().any(is_placed),
        _ => false,
    }
}

/// Refuses what is placed already; a federated value cannot be a member of another.
fn unplaced(value: Value) -> Result<Value, ExecError> {
    if is_placed(&value) { Err(ExecError::mismatch("a value without placement", value.describe())) } else { Ok(value) }
}

/// `federated_map` and `federated_apply`: `<(T -> U),{T}@CLIENTS>` or `<(T -> U),T@SERVER>`.
pub(super) fn map(ctx: &Context<'_>, argument: &Value) -> Result<Value, ExecError> {
    let [function, value] = arguments(argument)?;
    match value {
        Value::Server(member) => Ok(Value::at_server(ctx.apply(function, Some(Value::clone(member)))?)),
        Value::Clients(members) => {
            let n_clients = n_members(ctx, members)?;
            let compute = |client_idx| ctx.apply(function, members.get(client_idx).cloned());
            Ok(Value::Clients(Clients::Each(ctx.each_client(n_clients, compute)?)))
        }
        _ => Err(ExecError::mismatch("a value at CLIENTS or SERVER", value.describe())),
    }
}

/// `federated_map_all_equal`: `<(T -> U),T@CLIENTS>`; the function is called once.
pub(super) fn map_all_equal(ctx: &Context<'_>, argument: &Value) -> Result<Value, ExecError> {
    let [function, value] = arguments(argument)?;
    match clients(value)? {
        Clients::AllEqual(member) => Ok(Value::at_clients_all_equal(ctx.apply(function, Some(Value::clone(member)))?)),
        Clients::Each(_) => map(ctx, argument),
    }
}

/// `federated_broadcast`: `T@SERVER` to `T@CLIENTS`, the value shared.
pub(super) fn broadcast(argument: Value) -> Result<Value, ExecError> {
    match argument {
        Value::Server(member) => Ok(Value::Clients(Clients::AllEqual(member))),
        other => Err(ExecError::mismatch("a value at SERVER", other.describe())),
    }
}

/// `federated_value_at_clients`: `T` to `T@CLIENTS`.
pub(super) fn value_at_clients(argument: Value) -> Result<Value, ExecError> {
    Ok(Value::at_clients_all_equal(unplaced(argument)?))
}

/// `federated_value_at_server`: `T` to `T@SERVER`.
pub(super) fn value_at_server(argument: Value) -> Result<Value, ExecError> {
    Ok(Value::at_server(unplaced(argument)?))
}

/// `federated_eval_at_clients`: `( -> T)` to `{T}@CLIENTS`, one call for each client.
pub(super) fn eval_at_clients(ctx: &Context<'_>, argument: &Value) -> Result<Value, ExecError> {
    let members = ctx.each_client(ctx.n_clients()?, |_| ctx.apply(argument, None))?;
    Ok(Value::Clients(Clients::Each(members)))
}

/// `federated_eval_at_server`: `( -> T)` to `T@SERVER`.
pub(super) fn eval_at_server(ctx: &Context<'_>, argument: &Value) -> Result<Value, ExecError> {
    Ok(Value::at_server(ctx.apply(argument, None)?))
}

/// `federated_aggregate`: `<{T}@CLIENTS,U,(<U,T> -> U),(<U,U> -> U),(U -> R)>` to `R@SERVER`.
pub(super) fn aggregate(ctx: &Context<'_>, argument: &Value) -> Result<Value, ExecError> {
    let [value, zero, accumulate, merge, report] = arguments(argument)?;
    if !matches!(merge, Value::Function(_)) {
        return Err(ExecError::mismatch("a function to merge", merge.describe()));
    }
    let members = clients(value)?;
    let n_clients = n_members(ctx, members)?;
    let mut accumulator = unplaced(zero.clone())?;
    for client_idx in 0..n_clients {
        let Some(member) = members.get(client_idx) else { break };
        let pair = Value::structure([accumulator, member.clone()]);
        accumulator = ctx
            .apply(accumulate, Some(pair))
            .map_err(|error| error.at(Place::OperandOfClient("accumulate", client_idx)))?;
        ctx.report_client(client_idx);
    }
    let report = ctx.apply(report, Some(accumulator)).map_err(|error| error.at(Place::Operand("report")))?;
    Ok(Value::at_server(report))
}

/// `federated_select`: `<{int32[K]}@CLIENTS,int32@SERVER,U@SERVER,(<U,int32> -> T)>` to
/// `{T*}@CLIENTS`. Each key is selected once, however many clients ask for it.
pub(super) fn select(ctx: &Context<'_>, ty: &Type, argument: &Value) -> Result<Value, ExecError> {
    let [keys, max_key, server_val, select_fn] = arguments(argument)?;
    server(max_key)?;
    let server_val = server(server_val)?;
    let declared = ty.as_function().and_then(|function| function.result.as_federated());
    let element = element_type(declared.and_then(|federated| federated.member.as_sequence()), select_fn)?;
    let members = clients(keys)?;
    let n_clients = n_members(ctx, members)?;
    let mut positions = HashMap::new();
    let mut distinct = Vec::new();
    let mut wanted = Vec::with_capacity(n_clients);
    for client_idx in 0..n_clients {
        let Some(member) = members.get(client_idx) else { break };
        let keys = client_keys(member).map_err(|error| error.at(Place::OperandOfClient("keys", client_idx)))?;
        let of_client = keys.into_iter().map(|key| {
            *positions.entry(key).or_insert_with(|| {
                distinct.push(key);
                distinct.len() - 1
            })
        });
        wanted.push(of_client.collect::<Vec<_>>());
    }
    let slices = distinct
        .iter()
        .map(|&key| {
            let pair = Value::structure([server_val.clone(), Value::scalar(Scalar::Int32(key))]);
            ctx.apply(select_fn, Some(pair)).map_err(|error| error.at(Place::Key(key)))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let sequences = wanted.into_iter().map(|of_client| {
        let elements: Arc<[Value]> =
            of_client.into_iter().filter_map(|position| slices.get(position).cloned()).collect();
        Value::Sequence(Sequence::from_elements(element.clone(), elements))
    });
    Ok(Value::at_clients(sequences))
}

fn client_keys(value: &Value) -> Result<Vec<i32>, ExecError> {
    let wrong = || ExecError::mismatch("int32[?] keys", value.describe());
    let Value::Tensor(tensor) = value else { return Err(wrong()) };
    let array = tensor.array();
    if array.dtype() != DType::Int32 || array.dims().len() != 1 {
        return Err(wrong());
    }
    Ok(array.scalars().filter_map(|key| if let Scalar::Int32(key) = key { Some(key) } else { None }).collect())
}

/// `federated_zip_at_clients`: a struct, nested at will, of values at clients becomes one value of
/// structs. Where all members are all-equal, so is the result.
pub(super) fn zip_at_clients(argument: &Value) -> Result<Value, ExecError> {
    let mut n_clients = None;
    leaves(argument, &mut |leaf| {
        let found = match clients(leaf)? {
            Clients::AllEqual(_) => return Ok(()),
            Clients::Each(members) => members.here()?.len(),
        };
        let expected = *n_clients.get_or_insert(found);
        if expected != found {
            let placement = tff_types::Placement::Clients;
            return Err(ExecError::Cardinality { placement, expected, found });
        }
        Ok(())
    })?;
    match n_clients {
        None => Ok(Value::at_clients_all_equal(client_member(argument, 0)?)),
        Some(n_clients) => {
            let members = (0..n_clients).map(|client_idx| client_member(argument, client_idx));
            Ok(Value::Clients(Clients::Each(members.collect::<Result<_, _>>()?)))
        }
    }
}

/// The struct that one client gets of a zip.
fn client_member(value: &Value, client_idx: usize) -> Result<Value, ExecError> {
    match value {
        Value::Struct(elements) => {
            let elements = elements.iter().map(|element| client_member(element, client_idx));
            Ok(Value::Struct(elements.collect::<Result<_, _>>()?))
        }
        leaf => clients(leaf)?
            .get(client_idx)
            .cloned()
            .ok_or_else(|| ExecError::mismatch("a value for each client", leaf.describe())),
    }
}

/// `federated_zip_at_server`: a struct, nested at will, of values at the server becomes one value
/// of structs.
pub(super) fn zip_at_server(argument: &Value) -> Result<Value, ExecError> {
    fn member(value: &Value) -> Result<Value, ExecError> {
        match value {
            Value::Struct(elements) => Ok(Value::Struct(elements.iter().map(member).collect::<Result<_, _>>()?)),
            leaf => server(leaf).cloned(),
        }
    }
    Ok(Value::at_server(member(argument)?))
}

/// Visits the parts that are not structs, in order.
pub(crate) fn leaves(value: &Value, visit: &mut dyn FnMut(&Value) -> Result<(), ExecError>) -> Result<(), ExecError> {
    match value {
        Value::Struct(elements) => elements.iter().try_for_each(|element| leaves(element, visit)),
        leaf => visit(leaf),
    }
}
