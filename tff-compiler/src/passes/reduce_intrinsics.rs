//! Replaces intrinsics that the evaluator does not implement by functions that do the same.

use crate::error::{PassError, Problem};
use crate::leaves::Leaves;
use crate::pass::Pass;
use crate::reductions::{Leaf, find};
use crate::retype::rewrite_values;
use std::collections::HashMap;
use tff_ir::{Comp, Intrinsic, Transformed};
use tff_types::Type;

/// Replaces `federated_sum`, `federated_mean`, `federated_weighted_mean`, `federated_min`,
/// `federated_max`, `sequence_sum` and the generic operators by their bodies.
///
/// The functions in a body are those of the leaf that the values come from which the intrinsic is
/// applied to: XLA modules where XLA modules made all of them, as far as that is known, and
/// TensorFlow graphs otherwise. Where nothing is known, they are modules if all compiled computations
/// are.
///
/// An unknown intrinsic is an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReduceIntrinsics {
    /// Whether to replace secure aggregations, too, by what computes the same **without any
    /// security**: for tests and simulations.
    pub insecure: bool,
}

impl Pass for ReduceIntrinsics {
    fn name(&self) -> &'static str {
        "reduce_intrinsics"
    }

    fn description(&self) -> &'static str {
        "replaces sums, means, extremes and generic operators by aggregations and graphs or modules"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        let leaves = Leaves::new(comp);
        let mut bodies = HashMap::new();
        rewrite_values(comp, &mut |comp| self.reduce(comp, &leaves, &mut bodies))
    }
}

/// The bodies made so far: for the same intrinsic of the same type and leaf it is the same one.
type Bodies = HashMap<(Intrinsic, Type, Leaf), Comp>;

impl ReduceIntrinsics {
    fn reduce(&self, comp: Comp, leaves: &Leaves, bodies: &mut Bodies) -> Result<Transformed, PassError> {
        let Some(intrinsic) = comp.as_intrinsic() else { return Ok(Transformed::no(comp)) };
        if let Intrinsic::Other(uri) = intrinsic {
            let (uri, nearest) = (uri.to_string(), Intrinsic::nearest(uri));
            return Err(PassError::at(&comp, Problem::UnknownIntrinsic { uri, nearest }));
        }
        let Some(reduction) = find(intrinsic, self.insecure) else { return Ok(Transformed::no(comp)) };
        let leaf = leaves.of(&comp);
        let key = (intrinsic.clone(), comp.ty().clone(), leaf);
        if let Some(body) = bodies.get(&key) {
            return Ok(Transformed::yes(body.clone()));
        }
        let body = reduction(leaf, comp.ty()).map_err(|problem| PassError::at(&comp, problem))?;
        let checked = comp.ty().check_assignable_from(body.ty());
        checked.map_err(|mismatch| {
            let what = format!("the body of {}", intrinsic.uri());
            PassError::at(&comp, Problem::Mismatch { what, mismatch: Box::new(mismatch) })
        })?;
        bodies.insert(key, body.clone());
        Ok(Transformed::yes(body))
    }
}
