//! Bindings: which parameter of the module each tensor of an argument is, and which results make
//! up a value.

use super::LEAF;
use super::signature::ArrayShape;
use crate::values::{check_tensor, steps};
use crate::{ExecError, Place, Tensor, Value};
use tff_ir::XlaBinding;
use tff_types::{Path, Step, TensorType, Type, TypeKind};

/// A type together with its binding: each tensor with its position in the module's signature.
///
/// TensorFlow's leaf has a tree of the same form. The two share no code: theirs is taken apart by
/// value, so that kernels may write into an argument, numbers its tensors as they come, and has
/// sequences; this one borrows, and puts tensors where a signature says.
#[derive(Debug)]
pub(super) enum Slot {
    /// A tensor.
    Tensor(TensorType, usize),
    /// A struct; each element with the step to it.
    Struct(Vec<(Step, Slot)>),
}

/// One side of a module's signature, while a type is bound to it.
struct Side<'a> {
    /// What errors call it: `parameter` or `result`.
    name: &'static str,
    shapes: &'a [ArrayShape],
    /// How many parts of the type are bound to each.
    n_parts: Vec<usize>,
}

impl Slot {
    /// Binds the type of the parameter: every parameter of the module is one of its tensors.
    ///
    /// # Errors
    /// [`ExecError::Prepare`], with the place, where type, binding and signature contradict.
    pub(super) fn bind_parameter(
        binding: &XlaBinding,
        ty: &Type,
        parameters: &[ArrayShape],
    ) -> Result<Self, ExecError> {
        let mut side = Side { name: "parameter", shapes: parameters, n_parts: vec![0; parameters.len()] };
        let slot = Self::bind(binding, ty, &side.place(), &mut side)?;
        match side.n_parts.iter().enumerate().find(|&(_, &n_parts)| n_parts != 1) {
            Some((index, n_parts)) => {
                let reason = format!("{n_parts} parts are bound to parameter {index} of the module, not one");
                Err(LEAF.misbound(reason).at(side.place()))
            }
            None => Ok(slot),
        }
    }

    /// Binds the type of the result. Results of the module may be left out, or be used repeatedly.
    ///
    /// # Errors
    /// [`ExecError::Prepare`], with the place, where type, binding and signature contradict.
    pub(super) fn bind_result(binding: &XlaBinding, ty: &Type, results: &[ArrayShape]) -> Result<Self, ExecError> {
        let mut side = Side { name: "result", shapes: results, n_parts: vec![0; results.len()] };
        Self::bind(binding, ty, &side.place(), &mut side)
    }

    /// `place` is what errors call this part of the side.
    fn bind(binding: &XlaBinding, ty: &Type, place: &Place, side: &mut Side<'_>) -> Result<Self, ExecError> {
        match (binding, ty.kind()) {
            (XlaBinding::Tensor(index), TypeKind::Tensor(tensor)) => {
                let position =
                    side.bind(*index, tensor, ty).map_err(|reason| LEAF.misbound(reason).at(place.clone()))?;
                Ok(Self::Tensor(tensor.clone(), position))
            }
            (XlaBinding::Struct(bindings), TypeKind::Struct(structure)) => {
                if bindings.len() != structure.len() {
                    let reason = format!("a binding of {} elements for the type {ty}", bindings.len());
                    return Err(LEAF.misbound(reason).at(place.clone()));
                }
                let slots = bindings.iter().zip(steps(structure)).map(|(binding, (step, element))| {
                    let slot = Self::bind(binding, &element.ty, &place.part(step.clone()), side)?;
                    Ok((step, slot))
                });
                Ok(Self::Struct(slots.collect::<Result<_, ExecError>>()?))
            }
            (binding, _) => {
                let kind = if matches!(binding, XlaBinding::Tensor(_)) { "tensor" } else { "struct" };
                Err(LEAF.misbound(format!("a binding of a {kind} for the type {ty}")).at(place.clone()))
            }
        }
    }

    /// Where its tensors are, in depth-first order.
    pub(super) fn positions(&self) -> Vec<usize> {
        match self {
            Self::Tensor(_, position) => vec![*position],
            Self::Struct(slots) => slots.iter().flat_map(|(_, slot)| slot.positions()).collect(),
        }
    }

    /// Whether both are structs of as many elements, which have the same form, or both are tensors.
    pub(super) fn has_form_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tensor(..), Self::Tensor(..)) => true,
            (Self::Struct(slots), Self::Struct(others)) => {
                let mut pairs = slots.iter().zip(others);
                slots.len() == others.len() && pairs.all(|((_, slot), (_, other))| slot.has_form_of(other))
            }
            _ => false,
        }
    }

    /// The same with its tensors numbered in depth-first order.
    pub(super) fn in_order(&self) -> Self {
        self.numbered(&mut 0)
    }

    fn numbered(&self, next: &mut usize) -> Self {
        match self {
            Self::Tensor(ty, _) => {
                let position = *next;
                *next += 1;
                Self::Tensor(ty.clone(), position)
            }
            Self::Struct(slots) => {
                Self::Struct(slots.iter().map(|(step, slot)| (step.clone(), slot.numbered(next))).collect())
            }
        }
    }

    /// Checks a value against the type and puts its tensors where they are bound, among `n` positions.
    ///
    /// # Errors
    /// [`ExecError::Mismatch`], with the path, for a value that is not of the type.
    pub(super) fn tensors<'a>(&self, value: &'a Value, n: usize) -> Result<Vec<Option<&'a Tensor>>, ExecError> {
        let mut tensors = vec![None; n];
        self.collect(value, &mut tensors).map(|()| tensors)
    }

    fn collect<'a>(&self, value: &'a Value, tensors: &mut [Option<&'a Tensor>]) -> Result<(), ExecError> {
        match (self, value) {
            (Self::Tensor(ty, position), Value::Tensor(tensor)) => {
                check_tensor(ty, tensor.array())?;
                if let Some(place) = tensors.get_mut(*position) {
                    *place = Some(tensor);
                }
            }
            (Self::Struct(slots), Value::Struct(values)) if slots.len() == values.len() => {
                for ((step, slot), value) in slots.iter().zip(values.iter()) {
                    slot.collect(value, tensors).map_err(|error| error.at(step.clone()))?;
                }
            }
            _ => return Err(ExecError::mismatch(self.describe(), value.describe())),
        }
        Ok(())
    }

    /// The value that the results of the module make up.
    ///
    /// # Errors
    /// [`ExecError::Internal`] where there are fewer than were bound.
    pub(super) fn build(&self, results: &[Tensor]) -> Result<Value, ExecError> {
        Ok(match self {
            Self::Tensor(_, position) => {
                Value::Tensor(results.get(*position).cloned().ok_or(ExecError::Internal("a missing result"))?)
            }
            Self::Struct(slots) => {
                Value::Struct(slots.iter().map(|(_, slot)| slot.build(results)).collect::<Result<_, _>>()?)
            }
        })
    }

    fn describe(&self) -> String {
        match self {
            Self::Tensor(ty, _) => Type::tensor(ty.dtype, ty.shape.clone()).to_string(),
            Self::Struct(slots) => format!("a struct of {} elements", slots.len()),
        }
    }
}

impl Side<'_> {
    const fn place(&self) -> Place {
        Place::Binding(self.name, Path::root())
    }

    /// Binds a tensor to the array at an index, which must be of its type.
    fn bind(&mut self, index: i32, tensor: &TensorType, ty: &Type) -> Result<usize, String> {
        if tensor.dtype.size().is_none() {
            return Err(format!("XLA has no strings, so {ty} cannot be bound"));
        }
        if !tensor.shape.is_fully_defined() {
            return Err(format!("XLA needs the size of every dimension, so {ty} cannot be bound"));
        }
        let (name, n_arrays) = (self.name, self.shapes.len());
        let position = usize::try_from(index).unwrap_or(usize::MAX);
        let (Some(shape), Some(n_parts)) = (self.shapes.get(position), self.n_parts.get_mut(position)) else {
            return Err(format!("{name} {index} of the module is out of range: it has {n_arrays}"));
        };
        if shape.dtype != tensor.dtype || !tensor.shape.admits(&shape.dims) {
            return Err(format!("{name} {index} of the module is {shape}, not {ty}"));
        }
        *n_parts += 1;
        Ok(position)
    }
}
