//! Keeps runtimes from optimizing the functions of graphs anew in every session.

use crate::bodies::transform_bodies;
use crate::error::PassError;
use crate::graph::disable_call_rewriting;
use crate::pass::Pass;
use tff_ir::{Comp, Transformed};

/// Switches off the rewriting of functions at run time, in every graph.
#[derive(Clone, Copy, Debug)]
pub struct DisableCallRewriting;

impl Pass for DisableCallRewriting {
    fn name(&self) -> &'static str {
        "disable_call_rewriting"
    }

    fn description(&self) -> &'static str {
        "keeps TensorFlow from optimizing the functions of graphs in every session"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        transform_bodies(comp, &mut |body, _| disable_call_rewriting(body))
    }
}
