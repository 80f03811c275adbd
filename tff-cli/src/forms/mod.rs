//! Forms as the command line has them: folders of parts, which are written, read and run.

mod folder;
mod sub_rounds;

pub(crate) use folder::{check_new, is_form, parts, read, write};
pub(crate) use sub_rounds::SubRounds;

use crate::executor::CompilationArgs;
use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use std::fmt;
use tff_compiler::forms::{BroadcastForm, DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::{CompileError, CompileOptions};
use tff_ir::Comp;
use tff_types::Type;

/// Which form it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FormKind {
    MapReduce,
    DistributeAggregate,
    Mergeable,
    Broadcast,
}

/// A form, whose parts fit together.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    MapReduce(Box<MapReduceForm>),
    DistributeAggregate(Box<DistributeAggregateForm>),
    Mergeable(MergeableCompForm),
    Broadcast(BroadcastForm),
}

impl Form {
    /// Splits a computation.
    pub(crate) fn from_comp(kind: FormKind, comp: &Comp, options: &CompileOptions<'_>) -> Result<Self, CompileError> {
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
    fn from_parts(kind: FormKind, ty: Type, part: impl FnMut(&'static str) -> Result<Comp>) -> Result<Self> {
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
    pub(crate) const fn kind(&self) -> FormKind {
        match self {
            Self::MapReduce(_) => FormKind::MapReduce,
            Self::DistributeAggregate(_) => FormKind::DistributeAggregate,
            Self::Mergeable(_) => FormKind::Mergeable,
            Self::Broadcast(_) => FormKind::Broadcast,
        }
    }

    /// The parts by their roles, in a fixed order.
    pub(crate) fn parts(&self) -> Vec<(&'static str, &Comp)> {
        match self {
            Self::MapReduce(form) => form.parts().to_vec(),
            Self::DistributeAggregate(form) => form.parts().to_vec(),
            Self::Mergeable(form) => form.parts().to_vec(),
            Self::Broadcast(form) => form.parts().to_vec(),
        }
    }

    /// The computation that the parts make up.
    pub(crate) fn to_comp(&self) -> Result<Comp, CompileError> {
        match self {
            Self::MapReduce(form) => form.to_comp(),
            Self::DistributeAggregate(form) => form.to_comp(),
            Self::Mergeable(form) => form.to_comp(),
            Self::Broadcast(form) => form.to_comp(),
        }
    }

    /// The form whose clients can be split into sub-rounds.
    pub(crate) fn mergeable(&self, args: &CompilationArgs) -> Result<MergeableCompForm> {
        match self {
            Self::Mergeable(form) => Ok(form.clone()),
            Self::MapReduce(form) => {
                if form.securely_aggregates_tensors() && !args.allow_insecure_secure_sum {
                    bail!("expected --allow-insecure-secure-sum with --sub-rounds, as the form sums securely");
                }
                Ok(MergeableCompForm::from_comp(&self.to_comp()?, &args.options())?)
            }
            Self::DistributeAggregate(_) | Self::Broadcast(_) => {
                bail!("expected a form map-reduce or mergeable for --sub-rounds, found {}", self.kind())
            }
        }
    }
}

impl FormKind {
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
        f.write_str(match self {
            Self::MapReduce => "map-reduce",
            Self::DistributeAggregate => "distribute-aggregate",
            Self::Mergeable => "mergeable",
            Self::Broadcast => "broadcast",
        })
    }
}
