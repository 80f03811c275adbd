//! What can go wrong when a computation runs.

use super::LeafError;
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
    /// A reference to a name that nothing around it binds.
    #[error("unbound reference `{}`", name(.0))]
    UnboundReference(Arc<str>),
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
    /// A number under which there is no value.
    #[error("value not found: {0}")]
    UnknownValue(u64),
    /// A message without any of its variants.
    #[error("an empty message: expected a value or a computation")]
    Empty,
    /// Everyone who needed the value has hung up or disposed of it.
    #[error("the value was given up: nobody waited for it any more")]
    GivenUp,
    /// The deadline of a call has passed.
    #[error("the call did not end within its deadline")]
    Deadline,
    /// A peer sent more than may be alive at a time.
    #[error(
        "a value of {bytes} bytes exceeds the limit of {limit} live bytes, of which {alive} are in use: dispose of values"
    )]
    LiveBytes {
        /// The size of what was sent.
        bytes: usize,
        /// How much is alive.
        alive: usize,
        /// How much may be.
        limit: usize,
    },
    /// A worker that clients are on cannot be reached, does not answer in time, or does not know
    /// any more what it held. What was computed can be computed again, without it.
    #[error("worker {worker} is unavailable: {}", text(.reason))]
    WorkerUnavailable {
        /// Its address.
        worker: Arc<str>,
        /// What was noticed of it.
        reason: String,
    },
    /// A worker refused something or failed at it, as another would.
    #[error("worker {worker}: {} ({status})", text(.message))]
    Worker {
        /// Its address.
        worker: Arc<str>,
        /// The status of the protocol, as `INVALID_ARGUMENT`.
        status: &'static str,
        /// The worker's own message.
        message: String,
    },
    /// A bug of this crate.
    #[error("internal error: {0}")]
    Internal(&'static str),
    /// The computation cannot be compiled to what is run: the error of the compile function.
    #[error("cannot compile the computation: {}", text(.0))]
    Compile(Arc<dyn std::error::Error + Send + Sync>),
    /// An intrinsic that no runtime runs as it stands was called.
    #[error("the intrinsic `{}` runs only in a compiled computation: compile this one first", name(.0))]
    UnknownIntrinsic(Arc<str>),
    /// A secure aggregation, which no runtime here can do. A compiler can put ordinary sums in its place.
    #[error(
        "`{}` is a secure aggregation, which this runtime cannot do; where its promise need not be kept, it can be compiled to an ordinary sum",
        name(.0)
    )]
    SecureAggregation(Arc<str>),
    /// Something the runtime does not do.
    #[error("{} is not supported", text(.0))]
    Unsupported(String),
    /// The value of `data` was not found.
    #[error("data: {}", text(.0))]
    Data(String),
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
    #[error("{0}")]
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
    Array(ArrayError),
    /// A type cannot be built.
    #[error("{}", text(.0))]
    Type(TypeError),
    /// A uri names no placement.
    #[error("{}", text(.0))]
    Placement(UnknownPlacement),
    /// A message that holds no value, or no valid one.
    #[error("{}", text(.0))]
    Decode(WireError),
}

/// What can be wrong with the messages that values are read from and written to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A packed message is another one, or damaged.
    #[error(transparent)]
    Any(#[from] AnyError),
    /// A message is not a type.
    #[error(transparent)]
    Type(#[from] TypeDecodeError),
    /// A type has no message.
    #[error(transparent)]
    TypeEncode(#[from] TypeEncodeError),
    /// A message is not a computation.
    #[error(transparent)]
    Comp(#[from] CompDecodeError),
    /// A computation has no message.
    #[error(transparent)]
    CompEncode(#[from] CompEncodeError),
    /// A function cannot be written as a computation.
    #[error(transparent)]
    Build(#[from] BuildError),
}

macro_rules! from {
    ($($error:ty => $($variant:ident),+;)*) => {$(
        impl From<$error> for ExecError {
            fn from(error: $error) -> Self {
                from!(error, $($variant),+)
            }
        }
    )*};
    ($error:expr, $variant:ident) => { Self::$variant($error) };
    ($error:expr, $variant:ident, $inner:ident) => { Self::$variant(WireError::$inner($error)) };
}

from! {
    ArrayError => Array;
    TypeError => Type;
    UnknownPlacement => Placement;
    AnyError => Decode, Any;
    TypeDecodeError => Decode, Type;
    TypeEncodeError => Decode, TypeEncode;
    CompDecodeError => Decode, Comp;
    CompEncodeError => Decode, CompEncode;
    BuildError => Decode, Build;
}

/// Where something is: a part of a value, or of a computation and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A part of a value, as `.client_data[3].x`.
    Value(Path),
    /// Something else, in words: `argument`, `client 3`.
    Part(String),
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

impl From<&str> for Place {
    fn from(part: &str) -> Self {
        Self::Part(part.to_owned())
    }
}

impl From<String> for Place {
    fn from(part: String) -> Self {
        Self::Part(part)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(path) => path.fmt(f),
            Self::Part(part) => part.fmt(f),
        }
    }
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
    pub(crate) fn at_local(self, name: &str) -> Self {
        match &self {
            Self::At { place: Place::Part(part), .. } if part.starts_with("local `") => self,
            _ => self.at(format!("local `{name}`")),
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
