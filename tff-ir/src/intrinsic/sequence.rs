//! Intrinsics on sequences.

use super::IntrinsicDef;

const fn sequence(uri: &'static str, signature: &'static str) -> IntrinsicDef {
    IntrinsicDef { uri, signature, aggregation: None, broadcast: None }
}

/// Applies a function to each element.
pub(super) static MAP: IntrinsicDef = sequence("sequence_map", "(<(T -> U),T*> -> U*)");

/// Folds the elements from zero, in order.
pub(super) static REDUCE: IntrinsicDef = sequence("sequence_reduce", "(<T*,U,(<U,T> -> U)> -> U)");

/// The sum of the elements.
pub(super) static SUM: IntrinsicDef = sequence("sequence_sum", "(T* -> T)");
