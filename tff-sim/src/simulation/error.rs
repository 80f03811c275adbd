//! What can go wrong in a simulation.

use super::not_finite::NotFiniteRound;
use crate::data::DataError;
use crate::files::{FileError, line};
use tff_exec::ExecError;
use tff_types::{Mismatch, Type};
use thiserror::Error;

/// Why a simulation cannot begin, or failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The data of the clients cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A computation cannot be prepared or failed.
    #[error("{}: {source}", line(name))]
    Exec {
        /// The computation.
        name: String,
        /// How it failed.
        source: ExecError,
    },
    /// Something failed in this place: a file, a section of the configuration, a round.
    #[error("{}: {source}", line(place))]
    At {
        /// The place.
        place: String,
        /// What failed there.
        source: Box<Self>,
    },
    /// A computation does not have the signature that its role needs.
    #[error("{}: expected {expected}, found {}", line(name), line(found))]
    Signature {
        /// The computation.
        name: String,
        /// The signature.
        expected: &'static str,
        /// The type that it has.
        found: Type,
    },
    /// What one computation returns is not what another takes.
    #[error("{what}: {}; as a whole, expected {expected}, found {found}", first_line(mismatch))]
    NotAssignable {
        /// What is returned, and for what.
        what: String,
        /// The first difference.
        mismatch: Box<Mismatch>,
        /// The type that is needed.
        expected: Type,
        /// The type that is there.
        found: Type,
    },
    /// A round gave a value that is not of its type.
    #[error("{}: expected {expected}, found {}", line(name), line(found))]
    Result {
        /// The computation or the metric.
        name: String,
        /// What is needed.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// The metrics have no number at this path.
    #[error("metrics: expected the path of a number in {ty}, found `{}`", line(path))]
    UnknownMetric {
        /// The type of the metrics.
        ty: Type,
        /// The path.
        path: String,
    },
    /// The probability that a client vanishes is none, or certain.
    #[error("dropout: expected a number from 0 to below 1, found {found}")]
    Dropout {
        /// What it is.
        found: f64,
    },
    /// Numbers of a round are not finite, where that is an error.
    #[error(transparent)]
    NotFinite(#[from] NotFiniteRound),
    /// More clients shall take part in a round than there are.
    #[error("clients_per_round: expected at most {n_clients}, all clients, found {found}")]
    TooFewClients {
        /// How many there are.
        n_clients: usize,
        /// How many shall take part.
        found: usize,
    },
}

/// Further lines repeat in part what is shown of the types in full.
fn first_line(mismatch: &Mismatch) -> String {
    mismatch.to_string().lines().next().unwrap_or_default().to_owned()
}

impl SimulationError {
    pub(super) fn at(self, place: impl Into<String>) -> Self {
        Self::At { place: place.into(), source: Box::new(self) }
    }
}
