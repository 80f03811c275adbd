//! The free names of all functions within a computation, found in one walk.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use tff_ir::{Binder, Comp, NodeMap, Scope, Walk};

/// The free names of a computation and of the lambdas within it.
#[derive(Default)]
pub(crate) struct FreeNames {
    /// Those of the whole.
    pub(crate) of_root: BTreeSet<Arc<str>>,
    /// Those of every lambda.
    pub(crate) of_lambdas: NodeMap<Rc<[Arc<str>]>>,
}

impl FreeNames {
    pub(crate) fn new(comp: &Comp) -> Self {
        let mut search = Search { scope: Scope::default(), around: Vec::new(), found: Self::default() };
        let Ok(()) = search.walk(comp);
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

impl<'c> Walk<'c> for Search<'c> {
    type Value = ();
    type Error = Infallible;

    fn comp(&mut self, comp: &'c Comp) -> Result<(), Infallible> {
        if let Some(reference) = comp.as_reference() {
            let bound_in = self.scope.get(&reference.name).copied();
            if bound_in.is_none() {
                self.found.of_root.insert(reference.name.clone());
            }
            self.add(&reference.name, bound_in.unwrap_or_default());
        }
        if comp.as_lambda().is_none() {
            return self.parts(comp, |()| ());
        }
        self.around.push(Vec::new());
        self.parts(comp, |()| ())?;
        let mut free = self.around.pop().unwrap_or_default();
        free.sort_unstable();
        free.dedup();
        self.found.of_lambdas.insert(comp, free.iter().map(|(name, _)| Arc::clone(name)).collect());
        free.into_iter().for_each(|(name, bound_in)| self.add(name, bound_in));
        Ok(())
    }

    fn bind(&mut self, binder: Binder<'c>, _: Option<&()>) {
        self.scope.bind(&**binder.name(), self.around.len());
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope.unbind(binder.name());
    }
}

impl<'c> Search<'c> {
    /// Adds a name to those of the innermost lambda, if it is bound outside of that.
    fn add(&mut self, name: &'c Arc<str>, bound_in: usize) {
        let depth = self.around.len();
        if let Some(innermost) = self.around.last_mut().filter(|_| bound_in < depth) {
            innermost.push((name, bound_in));
        }
    }
}
