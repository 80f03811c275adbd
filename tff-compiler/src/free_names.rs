//! The free names of all functions within a computation, found in one walk.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use tff_ir::{Comp, CompKind, with_stack};

/// The free names of a computation and of the lambdas within it.
pub(crate) struct FreeNames {
    /// Those of the whole.
    pub(crate) of_root: BTreeSet<Arc<str>>,
    /// Those of every lambda, by its address.
    pub(crate) of_lambdas: HashMap<usize, Rc<[Arc<str>]>>,
}

impl FreeNames {
    pub(crate) fn new(comp: &Comp) -> Self {
        let mut of_lambdas = HashMap::new();
        Self { of_root: collect(comp, &mut of_lambdas), of_lambdas }
    }
}

fn collect(comp: &Comp, found: &mut HashMap<usize, Rc<[Arc<str>]>>) -> BTreeSet<Arc<str>> {
    with_stack(|| match comp.kind() {
        CompKind::Reference(reference) => BTreeSet::from([reference.name.clone()]),
        CompKind::Lambda(lambda) => {
            let mut free = collect(&lambda.result, found);
            if let Some(parameter) = &lambda.parameter {
                free.remove(&parameter.name);
            }
            found.insert(comp.address(), free.iter().cloned().collect());
            free
        }
        CompKind::Block(block) => {
            let mut free = collect(&block.result, found);
            for local in block.locals.iter().rev() {
                free.remove(&local.name);
                free = union(free, collect(&local.value, found));
            }
            free
        }
        _ => comp.children().map(|child| collect(child, found)).reduce(union).unwrap_or_default(),
    })
}

/// Adds the smaller set to the larger one.
fn union(left: BTreeSet<Arc<str>>, right: BTreeSet<Arc<str>>) -> BTreeSet<Arc<str>> {
    let (mut large, small) = if left.len() < right.len() { (right, left) } else { (left, right) };
    large.extend(small);
    large
}
