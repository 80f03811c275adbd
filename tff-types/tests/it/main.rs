//! Tests of the public surface, one file a topic.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod analyses;
mod golden;
mod notation;
#[cfg(feature = "arbitrary")]
mod properties;
mod relations;
mod templates;
mod wire;

use tff_testing::ty as parse;
