//! Rewriting the TensorFlow bodies of a computation, each distinct one once.

use crate::error::PassError;
use crate::graph::{GraphError, SameBody};
use std::collections::HashMap;
use std::sync::Arc;
use tff_ir::{Comp, CompiledComputation, TensorFlow, Transformed, transform_postorder};
use tff_types::Type;

/// Gives the graph that takes the place of one of this function type, or none where it stays.
type Rewrite<'a> = dyn FnMut(&TensorFlow, &Type) -> Result<Option<TensorFlow>, GraphError> + 'a;

/// Rewrites every TensorFlow body; `rewrite` returns none for one that stays. Bodies that are one
/// in memory are rewritten once, and stay one.
pub(crate) fn transform_bodies(comp: &Comp, rewrite: &mut Rewrite<'_>) -> Result<Transformed, PassError> {
    let mut done: HashMap<(SameBody, Type), Option<Comp>> = HashMap::new();
    transform_postorder(comp, &mut |comp| {
        let Some(CompiledComputation::TensorFlow(body)) = comp.as_compiled() else { return Ok(Transformed::no(comp)) };
        let key = (SameBody::of(body), comp.ty().clone());
        if let Some(rewritten) = done.get(&key) {
            return Ok(rewritten.clone().map_or_else(|| Transformed::no(comp), Transformed::yes));
        }
        let rewritten = match rewrite(body, comp.ty()).map_err(|error| PassError::at(&comp, error))? {
            Some(new) => Some(Comp::compiled(CompiledComputation::TensorFlow(Arc::new(new)), comp.ty().clone())?),
            None => None,
        };
        done.insert(key, rewritten.clone());
        Ok(rewritten.map_or_else(|| Transformed::no(comp), Transformed::yes))
    })
}
