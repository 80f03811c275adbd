//! Typed packing and unpacking of [`Any`].

use bytes::Bytes;
use prost::Name;
use thiserror::Error;

use crate::decode::{DecodeError, Limits, decode};
use crate::google::protobuf::Any;

/// The most characters of a foreign type URL that an error repeats.
const MAX_SHOWN: usize = 200;

/// Why an [`Any`] does not hold the message asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AnyError {
    /// It holds another message.
    #[error("expected a message of type {expected}, found {found:?}")]
    UnexpectedType {
        /// The full name of the message asked for.
        expected: String,
        /// The type URL found, cut off where it is very long.
        found: String,
    },
    /// It claims to hold the message, but its bytes say otherwise.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

impl Any {
    /// Returns the message in encoded form, with its type URL.
    pub fn pack<M: Name>(message: &M) -> Self {
        Self { type_url: M::type_url(), value: Bytes::from(message.encode_to_vec()) }
    }

    /// Whether the type URL names the message: whether what follows its last
    /// `/` is the full name.
    pub fn is<M: Name>(&self) -> bool {
        matches!(self.type_url.rsplit_once('/'), Some((_, name)) if name == M::full_name())
    }

    /// Returns the message held.
    ///
    /// # Errors
    /// If the type URL names another message, or the bytes are no such message.
    pub fn unpack<M: Name + Default>(&self) -> Result<M, AnyError> {
        if !self.is::<M>() {
            return Err(AnyError::UnexpectedType {
                expected: M::full_name(),
                found: self.type_url.chars().take(MAX_SHOWN).collect(),
            });
        }
        // The bytes are in memory already, so only protobuf's own limits apply.
        Ok(decode(&self.value, &Limits::default())?)
    }
}
