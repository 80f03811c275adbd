//! A name of its own for every binder: no name is bound twice, and none that is bound is also used
//! free. The first binder of a name keeps it.

use std::collections::HashSet;
use std::sync::Arc;
use tff_ir::{BuildError, Comp, CompKind, Lambda, Local, Scope, UniqueNames, with_stack};

/// The computation with a name of its own for every binder; the computation itself where every
/// binder has one already.
pub(crate) fn with_unique_names(comp: &Comp) -> Result<Comp, BuildError> {
    let mut renaming =
        Renaming { taken: comp.free_names().into_iter().collect(), fresh: UniqueNames::new(comp), scope: Scope::new() };
    renaming.comp(comp)
}

struct Renaming {
    /// The names that no binder may have any more.
    taken: HashSet<Arc<str>>,
    fresh: UniqueNames,
    /// What the names in scope are now.
    scope: Scope<Arc<str>>,
}

impl Renaming {
    fn comp(&mut self, comp: &Comp) -> Result<Comp, BuildError> {
        with_stack(|| match comp.kind() {
            CompKind::Reference(reference) => match self.scope.get(&reference.name) {
                Some(name) if *name != reference.name => Comp::reference(name.clone(), comp.ty().clone()),
                _ => Ok(comp.clone()),
            },
            CompKind::Lambda(Lambda { parameter: Some(parameter), result: body }) => {
                let name = self.bind(&parameter.name);
                let result = self.comp(body);
                self.scope.unbind(&parameter.name);
                let result = result?;
                if name == parameter.name && result.ptr_eq(body) {
                    return Ok(comp.clone());
                }
                Comp::lambda(Some((name, parameter.ty.clone())), result)
            }
            CompKind::Block(block) => {
                let mut locals = Vec::with_capacity(block.locals.len());
                let renamed = self.locals(&block.locals, &mut locals).and_then(|()| self.comp(&block.result));
                for local in block.locals.iter().take(locals.len()) {
                    self.scope.unbind(&local.name);
                }
                let result = renamed?;
                let same = |(old, new): (&Local, &(Arc<str>, Comp))| old.name == new.0 && old.value.ptr_eq(&new.1);
                if result.ptr_eq(&block.result) && block.locals.iter().zip(&locals).all(same) {
                    return Ok(comp.clone());
                }
                Comp::block(locals, result)
            }
            _ => comp.map_children(|child| self.comp(child)),
        })
    }

    fn locals(&mut self, locals: &[Local], renamed: &mut Vec<(Arc<str>, Comp)>) -> Result<(), BuildError> {
        for local in locals {
            let value = self.comp(&local.value)?;
            renamed.push((self.bind(&local.name), value));
        }
        Ok(())
    }

    fn bind(&mut self, name: &Arc<str>) -> Arc<str> {
        let unique = if self.taken.insert(name.clone()) { name.clone() } else { self.fresh.next_name() };
        self.scope.bind(name.clone(), unique.clone());
        unique
    }
}
