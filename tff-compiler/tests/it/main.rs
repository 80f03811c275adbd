//! Tests of the public surface, one file a topic. The fixtures of the passes are in `tests/passes/`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod bodies;
mod digits;
mod extract;
mod forms;
mod order;
mod passes;
mod pipelines;
mod properties;
mod reductions;
