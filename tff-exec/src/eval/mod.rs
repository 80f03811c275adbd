//! The one evaluator: environment, closures and federated values together.
//!
//! A computation is compiled once to [`code`], in which every reference is a position in a frame
//! or among the captured values of its closure; [`run`] walks that. Intrinsics are plain functions
//! over values in [`federated`] and [`sequences`]. [`source`] turns functions back into computations.

mod code;
mod federated;
mod intrinsic;
mod run;
mod sequences;
mod source;

pub(crate) use code::{Code, Compilation, compile};
pub(crate) use federated::{arguments, is_placed, leaves};
pub use run::Function;
pub(crate) use run::{Context, Frame, select};
