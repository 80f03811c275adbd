//! `Form`: a computation as several parts with fixed roles.

use crate::computation::{Computation, compile_error, file_error, options};
use crate::types::Type;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use tff_sim::forms::{Form as Parts, FormKind, check_new_folder};

/// A computation as several parts with fixed roles, for systems that run each part where and how they like.
#[pyclass(frozen, module = "federated_runtime")]
pub(crate) struct Form {
    parts: Parts,
    ty: tff_types::Type,
}

impl Form {
    pub(crate) fn split(py: Python<'_>, comp: &Computation, kind: &str, insecure_aggregation: bool) -> PyResult<Self> {
        let kinds = [FormKind::MapReduce, FormKind::DistributeAggregate, FormKind::Mergeable, FormKind::Broadcast];
        let Some(kind) = kinds.into_iter().find(|it| it.to_string() == kind) else {
            let kinds = kinds.map(|kind| format!("'{kind}'")).join(", ");
            return Err(PyValueError::new_err(format!("expected one of the forms {kinds}, found {kind:?}")));
        };
        let parts = py.detach(|| Parts::from_comp(kind, &comp.0, &options(insecure_aggregation)));
        let parts = parts.map_err(|error| compile_error(py, &error))?;
        Ok(Self { parts, ty: comp.0.ty().clone() })
    }
}

#[pymethods]
impl Form {
    /// Reads the folder of a form.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let parts = py.detach(|| Parts::read(&path)).map_err(|error| file_error(py, error))?;
        let whole = parts.to_comp().map_err(|error| compile_error(py, &error))?;
        Ok(Self { parts, ty: whole.ty().clone() })
    }

    /// Writes the form to a folder, which must be new or empty.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved = py.detach(|| check_new_folder(&path).and_then(|()| self.parts.write(&self.ty, &path)));
        saved.map_err(|error| file_error(py, error))
    }

    /// The name of the form.
    #[getter]
    fn kind(&self) -> String {
        self.parts.kind().to_string()
    }

    /// The type of the whole computation.
    #[getter]
    fn r#type(&self) -> Type {
        Type(self.ty.clone())
    }

    /// The parts by their roles.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let parts = PyDict::new(py);
        for (role, part) in self.parts.parts() {
            parts.set_item(role, Computation(part.clone()))?;
        }
        Ok(parts)
    }

    /// The parts put together again.
    fn to_computation(&self, py: Python<'_>) -> PyResult<Computation> {
        let whole = py.detach(|| self.parts.to_comp());
        whole.map(Computation).map_err(|error| compile_error(py, &error))
    }

    fn __repr__(&self) -> String {
        format!("<Form {} {}>", self.parts.kind(), self.ty)
    }
}
