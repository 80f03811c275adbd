//! Questions about types.
//!
//! Wherever a predicate speaks of a type and its parts, a federated type stands for its member.

use crate::{DType, Mismatch, Path, Placement, PlacementSpec, Reason, Relation, TensorType, Type, TypeKind};

/// What [`Type::count_tensors`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TensorCount {
    /// How many tensors there are.
    pub num_tensors: u64,
    /// How many elements the tensors of a fully defined shape have together, at most 2^64-1.
    pub parameters: u64,
    /// How many tensors have a shape that is not fully defined.
    pub num_unspecified_tensors: u64,
}

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

    /// Whether the predicate holds for the type and all its parts.
    pub fn contains_only(&self, predicate: impl Fn(&Self) -> bool) -> bool {
        self.preorder().all(predicate)
    }

    /// For how many of the type and its parts the predicate holds.
    pub fn count(&self, predicate: impl Fn(&Self) -> bool) -> usize {
        self.preorder().filter(|part| predicate(part)).count()
    }

    /// Whether values can be summed: structures of tensors, possibly federated, that are numeric
    /// and have a fully defined shape.
    #[must_use]
    pub fn is_sum_compatible(&self) -> bool {
        self.check_sum_compatible().is_ok()
    }

    /// Checks [`is_sum_compatible`](Self::is_sum_compatible).
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

    /// Whether it is a structure of floating tensors, possibly federated. `bfloat16` does not
    /// count, as in the reference.
    #[must_use]
    pub fn is_structure_of_floats(&self) -> bool {
        self.all_tensors(&|tensor| is_plain_floating(tensor.dtype))
    }

    /// Whether it is a structure of integer tensors, possibly federated.
    #[must_use]
    pub fn is_structure_of_integers(&self) -> bool {
        self.all_tensors(&|tensor| tensor.dtype.is_integer())
    }

    /// Whether it is a tensor or a struct of such, however nested, and not federated: what the
    /// generic operators `generic_plus` and the like take.
    #[must_use]
    pub fn is_structure_of_tensors(&self) -> bool {
        self.contains_only(|part| matches!(part.kind(), TypeKind::Tensor(_) | TypeKind::Struct(_)))
    }

    /// Whether a TensorFlow computation can take or return it: tensors, structs and sequences.
    #[must_use]
    pub fn is_tensorflow_compatible(&self) -> bool {
        self.contains_only(|part| {
            matches!(part.kind(), TypeKind::Tensor(_) | TypeKind::Struct(_) | TypeKind::Sequence(_))
        })
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

    /// Whether a generic binary operator takes a pair of these: both structures of tensors, either
    /// equivalent, or the second one a scalar of the dtype that all tensors of the first one have.
    #[must_use]
    pub fn is_binary_op_with_upcast_compatible_with(&self, second: &Self) -> bool {
        if !self.is_structure_of_tensors() || !second.is_structure_of_tensors() {
            return false;
        }
        let upcast = second
            .as_tensor()
            .is_some_and(|scalar| scalar.shape.is_scalar() && self.all_tensors(&|tensor| tensor.dtype == scalar.dtype));
        self.is_equivalent_to(second) || upcast
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

    /// Counts the tensors for which the filter holds, wherever they are, and their elements.
    pub fn count_tensors(&self, filter: impl Fn(&TensorType) -> bool) -> TensorCount {
        let mut count = TensorCount::default();
        for tensor in self.preorder().filter_map(Self::as_tensor).filter(|tensor| filter(tensor)) {
            count.num_tensors += 1;
            if tensor.shape.is_fully_defined() {
                let elements = tensor.shape.num_elements().unwrap_or(u64::MAX);
                count.parameters = count.parameters.saturating_add(elements);
            } else {
                count.num_unspecified_tensors += 1;
            }
        }
        count
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
