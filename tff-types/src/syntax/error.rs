//! What can be wrong with a text.

use super::{Position, Span};
use crate::TypeError;
use std::borrow::Cow;

/// Why a text cannot be read: the first thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {problem}")]
pub struct SyntaxError {
    /// The part of the text.
    pub span: Span,
    /// Where that part starts.
    pub position: Position,
    /// What is wrong with it.
    pub problem: SyntaxProblem,
}

impl SyntaxError {
    /// What is wrong with a part of this text.
    #[must_use]
    pub fn new(source: &str, span: Span, problem: impl Into<SyntaxProblem>) -> Self {
        Self { span, position: Position::of(source, span.start), problem: problem.into() }
    }
}

/// What can be wrong with a part of a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxProblem {
    /// Something else belongs there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What could stand there.
        expected: Cow<'static, str>,
        /// What does; long tokens are cut.
        found: String,
    },
    /// A quoted name or a string has no end.
    #[error("the {0} does not end")]
    Unterminated(&'static str),
    /// A backslash is not followed by what the quotes allow.
    #[error("unknown escape, expected one of {0}")]
    Escape(&'static str),
    /// A dimension is more than the wire carries.
    #[error("the dimension exceeds {}", i64::MAX)]
    Dimension,
    /// A placement is written like one of the runtime's, but there is none with that name.
    #[error("unknown placement `{0}`, expected CLIENTS, SERVER or a placement label: lower case or in backquotes")]
    UnknownPlacement(String),
    /// What is written is no type.
    #[error(transparent)]
    Type(#[from] TypeError),
}
