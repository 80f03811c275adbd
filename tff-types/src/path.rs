//! Where in a type (or in a value of that type) something is.

use crate::syntax::Name;
use std::fmt;
use std::sync::Arc;

/// One step from a type to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The element of a struct at this position, with its name if it has one.
    Element(usize, Option<Arc<str>>),
    /// The element type of a sequence.
    SequenceElement,
    /// The member of a federated type.
    Member,
    /// The parameter of a function.
    Parameter,
    /// The result of a function.
    Result,
    /// One of the values of a sequence or of a federated value.
    Index(usize),
}

/// A path from the root of a type to a part of it; prints as `.client_data[3].x`.
///
/// Sequence elements print as `[]`, members as `@`, parameters and results as `(parameter)` and
/// `(result)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path(Vec<Step>);

impl Path {
    /// The root.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// The steps from the root.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Appends a step.
    pub fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    /// Puts a step before the first, for errors that find their path on the way up.
    pub(crate) fn prepend(&mut self, step: Step) {
        self.0.insert(0, step);
    }

    /// Takes the last step back.
    pub fn pop(&mut self) -> Option<Step> {
        self.0.pop()
    }

    /// This path with one more step.
    #[must_use]
    pub fn join(&self, step: Step) -> Self {
        let mut path = self.clone();
        path.push(step);
        path
    }
}

impl FromIterator<Step> for Path {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| step.fmt(f))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Element(_, Some(name)) => write!(f, ".{}", Name(name)),
            Self::Element(index, None) | Self::Index(index) => write!(f, "[{index}]"),
            Self::SequenceElement => f.write_str("[]"),
            Self::Member => f.write_str("@"),
            Self::Parameter => f.write_str("(parameter)"),
            Self::Result => f.write_str("(result)"),
        }
    }
}
