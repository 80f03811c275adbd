//! The names that occur in a computation, and new ones that do not.

use crate::{Binder, Comp, Scope, Walk};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::ops::Bound;
use std::sync::Arc;

impl Comp {
    /// The names that occur in it: of parameters, locals and references.
    #[must_use]
    pub fn names(&self) -> BTreeSet<Arc<str>> {
        let mut names = BTreeSet::new();
        for_each_name(self, &mut |name| {
            names.insert(name.clone());
        });
        names
    }

    /// The names that it refers to without binding them.
    #[must_use]
    pub fn free_names(&self) -> BTreeSet<Arc<str>> {
        let mut walk = Free::default();
        let Ok(()) = walk.walk(self);
        walk.free
    }
}

/// Visits every name that occurs, as often as it does.
fn for_each_name(comp: &Comp, visit: &mut dyn FnMut(&Arc<str>)) {
    for comp in comp.preorder() {
        comp.as_reference().into_iter().for_each(|reference| visit(&reference.name));
        comp.parts().filter_map(|part| part.binder).for_each(|binder| visit(binder.name()));
    }
}

/// Collects the names that nothing binds where they occur.
#[derive(Default)]
struct Free<'c> {
    bound: Scope<(), &'c str>,
    free: BTreeSet<Arc<str>>,
}

impl<'c> Walk<'c> for Free<'c> {
    type Value = ();
    type Error = Infallible;

    fn comp(&mut self, comp: &'c Comp) -> Result<(), Infallible> {
        if let Some(reference) = comp.as_reference().filter(|it| self.bound.get(&it.name).is_none()) {
            self.free.insert(reference.name.clone());
        }
        self.parts(comp, |()| ())
    }

    fn bind(&mut self, binder: Binder<'c>, _: Option<&()>) {
        self.bound.bind(&**binder.name(), ());
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.bound.unbind(binder.name());
    }
}

/// Gives out names that occur nowhere in a computation: `_var1`, `_var2`, …
///
/// The same computation gets the same names.
///
/// ```
/// use tff_ir::{Comp, UniqueNames};
/// use tff_types::{DType, Type};
///
/// # fn main() -> Result<(), tff_ir::BuildError> {
/// let comp = Comp::reference("_variable", Type::scalar(DType::Int32))?;
/// assert_eq!(&*UniqueNames::new(&comp).next_name(), "_var_1_1");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct UniqueNames {
    /// The prefix, and the number of the last name.
    name: String,
    prefix: usize,
    count: u64,
}

impl UniqueNames {
    /// Names that do not occur in `comp`, starting with `_var`.
    #[must_use]
    pub fn new(comp: &Comp) -> Self {
        Self::with_prefix(comp, "_var")
    }

    /// Names that do not occur in `comp`, starting with `prefix`. Where a name of `comp` starts
    /// with it, what is appended to it tells the new names apart.
    #[must_use]
    pub fn with_prefix(comp: &Comp, prefix: &str) -> Self {
        // All candidates start with the prefix, and mostly no name does.
        let mut names = BTreeSet::new();
        for_each_name(comp, &mut |name| {
            if name.starts_with(prefix) {
                names.insert(name.clone());
            }
        });
        let is_taken = |prefix: &str| {
            let mut not_before = names.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
            not_before.next().is_some_and(|name| name.starts_with(prefix))
        };
        let mut candidates = std::iter::once(prefix.to_owned()).chain((1..).map(|it: u64| format!("{prefix}_{it}_")));
        // There are more candidates than names.
        let name = candidates.find(|candidate| !is_taken(candidate)).unwrap_or_default();
        Self { prefix: name.len(), name, count: 0 }
    }

    /// The next name.
    pub fn next_name(&mut self) -> Arc<str> {
        self.count += 1;
        self.name.truncate(self.prefix);
        // Writing to a string does not fail.
        let _ = write!(self.name, "{}", self.count);
        self.name.as_str().into()
    }
}
