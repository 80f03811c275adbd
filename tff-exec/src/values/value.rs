//! Values at run time: what computations take and give.

use super::{Clients, Function, Sequence, Tensor};
use crate::ExecError;
use std::ops::Deref;
use std::sync::Arc;
use tff_ir::{Array, Scalar};
use tff_types::Placement;

/// A value: the protocol's seven kinds of types, as data.
///
/// It clones by reference count. Structs carry no names: these belong to the type.
#[derive(Clone, Debug)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// A sequence.
    Sequence(Sequence),
    /// A struct, by position.
    Struct(StructValue),
    /// A value at the server.
    Server(Arc<Value>),
    /// A value at the clients.
    Clients(Clients),
    /// A function.
    Function(Function),
    /// A placement.
    Placement(Placement),
}

/// How deeply values may be nested, structs in structs and values captured by functions in
/// functions. Types cannot be nested as deeply; values made step by step by a peer could.
pub(crate) const MAX_DEPTH: u32 = 500;

/// How many clients something may be computed or written for. A peer may say any number, and only
/// what it sends for each of them is bounded by the size of messages.
const MAX_CLIENTS: usize = 1_000_000;

/// Refuses a number of clients that is too large for memory.
pub(crate) const fn check_n_clients(n_clients: usize) -> Result<usize, ExecError> {
    if n_clients > MAX_CLIENTS {
        return Err(ExecError::Limit { what: "the number of clients", limit: MAX_CLIENTS });
    }
    Ok(n_clients)
}

/// What stays where a value was moved out of.
const EMPTY: Value = Value::Placement(Placement::Server);

/// The elements of a struct, by position.
#[derive(Clone, Debug)]
pub struct StructValue {
    elements: Arc<[Value]>,
    /// 1 more than the deepest element.
    depth: u32,
}

impl FromIterator<Value> for StructValue {
    fn from_iter<I: IntoIterator<Item = Value>>(elements: I) -> Self {
        let elements: Arc<[Value]> = elements.into_iter().collect();
        let depth = elements.iter().map(Value::depth).max().unwrap_or(0).saturating_add(1);
        Self { elements, depth }
    }
}

impl StructValue {
    /// The elements: moved out where nobody else holds the struct, so that what it alone held is
    /// held by the caller alone.
    pub(crate) fn into_elements(mut self) -> Vec<Value> {
        match Arc::get_mut(&mut self.elements) {
            Some(elements) => {
                let moved = elements.iter_mut().map(|element| std::mem::replace(element, EMPTY));
                moved.collect()
            }
            None => self.elements.to_vec(),
        }
    }
}

impl Deref for StructValue {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.elements
    }
}

impl Value {
    /// A scalar tensor.
    #[must_use]
    pub fn scalar(scalar: Scalar) -> Self {
        Self::array(Array::from_scalar(scalar))
    }

    /// A tensor of this content.
    #[must_use]
    pub fn array(array: Array) -> Self {
        Self::Tensor(Tensor::new(array))
    }

    /// A struct of these elements.
    pub fn structure(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::Struct(elements.into_iter().collect())
    }

    /// A value at the server.
    #[must_use]
    pub fn at_server(member: Self) -> Self {
        Self::Server(Arc::new(member))
    }

    /// One value for each client.
    pub fn at_clients(members: impl IntoIterator<Item = Self>) -> Self {
        Self::Clients(Clients::Each(members.into_iter().collect()))
    }

    /// The same value for every client.
    #[must_use]
    pub fn at_clients_all_equal(member: Self) -> Self {
        Self::Clients(Clients::AllEqual(Arc::new(member)))
    }

    /// How deeply it is nested: 1 for a tensor.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            Self::Tensor(_) | Self::Sequence(_) | Self::Placement(_) => 1,
            Self::Struct(elements) => elements.depth,
            Self::Server(member) | Self::Clients(Clients::AllEqual(member)) => member.depth().saturating_add(1),
            Self::Clients(Clients::Each(members)) => {
                members.iter().map(Self::depth).max().unwrap_or(0).saturating_add(1)
            }
            Self::Function(function) => function.depth(),
        }
    }

    /// Refuses a value that is nested too deeply to be walked by recursion.
    pub(crate) fn bounded(self) -> Result<Self, ExecError> {
        if self.depth() > MAX_DEPTH {
            return Err(ExecError::Limit { what: "the nesting of a value", limit: MAX_DEPTH as usize });
        }
        Ok(self)
    }

    /// The kind in words, for messages.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Tensor(tensor) => tensor.array().ty().to_string(),
            Self::Sequence(_) => "a sequence".to_owned(),
            Self::Struct(elements) => format!("a struct of {} elements", elements.len()),
            Self::Server(member) => format!("{} at SERVER", member.describe()),
            Self::Clients(Clients::AllEqual(member)) => format!("{} at CLIENTS, all equal", member.describe()),
            Self::Clients(Clients::Each(members)) => format!("{} values at CLIENTS", members.n_clients()),
            Self::Function(_) => "a function".to_owned(),
            Self::Placement(placement) => placement.to_string(),
        }
    }
}
