//! Forms of any kind: split from computations, written to folders and read from them, run in sub-rounds.

mod folder;
mod sub_rounds;

pub use folder::{check_new_folder, read_encoded_parts};
pub use sub_rounds::{SubRounds, SubRoundsError};

use crate::files::FileProblem;
use serde::{Deserialize, Serialize};
use std::fmt;
use tff_compiler::forms::{BroadcastForm, DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::{CompileError, CompileOptions};
use tff_ir::Comp;
use tff_types::Type;
use thiserror::Error;

/// Which form it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FormKind {
    /// [`MapReduceForm`].
    MapReduce,
    /// [`DistributeAggregateForm`].
    DistributeAggregate,
    /// [`MergeableCompForm`].
    Mergeable,
    /// [`BroadcastForm`].
    Broadcast,
}

/// A form, whose parts fit together.
#[derive(Clone, Debug)]
pub enum Form {
    /// Ten graphs, for a round between a server and clients.
    MapReduce(Box<MapReduceForm>),
    /// Five computations, for a round between a server and clients.
    DistributeAggregate(Box<DistributeAggregateForm>),
    /// Three computations, for clients that are split into sub-rounds.
    Mergeable(MergeableCompForm),
    /// Two graphs, for what the server sends to clients.
    Broadcast(BroadcastForm),
}

/// Why the clients of a form cannot be split into sub-rounds.
#[derive(Clone, Debug, Error)]
pub enum NotMergeable {
    /// The form aggregates securely, which sub-rounds do not.
    #[error("the form sums securely, which sub-rounds do not")]
    Secure,
    /// The form has no place to split.
    #[error("expected a form map-reduce or mergeable, found {0}")]
    Kind(FormKind),
    /// The form cannot be split.
    #[error(transparent)]
    Compile(#[from] CompileError),
}

impl Form {
    /// Splits a computation.
    ///
    /// # Errors
    /// Where the computation is not of the form's kind.
    pub fn from_comp(kind: FormKind, comp: &Comp, options: &CompileOptions<'_>) -> Result<Self, CompileError> {
        Ok(match kind {
            FormKind::MapReduce => Self::MapReduce(Box::new(MapReduceForm::from_comp(comp, options)?)),
            FormKind::DistributeAggregate => {
                Self::DistributeAggregate(Box::new(DistributeAggregateForm::from_comp(comp, options)?))
            }
            FormKind::Mergeable => Self::Mergeable(MergeableCompForm::from_comp(comp, options)?),
            FormKind::Broadcast => Self::Broadcast(BroadcastForm::from_comp(comp, options)?),
        })
    }

    /// The form of a computation of type `ty`, from its parts by their roles.
    fn from_parts(
        kind: FormKind,
        ty: Type,
        part: impl FnMut(&'static str) -> Result<Comp, FileProblem>,
    ) -> Result<Self, FileProblem> {
        Ok(match kind {
            FormKind::MapReduce => Self::MapReduce(Box::new(MapReduceForm::from_parts(ty, part)?)),
            FormKind::DistributeAggregate => {
                Self::DistributeAggregate(Box::new(DistributeAggregateForm::from_parts(ty, part)?))
            }
            FormKind::Mergeable => Self::Mergeable(MergeableCompForm::from_parts(ty, part)?),
            FormKind::Broadcast => Self::Broadcast(BroadcastForm::from_parts(ty, part)?),
        })
    }

    /// Which form it is.
    pub const fn kind(&self) -> FormKind {
        match self {
            Self::MapReduce(_) => FormKind::MapReduce,
            Self::DistributeAggregate(_) => FormKind::DistributeAggregate,
            Self::Mergeable(_) => FormKind::Mergeable,
            Self::Broadcast(_) => FormKind::Broadcast,
        }
    }

    /// The parts by their roles, in a fixed order.
    pub fn parts(&self) -> Vec<(&'static str, &Comp)> {
        match self {
            Self::MapReduce(form) => form.parts().to_vec(),
            Self::DistributeAggregate(form) => form.parts().to_vec(),
            Self::Mergeable(form) => form.parts().to_vec(),
            Self::Broadcast(form) => form.parts().to_vec(),
        }
    }

    /// The computation that the parts make up.
    ///
    /// # Errors
    /// Where the parts do not fit together.
    pub fn to_comp(&self) -> Result<Comp, CompileError> {
        match self {
            Self::MapReduce(form) => form.to_comp(),
            Self::DistributeAggregate(form) => form.to_comp(),
            Self::Mergeable(form) => form.to_comp(),
            Self::Broadcast(form) => form.to_comp(),
        }
    }

    /// The form whose clients can be split into sub-rounds. Secure sums become sums without security where the options
    /// allow it.
    ///
    /// # Errors
    /// Where there is no such form of it.
    pub fn to_mergeable(&self, options: &CompileOptions<'_>) -> Result<MergeableCompForm, NotMergeable> {
        match self {
            Self::Mergeable(form) => Ok(form.clone()),
            Self::MapReduce(form) => {
                if form.securely_aggregates_tensors() && !options.insecure_aggregation {
                    return Err(NotMergeable::Secure);
                }
                Ok(MergeableCompForm::from_comp(&self.to_comp()?, options)?)
            }
            Self::DistributeAggregate(_) | Self::Broadcast(_) => Err(NotMergeable::Kind(self.kind())),
        }
    }
}

impl FormKind {
    /// What it is called: `map-reduce`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MapReduce => "map-reduce",
            Self::DistributeAggregate => "distribute-aggregate",
            Self::Mergeable => "mergeable",
            Self::Broadcast => "broadcast",
        }
    }

    /// The roles of its parts.
    const fn roles(self) -> &'static [&'static str] {
        match self {
            Self::MapReduce => &MapReduceForm::ROLES,
            Self::DistributeAggregate => &DistributeAggregateForm::ROLES,
            Self::Mergeable => &MergeableCompForm::ROLES,
            Self::Broadcast => &BroadcastForm::ROLES,
        }
    }
}

impl fmt::Display for FormKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
