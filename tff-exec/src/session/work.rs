//! Counts who needs the value of some work, and ends the work when nobody does.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Work that gives a value. It is given up, once and for all, when neither its number is known to
/// a peer, nor anyone waits for the value, nor other work that is needed takes it as an input.
#[derive(Clone)]
pub(crate) struct Work(Arc<State>);

struct State {
    given_up: Arc<AtomicBool>,
    /// How many need the value: those who wait, work that takes it as an argument, and one for its number.
    needs: AtomicUsize,
    is_numbered: AtomicBool,
    inputs: Mutex<Vec<Work>>,
}

/// One that needs the value of some work, until it is dropped.
pub(crate) struct Need(Work);

impl Work {
    /// Work under a number, which needs all of these.
    pub(crate) fn new<'a>(inputs: impl IntoIterator<Item = &'a Self>) -> Self {
        let inputs: Vec<Self> = inputs.into_iter().cloned().collect();
        for input in &inputs {
            input.0.needs.fetch_add(1, Ordering::Relaxed);
        }
        Self(Arc::new(State {
            given_up: Arc::default(),
            needs: AtomicUsize::new(1),
            is_numbered: AtomicBool::new(true),
            inputs: Mutex::new(inputs),
        }))
    }

    /// Whether nobody needs the value any more.
    pub(crate) fn given_up(&self) -> &Arc<AtomicBool> {
        &self.0.given_up
    }

    pub(crate) fn need(&self) -> Need {
        self.0.needs.fetch_add(1, Ordering::Relaxed);
        Need(self.clone())
    }

    /// The number is disposed of, or its owner has lost interest: only others count from here on.
    pub(crate) fn forget_number(&self) {
        if self.0.is_numbered.swap(false, Ordering::Relaxed) {
            self.release();
        }
    }

    /// One need less. What is no longer needed releases its inputs, without recursion: peers build
    /// chains of any length.
    fn release(&self) {
        let mut released = vec![self.clone()];
        while let Some(Self(state)) = released.pop() {
            // Everything before the last release happens before the work is given up.
            if state.needs.fetch_sub(1, Ordering::AcqRel) == 1 {
                state.given_up.store(true, Ordering::Relaxed);
                let mut inputs = state.inputs.lock().unwrap_or_else(PoisonError::into_inner);
                released.append(&mut inputs);
            }
        }
    }
}

impl Drop for Need {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_given_up(work: &Work) -> bool {
        work.given_up().load(Ordering::Relaxed)
    }

    #[test]
    fn inputs_are_given_up_with_what_needs_them() {
        let shared = Work::new([]);
        let (left, right) = (Work::new([&shared]), Work::new([&shared]));
        shared.forget_number();
        let waits = left.need();
        left.forget_number();
        assert!(!is_given_up(&left));
        drop(waits);
        assert!(is_given_up(&left));
        assert!(!is_given_up(&shared), "needed on the right");
        right.forget_number();
        right.forget_number();
        assert!(is_given_up(&right) && is_given_up(&shared));
    }

    #[test]
    fn a_long_chain_is_given_up_without_recursion() {
        let first = Work::new([]);
        let last = (0..1_000_000).fold(first.clone(), |work, _| {
            let next = Work::new([&work]);
            work.forget_number();
            next
        });
        assert!(!is_given_up(&first));
        last.forget_number();
        assert!(is_given_up(&first));
    }
}
