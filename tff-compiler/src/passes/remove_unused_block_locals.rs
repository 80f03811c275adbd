//! Drops locals that no result needs, and blocks without locals.
//!
//! The calls in a dropped local are gone. That is right: computations have no effects besides their results.

use crate::error::PassError;
use crate::pass::Pass;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;
use tff_ir::{Binder, BuildError, Comp, CompKind, Scope, Transformed, Walk, with_stack};

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
        let mut uses = Uses { owner: ROOT, last: vec![None], ..Uses::default() };
        let Ok(()) = uses.walk(comp);
        let is_needed = uses.needed();
        if !uses.has_empty_blocks && is_needed.iter().all(|&is_needed| is_needed) {
            return Ok(Transformed::no(comp.clone()));
        }
        let mut removal = Removal { is_needed, next: ROOT };
        let removed = removal.comp(comp)?;
        Ok(Transformed { changed: !removed.ptr_eq(comp), comp: removed })
    }
}

/// Stands for what is needed in any case. Locals have the numbers after it, in the order of a walk.
const ROOT: usize = 0;

/// Which locals each local refers to.
#[derive(Default)]
struct Uses<'c> {
    /// The number of the local that a name stands for; none for a parameter.
    scope: Scope<Option<usize>, &'c str>,
    /// The local whose value is walked over.
    owner: usize,
    /// For each block around, the number of the local that comes into scope next, and to which local the block belongs.
    blocks: Vec<(Range<usize>, usize)>,
    /// For each local, the last of its uses of others.
    last: Vec<Option<usize>>,
    /// All uses: the local that is used, and the use before it by the same local.
    all: Vec<(usize, Option<usize>)>,
    has_empty_blocks: bool,
}

impl<'c> Walk<'c> for Uses<'c> {
    type Value = ();
    type Error = Infallible;

    fn comp(&mut self, comp: &'c Comp) -> Result<(), Infallible> {
        if let Some(reference) = comp.as_reference()
            && let Some(Some(local)) = self.scope.get(&reference.name)
            && let Some(last) = self.last.get_mut(self.owner)
        {
            self.all.push((*local, *last));
            *last = Some(self.all.len() - 1);
        }
        let Some(block) = comp.as_block() else { return self.parts(comp, |()| ()) };
        self.has_empty_blocks |= block.locals.is_empty();
        let (first, owner) = (self.last.len(), self.owner);
        let locals = first..first + block.locals.len();
        self.last.resize(locals.end, None);
        self.owner = if block.locals.is_empty() { owner } else { first };
        self.blocks.push((locals, owner));
        self.parts(comp, |()| ())?;
        self.blocks.pop();
        self.owner = owner;
        Ok(())
    }

    fn bind(&mut self, binder: Binder<'c>, _: Option<&()>) {
        let mut local = None;
        if let (Binder::Local(_), Some((locals, owner))) = (binder, self.blocks.last_mut()) {
            local = locals.next();
            self.owner = if locals.start < locals.end { locals.start } else { *owner };
        }
        self.scope.bind(&**binder.name(), local);
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope.unbind(binder.name());
    }
}

impl Uses<'_> {
    fn needed(&self) -> Vec<bool> {
        let mut is_needed = vec![false; self.last.len()];
        let mut pending = vec![ROOT];
        while let Some(number) = pending.pop() {
            if let Some(needed) = is_needed.get_mut(number)
                && !std::mem::replace(needed, true)
            {
                let mut use_before = self.last.get(number).copied().flatten();
                while let Some((used, before)) = use_before.and_then(|it| self.all.get(it)) {
                    pending.push(*used);
                    use_before = *before;
                }
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
                return comp.map_children(|child| self.comp(child));
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
