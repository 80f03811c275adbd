//! Values that children hold, and how they are fetched.

use super::Child;
use crate::values::HeldElsewhere;
use crate::values::wire::Reader;
use crate::{Clients, ExecError, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, mpsc};
use tff_proto::v0 as pb;
use tff_types::Type;

/// A value that every child holds its part of, until the last clone of this is dropped.
#[derive(Clone)]
pub(super) struct Held(Arc<[Part]>);

/// A value that one child holds.
pub(super) struct Part {
    pub(super) child: Arc<dyn Child>,
    pub(super) id: u64,
}

impl Drop for Part {
    fn drop(&mut self) {
        self.child.dispose(self.id);
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|part| (part.child.name(), part.id))).finish()
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

/// Says who sent what is wrong.
fn sent_by(child: &dyn Child, error: ExecError) -> ExecError {
    error.at(format!("worker {}", child.name()))
}

impl Held {
    pub(super) fn new(parts: impl IntoIterator<Item = Part>) -> Self {
        Self(parts.into_iter().collect())
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Fetches all parts at once, and takes them in the order of the children, each as soon as those
    /// before it are taken.
    ///
    /// # Errors
    /// That of a child that is lost, at once; otherwise that of the first child that has one.
    pub(super) fn compute(
        &self,
        mut take: impl FnMut(&dyn Child, pb::Value) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        let (sender, receiver) = mpsc::channel();
        for (index, part) in self.0.iter().enumerate() {
            let sender = sender.clone();
            // Whoever does not listen any more has what it needs: an error.
            part.child.compute(part.id, Box::new(move |outcome| drop(sender.send((index, outcome)))));
        }
        drop(sender);
        let mut arrived = BTreeMap::new();
        let mut parts = self.0.iter().enumerate().peekable();
        for (index, outcome) in receiver {
            if let Err(error @ ExecError::WorkerUnavailable { .. }) = outcome {
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
        self.0.iter().map(|part| part.child.n_clients()).sum()
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
                _ => return Err(ExecError::Internal("a value at clients that is none")),
            }
            Ok(())
        })?;
        Ok(members.into())
    }
}
