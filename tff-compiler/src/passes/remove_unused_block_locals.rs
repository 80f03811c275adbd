//! Drops the locals of blocks that no result needs, and blocks without locals.
//!
//! What a local calls is not called any more: computations have no effects but their results.

use crate::error::PassError;
use crate::pass::Pass;
use std::sync::Arc;
use tff_ir::{BuildError, Comp, CompKind, Lambda, Scope, Transformed, with_stack};

/// Drops locals that are not needed, directly or through other locals.
///
/// `(let a=1,b=a,c=4 in b)` becomes `(let a=1,b=a in b)`, and `(let a=1 in 3)` becomes `3`.
#[derive(Clone, Copy, Debug)]
pub struct RemoveUnusedBlockLocals;

impl Pass for RemoveUnusedBlockLocals {
    fn name(&self) -> &'static str {
        "remove_unused_block_locals"
    }

    fn description(&self) -> &'static str {
        "drops locals that nothing needs, and blocks without locals"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        let mut uses = Uses { scope: Scope::new(), of: vec![Vec::new()] };
        uses.collect(comp, ROOT);
        let mut removal = Removal { is_needed: uses.needed(), next: ROOT };
        let removed = removal.comp(comp)?;
        Ok(Transformed { changed: !removed.ptr_eq(comp), comp: removed })
    }
}

/// Stands for what is needed in any case. Locals have the numbers after it, in the order of a walk.
const ROOT: usize = 0;

/// Which locals each local refers to.
struct Uses {
    /// The number of the local that a name stands for; none for a parameter.
    scope: Scope<Option<usize>>,
    of: Vec<Vec<usize>>,
}

impl Uses {
    /// Collects the references below a node that belongs to the value of the local `owner`.
    fn collect(&mut self, comp: &Comp, owner: usize) {
        with_stack(|| match comp.kind() {
            CompKind::Reference(reference) => {
                if let Some(Some(local)) = self.scope.get(&reference.name)
                    && let Some(used) = self.of.get_mut(owner)
                {
                    used.push(*local);
                }
            }
            CompKind::Lambda(Lambda { parameter: Some(parameter), result }) => {
                self.scope.bind(parameter.name.clone(), None);
                self.collect(result, owner);
                self.scope.unbind(&parameter.name);
            }
            CompKind::Block(block) => {
                let first = self.of.len();
                self.of.resize_with(first + block.locals.len(), Vec::new);
                for (number, local) in (first..).zip(block.locals.iter()) {
                    self.collect(&local.value, number);
                    self.scope.bind(local.name.clone(), Some(number));
                }
                self.collect(&block.result, owner);
                for local in block.locals.iter() {
                    self.scope.unbind(&local.name);
                }
            }
            _ => comp.children().for_each(|child| self.collect(child, owner)),
        });
    }

    fn needed(self) -> Vec<bool> {
        let mut is_needed = vec![false; self.of.len()];
        let mut pending = vec![ROOT];
        while let Some(number) = pending.pop() {
            if let Some(needed) = is_needed.get_mut(number)
                && !std::mem::replace(needed, true)
            {
                pending.extend(self.of.get(number).into_iter().flatten());
            }
        }
        is_needed
    }
}

/// Rebuilds the computation; numbers the locals as [`Uses`] does.
struct Removal {
    is_needed: Vec<bool>,
    /// The number of the last local seen.
    next: usize,
}

impl Removal {
    fn comp(&mut self, comp: &Comp) -> Result<Comp, BuildError> {
        with_stack(|| {
            let CompKind::Block(block) = comp.kind() else {
                let children = comp.children().map(|child| self.comp(child)).collect::<Result<_, _>>()?;
                return comp.with_children(children);
            };
            let first = self.next + 1;
            self.next += block.locals.len();
            let mut locals: Vec<(Arc<str>, Comp)> = Vec::with_capacity(block.locals.len());
            let mut changed = false;
            for (number, local) in (first..).zip(block.locals.iter()) {
                // Also what is dropped is walked over, so that the numbers stay in step.
                let value = self.comp(&local.value)?;
                changed |= !value.ptr_eq(&local.value);
                if self.is_needed.get(number).copied().unwrap_or(true) {
                    locals.push((local.name.clone(), value));
                }
            }
            let result = self.comp(&block.result)?;
            if locals.is_empty() {
                return Ok(result);
            }
            if !changed && locals.len() == block.locals.len() && result.ptr_eq(&block.result) {
                return Ok(comp.clone());
            }
            Comp::block(locals, result)
        })
    }
}
