//! Intrinsics on values of any type, placed or not.

use super::IntrinsicDef;

const fn generic(uri: &'static str, signature: &'static str) -> IntrinsicDef {
    IntrinsicDef { uri, signature, aggregation: None, broadcast: None }
}

/// The sum of two values, for each element.
pub(super) static PLUS: IntrinsicDef = generic("generic_plus", "(<T,T> -> T)");

/// The product of two values, for each element.
pub(super) static MULTIPLY: IntrinsicDef = generic("generic_multiply", "(<T,T> -> T)");

/// The quotient of two values, for each element; that of integers is a floating-point number.
pub(super) static DIVIDE: IntrinsicDef = generic("generic_divide", "(<T,T> -> U)");

/// The zero of a type. It is a value, not a function.
pub(super) static ZERO: IntrinsicDef = generic("generic_zero", "T");
