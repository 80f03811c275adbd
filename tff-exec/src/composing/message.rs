//! What is sent to children and comes back: values as messages that every worker understands.

use crate::untyped::federated_message;
use crate::{ExecError, Value, value_from_proto};
use tff_proto::v0 as pb;
use tff_types::{Placement, Type};

/// A value without placement, in the form of TFF 0.87: arrays, and sequences as serialized datasets.
///
/// # Errors
/// [`ExecError::Mismatch`] where something is placed; those of datasets and functions.
pub(super) fn write(value: &Value) -> Result<pb::Value, ExecError> {
    use pb::value::Value as V;
    let kind = match value {
        Value::Tensor(tensor) => V::Array(tensor.array().to_proto_value()),
        Value::Struct(elements) => {
            let element = elements.iter().enumerate().map(|(index, value)| {
                let value = Some(write(value).map_err(|error| error.at_element(index, None))?);
                Ok(pb::value::r#struct::Element { name: String::new(), value })
            });
            V::Struct(pb::value::Struct { element: element.collect::<Result<_, ExecError>>()? })
        }
        Value::Sequence(sequence) => {
            // What reads a dataset element by element needs to know the names in them.
            let element = Some(sequence.element_type()).filter(|element| !element.contains_abstract());
            let element_type = element.map(Type::to_proto).transpose();
            V::Sequence(pb::value::Sequence {
                element_type: element_type.map_err(|error| ExecError::Decode(error.to_string()))?,
                value: Some(pb::value::sequence::Value::SerializedGraphDef(sequence.dataset()?)),
                ..Default::default()
            })
        }
        Value::Function(function) => {
            let comp = function.to_comp()?.to_proto();
            V::Computation(comp.map_err(|error| ExecError::Decode(error.to_string()))?)
        }
        Value::Server(_) | Value::Clients(_) | Value::Placement(_) => {
            return Err(ExecError::mismatch("a value without placement", value.describe()));
        }
    };
    Ok(pb::Value { tensor: None, value: Some(kind) })
}

/// A placed value of these members: of one for all where it is `all_equal`.
pub(super) fn write_placed<'a>(
    placement: Placement,
    all_equal: bool,
    members: impl IntoIterator<Item = &'a Value>,
) -> Result<pb::Value, ExecError> {
    let members = members.into_iter().enumerate();
    let members = members.map(|(index, member)| write(member).map_err(|error| error.at_element(index, None)));
    let kind = federated_message(placement, all_equal, members.collect::<Result<_, _>>()?);
    Ok(pb::Value { tensor: None, value: Some(kind) })
}

/// The members of a value at clients.
///
/// # Errors
/// [`ExecError::Mismatch`], [`ExecError::Cardinality`] where it is none of so many members of the type.
pub(super) fn read_members(value: &pb::Value, member: &Type, n_clients: usize) -> Result<Vec<Value>, ExecError> {
    let (all_equal, values) = placed(value, Placement::Clients)?;
    let (expected, found) = (if all_equal { 1 } else { n_clients }, values.len());
    if found != expected {
        return Err(ExecError::Cardinality { placement: Placement::Clients, expected, found });
    }
    let members = values.iter().enumerate();
    let members = members
        .map(|(index, value)| value_from_proto(value, member).map_err(|error| error.at_element(index, None)))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(match members.first() {
        Some(member) if all_equal => vec![member.clone(); n_clients],
        _ => members,
    })
}

/// The member of a value at the server.
///
/// # Errors
/// [`ExecError::Mismatch`] where it is none of the type.
pub(super) fn read_server(value: &pb::Value, member: &Type) -> Result<Value, ExecError> {
    match placed(value, Placement::Server)? {
        (_, [value]) => value_from_proto(value, member),
        (_, values) => Err(ExecError::mismatch("one value at SERVER", format!("{} values", values.len()))),
    }
}

/// Whether a placed value is one for all, and its values.
fn placed(value: &pb::Value, placement: Placement) -> Result<(bool, &[pb::Value]), ExecError> {
    let Some(pb::value::Value::Federated(federated)) = &value.value else {
        return Err(ExecError::mismatch(format!("a value at {placement}"), "one without placement"));
    };
    let ty = federated.r#type.as_ref();
    match ty.and_then(|ty| ty.placement.as_ref()).and_then(|spec| spec.placement.as_ref()) {
        Some(pb::placement_spec::Placement::Value(found)) if found.uri == placement.uri() => {
            Ok((ty.is_some_and(|ty| ty.all_equal), &federated.value))
        }
        _ => Err(ExecError::mismatch(format!("a value at {placement}"), "one placed elsewhere")),
    }
}
