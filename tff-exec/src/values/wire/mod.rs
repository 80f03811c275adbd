//! Values from and to messages: one reader and one writer, for peers of every version, with or
//! without a known type.

mod dialect;
mod read;
mod tensor_proto;
mod write;

pub(crate) use dialect::Dialect;
pub(crate) use read::{ReadComputation, Reader, computations};
pub(crate) use tensor_proto::array_from_tensor_proto;
pub(crate) use write::Writer;
pub use write::value_to_proto;
