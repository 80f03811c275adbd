//! Values in the making: some of their parts may have failed, and some may not be known yet.

use crate::values::MAX_DEPTH;
use crate::{ExecError, Value};
use std::sync::Arc;

/// How much of a value is needed.
#[derive(Clone, Copy)]
pub(crate) enum Want<'a> {
    /// All of it: what fails first ends the evaluation.
    Whole,
    /// All of it, each part by itself: a part that fails matters only to whoever needs that part.
    Parts,
    /// An element of a struct.
    Element(usize, &'a Want<'a>),
}

/// A value, or what became of one.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Value(Value),
    Failed(Box<ExecError>),
    /// A struct in which something failed.
    Struct(FailedStruct),
}

/// The elements of a struct, at least one of which holds a failure.
#[derive(Clone, Debug)]
pub(crate) struct FailedStruct {
    elements: Arc<[Part]>,
    /// 1 more than the deepest element.
    depth: u32,
}

impl From<ExecError> for Part {
    fn from(error: ExecError) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl From<Result<Value, ExecError>> for Part {
    fn from(result: Result<Value, ExecError>) -> Self {
        result.map_or_else(Self::from, Self::Value)
    }
}

impl Part {
    /// A struct of these.
    pub(crate) fn structure(elements: Vec<Self>) -> Self {
        if elements.iter().all(|element| matches!(element, Self::Value(_))) {
            let values = elements.into_iter().map(Self::into_value);
            return values.collect::<Result<_, _>>().and_then(|elements| Value::Struct(elements).bounded()).into();
        }
        let depth = elements.iter().map(Self::depth).max().unwrap_or(0).saturating_add(1);
        if depth > MAX_DEPTH {
            return ExecError::Limit { what: "the nesting of a value", limit: MAX_DEPTH as usize }.into();
        }
        Self::Struct(FailedStruct { elements: elements.into(), depth })
    }

    /// The value, or the first failure in it.
    pub(crate) fn into_value(self) -> Result<Value, ExecError> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Failed(error) => Err(*error),
            Self::Struct(it) => {
                Err(it.failure().cloned().unwrap_or(ExecError::Internal("a failure without its error")))
            }
        }
    }

    /// What is wanted of it.
    pub(crate) fn get(&self, want: &Want<'_>) -> Self {
        match (self, want) {
            (Self::Failed(_), _) | (_, Want::Whole | Want::Parts) => self.clone(),
            (Self::Value(value), Want::Element(index, inner)) => {
                select(value.clone(), *index).map_or_else(Self::from, |value| Self::Value(value).get(inner))
            }
            (Self::Struct(it), Want::Element(index, inner)) => match it.elements.get(*index) {
                Some(element) => element.get(inner),
                None => ExecError::IndexOutOfRange { index: *index, len: it.elements.len() }.into(),
            },
        }
    }

    /// How deeply it is nested.
    pub(crate) fn depth(&self) -> u32 {
        match self {
            Self::Value(value) => value.depth(),
            Self::Failed(_) => 1,
            Self::Struct(it) => it.depth,
        }
    }
}

impl FailedStruct {
    /// The first failure. Every struct on the way holds one, so that this looks at few elements.
    fn failure(&self) -> Option<&ExecError> {
        self.elements.iter().find_map(|element| match element {
            Part::Value(_) => None,
            Part::Failed(error) => Some(&**error),
            Part::Struct(inner) => inner.failure(),
        })
    }
}

/// The element of a struct at this position.
fn select(source: Value, index: usize) -> Result<Value, ExecError> {
    let Value::Struct(elements) = source else {
        return Err(ExecError::mismatch("a struct to select from", source.describe()));
    };
    let len = elements.len();
    elements.get(index).cloned().ok_or(ExecError::IndexOutOfRange { index, len })
}

/// What is known so far of the value of a local or an argument.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    Unknown,
    Known(Part),
    /// A struct whose elements are needed one by one.
    Struct(Vec<Self>),
}

impl Cell {
    /// What is wanted, if that is known.
    pub(super) fn get(&self, want: &Want<'_>) -> Option<Part> {
        match (self, want) {
            (Self::Unknown, _) | (Self::Struct(_), Want::Whole | Want::Parts) => None,
            (Self::Known(part), _) => Some(part.get(want)),
            (Self::Struct(cells), Want::Element(index, inner)) => cells.get(*index)?.get(inner),
        }
    }

    /// The cells of the elements of a struct of this length.
    pub(super) fn elements(&mut self, len: usize) -> &mut [Self] {
        if !matches!(self, Self::Struct(_)) {
            *self = Self::Struct(vec![Self::Unknown; len]);
        }
        match self {
            Self::Struct(cells) => cells,
            _ => &mut [],
        }
    }
}
