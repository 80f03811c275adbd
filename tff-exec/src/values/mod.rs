//! The lowest floor: values, the messages they are sent as, and what can be wrong with them.
//!
//! Nothing here runs anything. Functions and values that workers hold are opaque. A serialized
//! dataset is read by a reader that the caller gives it.

mod cardinality;
mod clients;
mod conform;
mod convert;
mod dataset;
mod error;
mod function;
mod not_finite;
mod sequence;
pub(crate) mod status_code;
mod tensor;
mod value;
pub(crate) mod wire;

pub use cardinality::infer_cardinality;
pub(crate) use clients::HeldElsewhere;
pub use clients::{ClientValues, Clients};
pub(crate) use conform::{check, conform};
pub(crate) use dataset::{Layout, nodes};
pub use error::{EvalError, ExecError, LeafError, Place, SessionError, WireError, WorkerError};
pub(crate) use error::{LeafName, steps};
pub use function::Function;
pub(crate) use function::FunctionValue;
pub use not_finite::{NotFinite, NotFiniteCause, NotFiniteClients, NotFiniteNumber};
pub use sequence::{ReadDataset, Sequence};
pub use tensor::Tensor;
pub(crate) use tensor::check_tensor;
pub(crate) use value::{MAX_DEPTH, check_n_clients};
pub use value::{StructValue, Value};
