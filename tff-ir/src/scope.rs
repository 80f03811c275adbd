//! Names in scope: what each is bound to, and what it hides.

use std::collections::HashMap;
use std::sync::Arc;

/// What the names in scope are bound to; inner bindings hide outer ones of the same name.
///
/// Binding, unbinding and looking up take constant time, however many names there are.
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
pub struct Scope<T> {
    bindings: HashMap<Arc<str>, Vec<T>>,
}

impl<T> Scope<T> {
    /// A scope without names.
    #[must_use]
    pub fn new() -> Self {
        Self { bindings: HashMap::new() }
    }

    /// Binds a name, hiding what it was bound to before.
    pub fn bind(&mut self, name: impl Into<Arc<str>>, value: T) {
        self.bindings.entry(name.into()).or_default().push(value);
    }

    /// Takes back the innermost binding of a name and returns its value.
    pub fn unbind(&mut self, name: &str) -> Option<T> {
        self.bindings.get_mut(name)?.pop()
    }

    /// What the name is bound to, innermost; `None` where it is free.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.bindings.get(name)?.last()
    }
}

impl<T> Default for Scope<T> {
    fn default() -> Self {
        Self::new()
    }
}
