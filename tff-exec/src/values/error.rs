//! What can go wrong when a computation runs.

use std::sync::Arc;
use tff_ir::ArrayError;
use tff_types::{Element, StructType, TypeError, UnknownPlacement};

/// Why a computation could not be prepared, bound or run.
///
/// The message is one line; [`ExecError::At`] frames say where in the computation or the argument
/// the cause is, outermost first.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ExecError {
    /// Something inside this part of the computation or of a value failed.
    #[error("{place}: {source}")]
    At {
        /// The part, such as `local y` or `.client_data[3].x`.
        place: String,
        /// What failed there.
        source: Box<ExecError>,
    },
    /// A reference to a name that nothing around it binds.
    #[error("unbound reference `{0}`")]
    UnboundReference(Arc<str>),
    /// A value is not of the type that is needed.
    #[error("expected {expected}, found {found}")]
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
    #[error("missing argument: the function takes {0}")]
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
    #[error("worker {worker} is unavailable: {reason}")]
    WorkerUnavailable {
        /// Its address.
        worker: Arc<str>,
        /// What was noticed of it.
        reason: String,
    },
    /// A worker refused something or failed at it, as another would.
    #[error("worker {worker}: {message} ({status})")]
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
    #[error("cannot compile the computation: {0}")]
    Compile(Arc<dyn std::error::Error + Send + Sync>),
    /// An intrinsic that no runtime runs as it stands was called.
    #[error("the intrinsic `{0}` cannot be run as it stands: compile the computation first")]
    UnknownIntrinsic(Arc<str>),
    /// Something the runtime does not do.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// A native library is missing or unusable.
    #[error("{library} is not available: {reason}")]
    Library {
        /// The library.
        library: &'static str,
        /// Why it cannot be used, and what to do.
        reason: String,
    },
    /// A compiled computation that no leaf can prepare: its graph, bindings or type are wrong.
    #[error("{leaf} refuses the computation: {reason}")]
    Prepare {
        /// The leaf: `TensorFlow` or `XLA`.
        leaf: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A compiled computation failed while it ran.
    #[error("{leaf} failed: {reason}")]
    Run {
        /// The leaf: `TensorFlow` or `XLA`.
        leaf: &'static str,
        /// The library's message.
        reason: String,
    },
    /// Evaluation went deeper, or made something larger, than the limit allows.
    #[error("{what} exceeds the limit of {limit}")]
    Limit {
        /// What was counted.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A message is no array.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// A type cannot be built.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// A uri names no placement.
    #[error(transparent)]
    Placement(#[from] UnknownPlacement),
    /// A message that holds no value, or no valid one.
    #[error("{0}")]
    Decode(String),
}

impl ExecError {
    /// Says that this happened at `place`.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        let place = place.into();
        match self {
            // Steps into a value read as one path: `.client_data` and `[3]` join.
            Self::At { place: inner, source } if is_step(&place) && is_step(&inner) => {
                Self::At { place: place + &inner, source }
            }
            source => Self::At { place, source: Box::new(source) },
        }
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
        self.at(name.map_or_else(|| format!("[{index}]"), |name| format!(".{name}")))
    }

    pub(crate) fn mismatch(expected: impl ToString, found: impl ToString) -> Self {
        Self::Mismatch { expected: expected.to_string(), found: found.to_string() }
    }
}

fn is_step(place: &str) -> bool {
    place.starts_with(['.', '['])
}

/// The elements of a struct type, each with how a path names it: `.x`, or `[0]` without a name.
pub(crate) fn steps(structure: &StructType) -> impl Iterator<Item = (String, &Element)> {
    structure.elements().iter().enumerate().map(|(index, element)| {
        let step = element.name.as_ref().map_or_else(|| format!("[{index}]"), |name| format!(".{name}"));
        (step, element)
    })
}
