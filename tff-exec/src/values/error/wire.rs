//! What can be wrong with the messages that hold values.

use tff_ir::{BuildError, CompDecodeError, CompEncodeError};
use tff_proto::AnyError;
use tff_types::{TypeDecodeError, TypeEncodeError};

/// What can be wrong with the messages that values are read from and written to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A message without any of its variants.
    #[error("an empty message: expected a value or a computation")]
    Empty,
    /// A packed message is another one, or damaged.
    #[error(transparent)]
    Any(#[from] AnyError),
    /// A message is not a type.
    #[error(transparent)]
    Type(#[from] TypeDecodeError),
    /// A type has no message.
    #[error(transparent)]
    TypeEncode(#[from] TypeEncodeError),
    /// A message is not a computation.
    #[error(transparent)]
    Comp(#[from] CompDecodeError),
    /// A computation has no message.
    #[error(transparent)]
    CompEncode(#[from] CompEncodeError),
    /// A function cannot be written as a computation.
    #[error(transparent)]
    Build(#[from] BuildError),
}
