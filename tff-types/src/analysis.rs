//! Questions about types.
//!
//! Wherever a predicate speaks of a type and its parts, a federated type stands for its member.

use crate::{DType, Mismatch, Path, Placement, PlacementSpec, Reason, Relation, TensorType, Type, TypeKind};

/// Why values of a type cannot be summed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SumError {
    /// A tensor is neither integer nor floating nor complex.
    #[error("cannot sum: {found} is not numeric{}{path}", if path.steps().is_empty() { "" } else { " at " })]
    NotNumeric {
        /// Where it is.
        path: Path,
        /// The tensor type.
        found: Type,
    },
    /// A tensor has a shape that is not fully defined.
    #[error("cannot sum: the shape of {found} is not fully defined{}{path}", if path.steps().is_empty() { "" } else { " at " })]
    NotFullyDefined {
        /// Where it is.
        path: Path,
        /// The tensor type.
        found: Type,
    },
    /// A part is no tensor, nor a struct or federated type of tensors.
    #[error("cannot sum: {found} is not a structure of tensors{}{path}", if path.steps().is_empty() { "" } else { " at " })]
    NotTensors {
        /// Where it is.
        path: Path,
        /// The part.
        found: Type,
    },
}

impl Type {
    /// The type and all its parts, parents before their children, children in order.
    pub fn preorder(&self) -> impl Iterator<Item = &Self> {
        let mut pending = vec![self];
        std::iter::from_fn(move || {
            let next = pending.pop()?;
            let end = pending.len();
            pending.extend(next.children().map(|(_, child)| child));
            pending.get_mut(end..)?.reverse();
            Some(next)
        })
    }

    /// Whether the predicate holds for the type or any of its parts.
    pub fn contains(&self, predicate: impl Fn(&Self) -> bool) -> bool {
        self.preorder().any(predicate)
    }

    /// Checks that values can be summed: structures of tensors, possibly federated, that are numeric and have a fully
    /// defined shape.
    ///
    /// # Errors
    /// The first part that cannot be summed.
    pub fn check_sum_compatible(&self) -> Result<(), SumError> {
        fn check(ty: &Type, path: &mut Path) -> Result<(), SumError> {
            let place = |path: &Path| (path.clone(), ty.clone());
            match ty.kind() {
                TypeKind::Tensor(TensorType { dtype: DType::Bool | DType::String, .. }) => {
                    let (path, found) = place(path);
                    Err(SumError::NotNumeric { path, found })
                }
                TypeKind::Tensor(tensor) if !tensor.shape.is_fully_defined() => {
                    let (path, found) = place(path);
                    Err(SumError::NotFullyDefined { path, found })
                }
                TypeKind::Tensor(_) => Ok(()),
                TypeKind::Struct(_) | TypeKind::Federated(_) => ty.children().try_for_each(|(step, child)| {
                    path.push(step);
                    check(child, path)?;
                    path.pop();
                    Ok(())
                }),
                _ => {
                    let (path, found) = place(path);
                    Err(SumError::NotTensors { path, found })
                }
            }
        }
        check(self, &mut Path::root())
    }

    /// Whether values can be averaged: structures of floating or complex tensors, of any shape.
    /// `bfloat16` does not count, as in the reference.
    #[must_use]
    pub fn is_average_compatible(&self) -> bool {
        self.all_tensors(&|tensor| is_plain_floating(tensor.dtype) || tensor.dtype.is_complex())
    }

    /// Whether values have a minimum and maximum: structures of integer or floating tensors, of
    /// any shape. `bfloat16` does not count, as in the reference.
    #[must_use]
    pub fn is_min_max_compatible(&self) -> bool {
        self.all_tensors(&|tensor| is_plain_floating(tensor.dtype) || tensor.dtype.is_integer())
    }

    /// Whether it is a structure of integer tensors, possibly federated.
    #[must_use]
    pub fn is_structure_of_integers(&self) -> bool {
        self.all_tensors(&|tensor| tensor.dtype.is_integer())
    }

    /// Whether a TensorFlow computation can take or return it: tensors, structs and sequences.
    #[must_use]
    pub fn is_tensorflow_compatible(&self) -> bool {
        self.preorder()
            .all(|part| matches!(part.kind(), TypeKind::Tensor(_) | TypeKind::Struct(_) | TypeKind::Sequence(_)))
    }

    /// Whether it is one integer, or a struct of such that parallels `shape`: what a secure sum
    /// takes as bound for values of type `shape`.
    #[must_use]
    pub fn is_single_integer_or_matches_structure(&self, shape: &Self) -> bool {
        match (self.kind(), shape.kind()) {
            (TypeKind::Tensor(tensor), _) => tensor.dtype.is_integer() && tensor.shape.num_elements() == Some(1),
            (TypeKind::Struct(ours), TypeKind::Struct(theirs)) => {
                let mut pairs = ours.elements().iter().zip(theirs.elements());
                ours.len() == theirs.len()
                    && pairs.all(|(ours, theirs)| {
                        ours.name == theirs.name && ours.ty.is_single_integer_or_matches_structure(&theirs.ty)
                    })
            }
            _ => false,
        }
    }

    /// Checks that it is a federated type, of a member assignable to `member`, at `placement`, and
    /// with the bit `all_equal`, as far as they are given.
    ///
    /// # Errors
    /// The first mismatch.
    pub fn check_federated(
        &self,
        member: Option<&Self>,
        placement: Option<Placement>,
        all_equal: Option<bool>,
    ) -> Result<(), Mismatch> {
        let fail = |reason, expected: &Self| {
            let (expected, found) = (expected.clone(), self.clone());
            Err(Mismatch { relation: Relation::Assignable, path: Path::root(), reason, expected, found })
        };
        let at = placement.unwrap_or(Placement::Clients);
        let Some(federated) = self.as_federated() else {
            let stand_in = Self::abstract_type("T");
            let expected = Self::federated(member.unwrap_or(&stand_in).clone(), at, all_equal.unwrap_or(false));
            return fail(Reason::Kind, &expected.unwrap_or(stand_in));
        };
        let other = |placement: PlacementSpec, all_equal| {
            let member = federated.member.clone();
            Self::above(TypeKind::Federated(crate::FederatedType { member, placement, all_equal }))
        };
        if let Some(placement) = placement.filter(|it| federated.placement != PlacementSpec::Value(*it)) {
            return fail(Reason::Placement, &other(placement.into(), federated.all_equal));
        }
        if let Some(all_equal) = all_equal.filter(|it| federated.all_equal != *it) {
            return fail(Reason::AllEqual, &other(federated.placement.clone(), all_equal));
        }
        match member {
            Some(member) => member.check_assignable_from(&federated.member).map_err(|mut mismatch| {
                mismatch.path.prepend(crate::Step::Member);
                mismatch
            }),
            None => Ok(()),
        }
    }

    /// Whether it is made of tensors, structs and federated types, and the predicate holds for all
    /// of the tensors.
    fn all_tensors(&self, predicate: &dyn Fn(&TensorType) -> bool) -> bool {
        self.preorder().all(|part| match part.kind() {
            TypeKind::Tensor(tensor) => predicate(tensor),
            TypeKind::Struct(_) | TypeKind::Federated(_) => true,
            _ => false,
        })
    }
}

/// Whether it is a floating dtype that numpy has itself.
const fn is_plain_floating(dtype: DType) -> bool {
    dtype.is_floating() && !matches!(dtype, DType::BFloat16)
}
