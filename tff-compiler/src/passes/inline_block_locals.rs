//! Puts the values of locals in the place of references to them, where nothing runs more often.

use super::uniquify_reference_names::uniquify;
use crate::error::PassError;
use crate::extract::{Substitution, path_from_name};
use crate::pass::Pass;
use std::collections::HashMap;
use std::sync::Arc;
use tff_ir::{BuildError, Comp, CompKind, Transformed, with_stack};

/// Inlines locals that call nothing: names, parts of what names stand for, constants and functions
/// known elsewhere wherever they are used, everything else where it is used once. What is left over
/// is not dropped.
///
/// A call stays a local, so that it runs once: `(let a=x[0],b=g(a) in <b,b>)` becomes
/// `(let a=x[0],b=g(x[0]) in <b,b>)`.
#[derive(Clone, Copy, Debug)]
pub struct InlineBlockLocals;

impl Pass for InlineBlockLocals {
    fn name(&self) -> &'static str {
        "inline_block_locals"
    }

    fn description(&self) -> &'static str {
        "puts locals that call nothing where they are used"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        // A name that is bound further inside would capture what is inlined there.
        let unique = uniquify(comp)?;
        let mut uses: HashMap<Arc<str>, usize> = HashMap::new();
        for part in unique.preorder() {
            if let Some(reference) = part.as_reference() {
                *uses.entry(reference.name.clone()).or_default() += 1;
            }
        }
        let mut inlining = Inlining { uses, values: Substitution::default() };
        let inlined = inlining.comp(&unique)?;
        if inlining.values.is_empty() { Ok(Transformed::no(comp.clone())) } else { Ok(Transformed::yes(inlined)) }
    }
}

struct Inlining {
    uses: HashMap<Arc<str>, usize>,
    /// The values of the locals to inline, with everything inlined in them.
    values: Substitution,
}

impl Inlining {
    fn comp(&mut self, comp: &Comp) -> Result<Comp, BuildError> {
        with_stack(|| match comp.kind() {
            CompKind::Reference(_) => self.values.apply(comp),
            CompKind::Block(block) => {
                let mut locals = Vec::with_capacity(block.locals.len());
                for local in block.locals.iter() {
                    let value = self.comp(&local.value)?;
                    if self.is_inlined(&local.name, &value) {
                        self.values.replace(local.name.clone(), value.clone());
                    }
                    locals.push((local.name.clone(), value));
                }
                Comp::block(locals, self.comp(&block.result)?)
            }
            _ => comp.map_children(|child| self.comp(child)),
        })
    }

    fn is_inlined(&self, name: &str, value: &Comp) -> bool {
        match self.uses.get(name) {
            None => false,
            Some(1) => value.preorder().all(|part| part.as_call().is_none() && part.as_block().is_none()),
            Some(_) => is_small(value),
        }
    }
}

/// Whether a value is no more than the name that stands for it.
fn is_small(value: &Comp) -> bool {
    match value.kind() {
        CompKind::Selection(_) | CompKind::Reference(_) => path_from_name(value).is_some(),
        CompKind::Intrinsic(_) | CompKind::Placement(_) | CompKind::CompiledComputation(_) => true,
        CompKind::Literal(literal) => literal.array.dims().is_empty(),
        _ => false,
    }
}
