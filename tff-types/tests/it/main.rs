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

use tff_types::Type;

#[track_caller]
fn parse(text: &str) -> Type {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}
