//! Refuses graphs with ops that the caller does not allow.

use crate::bodies::transform_bodies;
use crate::error::PassError;
use crate::graph::{check_allowed_ops, check_disallowed_ops};
use crate::pass::Pass;
use std::collections::BTreeSet;
use tff_ir::{Comp, Transformed};

/// Checks the ops of every graph and of its functions. It changes nothing.
#[derive(Clone, Debug, Default)]
pub struct CheckOps {
    /// The only ops that may be used, if there is such a list.
    pub allowed: Option<BTreeSet<String>>,
    /// The ops that must not be used.
    pub disallowed: BTreeSet<String>,
}

impl Pass for CheckOps {
    fn name(&self) -> &'static str {
        "check_ops"
    }

    fn description(&self) -> &'static str {
        "refuses graphs with ops that are not allowed"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        if self.allowed.is_none() && self.disallowed.is_empty() {
            return Ok(Transformed::no(comp.clone()));
        }
        transform_bodies(comp, &mut |body, _| {
            if let Some(allowed) = &self.allowed {
                check_allowed_ops(body, allowed)?;
            }
            check_disallowed_ops(body, &self.disallowed)?;
            Ok(None)
        })
    }
}
