//! The XLA leaf on a real runtime: the one that `runtime.rs` names.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod golden;
mod runtime;
mod support;
