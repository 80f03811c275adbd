//! Values from and to the seed's `Value` message, by their type.

use crate::conform::check_tensor;
use crate::eval::compile;
use crate::tensor_proto::array_from_any;
use crate::{Clients, ExecError, Function, Sequence, Tensor, Value};
use bytes::Bytes;
use std::sync::Arc;
use tff_ir::{Array, Comp};
use tff_proto::v0 as pb;
use tff_types::{Element, FederatedType, Placement, PlacementSpec, TensorType, Type, TypeKind};

/// Reads a value of type `ty`.
///
/// Names of struct elements may be absent from the message; where they are there they must be the
/// type's.
///
/// # Errors
/// [`ExecError::Mismatch`], [`ExecError::Cardinality`], [`ExecError::Array`] or
/// [`ExecError::Decode`], with the path inside the value.
pub fn value_from_proto(proto: &pb::Value, ty: &Type) -> Result<Value, ExecError> {
    match (&proto.value, &proto.tensor, ty.kind()) {
        (Some(value), ..) => from_kind(value, ty),
        (None, Some(any), TypeKind::Tensor(tensor_ty)) => tensor(array_from_any(any)?, tensor_ty, ty),
        (None, Some(_), _) => Err(ExecError::mismatch(ty, "a tensor")),
        (None, None, _) => Err(ExecError::mismatch(ty, "an empty value")),
    }
}

fn from_kind(value: &pb::value::Value, ty: &Type) -> Result<Value, ExecError> {
    use pb::value::Value as V;
    match (ty.kind(), value) {
        (TypeKind::Tensor(tensor_ty), V::Array(array)) => tensor(Array::from_proto(array)?, tensor_ty, ty),
        (TypeKind::Struct(structure), V::Struct(value)) => struct_from_proto(structure.elements(), value, ty),
        (TypeKind::Sequence(sequence), V::Sequence(value)) => sequence_from_proto(&sequence.element, value, ty),
        (TypeKind::Federated(federated), V::Federated(value)) => federated_from_proto(federated, value, ty),
        (TypeKind::Function(_), V::Computation(value)) => {
            let comp = Comp::from_proto(value).map_err(|error| ExecError::Decode(error.to_string()))?;
            if !ty.is_assignable_from(comp.ty()) {
                return Err(ExecError::mismatch(ty, comp.ty()));
            }
            let function = Function::from_code(&compile(&comp)?.code);
            let needed = || ExecError::mismatch("a function that needs no evaluation", comp.kind_name());
            Ok(Value::Function(function.ok_or_else(needed)?))
        }
        (_, value) => Err(ExecError::mismatch(ty, describe(value))),
    }
}

fn tensor(array: Array, tensor_ty: &TensorType, ty: &Type) -> Result<Value, ExecError> {
    let tensor = Tensor::new(array);
    check_tensor(&tensor, tensor_ty, ty)?;
    Ok(Value::Tensor(tensor))
}

const fn describe(value: &pb::value::Value) -> &'static str {
    use pb::value::Value as V;
    match value {
        V::Array(_) => "an array",
        V::Struct(_) => "a struct",
        V::Sequence(_) => "a sequence",
        V::Federated(_) => "a federated value",
        V::Computation(_) => "a computation",
    }
}

fn struct_from_proto(elements: &[Element], value: &pb::value::Struct, ty: &Type) -> Result<Value, ExecError> {
    if elements.len() != value.element.len() {
        return Err(ExecError::mismatch(ty, format!("a struct of {} elements", value.element.len())));
    }
    let members = elements.iter().zip(&value.element).enumerate().map(|(index, (element, member))| {
        let name = element.name.as_deref();
        if !member.name.is_empty() && name.is_some_and(|name| name != member.name) {
            let expected = format!("an element named `{}`", name.unwrap_or_default());
            return Err(ExecError::mismatch(expected, format!("`{}`", member.name)).at_element(index, None));
        }
        let value = member.value.as_ref().ok_or_else(|| ExecError::mismatch(&element.ty, "no value"));
        value.and_then(|value| value_from_proto(value, &element.ty)).map_err(|error| error.at_element(index, name))
    });
    Ok(Value::Struct(members.collect::<Result<_, _>>()?))
}

fn sequence_from_proto(element: &Type, value: &pb::value::Sequence, ty: &Type) -> Result<Value, ExecError> {
    use pb::value::sequence::Value as S;
    if let Some(declared) = &value.element_type {
        let declared = Type::from_proto(declared).map_err(|error| ExecError::Decode(error.to_string()))?;
        if !element.is_assignable_from(&declared) {
            return Err(ExecError::mismatch(ty, format!("{declared}*")));
        }
    }
    match &value.value {
        Some(S::SerializedGraphDef(graph)) => {
            Ok(Value::Sequence(Sequence::from_dataset(element.clone(), graph.clone())))
        }
        Some(S::ZippedSavedModel(_)) => Err(ExecError::Unsupported("a sequence given as a zipped saved model".into())),
        None => {
            let elements = elements_from_proto(element, &value.element)?;
            Ok(Value::Sequence(Sequence::from_elements(element.clone(), elements)))
        }
    }
}

/// The elements of a sequence that is given as lists of arrays.
pub(crate) fn elements_from_proto(
    element: &Type,
    elements: &[pb::value::sequence::Element],
) -> Result<Arc<[Value]>, ExecError> {
    let values = elements.iter().enumerate().map(|(index, flat)| {
        let mut arrays = flat.flat_value.iter();
        let value = unflatten(element, &mut arrays).and_then(|value| match arrays.len() {
            0 => Ok(value),
            more => Err(ExecError::mismatch(element, format!("{more} more arrays"))),
        });
        value.map_err(|error| error.at_element(index, None))
    });
    values.collect()
}

/// A value of tensors and structs from its arrays in depth-first order.
fn unflatten<'a>(ty: &Type, arrays: &mut impl Iterator<Item = &'a pb::Array>) -> Result<Value, ExecError> {
    if let Some(structure) = ty.as_struct() {
        let members = structure.elements().iter().enumerate().map(|(index, element)| {
            unflatten(&element.ty, arrays).map_err(|error| error.at_element(index, element.name.as_deref()))
        });
        return Ok(Value::Struct(members.collect::<Result<_, _>>()?));
    }
    let array = arrays.next().ok_or_else(|| ExecError::mismatch(ty, "no array"))?;
    from_kind(&pb::value::Value::Array(array.clone()), ty)
}

fn federated_from_proto(ty: &FederatedType, value: &pb::value::Federated, whole: &Type) -> Result<Value, ExecError> {
    let spec = value.r#type.as_ref().and_then(|ty| ty.placement.as_ref()).and_then(|spec| spec.placement.as_ref());
    let placement = match spec {
        Some(pb::placement_spec::Placement::Value(placement)) => placement.uri.parse::<Placement>()?,
        Some(pb::placement_spec::Placement::Label(label)) => {
            return Err(ExecError::mismatch(whole, format!("a value at the abstract placement `{}`", label.label)));
        }
        None => return Err(ExecError::mismatch(whole, "a federated value without placement")),
    };
    if ty.placement != PlacementSpec::Value(placement) {
        return Err(ExecError::mismatch(whole, format!("a value at {placement}")));
    }
    let all_equal = value.r#type.as_ref().is_some_and(|ty| ty.all_equal);
    let found = value.value.len();
    if all_equal || placement == Placement::Server {
        let [member] = &value.value[..] else {
            return Err(ExecError::Cardinality { placement, expected: 1, found });
        };
        let member = value_from_proto(member, &ty.member)?;
        return Ok(match placement {
            Placement::Server => Value::at_server(member),
            Placement::Clients => Value::at_clients_all_equal(member),
        });
    }
    if ty.all_equal {
        return Err(ExecError::mismatch(whole, format!("{found} values that may differ")));
    }
    let members = value.value.iter().enumerate().map(|(client_idx, member)| {
        value_from_proto(member, &ty.member).map_err(|error| error.at_element(client_idx, None))
    });
    Ok(Value::Clients(Clients::Each(members.collect::<Result<_, _>>()?)))
}

/// Writes a value of type `ty`, with the names of the type.
///
/// # Errors
/// [`ExecError::Mismatch`] where the value is not of the type, [`ExecError::Unsupported`] for
/// functions and placements, which the message cannot carry as results.
pub fn value_to_proto(value: &Value, ty: &Type) -> Result<pb::Value, ExecError> {
    use pb::value::Value as V;
    let kind = match (ty.kind(), value) {
        (TypeKind::Tensor(_), Value::Tensor(tensor)) => V::Array(tensor.array().to_proto_value()),
        (TypeKind::Struct(structure), Value::Struct(elements)) if structure.len() == elements.len() => {
            let element = structure.elements().iter().zip(elements.iter()).enumerate();
            let element = element.map(|(index, (element, value))| {
                let name = element.name.as_deref();
                let value = value_to_proto(value, &element.ty).map_err(|error| error.at_element(index, name))?;
                Ok(pb::value::r#struct::Element { name: name.unwrap_or_default().to_owned(), value: Some(value) })
            });
            V::Struct(pb::value::Struct { element: element.collect::<Result<_, ExecError>>()? })
        }
        (TypeKind::Sequence(sequence_ty), Value::Sequence(sequence)) => {
            V::Sequence(sequence_to_proto(&sequence_ty.element, sequence.dataset()?)?)
        }
        (TypeKind::Federated(federated), value) => V::Federated(federated_to_proto(federated, value)?),
        (TypeKind::Function(_) | TypeKind::Placement(_), _) => {
            return Err(ExecError::Unsupported(format!("a result of type {ty}")));
        }
        _ => return Err(ExecError::mismatch(ty, value.describe())),
    };
    Ok(pb::Value { tensor: None, value: Some(kind) })
}

fn sequence_to_proto(element: &Type, graph: Bytes) -> Result<pb::value::Sequence, ExecError> {
    let element_type = element.to_proto().map_err(|error| ExecError::Decode(error.to_string()))?;
    Ok(pb::value::Sequence {
        element_type: Some(element_type),
        element: Vec::new(),
        value: Some(pb::value::sequence::Value::SerializedGraphDef(graph)),
    })
}

fn federated_to_proto(ty: &FederatedType, value: &Value) -> Result<pb::value::Federated, ExecError> {
    let (placement, all_equal, members) = match value {
        Value::Server(member) => (Placement::Server, true, std::slice::from_ref(&**member)),
        Value::Clients(Clients::AllEqual(member)) => (Placement::Clients, true, std::slice::from_ref(&**member)),
        Value::Clients(Clients::Each(members)) => (Placement::Clients, false, &members[..]),
        _ => return Err(ExecError::mismatch(format!("a value at {}", ty.placement), value.describe())),
    };
    if ty.placement != PlacementSpec::Value(placement) {
        return Err(ExecError::mismatch(format!("a value at {}", ty.placement), value.describe()));
    }
    let values = members.iter().enumerate().map(|(client_idx, member)| {
        value_to_proto(member, &ty.member).map_err(|error| error.at_element(client_idx, None))
    });
    let member = ty.member.to_proto().map_err(|error| ExecError::Decode(error.to_string()))?;
    let spec = pb::PlacementSpec { placement: Some(pb::placement_spec::Placement::Value(placement.to_proto())) };
    Ok(pb::value::Federated {
        r#type: Some(pb::FederatedType { placement: Some(spec), all_equal, member: Some(Box::new(member)) }),
        value: values.collect::<Result<_, _>>()?,
    })
}
