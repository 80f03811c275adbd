//! Values at clients: in this process, or held by workers that compute for the clients.

use super::Value;
use crate::ExecError;
use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use tff_types::Type;

/// A value placed at clients.
#[derive(Clone, Debug)]
pub enum Clients {
    /// The same for every client, however many there are.
    AllEqual(Arc<Value>),
    /// One for each client, in their order.
    Each(ClientValues),
}

impl Clients {
    /// The member of the client at this position.
    #[must_use]
    pub fn get(&self, client_idx: usize) -> Option<&Value> {
        match self {
            Self::AllEqual(value) => Some(value),
            Self::Each(values) => values.get(client_idx),
        }
    }
}

/// One value for each client, in their order: a slice of values.
///
/// While a program runs whose clients are on workers, the values may be there. Only the evaluator
/// ever has such an object: results and what functions are given are always here.
#[derive(Clone)]
pub struct ClientValues(Members);

#[derive(Clone)]
enum Members {
    Here(Arc<[Value]>),
    Elsewhere(Arc<dyn HeldElsewhere>),
}

/// One value for each client, in their order, which somebody else holds.
pub(crate) trait HeldElsewhere: Any + fmt::Debug + Send + Sync {
    /// How many there are.
    fn n_clients(&self) -> usize;

    /// Fetches the values, each of type `member`.
    fn fetch(&self, member: &Type) -> Result<Arc<[Value]>, ExecError>;
}

impl ClientValues {
    pub(crate) fn held_elsewhere(values: Arc<dyn HeldElsewhere>) -> Self {
        Self(Members::Elsewhere(values))
    }

    /// The values, if somebody else holds them.
    pub(crate) fn elsewhere(&self) -> Option<&dyn HeldElsewhere> {
        match &self.0 {
            Members::Here(_) => None,
            Members::Elsewhere(values) => Some(&**values),
        }
    }

    /// The values.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if somebody else holds them; the holder then computes with them.
    pub(crate) fn here(&self) -> Result<&[Value], ExecError> {
        match &self.0 {
            Members::Here(values) => Ok(values),
            Members::Elsewhere(_) => Err(ExecError::Internal("values that workers hold were taken for values here")),
        }
    }

    /// How many clients there are.
    #[must_use]
    pub fn n_clients(&self) -> usize {
        match &self.0 {
            Members::Here(values) => values.len(),
            Members::Elsewhere(values) => values.n_clients(),
        }
    }
}

impl Deref for ClientValues {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        match &self.0 {
            Members::Here(values) => values,
            Members::Elsewhere(_) => &[],
        }
    }
}

impl From<Arc<[Value]>> for ClientValues {
    fn from(values: Arc<[Value]>) -> Self {
        Self(Members::Here(values))
    }
}

impl FromIterator<Value> for ClientValues {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        Self(Members::Here(values.into_iter().collect()))
    }
}

impl fmt::Debug for ClientValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Members::Here(values) => values.fmt(f),
            Members::Elsewhere(values) => values.fmt(f),
        }
    }
}
