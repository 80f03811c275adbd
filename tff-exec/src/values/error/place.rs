//! Where an error happened.

use std::fmt;
use std::sync::Arc;
use tff_ir::Intrinsic;
use tff_types::{Path, Step};

/// Where something is: a part of a value, or of a computation and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A part of a value, as `.client_data[3].x`.
    Value(Path),
    /// The argument of a program.
    Argument,
    /// A local of a block.
    Local(Arc<str>),
    /// An element of a struct, by its name if it has one, or of a sequence.
    Element(usize, Option<Arc<str>>),
    /// What an intrinsic computes.
    Intrinsic(Intrinsic),
    /// This operand of an intrinsic, such as `merge`.
    Operand(&'static str),
    /// This operand of an intrinsic, for one client.
    OperandOfClient(&'static str, usize),
    /// The part of one client.
    Client(usize),
    /// This key of a `federated_select`.
    Key(i32),
    /// The worker at this address.
    Worker(Arc<str>),
    /// A part of a graph's or module's binding: of its `parameter` or `result`, or another field.
    Binding(&'static str, Path),
    /// The XLA module of this name.
    Module(Arc<str>),
}

impl Place {
    /// The place of a part of a binding; any other place stays as it is.
    pub(crate) fn part(&self, step: Step) -> Self {
        match self {
            Self::Binding(field, path) => Self::Binding(field, path.join(step)),
            place => place.clone(),
        }
    }
}

impl From<Path> for Place {
    fn from(path: Path) -> Self {
        Self::Value(path)
    }
}

impl From<Step> for Place {
    fn from(step: Step) -> Self {
        Self::Value(Path::from_iter([step]))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(path) => path.fmt(f),
            Self::Argument => f.write_str("argument"),
            Self::Local(name) => write!(f, "local `{name}`"),
            Self::Element(_, Some(name)) => write!(f, "element `{name}`"),
            Self::Element(index, None) => write!(f, "element {index}"),
            Self::Intrinsic(intrinsic) => f.write_str(intrinsic.uri()),
            Self::Operand(operand) => f.write_str(operand),
            Self::OperandOfClient(operand, client_idx) => write!(f, "{operand} of client {client_idx}"),
            Self::Client(client_idx) => write!(f, "client {client_idx}"),
            Self::Key(key) => write!(f, "key {key}"),
            Self::Worker(address) => write!(f, "worker {address}"),
            Self::Binding(field, path) => write!(f, "{field}{path}"),
            Self::Module(name) => write!(f, "module `{name}`"),
        }
    }
}
