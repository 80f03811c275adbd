//! What can go wrong when a computation runs. What can go wrong only in one part of this crate has a type of
//! its own, in the files beside this one.

mod eval;
mod leaf;
mod place;
mod session;
mod wire;
mod worker;

pub use eval::EvalError;
pub use leaf::LeafError;
pub(crate) use leaf::LeafName;
pub use place::Place;
pub use session::SessionError;
pub use wire::WireError;
pub use worker::WorkerError;

use super::NotFinite;
use std::fmt;
use std::sync::Arc;
use tff_ir::{ArrayError, BuildError, CompDecodeError, CompEncodeError};
use tff_proto::AnyError;
use tff_types::{
    Brief, Element, Path, Step, StructType, TypeDecodeError, TypeEncodeError, TypeError, UnknownPlacement,
};

/// Why a computation could not be prepared, bound or run.
///
/// The message is one line of at most some thousand characters, whatever a peer has sent.
/// [`ExecError::At`] frames say where in the computation or the argument the cause is, outermost
/// first.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ExecError {
    /// Something inside this part of the computation or of a value failed.
    #[error("{}", text(&Frames(place, source)))]
    At {
        /// The part.
        place: Place,
        /// What failed there.
        source: Box<ExecError>,
    },
    /// A value is not of the type that is needed.
    #[error("expected {}, found {}", text(.expected), text(.found))]
    Mismatch {
        /// The type or kind that is needed.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A selection beyond the end of a struct.
    #[error("index {index} is out of range for a struct of {len} elements")]
    IndexOutOfRange {
        /// The index.
        index: usize,
        /// How many elements there are.
        len: usize,
    },
    /// A function with a parameter was called without an argument.
    #[error("missing argument: the function takes {}", text(.0))]
    MissingArgument(String),
    /// A function without a parameter was called with an argument.
    #[error("unexpected argument: the function takes none")]
    UnexpectedArgument,
    /// Two numbers of members for one placement.
    #[error("expected {expected} values at {placement}, found {found}")]
    Cardinality {
        /// The placement.
        placement: tff_types::Placement,
        /// The number of members.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// The number of clients is needed and not known.
    #[error("the number of clients is not known from the argument: it must be given")]
    UnknownCardinality,
    /// Everyone who needed the value has hung up or disposed of it.
    #[error("the value was given up: nobody waited for it any more")]
    GivenUp,
    /// The deadline of a call has passed.
    #[error("the call did not end within its deadline")]
    Deadline,
    /// A result has numbers that are not finite, where that is an error.
    #[error(transparent)]
    NotFinite(#[from] NotFinite),
    /// A bug of this crate.
    #[error("internal error: {0}")]
    Internal(&'static str),
    /// Something the runtime does not do.
    #[error("{} is not supported", text(.0))]
    Unsupported(String),
    /// A native library is missing or unusable.
    #[error("{library} is not available: {}", text(.reason))]
    Library {
        /// The library.
        library: &'static str,
        /// Why it cannot be used, and what to do.
        reason: String,
    },
    /// A compiled computation that no leaf can prepare: its graph, bindings or type are wrong.
    #[error("{leaf} refuses the computation: {}", text(.reason))]
    Prepare {
        /// The leaf: `TensorFlow` or `XLA`.
        leaf: &'static str,
        /// What is wrong.
        reason: LeafError,
    },
    /// A compiled computation failed while it ran.
    #[error("{leaf} failed: {}", text(.reason))]
    Run {
        /// The leaf: `TensorFlow` or `XLA`.
        leaf: &'static str,
        /// What went wrong.
        reason: LeafError,
    },
    /// A function that is code of the program itself failed: with that function's own error.
    #[error("{}", text(.0))]
    Own(Arc<dyn std::error::Error + Send + Sync>),
    /// Evaluation went deeper, or made something larger, than the limit allows.
    #[error("{what} exceeds the limit of {limit}")]
    Limit {
        /// What was counted.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A message is not an array.
    #[error("{}", text(.0))]
    Array(#[from] ArrayError),
    /// A type cannot be built.
    #[error("{}", text(.0))]
    Type(#[from] TypeError),
    /// A uri names no placement.
    #[error("{}", text(.0))]
    Placement(#[from] UnknownPlacement),
    /// A message that holds no value, or no valid one.
    #[error("{}", text(.0))]
    Decode(#[from] WireError),
    /// A computation that cannot be evaluated.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// A worker that failed.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// A request that a session refuses.
    #[error(transparent)]
    Session(#[from] SessionError),
}

macro_rules! from_wire {
    ($($error:ty => $variant:ident),+) => {$(
        impl From<$error> for ExecError {
            fn from(error: $error) -> Self {
                Self::Decode(WireError::$variant(error))
            }
        }
    )+};
}

from_wire! {
    AnyError => Any,
    TypeDecodeError => Type,
    TypeEncodeError => TypeEncode,
    CompDecodeError => Comp,
    CompEncodeError => CompEncode,
    BuildError => Build
}

/// Where something is, and what is wrong there: without recursion, since frames may be many.
struct Frames<'a>(&'a Place, &'a ExecError);

impl fmt::Display for Frames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(mut place, mut error) = *self;
        loop {
            write!(f, "{}: ", Brief::start(place, LONG_NAME))?;
            match error {
                ExecError::At { place: inner, source } => (place, error) = (inner, source),
                cause => return cause.fmt(f),
            }
        }
    }
}

/// How much of a name is shown that a peer may have chosen.
const LONG_NAME: usize = 200;

fn name(name: &dyn fmt::Display) -> Brief {
    Brief::start(name, LONG_NAME)
}

/// Shortens what may be long, and keeps it on one line.
fn text(text: &dyn fmt::Display) -> Brief {
    const LONG: usize = 2000;
    Brief::start(text, LONG)
}

impl ExecError {
    /// Says that this happened at `place`.
    #[must_use]
    pub fn at(self, place: impl Into<Place>) -> Self {
        match (place.into(), self) {
            // Steps into a value are one path.
            (Place::Value(outer), Self::At { place: Place::Value(inner), source }) => {
                let steps = outer.steps().iter().chain(inner.steps()).cloned();
                Self::At { place: Place::Value(steps.collect()), source }
            }
            (place, source) => Self::At { place, source: Box::new(source) },
        }
    }

    /// The part of the argument or of another value where the cause is; the root where the error is
    /// not about a part of a value.
    #[must_use]
    pub fn path(&self) -> Path {
        let mut steps = Vec::new();
        let mut error = self;
        while let Self::At { place, source } = error {
            if let Place::Value(path) = place {
                steps.extend_from_slice(path.steps());
            }
            error = source;
        }
        steps.into_iter().collect()
    }

    /// The cause, without the frames that say where.
    #[must_use]
    pub fn cause(&self) -> &Self {
        match self {
            Self::At { source, .. } => source.cause(),
            cause => cause,
        }
    }

    /// Says that this happened at the element of a struct at `index`, named as its type names it.
    pub(crate) fn at_element(self, index: usize, name: Option<&str>) -> Self {
        self.at(Step::Element(index, name.map(Arc::from)))
    }

    /// Says that this happened in a local, unless it is known to have happened in one that this local
    /// needs.
    pub(crate) fn at_local(self, name: &Arc<str>) -> Self {
        match &self {
            Self::At { place: Place::Local(_), .. } => self,
            _ => self.at(Place::Local(name.clone())),
        }
    }

    pub(crate) fn mismatch(expected: impl ToString, found: impl ToString) -> Self {
        Self::Mismatch { expected: expected.to_string(), found: found.to_string() }
    }
}

/// The elements of a struct type, each with the step to it.
pub(crate) fn steps(structure: &StructType) -> impl Iterator<Item = (Step, &Element)> {
    structure
        .elements()
        .iter()
        .enumerate()
        .map(|(index, element)| (Step::Element(index, element.name.clone()), element))
}
