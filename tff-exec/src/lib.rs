#![doc = include_str!("../README.md")]

mod composing;
mod eval;
mod executor;
pub mod leaf;
#[cfg(feature = "service")]
pub mod remote;
#[cfg(feature = "service")]
pub mod service;
mod session;
mod values;

pub use composing::{Child, Receive, Workers};
pub use eval::{CallOptions, Cancel, DataBackend, Progress, ReportProgress, is_native, value_from_proto};
pub use executor::{Compile, Executor, Options, PrepareLeaf, Program};
pub use leaf::tensorflow::TensorFlow;
pub use leaf::xla::Xla;
pub use session::{Session, Waiting};
pub use values::wire::value_to_proto;
pub use values::{
    ClientValues, Clients, EvalError, ExecError, Function, LeafError, NotFinite, NotFiniteCause, NotFiniteClients,
    NotFiniteNumber, Place, ReadDataset, Sequence, SessionError, StructValue, Tensor, Value, WireError, WorkerError,
    infer_cardinality,
};
