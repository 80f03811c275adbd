//! Values that are still being computed: a call returns one before it is done.

use super::work::{Need, Work};
use crate::eval::Part;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

type Waiter = Box<dyn FnOnce(&Part) + Send>;

/// A value that is or will be there: written once, read any number of times.
///
/// Nothing blocks on it: code that needs the value leaves a waiter, which runs on the thread that
/// brings the value and must only pass it on.
#[derive(Clone)]
pub(crate) struct Lazy {
    state: Arc<Mutex<State>>,
    /// The work that brings the value, unless it was there from the start.
    work: Option<Work>,
}

enum State {
    Pending(Vec<Waiter>),
    Done(Part),
}

impl Lazy {
    pub(crate) fn ready(outcome: Part) -> Self {
        Self { state: Arc::new(Mutex::new(State::Done(outcome))), work: None }
    }

    /// A value, known to a peer, that will be made of these inputs, and the work of making it.
    pub(crate) fn pending(inputs: &[Self]) -> (Self, Work) {
        let work = Work::new(inputs.iter().filter_map(|input| input.work.as_ref()));
        (Self { state: Arc::new(Mutex::new(State::Pending(Vec::new()))), work: Some(work.clone()) }, work)
    }

    /// Holds on to the work while someone waits for the value.
    pub(crate) fn need(&self) -> Option<Need> {
        self.work.as_ref().map(Work::need)
    }

    /// The peer that knows the value does not need it, at least not by itself.
    pub(crate) fn forget_number(&self) {
        if let Some(work) = &self.work {
            work.forget_number();
        }
    }

    /// What is there, if it is there.
    pub(crate) fn peek(&self) -> Option<Part> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Done(outcome) => Some(outcome.clone()),
            State::Pending(_) => None,
        }
    }

    /// Brings the value. The first one stays.
    pub(crate) fn set(&self, outcome: Part) {
        let waiters = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *state {
                State::Done(_) => return,
                State::Pending(waiters) => {
                    let waiters = std::mem::take(waiters);
                    *state = State::Done(outcome.clone());
                    waiters
                }
            }
        };
        for waiter in waiters {
            waiter(&outcome);
        }
    }

    /// Runs `waiter` with the value: now if it is there, otherwise when it comes.
    pub(crate) fn when_done(&self, waiter: impl FnOnce(&Part) + Send + 'static) {
        let outcome = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *state {
                State::Done(outcome) => outcome.clone(),
                State::Pending(waiters) => {
                    waiters.push(Box::new(waiter));
                    return;
                }
            }
        };
        waiter(&outcome);
    }

    /// Runs `waiter` with what became of all the values, once that is known.
    pub(crate) fn when_all_done(inputs: Vec<Self>, waiter: impl FnOnce(Vec<Part>) + Send + 'static) {
        // Waits for one input after the other: all of them must be done anyway.
        fn wait_from(inputs: Vec<Lazy>, mut parts: Vec<Part>, waiter: Box<dyn FnOnce(Vec<Part>) + Send>) {
            while let Some(input) = inputs.get(parts.len()) {
                match input.peek() {
                    Some(part) => parts.push(part),
                    None => {
                        let input = input.clone();
                        return input.when_done(move |_| wait_from(inputs, parts, waiter));
                    }
                }
            }
            waiter(parts);
        }
        wait_from(inputs, Vec::new(), Box::new(waiter));
    }
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.peek() {
            Some(outcome) => f.debug_tuple("Lazy").field(&outcome).finish(),
            None => f.write_str("Lazy(pending)"),
        }
    }
}
