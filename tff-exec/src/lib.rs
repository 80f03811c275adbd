//! Executes federated computations.

mod cardinality;
mod error;
mod eval;
pub mod leaf;
mod sequence;
mod tensor;
mod value;

pub use cardinality::infer_cardinality;
pub use error::ExecError;
pub use eval::Function;
pub use leaf::tensorflow::TensorFlow;
pub use sequence::Sequence;
pub use tensor::Tensor;
pub use value::{Clients, Value};
