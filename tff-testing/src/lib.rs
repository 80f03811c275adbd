//! Support for the tests of several crates: the golden files of the repository, computations and types in
//! text, and random bytes.
//!
//! It is a dependency of tests only. Unit tests of tff-proto, tff-types and tff-ir cannot use it: there
//! the types in it are those of another build of the crate. Their tests in `tests/` can.
//!
//! A function here panics if the test cannot go on, at the line of the test that called it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

mod golden;
mod texts;

pub use golden::{
    bytes, comp_of, decode_base64, encode_base64, example, field, message, native_libraries, records, repository, table,
};
pub use texts::{comp, comp_with, environment, graph, module, ty, with_graph};

/// Random bytes: `len` of them, the same ones for the same run.
#[must_use]
pub fn random(run: u64, len: usize) -> Vec<u8> {
    let mut state = run.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let mut bytes: Vec<_> = (0..len.div_ceil(8)).flat_map(|_| word().to_le_bytes()).collect();
    bytes.truncate(len);
    bytes
}
