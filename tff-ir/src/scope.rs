//! Names in scope: what each is bound to, and what it hides.

use foldhash::fast::RandomState;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;

/// What the names in scope are bound to; inner bindings hide outer ones of the same name.
///
/// Binding, unbinding and looking up take constant time, however many names there are. Names are
/// shared, or borrowed from the computation that is walked: `Scope<T, &str>`.
///
/// ```
/// use tff_ir::Scope;
///
/// let mut scope = Scope::new();
/// scope.bind("x", 1);
/// scope.bind("x", 2);
/// assert_eq!(scope.get("x"), Some(&2));
/// scope.unbind("x");
/// assert_eq!(scope.get("x"), Some(&1));
/// ```
#[derive(Clone, Debug)]
pub struct Scope<T, N = Arc<str>> {
    bindings: HashMap<N, Bindings<T>, RandomState>,
}

/// What a name in scope is bound to.
#[derive(Clone, Debug)]
struct Bindings<T> {
    innermost: T,
    /// What that hides; mostly nothing.
    hidden: Vec<T>,
}

impl<T> Scope<T> {
    /// A scope without names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<T, N: Borrow<str> + Eq + Hash> Scope<T, N> {
    /// Binds a name, hiding what it was bound to before.
    pub fn bind(&mut self, name: impl Into<N>, value: T) {
        match self.bindings.entry(name.into()) {
            Entry::Occupied(mut bound) => {
                let Bindings { innermost, hidden } = bound.get_mut();
                hidden.push(std::mem::replace(innermost, value));
            }
            Entry::Vacant(free) => {
                free.insert(Bindings { innermost: value, hidden: Vec::new() });
            }
        }
    }

    /// Takes back the innermost binding of a name and returns its value.
    pub fn unbind(&mut self, name: &str) -> Option<T> {
        let (name, Bindings { innermost, mut hidden }) = self.bindings.remove_entry(name)?;
        if let Some(next) = hidden.pop() {
            self.bindings.insert(name, Bindings { innermost: next, hidden });
        }
        Some(innermost)
    }

    /// What the name is bound to, innermost; `None` where it is free.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.bindings.get(name).map(|bound| &bound.innermost)
    }
}

impl<T, N> Default for Scope<T, N> {
    fn default() -> Self {
        Self { bindings: HashMap::default() }
    }
}
