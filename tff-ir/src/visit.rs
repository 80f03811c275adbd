//! Walks over computations of any depth.

use crate::{Binder, Comp};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Runs one level of a recursion over computations, on a fresh piece of stack where little is left of the current
/// one. Every recursion over a [`Comp`] goes through here. The code that an executor makes of one is walked by the executor.
pub fn with_stack<R>(level: impl FnOnce() -> R) -> R {
    // One level of any recursion here takes far less than what must be left.
    const LEFT: usize = 128 << 10;
    const FRESH: usize = 2 << 20;
    stacker::maybe_grow(LEFT, FRESH, level)
}

/// A walk that follows which names are in scope where.
///
/// [`Walk::comp`] says what to do with a node; for what is below it calls [`Walk::parts`] or [`Walk::last`], which go
/// through the parts in the order of evaluation and bring names into scope and out of it.
///
/// ```
/// use std::convert::Infallible;
/// use tff_ir::text::{Environment, parse};
/// use tff_ir::{Binder, Comp, Scope, Walk};
///
/// /// Counts the references to locals of blocks.
/// #[derive(Default)]
/// struct Uses<'c> {
///     is_local: Scope<bool, &'c str>,
///     count: usize,
/// }
///
/// impl<'c> Walk<'c> for Uses<'c> {
///     type Value = ();
///     type Error = Infallible;
///
///     fn comp(&mut self, comp: &'c Comp) -> Result<(), Infallible> {
///         let name = comp.as_reference().map(|reference| &reference.name);
///         self.count += usize::from(name.and_then(|name| self.is_local.get(name)) == Some(&true));
///         self.parts(comp, |()| ())
///     }
///
///     fn bind(&mut self, binder: Binder<'c>, _: Option<&()>) {
///         self.is_local.bind(&**binder.name(), matches!(binder, Binder::Local(_)));
///     }
///
///     fn unbind(&mut self, binder: Binder<'c>) {
///         self.is_local.unbind(binder.name());
///     }
/// }
///
/// # fn main() -> Result<(), tff_ir::text::TextError> {
/// let comp = parse("(x:int32 -> (let a=x,b=a in <a,b,x>))", &Environment::default())?.comp;
/// let mut uses = Uses::default();
/// let Ok(()) = uses.walk(&comp);
/// assert_eq!(uses.count, 3);
/// # Ok(())
/// # }
/// ```
pub trait Walk<'c>: Sized {
    /// What a node becomes.
    type Value;
    /// Why the walk ends early.
    type Error;

    /// Does one node.
    ///
    /// # Errors
    /// Those that end the walk.
    fn comp(&mut self, comp: &'c Comp) -> Result<Self::Value, Self::Error>;

    /// A name comes into scope: of a local, with what its value became.
    fn bind(&mut self, binder: Binder<'c>, value: Option<&Self::Value>);

    /// The name goes out of scope.
    fn unbind(&mut self, binder: Binder<'c>);

    /// Does one node at any depth: all recursion goes through here.
    ///
    /// # Errors
    /// Those of [`Walk::comp`].
    fn walk(&mut self, comp: &'c Comp) -> Result<Self::Value, Self::Error> {
        with_stack(|| self.comp(comp))
    }

    /// Does the parts of a node; `each` is given what every one becomes, in order.
    ///
    /// # Errors
    /// Those of [`Walk::comp`].
    fn parts(&mut self, comp: &'c Comp, mut each: impl FnMut(Self::Value)) -> Result<(), Self::Error> {
        let mut last = None;
        let mut n_done = 0;
        let done = comp.parts().try_for_each(|part| {
            if let Some(binder) = part.binder {
                self.bind(binder, last.as_ref());
            }
            last.take().into_iter().for_each(&mut each);
            n_done += 1;
            last = Some(self.walk(part.comp)?);
            Ok(())
        });
        last.into_iter().for_each(each);
        comp.parts().take(n_done).filter_map(|part| part.binder).for_each(|binder| self.unbind(binder));
        done
    }

    /// As [`Walk::parts`], for what the last part becomes: the result of a lambda or block.
    ///
    /// # Errors
    /// Those of [`Walk::comp`].
    fn last(&mut self, comp: &'c Comp) -> Result<Option<Self::Value>, Self::Error> {
        let mut last = None;
        self.parts(comp, |value| last = Some(value))?;
        Ok(last)
    }
}

/// Values kept for nodes, by the identity of the node: equal computations in several places are several nodes.
///
/// The nodes are kept too, so that no other one takes the place of one that is gone.
///
/// ```
/// use tff_ir::{Array, Comp, NodeMap, Scalar};
///
/// let one = || Comp::literal(Array::from_scalar(Scalar::Int32(1)));
/// let (left, right) = (one(), one());
/// let mut notes = NodeMap::default();
/// notes.insert(&left, "left");
/// assert_eq!(notes.get(&left.clone()), Some(&"left"));
/// assert_eq!(notes.get(&right), None);
/// ```
#[derive(Clone, Debug)]
pub struct NodeMap<T>(HashMap<usize, (Comp, T), RandomState>);

impl<T> NodeMap<T> {
    /// Keeps a value for a node, in place of the one kept before.
    pub fn insert(&mut self, node: &Comp, value: T) {
        self.0.insert(node.address(), (node.clone(), value));
    }

    /// The value kept for this node; if there is none, it is made and kept first.
    pub fn get_or_insert_with(&mut self, node: &Comp, value: impl FnOnce() -> T) -> &T {
        &self.0.entry(node.address()).or_insert_with(|| (node.clone(), value())).1
    }

    /// The value kept for this node.
    #[must_use]
    pub fn get(&self, node: &Comp) -> Option<&T> {
        self.0.get(&node.address()).map(|(_, value)| value)
    }
}

impl<T> Default for NodeMap<T> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl Comp {
    /// All nodes from this one downwards, each before its parts, function before argument, locals
    /// before result. A node that occurs twice is visited twice.
    ///
    /// ```
    /// use tff_ir::{Array, Comp, Scalar};
    ///
    /// # fn main() -> Result<(), tff_ir::BuildError> {
    /// let one = Comp::literal(Array::from_scalar(Scalar::Int32(1)));
    /// let comp = Comp::tuple([one.clone(), Comp::tuple([one])?])?;
    /// let kinds: Vec<_> = comp.preorder().map(Comp::kind_name).collect();
    /// assert_eq!(kinds, ["struct", "literal", "struct", "literal"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn preorder(&self) -> impl Iterator<Item = &Self> {
        let mut pending = vec![self];
        std::iter::from_fn(move || {
            let comp = pending.pop()?;
            pending.extend(comp.children().rev());
            Some(comp)
        })
    }

    /// All nodes from this one downwards, each after its parts.
    pub fn postorder(&self) -> impl Iterator<Item = &Self> {
        // The flag says whether the parts of the node are on the stack above it.
        let mut pending = vec![(self, false)];
        std::iter::from_fn(move || {
            loop {
                let (comp, expanded) = pending.pop()?;
                if expanded {
                    return Some(comp);
                }
                pending.push((comp, true));
                pending.extend(comp.children().rev().map(|child| (child, false)));
            }
        })
    }
}
