//! What can be wrong with clients' data.

use crate::files::{FileError, line};
use tff_ir::ArrayError;
use tff_types::Type;
use thiserror::Error;

/// Why the data of clients could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is not what its format needs.
    #[error("{}: {}", line(name), line(problem))]
    Format {
        /// The file.
        name: String,
        /// What the reader of the format says.
        problem: String,
    },
    /// Something in a file is not what is needed.
    #[error("{}: expected {}, found {}", line(place), line(expected), line(found))]
    Mismatch {
        /// The file; the line, if it is about one; the column, if it is about one.
        place: String,
        /// What is needed.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A key of the configuration does not fit the type of the elements, or the columns of this file.
    #[error("{}{}: {}", name.as_ref().map(|name| format!("{}: ", line(name))).unwrap_or_default(), line(key), line(problem))]
    Key {
        /// The file, if it is about one.
        name: Option<String>,
        /// The key, such as `data.columns[0].x`.
        key: String,
        /// What is wrong with it.
        problem: KeyProblem,
    },
    /// The source has no client at this position.
    #[error("there is no client {client_idx} among {n_clients}")]
    NoClient {
        /// The position.
        client_idx: usize,
        /// How many clients there are.
        n_clients: usize,
    },
    /// The cells that were read do not make up an array.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// What can be wrong with a key of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyProblem {
    /// The value is not one that is needed.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What is needed.
        expected: String,
        /// What is there.
        found: String,
    },
    /// There is no value.
    #[error("missing, and {reason}")]
    Missing {
        /// Why one is needed.
        reason: String,
    },
    /// The table has no such column.
    #[error("no column `{column}`, found {found}")]
    NoColumn {
        /// The name, or the pattern.
        column: String,
        /// The first columns of the table.
        found: String,
    },
    /// The table has two columns of one name.
    #[error("column `{column}` occurs more than once")]
    RepeatedColumn {
        /// The name.
        column: String,
    },
    /// A range of columns that ends before it begins.
    #[error("column `{first}` stands behind `{last}`")]
    ReversedRange {
        /// Where it begins.
        first: String,
        /// Where it ends.
        last: String,
    },
    /// A member that the type of the elements does not have.
    #[error("unknown member `{member}`, expected those of {ty}")]
    UnknownMember {
        /// The member.
        member: String,
        /// The type.
        ty: Type,
    },
    /// A member of the type of the elements for which there are no columns.
    #[error("missing member `{member}` of {ty}")]
    MissingMember {
        /// The member.
        member: String,
        /// The type.
        ty: Type,
    },
    /// A member without a name, where members are named.
    #[error("member {index} of {ty} has no name: give a list by position")]
    UnnamedMember {
        /// The position of the member.
        index: usize,
        /// The type.
        ty: Type,
    },
    /// Some tensors of the element have a dimension for the batch, and some do not.
    #[error("some tensors of {ty} begin with a dimension `?` for the batch and some do not")]
    MixedBatches {
        /// The type of the elements.
        ty: Type,
    },
    /// Cells hold no elements of this type.
    #[error("{ty} cannot be read from a table")]
    NotInTables {
        /// The type of the tensor.
        ty: Type,
    },
    /// The number of columns does not say which shape the tensor has.
    #[error("{ty} has an unknown rank, which columns cannot fill")]
    UnknownRank {
        /// The type of the tensor.
        ty: Type,
    },
    /// The number of columns does not say how large each dimension is.
    #[error("the dimensions of {ty} cannot be told from columns")]
    UnknownDimensions {
        /// The type of the tensor.
        ty: Type,
    },
    /// The clients together would have too many elements.
    #[error("{count} batches, {epochs} times, exceed the limit of {limit}")]
    TooManyElements {
        /// How many batches there are.
        count: usize,
        /// How often the clients go through them.
        epochs: usize,
        /// How many elements there may be.
        limit: usize,
    },
}

impl KeyProblem {
    pub(super) fn expected(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Expected { expected: expected.into(), found: found.into() }
    }

    /// The problem, of this key.
    pub(super) fn at(self, key: impl Into<String>) -> DataError {
        DataError::Key { name: None, key: key.into(), problem: self }
    }
}

impl DataError {
    pub(super) fn mismatch(place: impl Into<String>, expected: impl ToString, found: impl ToString) -> Self {
        Self::Mismatch { place: place.into(), expected: expected.to_string(), found: found.to_string() }
    }

    /// Says which file the key does not fit.
    pub(super) fn in_file(self, file: &str) -> Self {
        match self {
            Self::Key { name: None, key, problem } => Self::Key { name: Some(file.to_owned()), key, problem },
            other => other,
        }
    }
}
