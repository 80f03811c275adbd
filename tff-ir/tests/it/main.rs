//! Tests of the public surface, one file a topic.
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod deep;
mod forms;
mod golden;
mod grammar;
mod intrinsics;
mod numpy_text;
#[cfg(feature = "arbitrary")]
mod properties;
mod validate;
