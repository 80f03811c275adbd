//! Gives every binder a name of its own.

use crate::error::PassError;
use crate::pass::Pass;
use crate::rename::with_unique_names;
use tff_ir::{Comp, Transformed};

/// Renames parameters and locals so that every one has a name of its own.
///
/// `(a -> (a -> a))` becomes `(a -> (_var1 -> _var1))`.
#[derive(Clone, Copy, Debug)]
pub struct UniquifyReferenceNames;

impl Pass for UniquifyReferenceNames {
    fn name(&self) -> &'static str {
        "uniquify_reference_names"
    }

    fn description(&self) -> &'static str {
        "gives every parameter and local a name of its own"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        let renamed = with_unique_names(comp)?;
        Ok(Transformed { changed: !renamed.ptr_eq(comp), comp: renamed })
    }
}
