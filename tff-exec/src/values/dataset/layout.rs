//! How the elements of a dataset are laid out in tensors.

use crate::ExecError;
use crate::values::{Tensor, Value, check_tensor, steps};
use tff_ir::Array;
use tff_types::{Step, StructType, TensorType, Type, TypeKind};

/// The type of an element, its tensors numbered as TensorFlow's `nest` flattens them.
#[derive(Debug)]
pub(crate) struct Layout {
    root: Part,
    /// The tensors, in the order of their numbers.
    components: Vec<TensorType>,
}

#[derive(Debug)]
enum Part {
    Tensor(usize),
    /// In the declared order; each element with how a path names it.
    Struct(Vec<(Step, Part)>),
}

impl Layout {
    /// Lays out a type. The elements of a struct are flattened in the order of their names where
    /// all have one, and by position where none has.
    ///
    /// # Errors
    /// [`ExecError::Unsupported`] for a struct with names for some elements only, for types that
    /// no dataset can hold, and for a type without any tensor.
    pub(crate) fn of(element: &Type) -> Result<Self, ExecError> {
        let mut components = Vec::new();
        let root = part(element, &mut components)?;
        if components.is_empty() {
            return Err(ExecError::Unsupported(format!("a dataset of elements without tensors, of type {element},")));
        }
        Ok(Self { root, components })
    }

    /// The types of the tensors that make up an element.
    pub(crate) fn components(&self) -> &[TensorType] {
        &self.components
    }

    /// The tensors of an element, checked against the type.
    ///
    /// # Errors
    /// [`ExecError::Mismatch`] with the path.
    pub(crate) fn flatten<'a>(&self, value: &'a Value) -> Result<Vec<&'a Array>, ExecError> {
        let mut arrays = vec![None; self.components.len()];
        self.flatten_part(&self.root, value, &mut arrays)?;
        Ok(arrays.into_iter().flatten().collect())
    }

    fn flatten_part<'a>(
        &self,
        part: &Part,
        value: &'a Value,
        arrays: &mut [Option<&'a Array>],
    ) -> Result<(), ExecError> {
        match (part, value) {
            (Part::Tensor(index), Value::Tensor(tensor)) => {
                if let (Some(ty), Some(array)) = (self.components.get(*index), arrays.get_mut(*index)) {
                    check_tensor(ty, tensor.array())?;
                    *array = Some(tensor.array());
                }
                Ok(())
            }
            (Part::Struct(parts), Value::Struct(values)) if parts.len() == values.len() => {
                parts.iter().zip(values.iter()).try_for_each(|((step, part), value)| {
                    self.flatten_part(part, value, arrays).map_err(|error| error.at(step.clone()))
                })
            }
            (Part::Tensor(index), value) => {
                let ty = self.components.get(*index).map(|ty| Type::tensor(ty.dtype, ty.shape.clone()).to_string());
                Err(ExecError::mismatch(ty.unwrap_or_default(), value.describe()))
            }
            (Part::Struct(parts), value) => {
                Err(ExecError::mismatch(format!("a struct of {} elements", parts.len()), value.describe()))
            }
        }
    }

    /// The element that these tensors make up: `component` gives the array of each number.
    ///
    /// # Errors
    /// Those of `component`, and [`ExecError::Mismatch`], with the path, for an array of another type.
    pub(crate) fn build(&self, component: &dyn Fn(usize) -> Result<Array, ExecError>) -> Result<Value, ExecError> {
        self.build_part(&self.root, component)
    }

    fn build_part(
        &self,
        part: &Part,
        component: &dyn Fn(usize) -> Result<Array, ExecError>,
    ) -> Result<Value, ExecError> {
        match part {
            Part::Tensor(index) => {
                let array = component(*index)?;
                if let Some(ty) = self.components.get(*index) {
                    check_tensor(ty, &array)?;
                }
                Ok(Value::Tensor(Tensor::new(array)))
            }
            Part::Struct(parts) => {
                let values = parts
                    .iter()
                    .map(|(step, part)| self.build_part(part, component).map_err(|error| error.at(step.clone())));
                Ok(Value::Struct(values.collect::<Result<_, _>>()?))
            }
        }
    }
}

fn part(ty: &Type, components: &mut Vec<TensorType>) -> Result<Part, ExecError> {
    match ty.kind() {
        TypeKind::Tensor(tensor) => {
            components.push(tensor.clone());
            Ok(Part::Tensor(components.len() - 1))
        }
        TypeKind::Struct(structure) => {
            let mut parts: Vec<Option<Part>> = structure.elements().iter().map(|_| None).collect();
            for (index, ty) in flattening_order(structure, ty)? {
                if let Some(slot) = parts.get_mut(index) {
                    *slot = Some(part(ty, components)?);
                }
            }
            let steps = steps(structure).map(|(step, _)| step);
            Ok(Part::Struct(steps.zip(parts.into_iter().flatten()).collect()))
        }
        _ => Err(ExecError::Unsupported(format!("a dataset of elements that hold a {}", ty.kind_name()))),
    }
}

/// The elements, each with its declared position, in the order in which they are flattened.
fn flattening_order<'a>(structure: &'a StructType, ty: &Type) -> Result<Vec<(usize, &'a Type)>, ExecError> {
    let mut elements: Vec<_> = structure.elements().iter().enumerate().collect();
    let named = elements.iter().filter(|(_, element)| element.name.is_some()).count();
    if named == elements.len() {
        elements.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    } else if named > 0 {
        return Err(ExecError::Unsupported(format!("a dataset of structs with some elements named, {ty},")));
    }
    Ok(elements.into_iter().map(|(index, element)| (index, &element.ty)).collect())
}
