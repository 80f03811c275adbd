//! Intrinsics that hide the values of single clients from the server.

use super::{IntrinsicDef, Privacy};

const fn aggregation(uri: &'static str, signature: &'static str) -> IntrinsicDef {
    IntrinsicDef { uri, signature, aggregation: Some(Privacy::Secure), broadcast: None }
}

/// The sum over clients of integers between 0 and a greatest value.
pub(super) static SUM: IntrinsicDef = aggregation("federated_secure_sum", "(<{V}@CLIENTS,M> -> V@SERVER)");

/// The sum over clients of integers of so many bits.
pub(super) static SUM_BITWIDTH: IntrinsicDef =
    aggregation("federated_secure_sum_bitwidth", "(<{V}@CLIENTS,B> -> V@SERVER)");

/// The sum over clients of integers, modulo a number.
pub(super) static MODULAR_SUM: IntrinsicDef =
    aggregation("federated_secure_modular_sum", "(<{V}@CLIENTS,M> -> V@SERVER)");

/// As `federated_select`; the server does not see the keys.
pub(super) static SELECT: IntrinsicDef = IntrinsicDef {
    uri: "federated_secure_select",
    signature: "(<{Ks}@CLIENTS,int32@SERVER,T@SERVER,(<T,int32> -> U)> -> {U*}@CLIENTS)",
    aggregation: None,
    broadcast: Some(Privacy::Secure),
};
