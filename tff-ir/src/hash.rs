//! Equality and hashes of computations: structural, and up to the choice of bound names.

use crate::visit::with_stack;
use crate::{Binder, Comp, CompKind, Scope, Walk};
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Structural equality: the same kinds, names, types and contents. Literals are equal where their
/// bits are.
impl PartialEq for Comp {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other)
            || (self.height() == other.height()
                && heads_equal(self, other, true)
                && with_stack(|| self.children().zip(other.children()).all(|(left, right)| left == right)))
    }
}

impl Eq for Comp {}

impl Hash for Comp {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for comp in self.preorder() {
            hash_head(comp, true, state);
        }
    }
}

impl Comp {
    /// Whether both differ only in how bound names are chosen: `(x -> x)` and `(y -> y)`.
    #[must_use]
    pub fn is_alpha_equivalent_to(&self, other: &Self) -> bool {
        Alpha::default().equal(self, other)
    }

    /// A hash that is the same for [alpha-equivalent](Comp::is_alpha_equivalent_to) computations,
    /// and the same in every process of the same build.
    #[must_use]
    pub fn alpha_hash(&self) -> u64 {
        let mut walk = AlphaHash { scope: Scope::default(), binders: 0, state: DefaultHasher::new() };
        let Ok(()) = walk.walk(self);
        walk.state.finish()
    }
}

/// Whether two nodes are equal but for their parts, and with `names` or without those that they
/// bind or refer to.
fn heads_equal(left: &Comp, right: &Comp, names: bool) -> bool {
    match (left.kind(), right.kind()) {
        (CompKind::Reference(ours), CompKind::Reference(theirs)) => {
            left.ty() == right.ty() && (!names || ours == theirs)
        }
        (CompKind::Selection(ours), CompKind::Selection(theirs)) => ours.index == theirs.index,
        (CompKind::Struct(ours), CompKind::Struct(theirs)) => {
            ours.elements.len() == theirs.elements.len()
                && ours.elements.iter().zip(theirs.elements.iter()).all(|(ours, theirs)| ours.name == theirs.name)
        }
        (CompKind::Call(ours), CompKind::Call(theirs)) => ours.argument.is_some() == theirs.argument.is_some(),
        (CompKind::Lambda(ours), CompKind::Lambda(theirs)) => match (&ours.parameter, &theirs.parameter) {
            (Some(ours), Some(theirs)) => ours.ty == theirs.ty && (!names || ours.name == theirs.name),
            (None, None) => true,
            _ => false,
        },
        (CompKind::Block(ours), CompKind::Block(theirs)) => {
            ours.locals.len() == theirs.locals.len()
                && (!names
                    || ours.locals.iter().zip(theirs.locals.iter()).all(|(ours, theirs)| ours.name == theirs.name))
        }
        (CompKind::Intrinsic(ours), CompKind::Intrinsic(theirs)) => ours == theirs && left.ty() == right.ty(),
        (CompKind::Data(ours), CompKind::Data(theirs)) => ours == theirs && left.ty() == right.ty(),
        (CompKind::Placement(ours), CompKind::Placement(theirs)) => ours == theirs,
        (CompKind::Literal(ours), CompKind::Literal(theirs)) => ours == theirs && left.ty() == right.ty(),
        (CompKind::CompiledComputation(ours), CompKind::CompiledComputation(theirs)) => {
            ours == theirs && left.ty() == right.ty()
        }
        (
            CompKind::Reference(_)
            | CompKind::Selection(_)
            | CompKind::Struct(_)
            | CompKind::Call(_)
            | CompKind::Lambda(_)
            | CompKind::Block(_)
            | CompKind::Intrinsic(_)
            | CompKind::Data(_)
            | CompKind::Placement(_)
            | CompKind::Literal(_)
            | CompKind::CompiledComputation(_),
            _,
        ) => false,
    }
}

/// Hashes what [`heads_equal`] compares.
fn hash_head<H: Hasher>(comp: &Comp, names: bool, state: &mut H) {
    std::mem::discriminant(comp.kind()).hash(state);
    match comp.kind() {
        CompKind::Reference(reference) => {
            comp.ty().hash(state);
            if names {
                reference.hash(state);
            }
        }
        CompKind::Selection(selection) => selection.index.hash(state),
        CompKind::Struct(structure) => {
            structure.elements.len().hash(state);
            structure.elements.iter().for_each(|element| element.name.hash(state));
        }
        CompKind::Call(call) => call.argument.is_some().hash(state),
        CompKind::Lambda(lambda) => {
            lambda.parameter.as_ref().map(|parameter| &parameter.ty).hash(state);
            if names {
                lambda.parameter.as_ref().map(|parameter| &parameter.name).hash(state);
            }
        }
        CompKind::Block(block) => {
            block.locals.len().hash(state);
            if names {
                block.locals.iter().for_each(|local| local.name.hash(state));
            }
        }
        CompKind::Intrinsic(intrinsic) => (intrinsic, comp.ty()).hash(state),
        CompKind::Data(data) => (data, comp.ty()).hash(state),
        CompKind::Placement(placement) => placement.hash(state),
        CompKind::Literal(literal) => (literal, comp.ty()).hash(state),
        CompKind::CompiledComputation(compiled) => (compiled, comp.ty()).hash(state),
    }
}

/// Compares two computations up to the choice of bound names. Each side knows the binders in scope by a number that is
/// the same on both.
#[derive(Default)]
struct Alpha<'c> {
    left: Scope<u64, &'c str>,
    right: Scope<u64, &'c str>,
    binders: u64,
}

impl<'c> Alpha<'c> {
    fn equal(&mut self, left: &'c Comp, right: &'c Comp) -> bool {
        if left.height() != right.height() || !heads_equal(left, right, false) {
            return false;
        }
        if let (Some(ours), Some(theirs)) = (left.as_reference(), right.as_reference()) {
            return match (self.left.get(&ours.name), self.right.get(&theirs.name)) {
                (None, None) => ours == theirs,
                (ours, theirs) => ours == theirs,
            };
        }
        let parts = || left.parts().zip(right.parts());
        let equal = with_stack(|| {
            parts().all(|(left, right)| {
                if let Some((left, right)) = left.binder.zip(right.binder) {
                    self.left.bind(&**left.name(), self.binders);
                    self.right.bind(&**right.name(), self.binders);
                    self.binders += 1;
                }
                self.equal(left.comp, right.comp)
            })
        });
        if equal {
            for (left, right) in parts().filter_map(|(left, right)| left.binder.zip(right.binder)) {
                self.left.unbind(left.name());
                self.right.unbind(right.name());
            }
        }
        // Otherwise nothing is compared any more.
        equal
    }
}

/// Hashes a computation up to the choice of bound names: binders are numbered in the order of the walk.
struct AlphaHash<'c> {
    scope: Scope<u64, &'c str>,
    binders: u64,
    state: DefaultHasher,
}

impl<'c> Walk<'c> for AlphaHash<'c> {
    type Value = ();
    type Error = Infallible;

    fn comp(&mut self, comp: &'c Comp) -> Result<(), Infallible> {
        hash_head(comp, false, &mut self.state);
        if let Some(reference) = comp.as_reference() {
            match self.scope.get(&reference.name) {
                Some(binder) => binder.hash(&mut self.state),
                None => reference.name.hash(&mut self.state),
            }
        }
        self.parts(comp, |()| ())
    }

    fn bind(&mut self, binder: Binder<'c>, _: Option<&()>) {
        self.scope.bind(&**binder.name(), self.binders);
        self.binders += 1;
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope.unbind(binder.name());
    }
}
