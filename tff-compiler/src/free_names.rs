//! The free names of all functions within a computation, found in one walk.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use tff_ir::{Comp, CompKind, Scope, with_stack};

/// The free names of a computation and of the lambdas within it.
#[derive(Default)]
pub(crate) struct FreeNames {
    /// Those of the whole.
    pub(crate) of_root: BTreeSet<Arc<str>>,
    /// Those of every lambda, by its address.
    pub(crate) of_lambdas: HashMap<usize, Rc<[Arc<str>]>>,
}

impl FreeNames {
    pub(crate) fn new(comp: &Comp) -> Self {
        let mut search = Search { scope: Scope::default(), around: Vec::new(), found: Self::default() };
        search.comp(comp);
        search.found
    }
}

struct Search<'c> {
    /// For each name in scope in how many lambdas the place is where it is bound.
    scope: Scope<usize, &'c str>,
    /// For each lambda around the current place the names in it that are bound outside of it, each
    /// with the number of lambdas around that place.
    around: Vec<Vec<(&'c Arc<str>, usize)>>,
    found: FreeNames,
}

impl<'c> Search<'c> {
    fn comp(&mut self, comp: &'c Comp) {
        with_stack(|| match comp.kind() {
            CompKind::Reference(reference) => {
                let bound_in = self.scope.get(&reference.name).copied();
                if bound_in.is_none() {
                    self.found.of_root.insert(reference.name.clone());
                }
                self.add(&reference.name, bound_in.unwrap_or_default());
            }
            CompKind::Lambda(lambda) => {
                self.around.push(Vec::new());
                if let Some(parameter) = &lambda.parameter {
                    self.scope.bind(&*parameter.name, self.around.len());
                }
                self.comp(&lambda.result);
                if let Some(parameter) = &lambda.parameter {
                    self.scope.unbind(&parameter.name);
                }
                let mut free = self.around.pop().unwrap_or_default();
                free.sort_unstable();
                free.dedup();
                self.found.of_lambdas.insert(comp.address(), free.iter().map(|(name, _)| Arc::clone(name)).collect());
                free.into_iter().for_each(|(name, bound_in)| self.add(name, bound_in));
            }
            CompKind::Block(block) => {
                for local in block.locals.iter() {
                    self.comp(&local.value);
                    self.scope.bind(&*local.name, self.around.len());
                }
                self.comp(&block.result);
                for local in block.locals.iter() {
                    self.scope.unbind(&local.name);
                }
            }
            _ => comp.children().for_each(|child| self.comp(child)),
        });
    }

    /// Adds a name to those of the innermost lambda, if it is bound outside of that.
    fn add(&mut self, name: &'c Arc<str>, bound_in: usize) {
        let depth = self.around.len();
        if let Some(innermost) = self.around.last_mut().filter(|_| bound_in < depth) {
            innermost.push((name, bound_in));
        }
    }
}
