//! Decoding of messages whose sender is not trusted.

use bytes::Bytes;
use prost::Name;
use thiserror::Error;

/// The number of messages that may be nested in one another below the
/// outermost one. It is protobuf's own limit, the same in every language.
pub const MAX_DEPTH: usize = 100;

/// What a decoder accepts. Nesting is always limited to [`MAX_DEPTH`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes that an encoded message may have.
    ///
    /// Decoded, a message of many small parts takes up to some hundred times
    /// as much memory, so this bounds memory too.
    pub max_bytes: usize,
}

impl Default for Limits {
    /// What protobuf itself allows: 2 GiB less one byte.
    fn default() -> Self {
        Self { max_bytes: i32::MAX as usize }
    }
}

/// Why bytes were not accepted as a message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The message has more bytes than the limit.
    #[error("{message} of {size} bytes exceeds the limit of {limit} bytes")]
    TooLarge {
        /// The full name of the message.
        message: String,
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The message nests deeper than [`MAX_DEPTH`].
    #[error("{message} of {size} bytes nests more than {MAX_DEPTH} messages")]
    TooDeep {
        /// The full name of the outermost message.
        message: String,
        /// Its size in bytes.
        size: usize,
    },
    /// The bytes end in the middle of a field.
    #[error("{message} is cut off at byte {size}, inside a field")]
    Truncated {
        /// The full name of the message.
        message: String,
        /// The number of bytes that are there.
        size: usize,
        /// What the decoder says.
        source: prost::DecodeError,
    },
    /// The bytes are no message of this name.
    #[error("not a valid {message} ({size} bytes)")]
    Malformed {
        /// The full name of the message.
        message: String,
        /// The number of bytes.
        size: usize,
        /// What the decoder says, with the path to the field.
        source: prost::DecodeError,
    },
}

/// Returns the message that the bytes encode. Its `bytes` fields are views of
/// the argument, not copies. Unknown fields are dropped.
///
/// # Errors
/// See [`DecodeError`]; which part of a damaged message is reported is a best
/// effort.
pub fn decode<M: Name + Default>(bytes: &Bytes, limits: &Limits) -> Result<M, DecodeError> {
    let size = bytes.len();
    if size > limits.max_bytes {
        return Err(DecodeError::TooLarge { message: M::full_name(), size, limit: limits.max_bytes });
    }
    M::decode(bytes.clone()).map_err(|source| explain(M::full_name(), bytes, source))
}

fn explain(message: String, bytes: &[u8], source: prost::DecodeError) -> DecodeError {
    let size = bytes.len();
    // prost keeps the kinds of its errors to itself; tests pin these texts.
    let text = source.to_string();
    let says = |kind| text.ends_with(kind);
    if says("recursion limit reached") {
        DecodeError::TooDeep { message, size }
    } else if (says("buffer underflow") || says("invalid varint")) && ends_inside_field(bytes) {
        DecodeError::Truncated { message, size, source }
    } else {
        DecodeError::Malformed { message, size, source }
    }
}

/// Whether the outermost message stops before its last field does. A prefix of
/// a message does so unless it ends between two fields.
fn ends_inside_field(mut rest: &[u8]) -> bool {
    while !rest.is_empty() {
        let Some((key, after)) = varint(rest) else {
            return true;
        };
        let payload = match key & 7 {
            0 => varint(after).map(|(_, after)| (0, after)),
            1 => Some((8, after)),
            2 => varint(after),
            5 => Some((4, after)),
            // Groups and what is no wire type: malformed, wherever it ends.
            _ => return false,
        };
        let Some((len, after)) = payload else {
            return true;
        };
        let after = usize::try_from(len).ok().and_then(|len| after.get(len..));
        let Some(after) = after else {
            return true;
        };
        rest = after;
    }
    false
}

/// Reads a varint; `None` where the bytes end first. An overlong one counts as
/// ended at its tenth byte: it is malformed, which is not asked here.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (idx, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * idx);
        if byte & 0x80 == 0 || idx == 9 {
            return Some((value, bytes.get(idx + 1..)?));
        }
    }
    None
}
