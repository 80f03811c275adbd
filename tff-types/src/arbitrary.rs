//! Random types, for property tests and fuzzing.
//!
//! Types are small, four levels or so, and prefer what is likely to go wrong: odd names, equal
//! labels, dimensions of every sort.

use crate::{DType, Dim, Placement, PlacementSpec, Shape, Type, TypeKind};
use arbitrary::{Arbitrary, Result, Unstructured};
use std::sync::Arc;

/// How many levels of structs, functions and so on a type has at most.
const LEVELS: u32 = 4;
/// How many elements a struct has at most.
const WIDTH: u32 = 4;

const NAMES: [&str; 14] =
    ["a", "b", "x_1", "int32", "placement", "let", "in", "<lambda>", "two words", "`", "\\", "\n\u{1f}", "=", "é"];
const TYPE_LABELS: [&str; 9] = ["T", "U", "T'", "'", "int32", "string", "placement", "as", ""];
const PLACEMENT_LABELS: [&str; 8] = ["p", "q", "P", "clients", "SERVER", "lit", "1", ""];

impl<'a> Arbitrary<'a> for DType {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        u.choose(&Self::ALL).copied()
    }
}

impl<'a> Arbitrary<'a> for Placement {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        u.choose(&Self::ALL).copied()
    }
}

impl<'a> Arbitrary<'a> for PlacementSpec {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        if u.ratio(2, 3)? { Ok(Self::Value(u.arbitrary()?)) } else { Ok(Self::Label(label(u, &PLACEMENT_LABELS)?)) }
    }
}

impl<'a> Arbitrary<'a> for Shape {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        if u.ratio(1, 8)? {
            return Ok(Self::unknown_rank());
        }
        let rank = u.int_in_range(0..=3u32)?;
        Ok(Self::new((0..rank).map(|_| dim(u)).collect::<Result<Vec<_>>>()?))
    }
}

impl<'a> Arbitrary<'a> for Type {
    /// A type of any kind, with labels.
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Generator { labels: true }.ty(u, LEVELS, Place::Anywhere)
    }
}

impl Type {
    /// A random type without abstract types and placement labels.
    ///
    /// # Errors
    /// None but those of `u`.
    pub fn arbitrary_concrete(u: &mut Unstructured<'_>) -> Result<Self> {
        Generator { labels: false }.ty(u, LEVELS, Place::Anywhere)
    }

    /// A random type that is assignable to this one.
    ///
    /// # Errors
    /// None but those of `u`.
    pub fn arbitrary_source(&self, u: &mut Unstructured<'_>) -> Result<Self> {
        related(self, u, true)
    }

    /// A random type that this one is assignable to.
    ///
    /// # Errors
    /// None but those of `u`.
    pub fn arbitrary_target(&self, u: &mut Unstructured<'_>) -> Result<Self> {
        related(self, u, false)
    }
}

fn label(u: &mut Unstructured<'_>, labels: &[&str]) -> Result<Arc<str>> {
    Ok(Arc::from(*u.choose(labels)?))
}

fn dim(u: &mut Unstructured<'_>) -> Result<Dim> {
    Ok(match u.int_in_range(0..=5u32)? {
        0 => None,
        1 => Some(0),
        2 => Some(i64::MAX.unsigned_abs()),
        _ => Some(u.int_in_range(1..=4)?),
    })
}

/// Where a type is to be; that decides which kinds it may be of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    InFederated,
    InSequence,
}

struct Generator {
    labels: bool,
}

impl Generator {
    fn ty(&self, u: &mut Unstructured<'_>, levels: u32, place: Place) -> Result<Type> {
        let Some(below) = levels.checked_sub(1) else { return self.leaf(u) };
        let kinds = match place {
            Place::Anywhere => 5,
            Place::InFederated => 3,
            Place::InSequence => 2,
        };
        let built = match u.int_in_range(0..=kinds)? {
            0 | 1 => return self.leaf(u),
            2 => return self.structure(u, below, place),
            3 => Type::sequence(self.ty(u, below, Place::InSequence)?),
            4 => {
                let placement: PlacementSpec =
                    if self.labels { u.arbitrary()? } else { u.arbitrary::<Placement>()?.into() };
                Type::federated(self.ty(u, below, Place::InFederated)?, placement, u.arbitrary()?)
            }
            _ => {
                let parameter = if u.ratio(3, 4)? { Some(self.ty(u, below, place)?) } else { None };
                Type::function(parameter, self.ty(u, below, place)?)
            }
        };
        built.map_err(|_| arbitrary::Error::IncorrectFormat)
    }

    fn leaf(&self, u: &mut Unstructured<'_>) -> Result<Type> {
        Ok(match u.int_in_range(0..=9u32)? {
            0 if self.labels => Type::labelled_placement(label(u, &PLACEMENT_LABELS)?),
            1..=3 if self.labels => Type::abstract_type(label(u, &TYPE_LABELS)?),
            4 => Type::placement(),
            _ => Type::tensor(u.arbitrary()?, u.arbitrary()?),
        })
    }

    fn structure(&self, u: &mut Unstructured<'_>, below: u32, place: Place) -> Result<Type> {
        let mut elements: Vec<(Option<Arc<str>>, Type)> = Vec::new();
        for _ in 0..u.int_in_range(0..=WIDTH)? {
            let name = if u.arbitrary()? { Some(label(u, &NAMES)?) } else { None };
            let is_new = name.is_none() || elements.iter().all(|(other, _)| *other != name);
            elements.push((name.filter(|_| is_new), self.ty(u, below, place)?));
        }
        Type::structure(elements).map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}

/// A type that is more special than this one, or more general.
fn related(ty: &Type, u: &mut Unstructured<'_>, special: bool) -> Result<Type> {
    let built = match ty.kind() {
        TypeKind::Tensor(tensor) => return Ok(Type::tensor(tensor.dtype, related_shape(&tensor.shape, u, special)?)),
        TypeKind::Abstract(_) | TypeKind::Placement(_) => return Ok(ty.clone()),
        TypeKind::Struct(structure) => {
            let mut elements: Vec<(Option<Arc<str>>, Type)> = Vec::new();
            for element in structure.elements() {
                let name = if special && u.arbitrary()? { None } else { element.name.clone() };
                elements.push((name, related(&element.ty, u, special)?));
            }
            Type::structure(elements)
        }
        TypeKind::Sequence(sequence) => Type::sequence(related(&sequence.element, u, special)?),
        TypeKind::Function(function) => {
            let parameter = match &function.parameter {
                Some(parameter) => Some(related(parameter, u, !special)?),
                None => None,
            };
            Type::function(parameter, related(&function.result, u, special)?)
        }
        TypeKind::Federated(federated) => {
            let flip = federated.all_equal != special && u.arbitrary()?;
            let member = related(&federated.member, u, special)?;
            Type::federated(member, federated.placement.clone(), federated.all_equal != flip)
        }
    };
    built.map_err(|_| arbitrary::Error::IncorrectFormat)
}

fn related_shape(shape: &Shape, u: &mut Unstructured<'_>, special: bool) -> Result<Shape> {
    let Some(dims) = shape.dims() else { return if special { u.arbitrary() } else { Ok(shape.clone()) } };
    if !special && u.ratio(1, 8)? {
        return Ok(Shape::unknown_rank());
    }
    let related = dims.iter().map(|own| match own {
        None if special => dim(u),
        Some(_) if !special && u.arbitrary()? => Ok(None),
        _ => Ok(*own),
    });
    Ok(Shape::new(related.collect::<Result<Vec<_>>>()?))
}
