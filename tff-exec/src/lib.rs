//! Executes federated computations.

mod cardinality;
mod code;
mod composing;
mod conform;
mod error;
mod eval;
mod executor;
mod lazy;
pub mod leaf;
mod live;
mod proto;
#[cfg(feature = "service")]
pub mod remote;
mod sequence;
#[cfg(feature = "service")]
pub mod service;
mod session;
mod tensor;
mod tensor_proto;
mod untyped;
mod value;
mod work;

pub use cardinality::infer_cardinality;
pub use composing::{Child, Held, Receive, Workers};
pub use error::ExecError;
pub use eval::Function;
pub use executor::{Compile, Executor, Options, Program};
pub use leaf::tensorflow::TensorFlow;
pub use leaf::xla::Xla;
pub use proto::{value_from_proto, value_to_proto};
pub use sequence::Sequence;
pub use session::{Session, Waiting};
pub use tensor::Tensor;
pub use value::{Clients, StructValue, Value};
