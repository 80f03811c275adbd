//! Values that children hold, and how they are fetched.

use super::Child;
use crate::eval::{CallOptions, Control};
use crate::values::HeldElsewhere;
use crate::values::wire::Reader;
use crate::{Clients, ExecError, Place, Value, WorkerError};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tff_proto::v0 as pb;
use tff_types::Type;

/// How often a call that waits for children looks whether it is cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// A value that every child holds its part of, until the last clone of this is dropped.
#[derive(Clone)]
pub(super) struct Held {
    parts: Arc<[HeldPart]>,
    options: CallOptions,
}

/// A value that one child holds.
pub(super) struct HeldPart {
    pub(super) child: Arc<dyn Child>,
    pub(super) id: u64,
}

impl Drop for HeldPart {
    fn drop(&mut self) {
        self.child.dispose(self.id);
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts.iter().map(|part| (part.child.name(), part.id))).finish()
    }
}

/// Reads a value of a federated type that a child sent.
pub(super) fn read_placed(child: &dyn Child, message: &pb::Value, ty: &Type) -> Result<Value, ExecError> {
    let read = match (&message.value, ty.as_federated()) {
        (Some(pb::value::Value::Federated(_)), _) | (_, None) => {
            Reader { n_clients: Some(child.n_clients()), ..Reader::default() }.read(message, Some(ty))
        }
        (_, Some(ty)) => Err(ExecError::mismatch(format!("a value at {}", ty.placement), "one without placement")),
    };
    read.map_err(|error| sent_by(child, error))
}

/// Names the worker that sent the wrong value.
fn sent_by(child: &dyn Child, error: ExecError) -> ExecError {
    error.at(Place::Worker(child.name().clone()))
}

impl Held {
    /// `options` are those of the call in which it is made.
    pub(super) fn new(parts: impl IntoIterator<Item = HeldPart>, options: &CallOptions) -> Self {
        Self { parts: parts.into_iter().collect(), options: options.clone() }
    }

    pub(super) fn parts(&self) -> &[HeldPart] {
        &self.parts
    }

    /// Waits for the children's answers, as long as the call may go on.
    fn wait<T>(&self, receiver: &mpsc::Receiver<T>) -> Result<Option<T>, ExecError> {
        loop {
            Control::from(&self.options).check()?;
            let left = self.options.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let look = self.options.cancel.is_some().then_some(LOOK);
            let Some(timeout) = left.into_iter().chain(look).min() else { return Ok(receiver.recv().ok()) };
            match receiver.recv_timeout(timeout) {
                Ok(said) => return Ok(Some(said)),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(None),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Fetches all parts at once, and takes them in the order of the children, each as soon as those
    /// before it are taken.
    ///
    /// # Errors
    /// [`ExecError::GivenUp`], [`ExecError::Deadline`]. The error of a lost child is returned at once, otherwise
    /// that of the first child that has one.
    pub(super) fn compute(
        &self,
        mut take: impl FnMut(&dyn Child, pb::Value) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        let (sender, receiver) = mpsc::channel();
        for (index, part) in self.parts.iter().enumerate() {
            let sender = sender.clone();
            // If nobody listens any more, the call has failed already.
            part.child.compute(part.id, Box::new(move |outcome| drop(sender.send((index, outcome)))));
        }
        drop(sender);
        let mut arrived = BTreeMap::new();
        let mut parts = self.parts.iter().enumerate().peekable();
        while let Some((index, outcome)) = self.wait(&receiver)? {
            if let Err(error @ ExecError::Worker(WorkerError::Unavailable { .. })) = outcome {
                return Err(error);
            }
            arrived.insert(index, outcome);
            while let Some((index, part)) = parts.peek()
                && let Some(outcome) = arrived.remove(index)
            {
                take(&*part.child, outcome?)?;
                parts.next();
            }
        }
        match parts.next() {
            None => Ok(()),
            Some(_) => Err(ExecError::Internal("a child said nothing of a value")),
        }
    }
}

impl HeldElsewhere for Held {
    fn n_clients(&self) -> usize {
        self.parts.iter().map(|part| part.child.n_clients()).sum()
    }

    fn fetch(&self, member: &Type) -> Result<Arc<[Value]>, ExecError> {
        let ty = Type::at_clients(member.clone())?;
        let mut members = Vec::with_capacity(self.n_clients());
        self.compute(|child, message| {
            match read_placed(child, &message, &ty)? {
                Value::Clients(Clients::AllEqual(member)) => {
                    members.extend(std::iter::repeat_n(Value::clone(&member), child.n_clients()));
                }
                Value::Clients(Clients::Each(own)) => members.extend_from_slice(&own),
                _ => return Err(ExecError::Internal("a value at clients that is of another kind")),
            }
            Ok(())
        })?;
        Ok(members.into())
    }
}
