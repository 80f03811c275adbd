//! TensorFlow's errors as one line.

use super::ffi::Failure;
use crate::LeafError;
use crate::leaf::one_line;
use crate::values::LeafName;

/// The leaf's name in errors.
pub(super) const LEAF: LeafName = LeafName("TensorFlow");

impl From<Failure> for LeafError {
    fn from(failure: Failure) -> Self {
        Self::Native { code: failure.code(), message: first_root(&failure.to_string()) }
    }
}

/// The message on one line: of several root errors the first, without the stack traces that
/// TensorFlow appends.
fn first_root(message: &str) -> String {
    let message = ["Original stack trace for ", "Detected at node ", "Errors may have originated from "]
        .iter()
        .filter_map(|trace| message.split_once(trace))
        .map(|(before, _)| before)
        .min_by_key(|before| before.len())
        .unwrap_or(message);
    let root = message
        .split_once("root error(s) found.")
        .and_then(|(_, roots)| roots.split_once("(0)"))
        .map(|(_, first)| first.split_once("\n  (1)").map_or(first, |(first, _)| first))
        .unwrap_or(message);
    one_line(root)
}

#[cfg(test)]
mod tests {
    use super::first_root;

    #[test]
    fn whitespace_collapses_and_traces_go() {
        let message =
            "InvalidArgument: b is\n\tbad\n\t [[{{node Check}}]]\n\nOriginal stack trace for 'Check':\n  File x";
        assert_eq!(first_root(message), "InvalidArgument: b is bad [[{{node Check}}]]");
    }

    #[test]
    fn first_of_several_roots_stays() {
        let message = "InvalidArgument: 2 root error(s) found.\n  (0) INVALID_ARGUMENT: first\n\t [[{{node A}}]]\n  (1) INVALID_ARGUMENT: second\n0 successful operations.";
        assert_eq!(first_root(message), "INVALID_ARGUMENT: first [[{{node A}}]]");
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(first_root(&"é".repeat(5000)).chars().count(), 1001);
    }
}
