//! Errors as Python raises them: the classes of `federated_runtime._errors`, with the place as an attribute.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use tff_exec::{EvalError, ExecError};

/// Which class is raised.
#[derive(Clone, Copy)]
pub(crate) enum Class {
    Mismatch,
    Computation,
    Compile,
    Library,
    Run,
    Deadline,
}

impl Class {
    const fn name(self) -> &'static str {
        match self {
            Self::Mismatch => "MismatchError",
            Self::Computation => "ComputationError",
            Self::Compile => "CompileError",
            Self::Library => "LibraryError",
            Self::Run => "RunError",
            Self::Deadline => "DeadlineError",
        }
    }
}

/// What an error says beside its message.
#[derive(Clone, Copy, Default)]
pub(crate) struct Details<'a> {
    pub(crate) path: Option<&'a str>,
    pub(crate) expected: Option<&'a str>,
    pub(crate) found: Option<&'a str>,
}

/// An error of this class.
pub(crate) fn error(py: Python<'_>, class: Class, message: &str, details: Details<'_>) -> PyErr {
    let make = || {
        static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let errors = ERRORS.get_or_try_init(py, || py.import("federated_runtime._errors").map(Bound::unbind))?;
        let keywords = PyDict::new(py);
        keywords.set_item("path", details.path)?;
        keywords.set_item("expected", details.expected)?;
        keywords.set_item("found", details.found)?;
        errors.bind(py).getattr(class.name())?.call((message,), Some(&keywords))
    };
    match make() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// An error without a place.
pub(crate) fn plain(py: Python<'_>, class: Class, message: impl ToString) -> PyErr {
    error(py, class, &message.to_string(), Details::default())
}

/// What a run or its preparation failed with.
pub(crate) fn from_exec(py: Python<'_>, failed: &ExecError) -> PyErr {
    let mut path = Vec::new();
    let mut cause = failed;
    while let ExecError::At { place, source } = cause {
        path.push(place.to_string());
        cause = source;
    }
    let path = (!path.is_empty()).then(|| path.join(": "));
    let details = Details { path: path.as_deref(), ..Details::default() };
    let message = failed.to_string();
    match cause {
        ExecError::Mismatch { expected, found } => {
            let details = Details { expected: Some(expected), found: Some(found), ..details };
            error(py, Class::Mismatch, &message, details)
        }
        ExecError::Cardinality { expected, found, .. } => {
            let (expected, found) = (expected.to_string(), found.to_string());
            let details = Details { expected: Some(&expected), found: Some(&found), ..details };
            error(py, Class::Mismatch, &message, details)
        }
        ExecError::MissingArgument(_) | ExecError::UnexpectedArgument | ExecError::UnknownCardinality => {
            error(py, Class::Mismatch, &message, details)
        }
        ExecError::Eval(EvalError::Compile(_)) => error(py, Class::Compile, &message, details),
        ExecError::Library { library, .. } => {
            let package = if library.contains("tensorflow") { "tensorflow-cpu" } else { "'federated-runtime[xla]'" };
            error(py, Class::Library, &format!("{message}, or pip install {package}"), details)
        }
        ExecError::Deadline => error(py, Class::Deadline, &message, details),
        ExecError::Own(own) => {
            let failed = error(py, Class::Run, &message, details);
            // The user's own exception, with its traceback.
            failed.set_cause(py, crate::leaf::cause(py, &**own));
            failed
        }
        _ => error(py, Class::Run, &message, details),
    }
}
