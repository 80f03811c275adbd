//! The one evaluator: environment, closures and federated values together.
//!
//! A computation is turned once into [`code`], in which every reference is an index into a frame
//! or into the captured values of its closure; [`run`] walks that and evaluates what is needed.
//! [`part`] has values in the making: parts that are known, that failed, or that nobody has needed. Intrinsics are plain functions over values in
//! [`federated`] and [`sequences`]. [`function`] has the function values. [`host`] is what the
//! evaluator needs from the code that runs it.

mod code;
mod control;
mod data;
mod federated;
mod function;
mod host;
mod intrinsic;
mod part;
mod run;
mod sequences;

pub(crate) use code::{Compilation, compile};
pub(crate) use control::Control;
pub use control::{CallOptions, Cancel, Progress, ReportProgress};
pub use data::DataBackend;
pub(crate) use federated::{arguments, is_placed, leaves};
pub(crate) use function::comp_from_proto;
pub use function::value_from_proto;
pub(crate) use host::{Elsewhere, Host};
pub use intrinsic::is_native;
pub(crate) use part::{Part, Want};
pub(crate) use run::Context;
