//! Values at run time: what computations take and give.

use crate::{Function, Sequence, Tensor};
use std::sync::Arc;
use tff_ir::{Array, Scalar};
use tff_types::Placement;

/// A value: the seed's seven kinds of types, as data.
///
/// It clones by reference count. Structs carry no names: these belong to the type.
#[derive(Clone, Debug)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// A sequence.
    Sequence(Sequence),
    /// A struct, by position.
    Struct(Arc<[Value]>),
    /// A value at the server.
    Server(Arc<Value>),
    /// A value at the clients.
    Clients(Clients),
    /// A function.
    Function(Function),
    /// A placement.
    Placement(Placement),
}

/// A value placed at clients.
#[derive(Clone, Debug)]
pub enum Clients {
    /// The same for every client, however many there are.
    AllEqual(Arc<Value>),
    /// One for each client, in their order.
    Each(Arc<[Value]>),
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

    /// The kind in words, for messages.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Tensor(tensor) => tensor.array().ty().to_string(),
            Self::Sequence(_) => "a sequence".to_owned(),
            Self::Struct(elements) => format!("a struct of {} elements", elements.len()),
            Self::Server(member) => format!("{} at SERVER", member.describe()),
            Self::Clients(Clients::AllEqual(member)) => format!("{} at CLIENTS, all equal", member.describe()),
            Self::Clients(Clients::Each(members)) => format!("{} values at CLIENTS", members.len()),
            Self::Function(_) => "a function".to_owned(),
            Self::Placement(placement) => placement.to_string(),
        }
    }
}
