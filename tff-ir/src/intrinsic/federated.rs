//! Intrinsics on federated values.

use super::{IntrinsicDef, Privacy};

const fn local(uri: &'static str, signature: &'static str) -> IntrinsicDef {
    IntrinsicDef { uri, signature, aggregation: None, broadcast: None }
}

const fn aggregation(uri: &'static str, signature: &'static str) -> IntrinsicDef {
    IntrinsicDef { uri, signature, aggregation: Some(Privacy::Default), broadcast: None }
}

const fn broadcast(uri: &'static str, signature: &'static str) -> IntrinsicDef {
    IntrinsicDef { uri, signature, aggregation: None, broadcast: Some(Privacy::Default) }
}

/// Folds the values of the clients from zero with `accumulate`, possibly in several parts that
/// `merge` joins, and applies `report` to what results.
pub(super) static AGGREGATE: IntrinsicDef =
    aggregation("federated_aggregate", "(<{T}@CLIENTS,U,(<U,T> -> U),(<U,U> -> U),(U -> R)> -> R@SERVER)");

/// Applies a function at the server.
pub(super) static APPLY: IntrinsicDef = local("federated_apply", "(<(T -> U),T@SERVER> -> U@SERVER)");

/// Copies a value of the server to all clients.
pub(super) static BROADCAST: IntrinsicDef = broadcast("federated_broadcast", "(T@SERVER -> T@CLIENTS)");

/// Runs a function without parameter on each client.
pub(super) static EVAL_AT_CLIENTS: IntrinsicDef = local("federated_eval_at_clients", "(( -> T) -> {T}@CLIENTS)");

/// Runs a function without parameter at the server.
pub(super) static EVAL_AT_SERVER: IntrinsicDef = local("federated_eval_at_server", "(( -> T) -> T@SERVER)");

/// Applies a function on each client.
pub(super) static MAP: IntrinsicDef = local("federated_map", "(<(T -> U),{T}@CLIENTS> -> {U}@CLIENTS)");

/// Applies a function that returns the same everywhere to the same value on each client.
pub(super) static MAP_ALL_EQUAL: IntrinsicDef = local("federated_map_all_equal", "(<(T -> U),T@CLIENTS> -> U@CLIENTS)");

/// The mean over the clients.
pub(super) static MEAN: IntrinsicDef = aggregation("federated_mean", "({T}@CLIENTS -> T@SERVER)");

/// The least value over the clients, for each element.
pub(super) static MIN: IntrinsicDef = aggregation("federated_min", "({T}@CLIENTS -> T@SERVER)");

/// The greatest value over the clients, for each element.
pub(super) static MAX: IntrinsicDef = aggregation("federated_max", "({T}@CLIENTS -> T@SERVER)");

/// Sends each client, for each of its keys in order, what a function of the server selects.
pub(super) static SELECT: IntrinsicDef =
    broadcast("federated_select", "(<{Ks}@CLIENTS,int32@SERVER,T@SERVER,(<T,int32> -> U)> -> {U*}@CLIENTS)");

/// The sum over the clients.
pub(super) static SUM: IntrinsicDef = aggregation("federated_sum", "({T}@CLIENTS -> T@SERVER)");

/// Places a value on all clients.
pub(super) static VALUE_AT_CLIENTS: IntrinsicDef = local("federated_value_at_clients", "(T -> T@CLIENTS)");

/// Places a value at the server.
pub(super) static VALUE_AT_SERVER: IntrinsicDef = local("federated_value_at_server", "(T -> T@SERVER)");

/// The mean over the clients, each with the weight it gives.
pub(super) static WEIGHTED_MEAN: IntrinsicDef =
    aggregation("federated_weighted_mean", "(<{T}@CLIENTS,{U}@CLIENTS> -> T@SERVER)");

/// Turns a struct of values on clients into structs on clients: `U` is `T` without placements,
/// which the signature cannot say.
pub(super) static ZIP_AT_CLIENTS: IntrinsicDef = local("federated_zip_at_clients", "(T -> {U}@CLIENTS)");

/// Turns a struct of values at the server into a struct at the server.
pub(super) static ZIP_AT_SERVER: IntrinsicDef = local("federated_zip_at_server", "(T -> U@SERVER)");
