//! Forms of any kind: split from computations, written to folders and read from them, run in sub-rounds.

mod folder;
mod sub_rounds;

pub use folder::{check_new_folder, read_encoded_parts};
pub use sub_rounds::{SubRounds, SubRoundsError};

use crate::files::FileProblem;
use serde::{Deserialize, Serialize};
use std::fmt;
use tff_compiler::forms::{BroadcastForm, DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::pass::run_pass;
use tff_compiler::passes::ReduceIntrinsics;
use tff_compiler::{CompileError, Options};
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
    pub fn from_comp(kind: FormKind, comp: &Comp, options: &Options<'_>) -> Result<Self, CompileError> {
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
        mut part: impl FnMut(&str) -> Result<Comp, FileProblem>,
    ) -> Result<Self, FileProblem> {
        Ok(match kind {
            FormKind::MapReduce => Self::MapReduce(Box::new(MapReduceForm::new(MapReduceForm {
                ty,
                prepare: part("prepare")?,
                work: part("work")?,
                zero: part("zero")?,
                accumulate: part("accumulate")?,
                merge: part("merge")?,
                report: part("report")?,
                secure_sum_bitwidth: part("secure_sum_bitwidth")?,
                secure_sum_max_input: part("secure_sum_max_input")?,
                secure_modular_sum_modulus: part("secure_modular_sum_modulus")?,
                update: part("update")?,
            })?)),
            FormKind::DistributeAggregate => {
                Self::DistributeAggregate(Box::new(DistributeAggregateForm::new(DistributeAggregateForm {
                    ty,
                    server_prepare: part("server_prepare")?,
                    server_to_client_broadcast: part("server_to_client_broadcast")?,
                    client_work: part("client_work")?,
                    client_to_server_aggregation: part("client_to_server_aggregation")?,
                    server_result: part("server_result")?,
                })?))
            }
            FormKind::Mergeable => Self::Mergeable(MergeableCompForm::new(MergeableCompForm {
                up_to_merge: part("up_to_merge")?,
                merge: part("merge")?,
                after_merge: part("after_merge")?,
            })?),
            FormKind::Broadcast => Self::Broadcast(BroadcastForm::new(BroadcastForm {
                ty,
                compute_server_context: part("compute_server_context")?,
                client_processing: part("client_processing")?,
            })?),
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
            Self::MapReduce(form) => {
                let comp = form.to_comp()?;
                if form.securely_aggregates_tensors() {
                    return Ok(comp);
                }
                // The form has a place for each kind of secure sum. Where nothing is in it there is
                // nothing to keep secret, and nothing that a runtime has to refuse.
                Ok(run_pass(&ReduceIntrinsics { insecure: true }, &comp)?.comp)
            }
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
    pub fn to_mergeable(&self, options: &Options<'_>) -> Result<MergeableCompForm, NotMergeable> {
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
    /// The roles of its parts.
    const fn roles(self) -> &'static [&'static str] {
        match self {
            Self::MapReduce => &[
                "prepare",
                "work",
                "zero",
                "accumulate",
                "merge",
                "report",
                "secure_sum_bitwidth",
                "secure_sum_max_input",
                "secure_modular_sum_modulus",
                "update",
            ],
            Self::DistributeAggregate => &[
                "server_prepare",
                "server_to_client_broadcast",
                "client_work",
                "client_to_server_aggregation",
                "server_result",
            ],
            Self::Mergeable => &["up_to_merge", "merge", "after_merge"],
            Self::Broadcast => &["compute_server_context", "client_processing"],
        }
    }
}

impl fmt::Display for FormKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MapReduce => "map-reduce",
            Self::DistributeAggregate => "distribute-aggregate",
            Self::Mergeable => "mergeable",
            Self::Broadcast => "broadcast",
        })
    }
}
