//! Bindings: how the value of a parameter becomes tensors to feed, and fetched tensors a result.

use super::graph::{TensorName, canonical_dataset};
use super::status::LEAF;
use crate::values::{check_tensor, steps};
use crate::{ExecError, Place, Sequence, Tensor, Value};
use tff_ir::{SequenceBinding, TensorFlowBinding};
use tff_types::{DType, Path, Step, TensorType, Type, TypeKind};

/// A type together with its binding. Leaves are numbered in depth-first order.
#[derive(Debug)]
pub(super) enum Slot {
    /// A tensor.
    Tensor(TensorType, usize),
    /// A sequence of elements of this type, as the serialized graph of a dataset.
    Sequence(Type, usize),
    /// A struct; each element with the step to it.
    Struct(Vec<(Step, Slot)>),
}

/// A tensor of the graph that a part of a type is bound to.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) name: TensorName,
    pub(super) dtype: DType,
    /// The type of the elements where the tensor is a dataset, and not what one serializes to.
    pub(super) dataset: Option<Type>,
    /// Which part of the signature it belongs to, as `parameter.x`.
    pub(super) place: Place,
}

/// The parameter of a computation, which has one or none.
#[derive(Debug)]
pub(super) struct Parameter(Option<(Type, Slot)>);

impl Parameter {
    /// Binds the parameter's type; appends the tensors to `endpoints`.
    ///
    /// # Errors
    /// [`ExecError::Prepare`] where type and binding are not parallel.
    pub(super) fn bind(
        binding: Option<&TensorFlowBinding>,
        ty: Option<&Type>,
        endpoints: &mut Vec<Endpoint>,
    ) -> Result<Self, ExecError> {
        match (binding, ty) {
            (Some(binding), Some(ty)) => Ok(Self(Some((
                ty.clone(),
                Slot::bind(binding, ty, &Place::Binding("parameter", Path::root()), endpoints)?,
            )))),
            (None, None) => Ok(Self(None)),
            (Some(_), None) => Err(LEAF.misbound("a binding of a parameter for a type without one")),
            (None, Some(ty)) => Err(LEAF.misbound(format!("no binding of the parameter of type {ty}"))),
        }
    }

    /// The types of the endpoints, if all are tensors.
    pub(super) fn tensors(&self) -> Option<Vec<&TensorType>> {
        self.0.as_ref().map_or(Some(Vec::new()), |(_, slot)| slot.tensors())
    }

    /// As [`Slot::collect`].
    ///
    /// # Errors
    /// [`ExecError::MissingArgument`], [`ExecError::UnexpectedArgument`], and as [`Slot::collect`].
    pub(super) fn collect(
        &self,
        argument: Option<Value>,
        feed: &mut dyn FnMut(Fed) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        match (&self.0, argument) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(ExecError::UnexpectedArgument),
            (Some((ty, _)), None) => Err(ExecError::MissingArgument(ty.to_string())),
            (Some((_, slot)), Some(argument)) => slot.collect(argument, feed),
        }
    }
}

/// What an endpoint is fed with: checked to be of its type.
pub(super) enum Fed {
    Tensor(Tensor),
    Sequence(Sequence),
}

impl Slot {
    /// Binds a type; appends the tensors to `endpoints`. `place` is what errors call the whole.
    ///
    /// # Errors
    /// [`ExecError::Prepare`] where type and binding are not parallel.
    pub(super) fn bind(
        binding: &TensorFlowBinding,
        ty: &Type,
        place: &Place,
        endpoints: &mut Vec<Endpoint>,
    ) -> Result<Self, ExecError> {
        let mut endpoint = |name: &str, dtype, dataset| -> Result<usize, ExecError> {
            let name = TensorName::parse(name)
                .ok_or_else(|| LEAF.misbound(format!("`{name}` names no tensor")).at(place.clone()))?;
            endpoints.push(Endpoint { name, dtype, dataset, place: place.clone() });
            Ok(endpoints.len() - 1)
        };
        match (binding, ty.kind()) {
            (TensorFlowBinding::Tensor(name), TypeKind::Tensor(tensor)) => {
                Ok(Self::Tensor(tensor.clone(), endpoint(name, tensor.dtype, None)?))
            }
            (TensorFlowBinding::Sequence(binding), TypeKind::Sequence(sequence)) => {
                let (name, dataset) = match binding {
                    SequenceBinding::Variant(name) => (name, Some(sequence.element.clone())),
                    SequenceBinding::GraphDef(name) => (name, None),
                };
                Ok(Self::Sequence(sequence.element.clone(), endpoint(name, DType::String, dataset)?))
            }
            (TensorFlowBinding::Struct(bindings), TypeKind::Struct(structure)) => {
                if bindings.len() != structure.len() {
                    let reason = format!("a binding of {} elements for the type {ty}", bindings.len());
                    return Err(LEAF.misbound(reason).at(place.clone()));
                }
                let slots = bindings.iter().zip(steps(structure)).map(|(binding, (step, element))| {
                    let slot = Self::bind(binding, &element.ty, &place.part(step.clone()), endpoints)?;
                    Ok((step, slot))
                });
                Ok(Self::Struct(slots.collect::<Result<_, ExecError>>()?))
            }
            (binding, _) => {
                Err(LEAF.misbound(format!("a binding of {} for the type {ty}", kind(binding))).at(place.clone()))
            }
        }
    }

    /// The types of the endpoints, if all are tensors.
    pub(super) fn tensors(&self) -> Option<Vec<&TensorType>> {
        fn append<'a>(slot: &'a Slot, tensors: &mut Vec<&'a TensorType>) -> bool {
            match slot {
                Slot::Tensor(ty, _) => tensors.push(ty),
                Slot::Sequence(..) => return false,
                Slot::Struct(slots) => return slots.iter().all(|(_, slot)| append(slot, tensors)),
            }
            true
        }
        let mut tensors = Vec::new();
        append(self, &mut tensors).then_some(tensors)
    }

    /// Checks a value against the type and takes it apart: `feed` gets what belongs to each endpoint,
    /// in their order.
    ///
    /// # Errors
    /// [`ExecError::Mismatch`], with the path, for a value that is not of the type; those of
    /// `feed`.
    pub(super) fn collect(
        &self,
        value: Value,
        feed: &mut dyn FnMut(Fed) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        match (self, value) {
            (Self::Tensor(ty, _), Value::Tensor(tensor)) => {
                check_tensor(ty, tensor.array())?;
                feed(Fed::Tensor(tensor))
            }
            (Self::Sequence(element, _), Value::Sequence(sequence)) => {
                check_element(element, sequence.element_type())?;
                feed(Fed::Sequence(sequence))
            }
            (Self::Struct(slots), Value::Struct(values)) if slots.len() == values.len() => {
                for ((step, slot), value) in slots.iter().zip(values.into_elements()) {
                    slot.collect(value, feed).map_err(|error| error.at(step.clone()))?;
                }
                Ok(())
            }
            (_, value) => Err(ExecError::mismatch(self.describe(), value.describe())),
        }
    }

    /// The value that the endpoints make up; `fetch` gives the tensor of an endpoint.
    ///
    /// # Errors
    /// [`ExecError::Run`], with the path, where a tensor is not of the type; those of `fetch`.
    pub(super) fn build(&self, fetch: &mut dyn FnMut(usize) -> Result<Tensor, ExecError>) -> Result<Value, ExecError> {
        Ok(match self {
            Self::Tensor(ty, index) => {
                let tensor = fetch(*index)?;
                check_tensor(ty, tensor.array())
                    .map_err(|error| LEAF.gave(format!("the graph gave another type: {error}")))?;
                Value::Tensor(tensor)
            }
            Self::Sequence(element, index) => {
                let tensor = fetch(*index)?;
                let graph = tensor.array().as_strings().filter(|_| tensor.array().dims().is_empty());
                let graph = graph.and_then(<[_]>::first);
                let graph = graph.ok_or_else(|| LEAF.gave("the graph gave no serialized dataset"))?;
                Value::Sequence(Sequence::from_dataset(element.clone(), canonical_dataset(graph.clone())))
            }
            Self::Struct(slots) => {
                let values = slots.iter().map(|(step, slot)| slot.build(fetch).map_err(|it| it.at(step.clone())));
                Value::Struct(values.collect::<Result<_, _>>()?)
            }
        })
    }

    fn describe(&self) -> String {
        match self {
            Self::Tensor(ty, _) => Type::tensor(ty.dtype, ty.shape.clone()).to_string(),
            Self::Sequence(element, _) => format!("a sequence of {element}"),
            Self::Struct(slots) => format!("a struct of {} elements", slots.len()),
        }
    }
}

const fn kind(binding: &TensorFlowBinding) -> &'static str {
    match binding {
        TensorFlowBinding::Struct(_) => "a struct",
        TensorFlowBinding::Tensor(_) => "a tensor",
        TensorFlowBinding::Sequence(_) => "a sequence",
    }
}

/// Whether elements of type `found` can be elements where `expected` are needed: no dtype, known
/// size, name or number of elements contradicts. A declared size may be less precise than the
/// elements are, which TensorFlow checks as it reads them.
fn check_element(expected: &Type, found: &Type) -> Result<(), ExecError> {
    if expected == found {
        return Ok(());
    }
    let mismatch = || ExecError::mismatch(format!("a sequence of {expected}"), format!("a sequence of {found}"));
    if agree(expected, found) { Ok(()) } else { Err(mismatch()) }
}

fn agree(expected: &Type, found: &Type) -> bool {
    match (expected.kind(), found.kind()) {
        (TypeKind::Tensor(expected), TypeKind::Tensor(found)) => {
            let dims = expected.shape.dims().zip(found.shape.dims());
            expected.dtype == found.dtype
                && dims.is_none_or(|(expected, found)| {
                    expected.len() == found.len()
                        && expected.iter().zip(found).all(|(a, b)| a.is_none() || b.is_none() || a == b)
                })
        }
        (TypeKind::Struct(expected), TypeKind::Struct(found)) => {
            expected.len() == found.len()
                && expected.elements().iter().zip(found.elements()).all(|(expected, found)| {
                    let named_alike = expected.name == found.name || expected.name.is_none() || found.name.is_none();
                    named_alike && agree(&expected.ty, &found.ty)
                })
        }
        _ => false,
    }
}
