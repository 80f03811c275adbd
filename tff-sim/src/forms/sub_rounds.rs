//! Running a form with the clients split into sub-rounds, whose partial aggregates are merged.

use std::num::NonZeroUsize;
use std::ops::Range;
use tff_compiler::forms::MergeableCompForm;
use tff_exec::{Clients, ExecError, Executor, Program, Value};
use thiserror::Error;

/// A form that is ready to run.
#[derive(Debug)]
pub struct SubRounds {
    up_to_merge: Program,
    merge: Program,
    after_merge: Program,
}

/// Why sub-rounds failed.
#[derive(Clone, Debug, Error)]
pub enum SubRoundsError {
    /// A part of the form failed.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// What is aggregated before the merge is not at the server.
    #[error("expected a value at SERVER to merge, found {found}")]
    NotAtServer {
        /// What it is instead.
        found: String,
    },
}

impl SubRounds {
    /// Prepares the parts of a form.
    ///
    /// # Errors
    /// Where the executor cannot prepare one.
    pub fn prepare(form: &MergeableCompForm, executor: &Executor) -> Result<Self, ExecError> {
        Ok(Self {
            up_to_merge: executor.prepare(form.up_to_merge())?,
            merge: executor.prepare(form.merge())?,
            after_merge: executor.prepare(form.after_merge())?,
        })
    }

    /// Runs up to so many sub-rounds one after another, merges what they give from left to right,
    /// and makes the result of that, for all clients at once.
    ///
    /// # Errors
    /// Where a part fails.
    pub fn call(
        &self,
        argument: Option<Value>,
        n_clients: Option<usize>,
        sub_rounds: NonZeroUsize,
    ) -> Result<Value, SubRoundsError> {
        let mut merged: Option<Value> = None;
        for clients in split(n_clients.unwrap_or(0), sub_rounds) {
            let part = argument.as_ref().map(|argument| members(argument, &clients));
            // Without clients, and without a number of them, none are needed.
            let n_clients = n_clients.map(|_| clients.len());
            let partial = at_server(self.up_to_merge.call(part, n_clients)?)?;
            merged = Some(match merged {
                None => partial,
                Some(merged) => self.merge.call(Some(Value::structure([merged, partial])), None)?,
            });
        }
        let given = match (argument, merged.map(Value::at_server)) {
            (Some(argument), Some(merged)) => Some(Value::structure([argument, merged])),
            (argument, merged) => argument.or(merged),
        };
        Ok(self.after_merge.call(given, n_clients)?)
    }
}

/// The clients of each sub-round: neighbours, as equal in number as can be, the larger parts first.
/// No sub-round is without clients, unless there are none.
fn split(n_clients: usize, sub_rounds: NonZeroUsize) -> Vec<Range<usize>> {
    let n_parts = sub_rounds.get().min(n_clients.max(1));
    let (each, more) = (n_clients / n_parts, n_clients % n_parts);
    let start = |index: usize| index * each + index.min(more);
    (0..n_parts).map(|index| start(index)..start(index + 1)).collect()
}

/// The value with the members of these clients alone.
fn members(value: &Value, clients: &Range<usize>) -> Value {
    match value {
        Value::Struct(elements) => Value::structure(elements.iter().map(|element| members(element, clients))),
        // All values at clients have the same number of members by now.
        Value::Clients(Clients::Each(all)) => {
            Value::at_clients(all.get(clients.clone()).unwrap_or_default().iter().cloned())
        }
        other => other.clone(),
    }
}

fn at_server(value: Value) -> Result<Value, SubRoundsError> {
    match value {
        Value::Server(member) => Ok(member.as_ref().clone()),
        other => Err(SubRoundsError::NotAtServer { found: other.describe() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_is_in_one_sub_round() {
        let check = |n_clients, n| split(n_clients, NonZeroUsize::new(n).unwrap());
        assert_eq!(check(5, 3), [0..2, 2..4, 4..5]);
        assert_eq!(check(7, 2), [0..4, 4..7]);
        assert_eq!(check(2, 5), [0..1, 1..2]);
        assert_eq!(check(0, 3), [0..0; 1]);
        assert_eq!(check(3, usize::MAX), [0..1, 1..2, 2..3]);
    }
}
