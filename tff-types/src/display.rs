//! The compact notation of types: `(<a=int32,{float32}@CLIENTS> -> bool*)`.

use crate::{Type, TypeKind};
use std::fmt;

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            TypeKind::Tensor(tensor) if tensor.shape.rank().is_none() => {
                write!(f, "'{}'{}", tensor.dtype, tensor.shape)
            }
            TypeKind::Tensor(tensor) => write!(f, "{}{}", tensor.dtype, tensor.shape),
            TypeKind::Struct(structure) => {
                f.write_str("<")?;
                for (index, element) in structure.elements().iter().enumerate() {
                    if index > 0 {
                        f.write_str(",")?;
                    }
                    if let Some(name) = &element.name {
                        write!(f, "{name}=")?;
                    }
                    element.ty.fmt(f)?;
                }
                f.write_str(">")
            }
            TypeKind::Sequence(sequence) => write!(f, "{}*", sequence.element),
            TypeKind::Function(function) => match &function.parameter {
                Some(parameter) => write!(f, "({parameter} -> {})", function.result),
                None => write!(f, "( -> {})", function.result),
            },
            TypeKind::Abstract(abstract_type) => f.write_str(&abstract_type.label),
            TypeKind::Placement(_) => f.write_str("placement"),
            TypeKind::Federated(federated) if federated.all_equal => {
                write!(f, "{}@{}", federated.member, federated.placement)
            }
            TypeKind::Federated(federated) => write!(f, "{{{}}}@{}", federated.member, federated.placement),
        }
    }
}
