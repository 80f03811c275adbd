//! `Type`: the types of computations and of their parts.

use crate::error::{Class, plain};
use bytes::Bytes;
use prost::Message;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tff_proto::Limits;
use tff_types::TypeKind;

/// A type of the federated language, as `{<x=float32[?,64],y=int32[?]>*}@CLIENTS`.
#[pyclass(frozen, eq, hash, from_py_object, module = "federated_runtime")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Type(pub(crate) tff_types::Type);

#[pymethods]
impl Type {
    /// Reads a type in TFF's notation.
    ///
    /// Raises:
    ///     ComputationError: The text is no type; with line and column.
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        text.parse().map(Self).map_err(|error: tff_types::syntax::SyntaxError| plain(py, Class::Computation, error))
    }

    /// Reads a serialized message ``Type``.
    ///
    /// Raises:
    ///     ComputationError: The bytes are no message, or it is no type.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let decoded = tff_proto::decode(&Bytes::copy_from_slice(data), &Limits::default());
        let message = decoded.map_err(|error| plain(py, Class::Computation, error))?;
        tff_types::Type::from_proto(&message).map(Self).map_err(|error| plain(py, Class::Computation, error))
    }

    /// The type as a serialized message ``Type``.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let message = self.0.to_proto().map_err(|error| plain(py, Class::Computation, error))?;
        Ok(PyBytes::new(py, &message.encode_to_vec()))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (slf.get().to_bytes(py)?,)))
    }

    fn __repr__(&self) -> String {
        format!("Type('{}')", self.0)
    }

    /// ``tensor``, ``struct``, ``sequence``, ``function``, ``federated``, ``abstract`` or ``placement``.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind_name()
    }

    /// The type of a function's parameter; ``None`` where there is none, or this is no function.
    #[getter]
    fn parameter(&self) -> Option<Self> {
        self.0.as_function()?.parameter.clone().map(Self)
    }

    /// The type of a function's result; ``None`` for other types.
    #[getter]
    fn result(&self) -> Option<Self> {
        self.0.as_function().map(|function| Self(function.result.clone()))
    }

    /// The type of what each place of a federated type holds; ``None`` for other types.
    #[getter]
    fn member(&self) -> Option<Self> {
        self.0.as_federated().map(|federated| Self(federated.member.clone()))
    }

    /// ``CLIENTS`` or ``SERVER`` for a federated type; ``None`` for others.
    #[getter]
    fn placement(&self) -> Option<String> {
        self.0.as_federated().map(|federated| federated.placement.to_string())
    }

    /// Whether all places of a federated type hold the same value; ``None`` for other types.
    #[getter]
    fn all_equal(&self) -> Option<bool> {
        self.0.as_federated().map(|federated| federated.all_equal)
    }

    /// The type of the elements of a sequence; ``None`` for other types.
    #[getter]
    fn element(&self) -> Option<Self> {
        self.0.as_sequence().map(|sequence| Self(sequence.element.clone()))
    }

    /// Names and types of the elements of a struct, a name is ``None`` where there is none; ``None`` for other types.
    #[getter]
    fn elements(&self) -> Option<Vec<(Option<String>, Self)>> {
        let elements = self.0.as_struct()?.elements().iter();
        Some(elements.map(|it| (it.name.as_deref().map(str::to_owned), Self(it.ty.clone()))).collect())
    }

    /// The element type of a tensor, as NumPy names it (``str`` for strings); ``None`` for other types.
    #[getter]
    fn dtype(&self) -> Option<&'static str> {
        self.0.as_tensor().map(|tensor| tensor.dtype.name())
    }

    /// The sizes of a tensor's dimensions, ``None`` for unknown ones; ``None`` for other types and unknown ranks.
    #[getter]
    fn shape(&self) -> Option<Vec<Option<u64>>> {
        let TypeKind::Tensor(tensor) = self.0.kind() else { return None };
        Some(tensor.shape.dims()?.to_vec())
    }

    /// Whether every value of type ``source`` is one of this type.
    fn is_assignable_from(&self, source: &Self) -> bool {
        self.0.is_assignable_from(&source.0)
    }
}
