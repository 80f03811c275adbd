//! Equality and hashes of computations: structural, and up to the choice of bound names.

use crate::visit::with_stack;
use crate::{Comp, CompKind, Scope};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

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
        let mut hasher = DefaultHasher::new();
        Alpha::default().hash(self, &mut hasher);
        hasher.finish()
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
        _ => false,
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

/// The binders in scope on both sides, each with a number that is the same on both.
#[derive(Default)]
struct Alpha {
    left: Scope<u64>,
    right: Scope<u64>,
    binders: u64,
}

impl Alpha {
    fn equal(&mut self, left: &Comp, right: &Comp) -> bool {
        if left.height() != right.height() || !heads_equal(left, right, false) {
            return false;
        }
        with_stack(|| match (left.kind(), right.kind()) {
            (CompKind::Reference(ours), CompKind::Reference(theirs)) => {
                match (self.left.get(&ours.name), self.right.get(&theirs.name)) {
                    (None, None) => ours == theirs,
                    (ours, theirs) => ours == theirs,
                }
            }
            (CompKind::Lambda(ours), CompKind::Lambda(theirs)) => {
                let names = ours.parameter.as_ref().zip(theirs.parameter.as_ref());
                if let Some((ours, theirs)) = names {
                    self.bind(&ours.name, &theirs.name);
                }
                let equal = self.equal(&ours.result, &theirs.result);
                if let Some((ours, theirs)) = names {
                    self.unbind(&ours.name, &theirs.name);
                }
                equal
            }
            (CompKind::Block(ours), CompKind::Block(theirs)) => {
                let mut bound = 0;
                let locals = || ours.locals.iter().zip(theirs.locals.iter());
                let mut equal = locals().all(|(ours, theirs)| {
                    let equal = self.equal(&ours.value, &theirs.value);
                    self.bind(&ours.name, &theirs.name);
                    bound += 1;
                    equal
                });
                equal = equal && self.equal(&ours.result, &theirs.result);
                for (ours, theirs) in locals().take(bound) {
                    self.unbind(&ours.name, &theirs.name);
                }
                equal
            }
            _ => left.children().zip(right.children()).all(|(left, right)| self.equal(left, right)),
        })
    }

    fn bind(&mut self, left: &Arc<str>, right: &Arc<str>) {
        self.left.bind(left.clone(), self.binders);
        self.right.bind(right.clone(), self.binders);
        self.binders += 1;
    }

    fn unbind(&mut self, left: &str, right: &str) {
        self.left.unbind(left);
        self.right.unbind(right);
    }

    fn hash<H: Hasher>(&mut self, comp: &Comp, state: &mut H) {
        hash_head(comp, false, state);
        with_stack(|| match comp.kind() {
            CompKind::Reference(reference) => match self.left.get(&reference.name) {
                // Binders are numbered in the order of the walk.
                Some(binder) => binder.hash(state),
                None => reference.name.hash(state),
            },
            CompKind::Lambda(lambda) => {
                if let Some(parameter) = &lambda.parameter {
                    self.bind(&parameter.name, &parameter.name);
                }
                self.hash(&lambda.result, state);
                if let Some(parameter) = &lambda.parameter {
                    self.unbind(&parameter.name, &parameter.name);
                }
            }
            CompKind::Block(block) => {
                for local in block.locals.iter() {
                    self.hash(&local.value, state);
                    self.bind(&local.name, &local.name);
                }
                self.hash(&block.result, state);
                for local in block.locals.iter() {
                    self.unbind(&local.name, &local.name);
                }
            }
            _ => comp.children().for_each(|child| self.hash(child, state)),
        });
    }
}
