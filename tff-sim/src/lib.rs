//! Simulations of federated computations, as a library: everything that the command `tff` does with computations, except
//! printing.
//!
//! - [`read`] reads a computation from a message, a text, or the folder of a form. [`computation`] has the steps.
//! - [`compiler`] makes the compile function that [`tff_exec::Options::compile`] takes.
//! - [`forms`]: a form of any kind, its folder, and runs in which the clients are split into sub-rounds.
//! - [`data`]: the trait [`Source`](data::Source), from which clients and their data come, and the sources that exist.
//! - [`simulation`]: an iterative process over a source, round by round.
//! - [`Target`]: what a run, a worker or a form refuses of a computation, before it is tried.
//! - [`json`]: values as JSON, guided by their type.
//!
//! A simulation is an iterator over rounds. This one adds up numbers, and samples two of three clients in each round:
//!
//! ```
//! use tff_exec::{Executor, Sequence, Value};
//! use tff_ir::text::{Environment, parse};
//! use tff_ir::{Array, Scalar};
//! use tff_sim::data::{ClientId, InMemory};
//! use tff_sim::simulation::{NamedComp, Process, Settings, Simulation};
//! use tff_types::{DType, Type};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let comp = |name: &str, text: &str| -> Result<NamedComp, Box<dyn std::error::Error>> {
//!     Ok(NamedComp { name: name.to_owned(), comp: parse(text, &Environment::default())?.comp })
//! };
//! let initialize = comp("initialize", "( -> %federated_value_at_server(lit int32 0))")?;
//! let next = comp(
//!     "next",
//!     "(x:<state=int32@SERVER,clients={int32*}@CLIENTS> ->
//!        (let sums=%federated_map(<(rows:int32* -> %sequence_sum(rows)),x.clients>),
//!             total=%federated_sum(sums) in
//!         <state=total,metrics=%federated_apply(<(t:int32 -> <total=t>),total>)>))",
//! )?;
//!
//! let client = |number: usize, rows: [i32; 2]| {
//!     let element = Type::scalar(DType::Int32);
//!     let rows = rows.map(|row| Value::array(Array::from_scalar(Scalar::Int32(row))));
//!     (ClientId::Number(number), Value::Sequence(Sequence::from_elements(element, rows)))
//! };
//! let source: InMemory = [client(0, [1, 2]), client(1, [3, 4]), client(2, [5, 6])].into_iter().collect();
//!
//! let settings = Settings { rounds: 3, clients_per_round: std::num::NonZeroUsize::new(2), ..Settings::default() };
//! let simulation = Simulation::new(Process::new(initialize, next)?, Box::new(source), settings)?;
//!
//! let mut options = tff_exec::Options::default();
//! options.compile = Some(tff_sim::compiler(tff_compiler::CompileOptions::default));
//! let executor = Executor::new(options);
//! for report in simulation.start(&executor)? {
//!     let report = report?;
//!     // Another caller would print, store or draw it, or stop here.
//!     assert_eq!(report.clients.len(), 2);
//!     assert_eq!(report.metrics[0].name, "total");
//! }
//! # Ok(())
//! # }
//! ```

mod compiler;
pub mod computation;
pub mod data;
pub mod files;
pub mod forms;
pub mod json;
#[cfg(feature = "numpy")]
pub mod npy;
mod random;
mod read;
pub mod simulation;
mod target;
#[cfg(any(feature = "numpy", feature = "safetensors"))]
pub mod tensors;
#[cfg(feature = "tfrecord")]
pub mod tfrecord;

pub use compiler::compiler;
pub use files::{FileError, FileProblem};
pub use read::read;
pub use target::{Refusal, RefusalError, Target};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
