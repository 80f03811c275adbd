//! From messages to values.

use super::dialect::Dialect;
use super::tensor_proto::array_from_any;
use crate::values::{Clients, Sequence, Tensor, Value, check_tensor, value};
use crate::{ExecError, WireError};
use bytes::Bytes;
use std::sync::Arc;
use tff_ir::Array;
use tff_proto::v0 as pb;
use tff_types::{Placement, PlacementSpec, Step, Type, TypeKind};

/// Gives the value that a computation in a message stands for, of this type if one is given.
pub(crate) type ReadComputation<'a> = dyn Fn(&pb::Computation, Option<&Type>) -> Result<Value, ExecError> + 'a;

/// Reads values, and notes in which dialect they are written.
#[derive(Default)]
pub(crate) struct Reader<'a> {
    /// How many members values at clients must have that are not all-equal, where that is known.
    pub(crate) n_clients: Option<usize>,
    pub(crate) dialect: Dialect,
    /// What reads computations; they are refused without it.
    pub(crate) computation: Option<&'a ReadComputation<'a>>,
    /// Wraps each buffer that a value keeps of its message.
    pub(crate) wrap: Option<&'a dyn Fn(Bytes) -> Bytes>,
}

impl Reader<'_> {
    /// Reads a value, of type `ty` if one is given.
    ///
    /// Names of struct elements may be absent from the message; where they are there they must be
    /// the type's.
    ///
    /// # Errors
    /// [`ExecError::Mismatch`], [`ExecError::Cardinality`], [`ExecError::Array`],
    /// [`ExecError::Decode`] and others, with the path inside the value.
    pub(crate) fn read(&mut self, message: &pb::Value, ty: Option<&Type>) -> Result<Value, ExecError> {
        self.read_at(message, ty, 0)
    }

    fn read_at(&mut self, message: &pb::Value, ty: Option<&Type>, depth: u32) -> Result<Value, ExecError> {
        use pb::value::Value as V;
        if depth >= value::MAX_DEPTH {
            return Err(ExecError::Limit { what: "the nesting of a value", limit: value::MAX_DEPTH as usize });
        }
        let kind = match (&message.value, &message.tensor) {
            (Some(kind), _) => kind,
            (None, Some(any)) => {
                self.dialect.tensor_protos = true;
                return self.tensor(array_from_any(any)?, ty);
            }
            (None, None) => {
                return Err(ty.map_or(WireError::Empty.into(), |ty| ExecError::mismatch(ty, "an empty value")));
            }
        };
        match kind {
            V::Array(array) => {
                self.dialect.arrays = true;
                self.tensor(Array::from_proto(array)?, ty)
            }
            V::Struct(value) => self.structure(value, ty, depth),
            V::Sequence(value) => self.sequence(value, ty),
            V::Federated(value) => self.federated(value, ty, depth),
            V::Computation(comp) => match (self.computation, ty) {
                (Some(read), _) => read(comp, ty),
                (None, Some(ty)) => Err(ExecError::mismatch(ty, "a computation")),
                (None, None) => Err(ExecError::mismatch("a value other than a computation", "a computation")),
            },
        }
    }

    fn tensor(&self, array: Array, ty: Option<&Type>) -> Result<Value, ExecError> {
        match ty.map(|ty| (ty, ty.kind())) {
            None => {}
            Some((_, TypeKind::Tensor(tensor_ty))) => check_tensor(tensor_ty, &array)?,
            Some((ty, _)) => return Err(ExecError::mismatch(ty, "a tensor")),
        }
        Ok(Value::Tensor(Tensor::new(match self.wrap {
            None => array,
            Some(wrap) => wrap_array(array, wrap)?,
        })))
    }

    fn structure(&mut self, value: &pb::value::Struct, ty: Option<&Type>, depth: u32) -> Result<Value, ExecError> {
        let types = match ty.map(|ty| (ty, ty.as_struct())) {
            None => None,
            Some((_, Some(structure))) if structure.len() == value.element.len() => Some(structure.elements()),
            Some((ty, _)) => {
                return Err(ExecError::mismatch(ty, format!("a struct of {} elements", value.element.len())));
            }
        };
        let elements = value.element.iter().enumerate().map(|(index, element)| {
            let declared = types.and_then(|types| types.get(index));
            let name = declared.and_then(|declared| declared.name.as_deref());
            if let Some(name) = name.filter(|&name| !element.name.is_empty() && name != element.name) {
                let (expected, found) = (format!("an element named `{name}`"), format!("`{}`", element.name));
                return Err(ExecError::mismatch(expected, found).at_element(index, None));
            }
            let missing =
                || declared.map_or(WireError::Empty.into(), |declared| ExecError::mismatch(&declared.ty, "no value"));
            let member = element.value.as_ref().ok_or_else(missing);
            member
                .and_then(|member| self.read_at(member, declared.map(|declared| &declared.ty), depth + 1))
                .map_err(|error| error.at_element(index, name))
        });
        Ok(Value::Struct(elements.collect::<Result<_, _>>()?))
    }

    fn sequence(&mut self, value: &pb::value::Sequence, ty: Option<&Type>) -> Result<Value, ExecError> {
        use pb::value::sequence::Value as S;
        let stated = value.element_type.as_ref().map(Type::from_proto).transpose()?;
        let element = match ty.map(|ty| (ty, ty.as_sequence())) {
            None => stated,
            Some((ty, None)) => return Err(ExecError::mismatch(ty, "a sequence")),
            Some((ty, Some(sequence))) => {
                if let Some(stated) = stated.filter(|stated| !sequence.element.is_assignable_from(stated)) {
                    return Err(ExecError::mismatch(ty, format!("{stated}*")));
                }
                Some(sequence.element.clone())
            }
        };
        match &value.value {
            Some(S::SerializedGraphDef(graph)) => {
                self.dialect.datasets = true;
                // What a peer leaves untyped is checked when it is used.
                let element = element.unwrap_or_else(|| Type::abstract_type(tff_ir::UNTYPED));
                let graph = self.wrap.map_or_else(|| graph.clone(), |wrap| wrap(graph.clone()));
                Ok(Value::Sequence(Sequence::from_dataset(element, graph)))
            }
            Some(S::ZippedSavedModel(_)) => {
                Err(ExecError::Unsupported("a sequence given as a zipped saved model".into()))
            }
            None => {
                (self.dialect.arrays, self.dialect.elements) = (true, true);
                let element = element.ok_or_else(|| ExecError::mismatch("a sequence with its element type", "none"))?;
                let elements = value.element.iter().enumerate().map(|(index, flat)| {
                    self.element(&flat.flat_value, &element).map_err(|error| error.at(Step::Index(index)))
                });
                let elements: Arc<[Value]> = elements.collect::<Result<_, _>>()?;
                Ok(Value::Sequence(Sequence::from_elements(element, elements)))
            }
        }
    }

    /// The element of a sequence that is given as its arrays.
    fn element(&self, arrays: &[pb::Array], ty: &Type) -> Result<Value, ExecError> {
        let mut arrays = arrays.iter();
        let value = self.unflatten(&mut arrays, ty)?;
        match arrays.len() {
            0 => Ok(value),
            more => Err(ExecError::mismatch(ty, format!("{more} more arrays"))),
        }
    }

    /// A value of tensors and structs from its arrays in depth-first order.
    fn unflatten(&self, arrays: &mut std::slice::Iter<'_, pb::Array>, ty: &Type) -> Result<Value, ExecError> {
        if let Some(structure) = ty.as_struct() {
            let elements = structure.elements().iter().enumerate().map(|(index, element)| {
                self.unflatten(arrays, &element.ty).map_err(|error| error.at_element(index, element.name.as_deref()))
            });
            return Ok(Value::Struct(elements.collect::<Result<_, _>>()?));
        }
        let array = arrays.next().ok_or_else(|| ExecError::mismatch(ty, "no array"))?;
        self.tensor(Array::from_proto(array)?, Some(ty))
    }

    /// Reads a federated value and checks what the protocol says of `all_equal` and of the server.
    fn federated(&mut self, value: &pb::value::Federated, ty: Option<&Type>, depth: u32) -> Result<Value, ExecError> {
        let expected = match ty.map(|ty| (ty, ty.as_federated())) {
            None => None,
            Some((_, Some(federated))) => Some(federated),
            Some((ty, None)) => return Err(ExecError::mismatch(ty, "a federated value")),
        };
        let stated = value.r#type.as_ref();
        let all_equal = stated.is_some_and(|ty| ty.all_equal);
        let found = value.value.len();
        let placement: Result<Placement, _> = uri(stated).parse();
        // The number of values is checked before the placement: what is wrong first decides the error.
        if all_equal && found != 1 {
            let expected = match placement {
                Ok(placement @ Placement::Clients) => {
                    return Err(ExecError::Cardinality { placement, expected: 1, found });
                }
                Ok(Placement::Server) => "one value at SERVER",
                Err(_) => "one value for an all-equal federated value",
            };
            return Err(ExecError::mismatch(expected, format!("{found} values")));
        }
        let placement = placement?;
        if let Some(expected) = expected.filter(|ty| ty.placement != PlacementSpec::Value(placement)) {
            return Err(ExecError::mismatch(format!("a value at {}", expected.placement), "one placed elsewhere"));
        }
        let member = expected.map(|ty| &ty.member);
        match (placement, all_equal, &value.value[..]) {
            (Placement::Clients, true, [value]) => {
                Ok(Value::at_clients_all_equal(self.read_at(value, member, depth + 1)?))
            }
            // With a type to go by, nothing depends on what is said of a value at the server.
            (Placement::Server, _, [value]) if all_equal || expected.is_some() => {
                Ok(Value::at_server(self.read_at(value, member, depth + 1)?))
            }
            (Placement::Server, ..) => {
                Err(ExecError::mismatch("an all-equal value at SERVER", "one that is not all-equal"))
            }
            (Placement::Clients, _, values) => {
                if let Some(expected) = self.n_clients.filter(|&expected| expected != found) {
                    return Err(ExecError::Cardinality { placement, expected, found });
                }
                if let Some(ty) = ty.filter(|_| expected.is_some_and(|expected| expected.all_equal)) {
                    return Err(ExecError::mismatch(ty, format!("{found} values that may differ")));
                }
                let members = values.iter().enumerate().map(|(client_idx, value)| {
                    self.read_at(value, member, depth + 1).map_err(|error| error.at(Step::Index(client_idx)))
                });
                Ok(Value::Clients(Clients::Each(members.collect::<Result<_, _>>()?)))
            }
        }
    }
}

/// The computations in a message, in the order in which they are read.
pub(crate) fn computations(message: &pb::Value) -> Vec<&pb::Computation> {
    use pb::value::Value as V;
    let (mut found, mut rest) = (Vec::new(), vec![message]);
    while let Some(message) = rest.pop() {
        match &message.value {
            Some(V::Computation(comp)) => found.push(comp),
            Some(V::Struct(value)) => rest.extend(value.element.iter().rev().filter_map(|it| it.value.as_ref())),
            Some(V::Federated(value)) => rest.extend(value.value.iter().rev()),
            Some(V::Array(_) | V::Sequence(_)) | None => {}
        }
    }
    found
}

/// What a message calls the placement of a value; nothing where it does not say.
fn uri(ty: Option<&pb::FederatedType>) -> &str {
    match ty.and_then(|ty| ty.placement.as_ref()).and_then(|spec| spec.placement.as_ref()) {
        Some(pb::placement_spec::Placement::Value(placement)) => &placement.uri,
        // A label stands for a placement that is not known yet: no value is there.
        Some(pb::placement_spec::Placement::Label(_)) | None => "",
    }
}

fn wrap_array(array: Array, wrap: &dyn Fn(Bytes) -> Bytes) -> Result<Array, ExecError> {
    Ok(match (array.as_dense(), array.as_strings()) {
        (Some(bytes), _) => Array::dense(array.dtype(), array.dims(), wrap(bytes.clone()))?,
        (None, Some(strings)) => Array::strings(array.dims(), strings.iter().cloned().map(wrap).collect::<Vec<_>>())?,
        (None, None) => array,
    })
}
