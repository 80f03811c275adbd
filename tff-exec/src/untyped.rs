//! Values from and to messages without a type to go by, as a peer of the worker sends them.

use crate::conform::unknown_type;
use crate::tensor_proto::{array_from_any, array_to_any};
use crate::value::{MAX_DEPTH, check_n_clients};
use crate::{Clients, ExecError, Sequence, TensorFlow, Value};
use std::sync::Arc;
use tff_ir::Array;
use tff_proto::v0 as pb;
use tff_types::{Placement, Type};

/// The forms that were heard from the clients of a session. TFF 0.80 writes tensors as `TensorProto`
/// in an `Any`, later versions as arrays; from 0.88 on sequences are lists of their elements, before
/// that serialized datasets.
///
/// A reply holds each form that was heard, so that clients of several versions can share a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a form of its own")]
pub(crate) struct Dialect {
    tensor_protos: bool,
    arrays: bool,
    datasets: bool,
    elements: bool,
}

impl Dialect {
    /// Notes what a computation tells of who wrote it, unless that is known: each graph that 0.80
    /// sends has a layout map, and none of later versions.
    pub(crate) fn hear(&mut self, comp: &pb::Computation) {
        if self.tensor_protos || self.arrays {
            return;
        }
        let mut left = vec![comp];
        while let Some(comp) = left.pop() {
            use pb::computation::Computation as C;
            match comp.computation.as_ref() {
                Some(C::Tensorflow(graph)) => {
                    self.tensor_protos = graph.layout_map.is_some();
                    self.arrays = !self.tensor_protos;
                    return;
                }
                Some(C::Call(call)) => {
                    left.extend(call.function.as_deref().into_iter().chain(call.argument.as_deref()))
                }
                Some(C::Lambda(lambda)) => left.extend(lambda.result.as_deref()),
                Some(C::Selection(selection)) => left.extend(selection.source.as_deref()),
                Some(C::Struct(structure)) => left.extend(structure.element.iter().filter_map(|it| it.value.as_ref())),
                Some(C::Block(block)) => {
                    left.extend(block.local.iter().filter_map(|it| it.value.as_ref()).chain(block.result.as_deref()));
                }
                _ => {}
            }
        }
    }

    /// Whether tensors are written in an `Any`; in both forms as long as nothing was heard.
    const fn writes_tensor_protos(self) -> bool {
        self.tensor_protos || !self.arrays
    }

    const fn writes_arrays(self) -> bool {
        self.arrays || !self.tensor_protos
    }

    const fn writes_datasets(self) -> bool {
        self.datasets || !self.elements
    }
}

/// Reads a value that is no computation and notes the dialect it is written in.
///
/// A value at clients must have one member for each of `n_clients`, or one for all.
///
/// # Errors
/// An [`ExecError`] with the path inside the value.
pub(crate) fn read(value: &pb::Value, n_clients: usize, dialect: &mut Dialect) -> Result<Value, ExecError> {
    read_at(value, n_clients, dialect, 0)
}

fn read_at(value: &pb::Value, n_clients: usize, dialect: &mut Dialect, depth: u32) -> Result<Value, ExecError> {
    use pb::value::Value as V;
    if depth >= MAX_DEPTH {
        return Err(ExecError::Limit { what: "the nesting of a value", limit: MAX_DEPTH as usize });
    }
    let kind = match (&value.value, &value.tensor) {
        (Some(kind), _) => kind,
        (None, Some(any)) => {
            dialect.tensor_protos = true;
            return Ok(Value::array(array_from_any(any)?));
        }
        (None, None) => return Err(ExecError::Empty),
    };
    match kind {
        V::Array(array) => {
            dialect.arrays = true;
            Ok(Value::array(Array::from_proto(array)?))
        }
        V::Struct(value) => {
            let elements = value.element.iter().enumerate().map(|(index, element)| {
                let member = element.value.as_ref().ok_or(ExecError::Empty);
                member
                    .and_then(|member| read_at(member, n_clients, dialect, depth + 1))
                    .map_err(|error| error.at_element(index, None))
            });
            Ok(Value::Struct(elements.collect::<Result<_, _>>()?))
        }
        V::Sequence(value) => sequence(value, dialect),
        V::Federated(value) => federated(value, n_clients, dialect, depth),
        V::Computation(_) => Err(ExecError::mismatch("a value that is no computation", "a computation")),
    }
}

fn sequence(value: &pb::value::Sequence, dialect: &mut Dialect) -> Result<Value, ExecError> {
    use pb::value::sequence::Value as S;
    let element = value.element_type.as_ref().map(Type::from_proto).transpose();
    let element = element.map_err(|error| ExecError::Decode(error.to_string()))?;
    match &value.value {
        Some(S::SerializedGraphDef(graph)) => {
            dialect.datasets = true;
            Ok(Value::Sequence(Sequence::from_dataset(element.unwrap_or_else(unknown_type), graph.clone())))
        }
        Some(S::ZippedSavedModel(_)) => Err(ExecError::Unsupported("a sequence given as a zipped saved model".into())),
        None => {
            (dialect.arrays, dialect.elements) = (true, true);
            let element = element.ok_or_else(|| ExecError::mismatch("a sequence with its element type", "none"))?;
            let elements = crate::proto::elements_from_proto(&element, &value.element)?;
            Ok(Value::Sequence(Sequence::from_elements(element, elements)))
        }
    }
}

/// Reads a federated value and checks what the seed says of `all_equal` and of the server.
fn federated(
    value: &pb::value::Federated,
    n_clients: usize,
    dialect: &mut Dialect,
    depth: u32,
) -> Result<Value, ExecError> {
    let ty = value.r#type.as_ref();
    let all_equal = ty.is_some_and(|ty| ty.all_equal);
    let found = value.value.len();
    let uri = match ty.and_then(|ty| ty.placement.as_ref()).and_then(|spec| spec.placement.as_ref()) {
        Some(pb::placement_spec::Placement::Value(placement)) => placement.uri.as_str(),
        Some(pb::placement_spec::Placement::Label(label)) => label.label.as_str(),
        None => "",
    };
    // The number of values is checked before the placement: what is wrong first decides the error.
    if all_equal && found != 1 {
        let found = format!("{found} values");
        return Err(ExecError::mismatch("one value for an all-equal federated value", found));
    }
    let placement: Placement = uri.parse()?;
    let mut member = |(index, member): (usize, &pb::Value)| {
        read_at(member, n_clients, dialect, depth + 1).map_err(|error| error.at_element(index, None))
    };
    match (placement, all_equal) {
        (Placement::Server, false) => {
            Err(ExecError::mismatch("an all-equal value at SERVER", "one that is not all-equal"))
        }
        (Placement::Clients, false) if found != n_clients => {
            Err(ExecError::Cardinality { placement, expected: n_clients, found })
        }
        (Placement::Clients, false) => {
            let members = value.value.iter().enumerate().map(member);
            Ok(Value::Clients(Clients::Each(members.collect::<Result<_, _>>()?)))
        }
        (_, true) => {
            let first = value.value.iter().enumerate().next().ok_or(ExecError::Empty)?;
            let member = Arc::new(member(first)?);
            Ok(match placement {
                Placement::Server => Value::Server(member),
                Placement::Clients => Value::Clients(Clients::AllEqual(member)),
            })
        }
    }
}

/// Who reads a value that is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    /// For how many clients values are written that all of them share.
    pub(crate) n_clients: usize,
    /// The forms that are understood.
    pub(crate) dialect: Dialect,
    /// What reads the elements of datasets.
    pub(crate) tensorflow: &'a TensorFlow,
}

/// Writes a value: structs without names, values at clients one by one.
///
/// # Errors
/// [`ExecError::Unsupported`] for functions that are not to be written; those of a dataset.
pub(crate) fn write(value: &Value, to: &Reader<'_>) -> Result<pb::Value, ExecError> {
    use pb::value::Value as V;
    let kind = match value {
        Value::Tensor(tensor) => {
            let (array, dialect) = (tensor.array(), to.dialect);
            return Ok(pb::Value {
                tensor: dialect.writes_tensor_protos().then(|| array_to_any(array)),
                value: dialect.writes_arrays().then(|| V::Array(array.to_proto_value())),
            });
        }
        Value::Struct(elements) => {
            let element = elements.iter().map(|value| {
                let value = Some(write(value, to)?);
                Ok(pb::value::r#struct::Element { name: String::new(), value })
            });
            V::Struct(pb::value::Struct { element: element.collect::<Result<_, ExecError>>()? })
        }
        Value::Sequence(sequence) => V::Sequence(write_sequence(sequence, to)?),
        Value::Server(member) => federated_message(Placement::Server, true, vec![write(member, to)?]),
        Value::Clients(Clients::AllEqual(member)) => {
            let member = write(member, to)?;
            federated_message(Placement::Clients, false, vec![member; check_n_clients(to.n_clients)?])
        }
        Value::Clients(Clients::Each(members)) => {
            let members = members.iter().map(|member| write(member, to));
            federated_message(Placement::Clients, false, members.collect::<Result<_, _>>()?)
        }
        Value::Clients(Clients::Held(_)) => {
            return Err(ExecError::Internal("values that workers hold were to be written"));
        }
        Value::Placement(placement) => V::Computation(pb::Computation {
            r#type: Some(Type::placement().to_proto().map_err(|error| ExecError::Decode(error.to_string()))?),
            computation: Some(pb::computation::Computation::Placement(placement.to_proto())),
        }),
        Value::Function(_) => return Err(ExecError::Unsupported("a function as a result".to_owned())),
    };
    Ok(pb::Value { tensor: None, value: Some(kind) })
}

fn write_sequence(sequence: &Sequence, to: &Reader<'_>) -> Result<pb::value::Sequence, ExecError> {
    let ty = sequence.element_type();
    let mut message = pb::value::Sequence::default();
    // A dataset that came without the type of its elements can only go back as it is.
    let writes_elements = to.dialect.elements && !ty.contains_abstract();
    if to.dialect.writes_datasets() || !writes_elements {
        message.value = Some(pb::value::sequence::Value::SerializedGraphDef(sequence.dataset()?));
    }
    if writes_elements {
        let elements = sequence.elements(to.tensorflow)?;
        let element = elements.iter().enumerate().map(|(index, element)| {
            let mut flat_value = Vec::new();
            flatten(element, &mut flat_value).map_err(|error| error.at_element(index, None))?;
            Ok(pb::value::sequence::Element { flat_value })
        });
        message.element = element.collect::<Result<_, ExecError>>()?;
        message.element_type = Some(ty.to_proto().map_err(|error| ExecError::Decode(error.to_string()))?);
    }
    Ok(message)
}

/// The tensors of a value in depth-first order.
fn flatten(value: &Value, arrays: &mut Vec<pb::Array>) -> Result<(), ExecError> {
    match value {
        Value::Tensor(tensor) => arrays.push(tensor.array().to_proto_value()),
        Value::Struct(elements) => elements.iter().try_for_each(|element| flatten(element, arrays))?,
        other => return Err(ExecError::mismatch("a tensor or a struct of tensors", other.describe())),
    }
    Ok(())
}

/// A federated value without the type of its members, which no worker needs.
pub(crate) fn federated_message(placement: Placement, all_equal: bool, value: Vec<pb::Value>) -> pb::value::Value {
    let spec = pb::PlacementSpec { placement: Some(pb::placement_spec::Placement::Value(placement.to_proto())) };
    pb::value::Value::Federated(pb::value::Federated {
        r#type: Some(pb::FederatedType { placement: Some(spec), all_equal, member: None }),
        value,
    })
}
