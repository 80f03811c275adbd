//! The passes, one a file.

mod add_cache_ids;
mod check_ops;
mod compile_local_subcomputations;
mod disable_call_rewriting;
mod eliminate_common_subexpressions;
mod reduce_intrinsics;
mod remove_mapped_or_applied_identity;
mod remove_unused_block_locals;
mod share_equal_bodies;
mod to_call_dominant;
mod uniquify_reference_names;

pub use add_cache_ids::AddCacheIds;
pub use check_ops::CheckOps;
pub use compile_local_subcomputations::CompileLocalSubcomputations;
pub use disable_call_rewriting::DisableCallRewriting;
pub use eliminate_common_subexpressions::EliminateCommonSubexpressions;
pub use reduce_intrinsics::ReduceIntrinsics;
pub use remove_mapped_or_applied_identity::RemoveMappedOrAppliedIdentity;
pub use remove_unused_block_locals::RemoveUnusedBlockLocals;
pub use share_equal_bodies::ShareEqualBodies;
pub use to_call_dominant::ToCallDominant;
pub use uniquify_reference_names::UniquifyReferenceNames;

use crate::pass::Pass;
use std::collections::BTreeSet;

/// All passes, in alphabetical order, as they are without options.
pub static ALL: &[&dyn Pass] = &[
    &AddCacheIds,
    &CheckOps { allowed: None, disallowed: BTreeSet::new() },
    &CompileLocalSubcomputations,
    &DisableCallRewriting,
    &EliminateCommonSubexpressions,
    &ReduceIntrinsics { insecure: false },
    &RemoveMappedOrAppliedIdentity,
    &RemoveUnusedBlockLocals,
    &ShareEqualBodies,
    &ToCallDominant,
    &UniquifyReferenceNames,
];
