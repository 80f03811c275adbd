//! The relations on types: assignable, and equivalent, which is `==`.
//!
//! The check of each, `check_…`, says where the first mismatch is and why. Abstract types and placement labels compare by
//! their label: `T` accepts `T` alone.

use crate::brief::Brief;
use crate::{Path, PlacementSpec, Shape, Step, StructType, Type, TypeKind};
use std::fmt;
use std::sync::Arc;

/// A relation between two types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// A value of the second type may be used where the first is expected.
    Assignable,
    /// Each is assignable to the other: they have the same structure, names, shapes and placements.
    Equivalent,
    /// The second type is one of those that the first, a template, stands for.
    Instance,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Assignable => "assignable",
            Self::Equivalent => "equivalent",
            Self::Instance => "an instance",
        })
    }
}

/// Why two parts of types do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// They are of different kinds.
    Kind,
    /// The tensors have different element types.
    DType,
    /// The tensors have different ranks, or one is unknown where it must be known.
    Rank,
    /// The tensors differ in this dimension, or it is unknown where it must be known.
    Dimension(usize),
    /// The structs have different numbers of elements.
    Length {
        /// How many elements the expected struct has.
        expected: usize,
        /// How many elements the other struct has.
        found: usize,
    },
    /// The struct elements have different names, or one has a name that the other must not have.
    Name {
        /// The name of the expected element.
        expected: Option<Arc<str>>,
        /// The name of the other element.
        found: Option<Arc<str>>,
    },
    /// One function has a parameter and the other has none.
    ParameterPresence,
    /// The labels of the abstract types differ.
    Label,
    /// The federated types are placed differently.
    Placement,
    /// A federated type is not all-equal where it must be, or the bits differ.
    AllEqual,
}

/// The first place where two types are not related as they should be.
///
/// It displays as one line of at most 120 characters that ends at the place: `not assignable:
/// expected int32[3], found int32[4] (dimension 0) at .weights`. Where that line abbreviates,
/// further lines say the same in full, up to a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What was asked.
    pub relation: Relation,
    /// From the roots to the parts that differ.
    pub path: Path,
    /// How they differ.
    pub reason: Reason,
    /// The part of the type that was expected.
    pub expected: Type,
    /// The part of the type that was found.
    pub found: Type,
}

impl std::error::Error for Mismatch {}

impl Type {
    /// Whether a value of type `source` may be used where this type is expected.
    ///
    /// Tensors of this dtype whose dimensions are known where they must be; structs of the same
    /// length whose elements have the expected name or none; functions that accept at least and
    /// return at most what is expected; all-equal federated values where not all-equal ones are
    /// expected.
    ///
    /// ```
    /// use tff_types::Type;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (target, source): (Type, Type) = ("<a=float32[?]>".parse()?, "<float32[3]>".parse()?);
    /// assert!(target.is_assignable_from(&source));
    /// assert!(!source.is_assignable_from(&target));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn is_assignable_from(&self, source: &Self) -> bool {
        compare(self, source, Rule::AcceptFound).is_ok()
    }

    /// Checks [`is_assignable_from`](Self::is_assignable_from).
    ///
    /// # Errors
    /// The first mismatch; this type is the expected one.
    pub fn check_assignable_from(&self, source: &Self) -> Result<(), Mismatch> {
        compare(self, source, Rule::AcceptFound).map_err(|it| it.into_mismatch(Relation::Assignable))
    }

    /// Checks that both types are equal, which they are exactly where each is assignable to the other. The label of the
    /// placement type does not count.
    ///
    /// # Errors
    /// The first mismatch; this type is the expected one.
    pub fn check_equivalent_to(&self, other: &Self) -> Result<(), Mismatch> {
        compare(self, other, Rule::Same).map_err(|it| it.into_mismatch(Relation::Equivalent))
    }
}

/// What is asked of an expected and a found part. Parameters of functions turn the rule around.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The found part is assignable to the expected one.
    AcceptFound,
    /// The expected part is assignable to the found one.
    AcceptExpected,
    /// They are the same.
    Same,
}

impl Rule {
    const fn flipped(self) -> Self {
        match self {
            Self::AcceptFound => Self::AcceptExpected,
            Self::AcceptExpected => Self::AcceptFound,
            Self::Same => Self::Same,
        }
    }

    /// Whether two properties may differ, of which the general one accepts the special one.
    fn allows<T: PartialEq>(self, expected: &T, found: &T, is_general: impl Fn(&T) -> bool) -> bool {
        expected == found
            || match self {
                Self::AcceptFound => is_general(expected),
                Self::AcceptExpected => is_general(found),
                Self::Same => false,
            }
    }
}

/// A mismatch while its path is being found.
struct Found {
    steps: Vec<Step>,
    reason: Reason,
    expected: Type,
    found: Type,
}

impl Found {
    fn below(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    fn into_mismatch(self, relation: Relation) -> Mismatch {
        let Self { steps, reason, expected, found } = self;
        Mismatch { relation, path: steps.into_iter().rev().collect(), reason, expected, found }
    }
}

fn compare(expected: &Type, found: &Type, rule: Rule) -> Result<(), Found> {
    if expected.ptr_eq(found) {
        return Ok(());
    }
    let fail = |reason| Err(Found { steps: Vec::new(), reason, expected: expected.clone(), found: found.clone() });
    match (expected.kind(), found.kind()) {
        (TypeKind::Tensor(ours), TypeKind::Tensor(theirs)) => {
            if ours.dtype != theirs.dtype {
                return fail(Reason::DType);
            }
            compare_shapes(&ours.shape, &theirs.shape, rule).or_else(fail)
        }
        (TypeKind::Struct(ours), TypeKind::Struct(theirs)) => {
            if ours.len() != theirs.len() {
                return fail(Reason::Length { expected: ours.len(), found: theirs.len() });
            }
            compare_elements(ours, theirs, rule)
        }
        (TypeKind::Sequence(ours), TypeKind::Sequence(theirs)) => {
            compare(&ours.element, &theirs.element, rule).map_err(|it| it.below(Step::SequenceElement))
        }
        (TypeKind::Function(ours), TypeKind::Function(theirs)) => {
            match (&ours.parameter, &theirs.parameter) {
                (None, None) => {}
                (Some(ours), Some(theirs)) => {
                    compare(ours, theirs, rule.flipped()).map_err(|it| it.below(Step::Parameter))?;
                }
                _ => return fail(Reason::ParameterPresence),
            }
            compare(&ours.result, &theirs.result, rule).map_err(|it| it.below(Step::Result))
        }
        (TypeKind::Abstract(ours), TypeKind::Abstract(theirs)) if ours.label != theirs.label => fail(Reason::Label),
        (TypeKind::Abstract(_), TypeKind::Abstract(_)) | (TypeKind::Placement(_), TypeKind::Placement(_)) => Ok(()),
        (TypeKind::Federated(ours), TypeKind::Federated(theirs)) => {
            if ours.placement != theirs.placement {
                return fail(Reason::Placement);
            }
            if !rule.allows(&ours.all_equal, &theirs.all_equal, |all_equal| !all_equal) {
                return fail(Reason::AllEqual);
            }
            compare(&ours.member, &theirs.member, rule).map_err(|it| it.below(Step::Member))
        }
        _ => fail(Reason::Kind),
    }
}

fn compare_shapes(expected: &Shape, found: &Shape, rule: Rule) -> Result<(), Reason> {
    let (Some(ours), Some(theirs)) = (expected.dims(), found.dims()) else {
        let allowed = rule.allows(expected, found, |shape| shape.rank().is_none());
        return if allowed { Ok(()) } else { Err(Reason::Rank) };
    };
    if ours.len() != theirs.len() {
        return Err(Reason::Rank);
    }
    match ours.iter().zip(theirs).position(|(ours, theirs)| !rule.allows(ours, theirs, Option::is_none)) {
        Some(axis) => Err(Reason::Dimension(axis)),
        None => Ok(()),
    }
}

fn compare_elements(expected: &StructType, found: &StructType, rule: Rule) -> Result<(), Found> {
    for (index, (ours, theirs)) in expected.elements().iter().zip(found.elements()).enumerate() {
        let step = || Step::Element(index, ours.name.clone().or_else(|| theirs.name.clone()));
        // An element without a name fits every name, one with a name only its own: the nameless
        // side is the special one, so the roles are the reverse of those of dimensions.
        if !rule.flipped().allows(&ours.name, &theirs.name, Option::is_none) {
            let reason = Reason::Name { expected: ours.name.clone(), found: theirs.name.clone() };
            let (expected, found) = (ours.ty.clone(), theirs.ty.clone());
            return Err(Found { steps: vec![step()], reason, expected, found });
        }
        compare(&ours.ty, &theirs.ty, rule).map_err(|it| it.below(step()))?;
    }
    Ok(())
}

/// The most characters of the first line of a message.
const LINE: usize = 120;
/// The most characters of that line that the path takes.
const PATH: usize = 44;
/// The most characters of each further line.
const DETAIL: usize = 2000;

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = Brief::end(&self.path, PATH);
        let (at, note) = (if self.path.steps().is_empty() { "" } else { " at " }, self.note());
        let relation = self.relation;
        let rest = format!("not {relation}: expected , found {note}{at}").len() + path.chars();
        let room = LINE.saturating_sub(rest) / 2;
        let (expected, found) = self.sides(room);
        write!(f, "not {relation}: expected {expected}, found {found}{note}{at}{path}")?;
        if path.is_cut() {
            write!(f, "\n  at       {}", Brief::end(&self.path, DETAIL))?;
        }
        if expected.is_cut() || found.is_cut() {
            let (expected, found) = self.sides(DETAIL);
            write!(f, "\n  expected {expected}\n  found    {found}")?;
        }
        Ok(())
    }
}

impl Mismatch {
    /// What is named on either side: the types, or what of them differs.
    fn sides(&self, limit: usize) -> (Brief, Brief) {
        let brief = |value: &dyn fmt::Display| Brief::start(value, limit);
        let name = |name: &Option<Arc<str>>| match name {
            Some(name) => brief(&format_args!("the name {}", crate::syntax::Name(name))),
            None => brief(&"no name"),
        };
        let parameter = |ty: &Type| match ty.as_function().and_then(|function| function.parameter.as_ref()) {
            Some(parameter) => brief(&format_args!("the parameter {parameter}")),
            None => brief(&"no parameter"),
        };
        let placement = |ty: &Type| match ty.as_federated().map(|federated| &federated.placement) {
            Some(PlacementSpec::Value(placement)) => brief(placement),
            Some(PlacementSpec::Label(label)) => brief(&format_args!("the label {}", crate::syntax::Name(label))),
            None => brief(ty),
        };
        match &self.reason {
            Reason::Length { expected, found } => {
                (brief(&format_args!("length {expected}")), brief(&format_args!("{found}")))
            }
            Reason::Name { expected, found } => (name(expected), name(found)),
            Reason::ParameterPresence => (parameter(&self.expected), parameter(&self.found)),
            Reason::Placement => (placement(&self.expected), placement(&self.found)),
            Reason::Kind | Reason::DType | Reason::Rank | Reason::Dimension(_) | Reason::Label | Reason::AllEqual => {
                (brief(&self.expected), brief(&self.found))
            }
        }
    }

    fn note(&self) -> String {
        match &self.reason {
            Reason::Kind => format!(" ({} and {})", self.expected.kind_name(), self.found.kind_name()),
            Reason::Rank => " (rank)".to_owned(),
            Reason::Dimension(axis) => format!(" (dimension {axis})"),
            Reason::AllEqual => " (all-equal)".to_owned(),
            Reason::DType
            | Reason::Length { .. }
            | Reason::Name { .. }
            | Reason::ParameterPresence
            | Reason::Label
            | Reason::Placement => String::new(),
        }
    }
}
