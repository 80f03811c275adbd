//! What can be wrong with a computation as text.

use crate::diag::{FirstLine, Name, OneLine, Shown};
use crate::{ArrayError, BuildError, Code, CompDecodeError, Intrinsic};
use tff_types::syntax::{Position, Span, SyntaxError, SyntaxProblem};
use tff_types::{DType, TemplateError, Type};

/// Why a text is no computation: the first thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {problem}")]
pub struct TextError {
    /// The part of the text.
    pub span: Span,
    /// Where that part starts.
    pub position: Position,
    /// What is wrong with it.
    pub problem: TextProblem,
}

impl TextError {
    pub(super) fn new(source: &str, span: Span, problem: impl Into<TextProblem>) -> Self {
        Self { span, position: Position::of(source, span.start), problem: problem.into() }
    }
}

impl From<SyntaxError> for TextError {
    fn from(error: SyntaxError) -> Self {
        Self { span: error.span, position: error.position, problem: error.problem.into() }
    }
}

/// The intrinsic that was meant, if this name is close to one and is not one itself.
fn meant(name: &str) -> Option<String> {
    let nearest = Intrinsic::nearest(name).filter(|nearest| *nearest != name)?;
    Some(format!("did you mean the intrinsic `{nearest}`?"))
}

/// What can be wrong with a part of a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextProblem {
    /// Something else belongs there.
    #[error("{}", OneLine(.0))]
    Syntax(#[from] SyntaxProblem),
    /// The text nests too many computations.
    #[error("the text nests more than {} levels", super::MAX_LEVELS)]
    TooDeep,
    /// A defect of the parser.
    #[error("internal error: {0}")]
    Internal(&'static str),
    /// Nothing binds the name, and it says nothing about its type.
    #[error("unknown name `{}`; {}", Name(.0), meant(.0).unwrap_or("a free name needs a type: `x:int32`".to_owned()))]
    UnknownName(String),
    /// The type of the parameter is not determined.
    #[error("the type of the parameter `{}` is not determined; write it: `(x:int32 -> x)`", Name(.0))]
    ParameterNeedsType(String),
    /// The type of the intrinsic is not determined.
    #[error("{}", match meant(.0) {
        Some(meant) => format!("unknown intrinsic `{}`; {meant}", Name(.0)),
        None => format!("the type of the intrinsic is not determined; write it: `%{}:type`", Name(.0)),
    })]
    IntrinsicNeedsType(String),
    /// The argument does not suit the intrinsic.
    #[error("the argument does not suit {uri}: {}", FirstLine(error))]
    Intrinsic {
        /// What identifies the intrinsic.
        uri: String,
        /// What is wrong.
        error: Box<TemplateError>,
    },
    /// Nothing says what the label stands for.
    #[error("nothing defines `{kind}#{label}`")]
    UnknownLabel {
        /// `comp` or `data`.
        kind: &'static str,
        /// The label.
        label: String,
    },
    /// Two definitions have the same label.
    #[error("`{0}` is defined twice")]
    DefinedTwice(String),
    /// What a label stands for is not in base64.
    #[error("expected base64, found {0}")]
    Base64(String),
    /// What a label stands for has another hash.
    #[error("the label `{0}` is the hash of something else")]
    OtherBody(String),
    /// What a label stands for is no message of its kind.
    #[error("the content of `{kind}#{label}` is malformed: {error}")]
    MalformedBody {
        /// `comp` or `data`.
        kind: &'static str,
        /// The label.
        label: String,
        /// What is wrong with it.
        error: String,
    },
    /// What a label stands for is no computation.
    #[error("the content of `comp#{label}` is not a computation: at {error}")]
    BadBody {
        /// The label.
        label: String,
        /// What is wrong with it.
        error: Box<CompDecodeError>,
    },
    /// Labels stand for more than would still be of use: a small text could mean an enormous tree.
    #[error("labels stand for more than {} computations, each counted as often as it is used", super::MAX_EXPANDED)]
    TooMuchExpanded,
    /// A constant is not of the dtype that it should be of.
    #[error("expected a constant of {dtype}, found `{found}`")]
    Constant {
        /// The dtype.
        dtype: DType,
        /// What is written.
        found: String,
    },
    /// A literal is of a type whose shape is not known.
    #[error("expected the type of an array with known dimensions, found {}", Shown(.0))]
    LiteralShape(Type),
    /// The elements of a literal are not as many as its type says.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// An index is too large.
    #[error("expected an index, found `{0}`")]
    Index(String),
    /// A text that must be Unicode is not.
    #[error("expected Unicode text")]
    NotUnicode,
    /// The parts of a computation do not fit together.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl TextProblem {
    /// The rule that is broken: the one that [`validate`](crate::validate) would name where the
    /// text could be read, and [`Code::Malformed`] for what is no computation at all.
    #[must_use]
    pub const fn code(&self) -> Code {
        match self {
            Self::Build(error) => Code::of(error),
            Self::UnknownName(_) => Code::UnboundReference,
            Self::ParameterNeedsType(_) | Self::IntrinsicNeedsType(_) => Code::MissingType,
            Self::Intrinsic { .. } => Code::IllTypedCall,
            Self::Constant { .. } | Self::LiteralShape(_) | Self::Array(_) => Code::BadLiteral,
            Self::BadBody { error, .. } => Code::of_decoding(&error.problem),
            _ => Code::Malformed,
        }
    }
}
