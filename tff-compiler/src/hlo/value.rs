//! The values within a module: tensors and structs of them.

use super::builder::{ModuleBuilder, Tensor};
use super::shape::is_array;
use std::sync::Arc;
use tff_ir::{Comp, CompiledComputation, Opaque, Xla, XlaBinding};
use tff_proto::google::protobuf::Any;
use tff_types::{TensorType, Type, TypeKind};

/// A value within a module that a [`ModuleBuilder`] makes.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Tensor(Tensor),
    Struct(Vec<(Option<Arc<str>>, Value)>),
}

impl Value {
    /// A value of this type, each tensor made from its own; `None` for a type that XLA does not
    /// have.
    pub(super) fn of_type(ty: &Type, make: &mut dyn FnMut(&TensorType) -> Option<Tensor>) -> Option<Self> {
        match ty.kind() {
            TypeKind::Tensor(tensor) if is_array(tensor) => make(tensor).map(Self::Tensor),
            TypeKind::Struct(structure) => {
                let elements = structure.elements().iter();
                let elements = elements.map(|it| Some((it.name.clone(), Self::of_type(&it.ty, make)?)));
                elements.collect::<Option<_>>().map(Self::Struct)
            }
            _ => None,
        }
    }

    /// The type; `None` for one that is too large.
    fn ty(&self) -> Option<Type> {
        match self {
            Self::Tensor(tensor) => Some(Type::tensor(tensor.ty.dtype, tensor.ty.shape.clone())),
            Self::Struct(elements) => {
                let elements = elements.iter().map(|(name, value)| Some((name.clone(), value.ty()?)));
                Type::structure(elements.collect::<Option<Vec<_>>>()?).ok()
            }
        }
    }

    fn collect(&self, tensors: &mut Vec<Tensor>) {
        match self {
            Self::Tensor(tensor) => tensors.push(tensor.clone()),
            Self::Struct(elements) => elements.iter().for_each(|(_, value)| value.collect(tensors)),
        }
    }
}

/// The computation from a parameter of this type, if there is one, to this result.
pub(super) fn finish(module: ModuleBuilder, parameter: Option<&Type>, result: &Value) -> Option<Comp> {
    let mut tensors = Vec::new();
    result.collect(&mut tensors);
    let result = result.ty()?;
    let module = Any::pack(&module.finish(&tensors));
    let xla = Xla {
        hlo_module: Opaque { type_url: module.type_url.into(), value: module.value },
        parameter: parameter.map(|ty| binding(ty, &mut 0)),
        result: binding(&result, &mut 0),
    };
    let ty = Type::function(parameter.cloned(), result).ok()?;
    Comp::compiled(CompiledComputation::Xla(Arc::new(xla)), ty).ok()
}

/// The binding that numbers the tensors from `next` on, in order.
fn binding(ty: &Type, next: &mut i32) -> XlaBinding {
    match ty.as_struct() {
        Some(structure) => {
            XlaBinding::Struct(structure.elements().iter().map(|element| binding(&element.ty, next)).collect())
        }
        None => {
            let position = *next;
            *next = next.saturating_add(1);
            XlaBinding::Tensor(position)
        }
    }
}
