//! Keeps one copy in memory of equal graphs and modules, so that they are prepared once.

use crate::error::PassError;
use crate::pass::Pass;
use std::collections::HashMap;
use tff_ir::{Comp, CompiledComputation, NodeMap, Transformed, transform_postorder};
use tff_types::Type;

/// Puts the first of several equal bodies of the same type in the place of the others.
#[derive(Clone, Copy, Debug)]
pub struct ShareEqualBodies;

impl Pass for ShareEqualBodies {
    fn name(&self) -> &'static str {
        "share_equal_bodies"
    }

    fn description(&self) -> &'static str {
        "makes equal graphs one in memory"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        let mut by_content: HashMap<(CompiledComputation, Type), Comp> = HashMap::new();
        let mut by_node: NodeMap<Comp> = NodeMap::default();
        transform_postorder(comp, &mut |node| {
            let Some(body) = node.as_compiled() else { return Ok(Transformed::no(node)) };
            // Mostly it is the same node, and then its bytes need not be hashed.
            let first = by_node.get_or_insert_with(&node, || {
                by_content.entry((body.clone(), node.ty().clone())).or_insert_with(|| node.clone()).clone()
            });
            let changed = !first.ptr_eq(&node);
            Ok(Transformed { comp: first.clone(), changed })
        })
    }
}
