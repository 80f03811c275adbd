//! The XLA leaf on a real runtime: the one that `runtime.rs` names.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod errors;
mod federated;
mod fold;
mod golden;
mod hlo;
mod runtime;
mod support;
mod tensors;
