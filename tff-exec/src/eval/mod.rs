//! The evaluator.

/// A function value.
#[derive(Clone, Debug)]
pub struct Function {}
