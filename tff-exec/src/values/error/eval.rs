//! Why evaluation refuses a computation.

use super::{name, text};
use std::sync::Arc;

/// What is wrong with a computation that is evaluated.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EvalError {
    /// A reference to a name that nothing around it binds.
    #[error("unbound reference `{}`", name(.0))]
    UnboundReference(Arc<str>),
    /// The computation cannot be compiled to what is run: the error of the compile function.
    #[error("cannot compile the computation: {}", text(.0))]
    Compile(Arc<dyn std::error::Error + Send + Sync>),
    /// An intrinsic that no runtime runs as it stands was called.
    #[error("the intrinsic `{}` runs only in a compiled computation: compile this one first", name(.0))]
    UnknownIntrinsic(Arc<str>),
    /// A secure aggregation, which no runtime here can do. A compiler can put ordinary sums in its place.
    #[error(
        "`{}` is a secure aggregation, which this runtime cannot do; where its promise need not be kept, it can be compiled to an ordinary sum",
        name(.0)
    )]
    SecureAggregation(Arc<str>),
    /// The value of `data` was not found.
    #[error("data: {}", text(.0))]
    Data(String),
}
