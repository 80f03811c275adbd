//! Why a value cannot be written.

use tff_exec::ExecError;
use tff_types::Type;
use thiserror::Error;

/// Why a value cannot be written.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A sequence cannot be read.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// All clients have the same value, and their number is not known.
    #[error("the number of clients is not known")]
    UnknownClients,
    /// No client has the value.
    #[error("a value at no clients has no member")]
    NoClients,
    /// The value is not of its type.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// The type.
        expected: Type,
        /// What the value is.
        found: String,
    },
    /// Functions are not data.
    #[error("a function, {0}, has no JSON form")]
    Function(Type),
    /// A tensor without elements has too many empty arrays inside of each other.
    #[error("{0}, an empty tensor, is too large for JSON")]
    TooManyArrays(Type),
    /// A tensor has more dimensions than readers follow.
    #[error("a tensor of {rank} dimensions is nested too deep for JSON")]
    TooDeep {
        /// The number of its dimensions.
        rank: usize,
    },
}
