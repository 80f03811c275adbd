//! What can be wrong with a type when it is built.

use crate::{Path, Type};
use std::fmt;

/// Why a type cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// A sequence or federated type contains what it must not contain.
    #[error("a {outer} type cannot contain {}", Problems(problems))]
    Nesting {
        /// What was to be built: `sequence` or `federated`.
        outer: &'static str,
        /// Everything that is not allowed inside, in order of occurrence.
        problems: Vec<NestingProblem>,
    },
    /// Two elements of a struct have the same name.
    #[error("duplicate struct element name `{0}`")]
    DuplicateName(String),
    /// An element of a struct has the empty string as its name.
    #[error("struct element {0} has an empty name")]
    EmptyName(usize),
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
