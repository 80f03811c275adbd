//! `Computation`: read, checked, compiled, split and printed.

use crate::error::{Class, Details, error, plain};
use crate::form::Form;
use crate::types::Type;
use bytes::Bytes;
use prost::Message;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tff_compiler::{CompileError, compile_to_native};
use tff_ir::text::{self, Bodies, Environment, PrintOptions};
use tff_ir::{Comp, Severity, validate};
use tff_proto::{Limits, v0 as pb};
use tff_sim::{FileError, FileProblem};

/// A computation: an immutable, typed tree.
#[pyclass(frozen, weakref, module = "federated_runtime")]
#[derive(Clone)]
pub(crate) struct Computation(pub(crate) Comp);

/// What is wrong or doubtful in a computation.
#[pyclass(frozen, get_all, module = "federated_runtime")]
pub(crate) struct Problem {
    /// ``error`` or ``warning``.
    severity: &'static str,
    /// What kind of problem it is, as ``unbound-reference``.
    code: String,
    /// Where it is in the computation.
    path: String,
    /// What it is.
    message: String,
}

#[pymethods]
impl Problem {
    fn __str__(&self) -> String {
        format!("{}[{}] at {}: {}", self.severity, self.code, self.path, self.message)
    }

    fn __repr__(&self) -> String {
        format!("<Problem {}>", self.__str__())
    }
}

/// Reads a computation from a file or the folder of a form.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<Computation> {
    py.detach(|| tff_sim::read(&path)).map(Computation).map_err(|error| file_error(py, error))
}

pub(crate) fn file_error(py: Python<'_>, failed: FileError) -> PyErr {
    let message = failed.to_string();
    match *failed.problem {
        // Python has a class for each kind, such as FileNotFoundError.
        FileProblem::Io(error) => std::io::Error::new(error.kind(), message).into(),
        _ => plain(py, Class::Computation, message),
    }
}

pub(crate) fn compile_error(py: Python<'_>, failed: &CompileError) -> PyErr {
    let path = if let CompileError::Pass { path, .. } = failed { Some(path.to_string()) } else { None };
    error(py, Class::Compile, &failed.to_string(), Details { path: path.as_deref(), ..Details::default() })
}

#[pymethods]
impl Computation {
    /// Reads a serialized message ``Computation``, of TFF or of federated-language.
    ///
    /// Raises:
    ///     ComputationError: The bytes are no message, or it is no computation.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let bytes = Bytes::copy_from_slice(data);
        let read = py.detach(|| {
            let message: pb::Computation =
                tff_proto::decode(&bytes, &Limits::default()).map_err(|it| it.to_string())?;
            Comp::from_proto(&message).map_err(|it| it.to_string())
        });
        read.map(Self).map_err(|message| plain(py, Class::Computation, message))
    }

    /// Reads a computation in the text form.
    ///
    /// Args:
    ///     text: What ``print`` gives, or what was written by hand.
    ///     parameter: The type of the parameter, where the text leaves it open.
    ///     names: Types of names that are free in the text.
    ///     bodies: Graphs and modules that the text names, as in a file ``NAME.bodies``.
    ///
    /// Raises:
    ///     ComputationError: With line and column.
    #[staticmethod]
    #[pyo3(signature = (text, *, parameter = None, names = None, bodies = None))]
    fn parse(
        py: Python<'_>,
        text: &str,
        parameter: Option<Type>,
        names: Option<BTreeMap<String, Type>>,
        bodies: Option<&str>,
    ) -> PyResult<Self> {
        let names = names.unwrap_or_default().into_iter().map(|(name, ty)| (Arc::from(name), ty.0)).collect();
        let bodies = bodies.map(Bodies::parse).transpose();
        let bodies = bodies.map_err(|error| plain(py, Class::Computation, error))?.unwrap_or_default();
        let environment = Environment { names, parameter: parameter.map(|ty| ty.0), bodies };
        let parsed = py.detach(|| text::parse(text, &environment));
        parsed.map(|parsed| Self(parsed.comp)).map_err(|error| plain(py, Class::Computation, error))
    }

    /// The computation as a serialized message ``Computation``: the same bytes for the same computation.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let message = self.0.to_proto().map_err(|error| plain(py, Class::Computation, error))?;
        Ok(PyBytes::new(py, &message.encode_to_vec()))
    }

    /// Its type.
    #[getter]
    fn r#type(&self) -> Type {
        Type(self.0.ty().clone())
    }

    /// What is wrong or doubtful in it; an empty list where nothing is.
    fn check(&self, py: Python<'_>) -> Vec<Problem> {
        let problems = py.detach(|| validate(&self.0));
        let one = |it: tff_ir::Diagnostic| Problem {
            severity: if it.severity == Severity::Error { "error" } else { "warning" },
            code: it.code.to_string(),
            path: it.path.to_string(),
            message: it.message,
        };
        problems.into_iter().map(one).collect()
    }

    /// Compiles it to what runtimes run without further knowledge.
    ///
    /// Args:
    ///     insecure_aggregation: Whether secure sums become plain ones.
    ///
    /// Raises:
    ///     CompileError: With the place in the computation.
    #[pyo3(signature = (*, insecure_aggregation = false))]
    fn compile(&self, py: Python<'_>, insecure_aggregation: bool) -> PyResult<Self> {
        let compiled = py.detach(|| compile_to_native(&self.0, &options(insecure_aggregation)));
        compiled.map(|compiled| Self(compiled.comp)).map_err(|error| compile_error(py, &error))
    }

    /// Splits it into parts with fixed roles.
    ///
    /// Args:
    ///     kind: ``map-reduce``, ``distribute-aggregate``, ``mergeable`` or ``broadcast``.
    ///     insecure_aggregation: Whether secure sums become plain ones.
    ///
    /// Raises:
    ///     CompileError: It is not of this form.
    #[pyo3(signature = (kind, *, insecure_aggregation = false))]
    fn to_form(&self, py: Python<'_>, kind: &str, insecure_aggregation: bool) -> PyResult<Form> {
        Form::split(py, self, kind, insecure_aggregation)
    }

    /// Its text.
    ///
    /// Args:
    ///     style: ``text`` is without loss and what ``parse`` reads, ``compact`` is one line, ``formatted`` is laid out.
    ///     bodies: Whether ``text`` has the graphs and modules in it.
    #[pyo3(signature = (style = "text", *, bodies = true))]
    fn print(&self, py: Python<'_>, style: &str, bodies: bool) -> PyResult<String> {
        match style {
            "text" => {
                let options = PrintOptions { bodies_aside: !bodies, ..PrintOptions::default() };
                let printed = text::print(&self.0, &options).map_err(|error| plain(py, Class::Computation, error))?;
                Ok(printed.text)
            }
            "compact" => Ok(self.0.to_string()),
            "formatted" => Ok(self.0.formatted().to_string()),
            _ => Err(pyo3::exceptions::PyValueError::new_err(format!(
                "expected the style 'text', 'compact' or 'formatted', found {style:?}"
            ))),
        }
    }

    fn __str__(&self) -> String {
        self.0.formatted().to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Computation {}>", self.0.ty())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (slf.get().to_bytes(py)?,)))
    }
}

pub(crate) fn options(insecure_aggregation: bool) -> tff_compiler::CompileOptions<'static> {
    let mut options = tff_compiler::CompileOptions::default();
    options.insecure_aggregation = insecure_aggregation;
    options
}
