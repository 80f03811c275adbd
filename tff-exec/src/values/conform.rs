//! Checks whether a value has a type, and brings it into the form of that type.

use super::{Clients, Value, check_tensor};
use crate::ExecError;
use std::sync::Arc;
use tff_types::{FederatedType, Placement, PlacementSpec, Step, Type, TypeKind};

/// Checks that `value` is of type `ty` for this number of clients, without looking at contents.
///
/// An all-equal value serves where the type does not ask for one.
///
/// # Errors
/// [`ExecError::Mismatch`] and [`ExecError::Cardinality`], with the path of the part.
pub(crate) fn check(value: &Value, ty: &Type, n_clients: Option<usize>) -> Result<(), ExecError> {
    match (ty.kind(), value) {
        (TypeKind::Tensor(tensor_ty), Value::Tensor(tensor)) => check_tensor(tensor_ty, tensor.array()),
        (TypeKind::Struct(structure), Value::Struct(elements)) if structure.len() == elements.len() => {
            for (index, (element, value)) in structure.elements().iter().zip(elements.iter()).enumerate() {
                check(value, &element.ty, n_clients)
                    .map_err(|error| error.at_element(index, element.name.as_deref()))?;
            }
            Ok(())
        }
        (TypeKind::Federated(federated), value) => check_federated(value, federated, n_clients),
        (TypeKind::Sequence(sequence_ty), Value::Sequence(sequence)) => {
            // What a peer left untyped is checked when its elements are read.
            let element = sequence.element_type();
            if element.contains_abstract() || sequence_ty.element.is_assignable_from(element) {
                Ok(())
            } else {
                Err(ExecError::mismatch(ty, format!("{}*", sequence.element_type())))
            }
        }
        // What is not known of a function is seen when it is called.
        (TypeKind::Function(_), Value::Function(function)) => match function.ty() {
            Some(found) if !found.contains_abstract() && !ty.is_assignable_from(found) => {
                Err(ExecError::mismatch(ty, found))
            }
            _ => Ok(()),
        },
        (TypeKind::Placement(_), Value::Placement(_)) | (TypeKind::Abstract(_), _) => Ok(()),
        _ => Err(ExecError::mismatch(ty, value.describe())),
    }
}

fn check_federated(value: &Value, ty: &FederatedType, n_clients: Option<usize>) -> Result<(), ExecError> {
    match (value, &ty.placement) {
        (Value::Server(member), PlacementSpec::Value(Placement::Server)) => check(member, &ty.member, n_clients),
        (Value::Clients(Clients::AllEqual(member)), PlacementSpec::Value(Placement::Clients)) => {
            check(member, &ty.member, n_clients)
        }
        (Value::Clients(Clients::Each(members)), PlacementSpec::Value(Placement::Clients)) if !ty.all_equal => {
            if let Some(expected) = n_clients.filter(|&expected| expected != members.n_clients()) {
                let (placement, found) = (Placement::Clients, members.n_clients());
                return Err(ExecError::Cardinality { placement, expected, found });
            }
            for (client_idx, member) in members.iter().enumerate() {
                check(member, &ty.member, n_clients).map_err(|error| error.at(Step::Index(client_idx)))?;
            }
            Ok(())
        }
        _ => {
            let expected = if ty.all_equal {
                format!("{}@{}", ty.member, ty.placement)
            } else {
                format!("{{{}}}@{}", ty.member, ty.placement)
            };
            Err(ExecError::mismatch(expected, value.describe()))
        }
    }
}

/// Gives a result the form that its type says: one value for each client where the type is not
/// all-equal. What workers hold is fetched.
///
/// # Errors
/// [`ExecError::UnknownCardinality`] where the number of clients would be needed; what workers
/// failed with.
pub(crate) fn conform(value: Value, ty: &Type, n_clients: Option<usize>) -> Result<Value, ExecError> {
    match (ty.kind(), value) {
        (TypeKind::Struct(structure), Value::Struct(elements)) if ty.contains_federated() => {
            let elements = structure.elements().iter().zip(elements.iter()).enumerate();
            let elements = elements.map(|(index, (element, value))| {
                conform(value.clone(), &element.ty, n_clients)
                    .map_err(|error| error.at_element(index, element.name.as_deref()))
            });
            Ok(Value::Struct(elements.collect::<Result<_, _>>()?))
        }
        (TypeKind::Federated(federated), Value::Clients(Clients::AllEqual(member))) if !federated.all_equal => {
            let n_clients = n_clients.ok_or(ExecError::UnknownCardinality)?;
            Ok(Value::at_clients(std::iter::repeat_n(Value::clone(&member), n_clients)))
        }
        (TypeKind::Federated(federated), Value::Clients(Clients::Each(members))) => {
            let Some(held) = members.elsewhere() else { return Ok(Value::Clients(Clients::Each(members))) };
            let members = held.fetch(&federated.member)?;
            Ok(Value::Clients(match members.first() {
                Some(member) if federated.all_equal => Clients::AllEqual(Arc::new(member.clone())),
                _ => Clients::Each(members.into()),
            }))
        }
        (_, value) => Ok(value),
    }
}
