//! The lexical layer of the notation, shared by types and computations.
//!
//! A text is a sequence of names, numbers, strings and symbols. White space only
//! separates them. A comment, from `//` to the end of the line, counts as white space.

mod error;
mod lex;
mod name;
mod span;

pub use crate::parse::parse_type;
pub use error::{SyntaxError, SyntaxProblem};
pub use lex::{Lexer, Token, TokenKind};
pub(crate) use name::write_quoted;
pub use name::{Name, is_identifier, is_keyword};
pub use span::{Position, Span};
