//! Gives every binder a name of its own: no name is bound twice, and no bound name is also a free
//! one. The first binder of a name keeps it.

use std::collections::HashSet;
use std::sync::Arc;
use tff_ir::{Binder, BuildError, Comp, CompKind, Scope, UniqueNames, Walk};

/// The computation with a name of its own for every binder; the computation itself where every
/// binder has one already.
pub(crate) fn with_unique_names(comp: &Comp) -> Result<Comp, BuildError> {
    let (taken, fresh) = (comp.free_names().into_iter().collect(), UniqueNames::new(comp));
    Renaming { taken, fresh, scope: Scope::new(), renamed: Vec::new() }.walk(comp)
}

struct Renaming {
    /// The names that no binder may have any more.
    taken: HashSet<Arc<str>>,
    fresh: UniqueNames,
    /// What the names in scope are now.
    scope: Scope<Arc<str>>,
    /// The new names of the binders of the nodes around, in order.
    renamed: Vec<Arc<str>>,
}

impl<'c> Walk<'c> for Renaming {
    type Value = Comp;
    type Error = BuildError;

    fn comp(&mut self, comp: &'c Comp) -> Result<Comp, BuildError> {
        if let Some(reference) = comp.as_reference() {
            return match self.scope.get(&reference.name) {
                Some(name) if *name != reference.name => Comp::reference(name.clone(), comp.ty().clone()),
                _ => Ok(comp.clone()),
            };
        }
        let (mut parts, first) = (Vec::new(), self.renamed.len());
        self.parts(comp, |part| parts.push(part))?;
        let names = self.renamed.split_off(first);
        let binders = comp.parts().filter_map(|part| part.binder);
        if binders.zip(&names).all(|(binder, name)| binder.name() == name) {
            return comp.with_children(parts);
        }
        let (mut names, mut parts) = (names.into_iter(), parts.into_iter());
        match comp.kind() {
            CompKind::Lambda(lambda) => {
                let parameter = names.next().zip(lambda.parameter.as_ref().map(|parameter| parameter.ty.clone()));
                Comp::lambda(parameter, parts.next().unwrap_or_else(|| lambda.result.clone()))
            }
            CompKind::Block(block) => {
                let locals: Vec<_> = names.zip(parts.by_ref()).collect();
                Comp::block(locals, parts.next().unwrap_or_else(|| block.result.clone()))
            }
            CompKind::Reference(_)
            | CompKind::Selection(_)
            | CompKind::Struct(_)
            | CompKind::Call(_)
            | CompKind::Intrinsic(_)
            | CompKind::Data(_)
            | CompKind::Placement(_)
            | CompKind::Literal(_)
            | CompKind::CompiledComputation(_) => comp.with_children(parts.collect()),
        }
    }

    fn bind(&mut self, binder: Binder<'c>, _: Option<&Comp>) {
        let name = binder.name();
        let unique = if self.taken.insert(name.clone()) { name.clone() } else { self.fresh.next_name() };
        self.scope.bind(name.clone(), unique.clone());
        self.renamed.push(unique);
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope.unbind(binder.name());
    }
}
