//! `Value`: a value that was read once, or that is kept as it is.

use crate::error::{Class, from_exec, plain};
use crate::executor::Executor;
use crate::read::Reader;
use crate::types::Type;
use crate::write::Writer;
use bytes::Bytes;
use prost::Message;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use tff_exec::{value_from_proto, value_to_proto};
use tff_proto::{Limits, v0 as pb};
use tff_types::TypeKind;

/// A value of a type, as the runtime has it. Programs take it as it is, wherever it is in an argument.
#[pyclass(frozen, module = "federated_runtime._native")]
pub(crate) struct Value {
    pub(crate) value: tff_exec::Value,
    pub(crate) ty: tff_types::Type,
}

/// The bytes of a message as a value of this type.
pub(crate) fn decode(py: Python<'_>, data: &[u8], ty: &tff_types::Type) -> PyResult<tff_exec::Value> {
    let decoded = tff_proto::decode(&Bytes::copy_from_slice(data), &Limits::default());
    let message: pb::Value = decoded.map_err(|error| plain(py, Class::Mismatch, error))?;
    value_from_proto(&message, ty).map_err(|error| from_exec(py, &error))
}

/// A value of this type as the bytes of a message.
pub(crate) fn encode<'py>(
    py: Python<'py>,
    value: &tff_exec::Value,
    ty: &tff_types::Type,
) -> PyResult<Bound<'py, PyBytes>> {
    let message = value_to_proto(value, ty).map_err(|error| from_exec(py, &error))?;
    Ok(PyBytes::new(py, &message.encode_to_vec()))
}

#[pymethods]
impl Value {
    /// Reads a Python object as a value of a type.
    ///
    /// Raises:
    ///     MismatchError: With the place, and what was expected and found there.
    #[new]
    fn new(object: &Bound<'_, PyAny>, r#type: &Type) -> PyResult<Self> {
        let value = Reader::default().read(object, &r#type.0);
        Ok(Self { value: value.map_err(|error| error.raise(object.py(), "value"))?, ty: r#type.0.clone() })
    }

    /// Reads a serialized message ``Value``.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8], r#type: &Type) -> PyResult<Self> {
        Ok(Self { value: decode(py, data, &r#type.0)?, ty: r#type.0.clone() })
    }

    /// The value as a serialized message ``Value``.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        encode(py, &self.value, &self.ty)
    }

    /// Its type.
    #[getter]
    fn r#type(&self) -> Type {
        Type(self.ty.clone())
    }

    /// The value as Python has it.
    #[pyo3(signature = (*, executor = None))]
    fn get<'py>(&self, py: Python<'py>, executor: Option<&Executor>) -> PyResult<Bound<'py, PyAny>> {
        let executor = executor.map(Executor::get);
        Writer { py, structure: None, executor: executor.as_ref() }.write(&self.value, &self.ty)
    }

    /// The value at the server, without its placement.
    #[getter]
    fn member(&self, py: Python<'_>) -> PyResult<Self> {
        match (&self.value, self.ty.kind()) {
            (tff_exec::Value::Server(member), TypeKind::Federated(federated)) => {
                Ok(Self { value: member.as_ref().clone(), ty: federated.member.clone() })
            }
            _ => Err(plain(py, Class::Mismatch, format!("expected a value at SERVER, found {}", self.ty))),
        }
    }

    /// The value, placed at the server.
    fn at_server(&self, py: Python<'_>) -> PyResult<Self> {
        let ty = tff_types::Type::at_server(self.ty.clone());
        let ty = ty.map_err(|error| plain(py, Class::Mismatch, error))?;
        Ok(Self { value: tff_exec::Value::at_server(self.value.clone()), ty })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, value) = (slf.py(), slf.get());
        (py.get_type::<Self>().getattr("from_bytes")?, (value.to_bytes(py)?, value.r#type())).into_pyobject(py)
    }

    /// An element of a struct, by name or position.
    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (tff_exec::Value::Struct(elements), TypeKind::Struct(structure)) = (&self.value, self.ty.kind()) else {
            return Err(plain(
                py,
                Class::Mismatch,
                format!("expected a struct to take an element of, found {}", self.ty),
            ));
        };
        let index = match key.extract::<&str>() {
            Ok(name) => structure.index_of(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))?,
            Err(_) => key.extract::<usize>()?,
        };
        match (elements.get(index), structure.elements().get(index)) {
            (Some(value), Some(element)) => Ok(Self { value: value.clone(), ty: element.ty.clone() }),
            _ => Err(PyIndexError::new_err(index)),
        }
    }

    fn __repr__(&self) -> String {
        format!("<Value {}>", self.ty)
    }
}

/// The positions of the clients that take part in a round, in ascending order.
#[pyfunction]
pub(crate) fn sample_clients(seed: u64, round: u64, n_clients: usize, n_chosen: usize) -> Vec<usize> {
    tff_sim::simulation::sample_clients(seed, round, n_clients, n_chosen)
}
