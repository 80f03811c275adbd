//! The labels of a signature: abstract types and abstract placements.
//!
//! A label only relates its occurrences within one signature: renaming all of them at once changes
//! nothing. Types and placements have separate labels: the two `T` in `T@T` are different.

use crate::syntax::Name;
use crate::{MAX_PROBLEMS, Path, PlacementSpec, Step, Type, TypeKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A label of an abstract type or of an abstract placement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Label {
    /// Of an abstract type, `T`.
    Type(Arc<str>),
    /// Of an abstract placement, `p` in `T@p` and `p:placement`.
    Placement(Arc<str>),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(label) => write!(f, "the abstract type {}", Name(label)),
            Self::Placement(label) => write!(f, "the placement label {}", Name(label)),
        }
    }
}

/// Labels that nothing gives a meaning, no parameter around them or no binding: the first ones, up
/// to [`MAX_PROBLEMS`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", display_unbound(.0))]
pub struct UnboundLabels(pub Vec<(Label, Path)>);

fn display_unbound(unbound: &[(Label, Path)]) -> String {
    let problems = unbound.iter().map(|(label, path)| match path.steps() {
        [] => format!("{label} is not bound"),
        _ => format!("{label} at {path} is not bound"),
    });
    problems.collect::<Vec<_>>().join(", ")
}

impl Type {
    /// The labels that occur anywhere in the type.
    #[must_use]
    pub fn labels(&self) -> BTreeSet<Label> {
        let mut labels = BTreeSet::new();
        for part in self.preorder() {
            labels.extend(part.own_label());
        }
        labels
    }

    /// The type with other labels. Equal labels that stay equal and others that stay different
    /// make it the same signature.
    #[must_use]
    pub fn rename_labels(&self, rename: &mut impl FnMut(&Label) -> Arc<str>) -> Self {
        let inner = self.map_children_always(&mut |child| child.rename_labels(rename));
        let Some(label) = inner.own_label() else { return inner };
        let renamed = rename(&label);
        match inner.kind() {
            TypeKind::Abstract(_) => Self::abstract_type(renamed),
            TypeKind::Placement(_) => Self::labelled_placement(renamed),
            TypeKind::Federated(federated) => {
                let mut federated = federated.clone();
                federated.placement = PlacementSpec::Label(renamed);
                Self::above(TypeKind::Federated(federated))
            }
            TypeKind::Tensor(_) | TypeKind::Struct(_) | TypeKind::Sequence(_) | TypeKind::Function(_) => inner,
        }
    }

    /// Whether both are the same signature: identical but for a one-to-one renaming of labels,
    /// `(T -> T)` and `(U -> U)`.
    ///
    /// The label of a placement type takes part where both have one.
    #[must_use]
    pub fn is_alpha_equivalent_to(&self, other: &Self) -> bool {
        let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
        // Both walks visit the same places as long as nothing differs.
        let same_labels = self.preorder().zip(other.preorder()).all(|(ours, theirs)| {
            let (Some(ours), Some(theirs)) = (ours.own_label(), theirs.own_label()) else { return true };
            *there.entry(ours.clone()).or_insert_with(|| theirs.clone()) == theirs
                && *back.entry(theirs).or_insert_with(|| ours.clone()) == ours
        });
        same_labels && self.without_labels() == other.without_labels()
    }

    /// Checks that every label in a function's result stands in a parameter around it, so that
    /// the caller of the function knows what it is: `(T -> T)` and `(( -> T) -> T)`, but neither
    /// `(T -> U)` nor `T` alone.
    ///
    /// # Errors
    /// The occurrences of which that is not so.
    pub fn check_labels_bound(&self) -> Result<(), UnboundLabels> {
        let mut unbound = Vec::new();
        check_bound(self, &mut Vec::new(), &mut Path::root(), &mut unbound);
        if unbound.is_empty() { Ok(()) } else { Err(UnboundLabels(unbound)) }
    }

    /// The label of this very part.
    fn own_label(&self) -> Option<Label> {
        match self.kind() {
            TypeKind::Abstract(it) => Some(Label::Type(it.label.clone())),
            TypeKind::Placement(placement) => placement.instance_label.clone().map(Label::Placement),
            TypeKind::Federated(federated) => match &federated.placement {
                PlacementSpec::Label(label) => Some(Label::Placement(label.clone())),
                PlacementSpec::Value(_) => None,
            },
            TypeKind::Tensor(_) | TypeKind::Struct(_) | TypeKind::Sequence(_) | TypeKind::Function(_) => None,
        }
    }

    /// The type with one and the same label everywhere.
    fn without_labels(&self) -> Self {
        let label: Arc<str> = Arc::from("");
        self.rename_labels(&mut |_| label.clone())
    }
}

/// `bound` has the labels of each parameter around.
fn check_bound(ty: &Type, bound: &mut Vec<BTreeSet<Label>>, path: &mut Path, unbound: &mut Vec<(Label, Path)>) {
    // The label of a placement type names that placement, it does not refer to another.
    let refers = !matches!(ty.kind(), TypeKind::Placement(_));
    if let Some(label) = ty.own_label().filter(|label| refers && !bound.iter().any(|it| it.contains(label))) {
        unbound.push((label, path.clone()));
    }
    let function = ty.as_function();
    bound.extend(function.and_then(|function| function.parameter.as_ref()).map(Type::labels));
    // What stands in a parameter is what a caller brings along.
    for (step, child) in ty.children().filter(|(step, _)| *step != Step::Parameter) {
        if unbound.len() >= MAX_PROBLEMS {
            break;
        }
        path.push(step);
        check_bound(child, bound, path, unbound);
        path.pop();
    }
    if function.is_some_and(|function| function.parameter.is_some()) {
        bound.pop();
    }
}
