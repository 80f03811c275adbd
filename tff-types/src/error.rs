//! What can be wrong with a type when it is built.

use crate::{Path, Type};
use std::fmt;
use std::sync::Arc;

/// The most problems that one error lists, the first ones: with its path each, what a hostile
/// input has wrong could take many times the memory of the input.
pub const MAX_PROBLEMS: usize = 100;

/// Why a type cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// A sequence or federated type contains what it must not contain.
    #[error("a {outer} type cannot contain {}", Problems(problems))]
    Nesting {
        /// What was to be built: `sequence` or `federated`.
        outer: &'static str,
        /// What is not allowed inside, in order of occurrence, up to [`MAX_PROBLEMS`].
        problems: Vec<NestingProblem>,
    },
    /// Elements of a struct have the same name, or an empty one; up to [`MAX_PROBLEMS`] of them.
    #[error("{}", NameProblems(.0))]
    Names(Vec<NameProblem>),
    /// The type would be nested deeper than [`MAX_DEPTH`](crate::MAX_DEPTH).
    #[error("the type is nested deeper than {} levels", crate::MAX_DEPTH)]
    TooDeep,
    /// The type would have more parts than [`MAX_SIZE`](crate::MAX_SIZE).
    #[error("the type has more than {} parts", crate::MAX_SIZE)]
    TooLarge,
}

/// A part that a sequence or federated type must not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NestingProblem {
    /// Where in the contained type the part is.
    pub path: Path,
    /// The part.
    pub found: Type,
}

/// A name that an element of a struct must not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameProblem {
    /// An earlier element has it too.
    Duplicate {
        /// The name.
        name: Arc<str>,
        /// The position of the first element of that name.
        first: usize,
        /// The position of this element.
        index: usize,
    },
    /// It is empty.
    Empty {
        /// The position of the element.
        index: usize,
    },
}

struct NameProblems<'a>(&'a [NameProblem]);

impl fmt::Display for NameProblems<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.0.iter().enumerate() {
            f.write_str(if position == 0 { "" } else { ", " })?;
            match problem {
                NameProblem::Duplicate { name, first, index } => {
                    write!(f, "duplicate struct element name `{name}` at positions {first} and {index}")?;
                }
                NameProblem::Empty { index } => write!(f, "struct element {index} has an empty name")?,
            }
        }
        Ok(())
    }
}

struct Problems<'a>(&'a [NestingProblem]);

impl fmt::Display for Problems<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, NestingProblem { path, found }) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}the {} type {found}", found.kind_name())?;
            if !path.steps().is_empty() {
                write!(f, " at {path}")?;
            }
        }
        Ok(())
    }
}
