//! Gives every TensorFlow body an id, by which runtimes recognize it.

use crate::bodies::transform_bodies;
use crate::error::PassError;
use crate::graph::cache_id;
use crate::pass::Pass;
use tff_ir::{Comp, TensorFlow, Transformed};

/// Adds a cache id to every TensorFlow body: equal for equal bodies of the same type, in every
/// process. It comes after everything that changes a body.
#[derive(Clone, Copy, Debug)]
pub struct AddCacheIds;

impl Pass for AddCacheIds {
    fn name(&self) -> &'static str {
        "add_cache_ids"
    }

    fn description(&self) -> &'static str {
        "gives every graph an id that equal graphs share, in every process"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        transform_bodies(comp, &mut |body, ty| {
            let cache_key = Some(cache_id(body, ty));
            Ok((cache_key != body.cache_key).then(|| TensorFlow { cache_key, ..body.clone() }))
        })
    }
}
