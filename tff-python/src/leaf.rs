//! Python functions as leaves: `data` in computations names them, and they are called where a computation calls it.

use crate::read::Reader;
use crate::write::Writer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use tff_exec::leaf::Prepared;
use tff_exec::{DataBackend, ExecError, Function, Value};
use tff_ir::DataContent;
use tff_types::{FunctionType, Type};

/// The message whose value names a function, under which `federated_runtime._functions` has it.
const TYPE_URL: &str = "type.googleapis.com/federated_runtime.PythonFunction";

/// Finds the functions that this process has registered. Nothing is loaded for a name: what a file or a peer names is
/// found if it is here, or refused.
pub(crate) struct Registered {
    /// The user's function for all other data: takes a URI, or the URL of a type with bytes, and the type of the value.
    pub(crate) data: Option<Py<PyAny>>,
}

impl Registered {
    fn data(&self, data: &DataContent, ty: &Type) -> Result<Value, ExecError> {
        let Some(function) = &self.data else {
            return Err(ExecError::Unsupported(match data {
                DataContent::Any(any) => format!("data of type `{}`", any.type_url),
                DataContent::Uri(uri) => format!("data at `{uri}`"),
            }));
        };
        let read = Python::attach(|py| {
            let asked_ty = crate::types::Type(ty.clone());
            let found = match data {
                DataContent::Any(any) => {
                    function.bind(py).call1(((&*any.type_url, PyBytes::new(py, &any.value)), asked_ty))
                }
                DataContent::Uri(uri) => function.bind(py).call1((&**uri, asked_ty)),
            };
            Reader::default().read(&found?, ty).map_err(|error| error.raise(py, "data"))
        });
        read.map_err(raised)
    }
}

impl DataBackend for Registered {
    fn resolve(&self, data: &DataContent, ty: &Type) -> Result<Value, ExecError> {
        let name = match data {
            DataContent::Any(any) if *any.type_url == *TYPE_URL => String::from_utf8_lossy(&any.value),
            _ => return self.data(data, ty),
        };
        let function = ty.as_function().ok_or_else(|| ExecError::Mismatch {
            expected: "the type of a function".to_owned(),
            found: ty.to_string(),
        })?;
        let found: PyResult<_> = Python::attach(|py| {
            let found = py.import("federated_runtime._functions")?.call_method1("find", (&*name,))?;
            Ok((!found.is_none()).then(|| found.unbind()))
        });
        match found.map_err(raised)? {
            Some(callable) => {
                let prepared = PythonFunction { name: name.into_owned(), callable, ty: function.clone() };
                Ok(Value::Function(Function::from_prepared(Arc::new(prepared), ty.clone())?))
            }
            None => Err(ExecError::Unsupported(format!(
                "the Python function `{name}`, which is not registered in this process,"
            ))),
        }
    }
}

/// A registered function, which takes the argument of its type and gives the result.
struct PythonFunction {
    name: String,
    callable: Py<PyAny>,
    ty: FunctionType,
}

impl fmt::Debug for PythonFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonFunction").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Prepared for PythonFunction {
    fn call(&self, argument: Option<&Value>) -> Result<Value, ExecError> {
        let called = Python::attach(|py| {
            let function = self.callable.bind(py);
            let result = match (argument, &self.ty.parameter) {
                (Some(argument), Some(ty)) => {
                    let writer = Writer { py, structure: None, executor: None };
                    function.call1((writer.write(argument, ty)?,))?
                }
                _ => function.call0()?,
            };
            let name = self.name.split('/').next().unwrap_or_default();
            let value = Reader::default().read(&result, &self.ty.result);
            value.map_err(|error| error.raise(py, &format!("result of {name}")))
        });
        called.map_err(raised)
    }
}

/// What Python raised, as an error of a run.
#[derive(Debug)]
struct Raised(PyErr);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        f.write_str(text.lines().next().unwrap_or_default())
    }
}

impl Error for Raised {}

fn raised(error: PyErr) -> ExecError {
    ExecError::Own(Arc::new(Raised(error)))
}

/// What Python raised, where that is the error.
pub(crate) fn cause(py: Python<'_>, error: &(dyn Error + Send + Sync + 'static)) -> Option<PyErr> {
    error.downcast_ref::<Raised>().map(|raised| raised.0.clone_ref(py))
}
