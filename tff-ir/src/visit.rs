//! Walks over computations of any depth.

/// Runs one level of a recursion, on a fresh piece of stack where little is left of the current
/// one. Every recursion over computations goes through here.
pub(crate) fn with_stack<R>(level: impl FnOnce() -> R) -> R {
    // One level of any recursion here takes far less than what must be left.
    const LEFT: usize = 128 << 10;
    const FRESH: usize = 2 << 20;
    stacker::maybe_grow(LEFT, FRESH, level)
}
