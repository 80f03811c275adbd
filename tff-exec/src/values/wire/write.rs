//! From values to messages.

use super::dialect::Dialect;
use super::tensor_proto::array_to_any;
use crate::ExecError;
use crate::values::{Clients, ReadDataset, Sequence, Value, check_n_clients};
use tff_proto::v0 as pb;
use tff_types::{FederatedType, Placement, PlacementSpec, SequenceType, Step, Type, TypeKind};

/// Writes values for somebody.
pub(crate) struct Writer<'a> {
    /// The forms that are understood.
    dialect: Dialect,
    /// For how many clients values are written that all of them share: once for each. Otherwise
    /// they are written once, as all-equal.
    n_clients: Option<usize>,
    /// What reads the elements of datasets; without it sequences are written as datasets.
    reader: Option<&'a dyn ReadDataset>,
    /// Whether functions are written, as their computations.
    functions: bool,
}

/// Writes a value of type `ty`, with the names of the type.
///
/// # Errors
/// [`ExecError::Mismatch`] where the value is not of the type, [`ExecError::Unsupported`] for
/// functions and placements, which the message cannot carry as results.
pub fn value_to_proto(value: &Value, ty: &Type) -> Result<pb::Value, ExecError> {
    let writer = Writer { dialect: Dialect::COMMON, n_clients: None, reader: None, functions: false };
    writer.write(value, Some(ty))
}

impl<'a> Writer<'a> {
    /// Writes for a peer that asks for a result: in the forms heard from it, with values at clients
    /// one by one.
    pub(crate) const fn for_peer(dialect: Dialect, n_clients: usize, reader: &'a dyn ReadDataset) -> Self {
        Self { dialect, n_clients: Some(n_clients), reader: Some(reader), functions: false }
    }

    /// Writes for a worker: what every worker understands, functions too.
    pub(crate) const fn for_worker() -> Self {
        Self { dialect: Dialect::COMMON, n_clients: None, reader: None, functions: true }
    }

    /// Writes a value; with the names of its type and checked against it, if one is given.
    ///
    /// # Errors
    /// [`ExecError::Mismatch`] where the value is not of the type, [`ExecError::Unsupported`] for
    /// functions that are not to be written; those of a dataset.
    pub(crate) fn write(&self, value: &Value, ty: Option<&Type>) -> Result<pb::Value, ExecError> {
        use pb::value::Value as V;
        let kind = match (value, ty.map(|ty| (ty, ty.kind()))) {
            (_, Some((ty, TypeKind::Function(_) | TypeKind::Placement(_)))) => {
                return Err(ExecError::Unsupported(format!("a result of type {ty}")));
            }
            (Value::Tensor(tensor), None | Some((_, TypeKind::Tensor(_)))) => {
                let array = tensor.array();
                return Ok(pb::Value {
                    tensor: self.dialect.writes_tensor_protos().then(|| array_to_any(array)),
                    value: self.dialect.writes_arrays().then(|| V::Array(array.to_proto_value())),
                });
            }
            (Value::Struct(elements), None) => self.structure(elements, |_| (None, None))?,
            (Value::Struct(elements), Some((_, TypeKind::Struct(structure)))) if structure.len() == elements.len() => {
                self.structure(elements, |index| {
                    let declared = structure.elements().get(index);
                    (declared.and_then(|it| it.name.as_deref()), declared.map(|it| &it.ty))
                })?
            }
            (Value::Sequence(sequence), None) => V::Sequence(self.sequence(sequence, None)?),
            (Value::Sequence(sequence), Some((_, TypeKind::Sequence(ty)))) => {
                V::Sequence(self.sequence(sequence, Some(ty))?)
            }
            (_, Some((_, TypeKind::Federated(ty)))) => self.placed(value, Some(ty))?,
            (Value::Server(_) | Value::Clients(_), None) => self.placed(value, None)?,
            (Value::Function(function), None) if self.functions => V::Computation(function.to_comp()?.to_proto()?),
            (Value::Function(_), None) => return Err(ExecError::Unsupported("a function as a result".to_owned())),
            (Value::Placement(placement), None) => V::Computation(pb::Computation {
                r#type: Some(Type::placement().to_proto()?),
                computation: Some(pb::computation::Computation::Placement(placement.to_proto())),
            }),
            (_, Some((ty, _))) => return Err(ExecError::mismatch(ty, value.describe())),
        };
        Ok(pb::Value { tensor: None, value: Some(kind) })
    }

    fn structure<'t>(
        &self,
        elements: &[Value],
        declared: impl Fn(usize) -> (Option<&'t str>, Option<&'t Type>),
    ) -> Result<pb::value::Value, ExecError> {
        let element = elements.iter().enumerate().map(|(index, value)| {
            let (name, ty) = declared(index);
            let value = self.write(value, ty).map_err(|error| error.at_element(index, name))?;
            Ok(pb::value::r#struct::Element { name: name.unwrap_or_default().to_owned(), value: Some(value) })
        });
        Ok(pb::value::Value::Struct(pb::value::Struct { element: element.collect::<Result<_, ExecError>>()? }))
    }

    fn sequence(&self, sequence: &Sequence, declared: Option<&SequenceType>) -> Result<pb::value::Sequence, ExecError> {
        let ty = declared.map_or_else(|| sequence.element_type(), |declared| &declared.element);
        let mut message = pb::value::Sequence::default();
        // A dataset that came without the type of its elements can only go back as it is.
        let elements = self.reader.filter(|_| self.dialect.elements && !ty.contains_abstract());
        if self.dialect.writes_datasets() || elements.is_none() {
            message.value = Some(pb::value::sequence::Value::SerializedGraphDef(sequence.dataset()?));
        }
        if let Some(reader) = elements {
            let element = sequence.elements(reader)?;
            let element = element.iter().enumerate().map(|(index, element)| {
                let mut flat_value = Vec::new();
                flatten(element, &mut flat_value).map_err(|error| error.at(Step::Index(index)))?;
                Ok(pb::value::sequence::Element { flat_value })
            });
            message.element = element.collect::<Result<_, ExecError>>()?;
        }
        // A peer that asks for a result knows its type. A worker needs the type, to read a dataset by the names in it.
        if elements.is_some() || (self.reader.is_none() && !ty.contains_abstract()) {
            message.element_type = Some(ty.to_proto()?);
        }
        Ok(message)
    }

    fn placed(&self, value: &Value, ty: Option<&FederatedType>) -> Result<pb::value::Value, ExecError> {
        let wrong = |ty: &FederatedType| ExecError::mismatch(format!("a value at {}", ty.placement), value.describe());
        let (placement, all_equal, members) = match value {
            Value::Server(member) => (Placement::Server, true, std::slice::from_ref(&**member)),
            Value::Clients(Clients::AllEqual(member)) => (Placement::Clients, true, std::slice::from_ref(&**member)),
            Value::Clients(Clients::Each(members)) => (Placement::Clients, false, members.here()?),
            _ => return Err(ty.map_or(ExecError::Internal("a value without placement was to be placed"), wrong)),
        };
        if let Some(ty) = ty.filter(|ty| ty.placement != PlacementSpec::Value(placement)) {
            return Err(wrong(ty));
        }
        let mut message = self.members(placement, all_equal, members, ty.map(|ty| &ty.member))?;
        if let (Placement::Clients, true, Some(n_clients)) = (placement, all_equal, self.n_clients)
            && let (Some(ty), Some(member)) = (&mut message.r#type, message.value.pop())
        {
            ty.all_equal = false;
            message.value = vec![member; check_n_clients(n_clients)?];
        }
        Ok(pb::value::Value::Federated(message))
    }

    /// A placed value of these members: of one for all where it is `all_equal`.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub(crate) fn members(
        &self,
        placement: Placement,
        all_equal: bool,
        members: &[Value],
        member: Option<&Type>,
    ) -> Result<pb::value::Federated, ExecError> {
        let value = members
            .iter()
            .enumerate()
            .map(|(client_idx, value)| self.write(value, member).map_err(|error| error.at(Step::Index(client_idx))));
        let value = value.collect::<Result<_, _>>()?;
        let member = member.map(Type::to_proto).transpose()?.map(Box::new);
        let spec = pb::PlacementSpec { placement: Some(pb::placement_spec::Placement::Value(placement.to_proto())) };
        Ok(pb::value::Federated { r#type: Some(pb::FederatedType { placement: Some(spec), all_equal, member }), value })
    }
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
