//! Computations to and from the wire: the protocol's `Computation` and the messages within.

mod checksum;
mod decode;
mod encode;
mod opaque;

pub(crate) use decode::decode_reporting;
pub use decode::{CompDecodeError, DecodeProblem};
pub use encode::CompEncodeError;

use crate::Comp;
use bytes::Bytes;
use prost::Message;
use tff_proto::v0 as pb;

/// Why bytes are not a computation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompBytesError {
    /// They are not the message.
    #[error("not an encoded computation: {0}")]
    Message(#[from] tff_proto::DecodeError),
    /// The message is not a computation.
    #[error("at {0}")]
    Comp(#[from] CompDecodeError),
}

impl Comp {
    /// Reads the encoded message of a computation of which every node states its type, as [`Comp::from_proto`].
    ///
    /// ```
    /// use tff_ir::{Array, Comp};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let comp = Comp::literal(Array::from(1i32));
    /// assert_eq!(Comp::from_bytes(comp.to_bytes()?)?, comp);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where the bytes are not the message, or the message is not a computation, with the path.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self, CompBytesError> {
        Ok(Self::from_proto(&tff_proto::decode(&bytes.into(), &tff_proto::Limits::default())?)?)
    }

    /// The encoded message: the bytes that the reference writes.
    ///
    /// # Errors
    /// As [`Comp::to_proto`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, CompEncodeError> {
        Ok(self.to_proto()?.encode_to_vec())
    }

    /// Reads a computation of which every node states its type.
    ///
    /// Each type must be equivalent to the one that follows from the parts. References need not be
    /// bound: that, and the other rules that only the whole tree shows, are the validator's.
    ///
    /// # Errors
    /// The first node that is no computation, or is of another type than it says, with its path.
    pub fn from_proto(proto: &pb::Computation) -> Result<Self, CompDecodeError> {
        decode::decode(proto, decode::Types::Stated)
    }

    /// Reads a computation of which nodes may leave out their type, as some clients send them.
    ///
    /// What is left out follows from the parts or, for references, from what they are bound to;
    /// what does not, is of the abstract type [`UNTYPED`](crate::UNTYPED).
    ///
    /// # Errors
    /// As [`Comp::from_proto`], for what is there.
    pub fn from_proto_lenient(proto: &pb::Computation) -> Result<Self, CompDecodeError> {
        decode::decode(proto, decode::Types::Optional)
    }

    /// Writes the computation, with the type of each node except where it contains
    /// [`UNTYPED`](crate::UNTYPED). The bytes of the message are those of the reference.
    ///
    /// # Errors
    /// [`CompEncodeError::TooDeep`] where the message would nest more than 100 messages below the
    /// outermost one, so that no peer could read it.
    pub fn to_proto(&self) -> Result<pb::Computation, CompEncodeError> {
        encode::encode(self)
    }
}
