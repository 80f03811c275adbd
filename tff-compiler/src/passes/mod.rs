//! The passes, one a file.

mod remove_mapped_or_applied_identity;
mod remove_unused_block_locals;
mod to_call_dominant;
mod uniquify_reference_names;

pub use remove_mapped_or_applied_identity::RemoveMappedOrAppliedIdentity;
pub use remove_unused_block_locals::RemoveUnusedBlockLocals;
pub use to_call_dominant::ToCallDominant;
pub use uniquify_reference_names::UniquifyReferenceNames;

use crate::pass::Pass;

/// All passes, in alphabetical order.
pub static ALL: &[&dyn Pass] =
    &[&RemoveMappedOrAppliedIdentity, &RemoveUnusedBlockLocals, &ToCallDominant, &UniquifyReferenceNames];
