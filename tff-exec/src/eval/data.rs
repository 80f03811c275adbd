//! The values of `data`: those that are packed into the computation itself, and those that a backend finds.

use crate::values::wire::Reader;
use crate::values::{Value, check};
use crate::{EvalError, ExecError};
use tff_ir::{Array, DataContent, Opaque};
use tff_proto::{DecodeError, Limits, decode, v0 as pb};
use tff_types::Type;

/// What finds the values of `data` in computations: values, or functions of the program's own.
pub trait DataBackend: Send + Sync {
    /// The value that data stands for, of type `ty`. A program asks for it when it is first needed, and
    /// keeps what it is told.
    ///
    /// # Errors
    /// If there is no such value.
    fn resolve(&self, data: &DataContent, ty: &Type) -> Result<Value, ExecError>;
}

/// The value of data of this type.
pub(super) fn resolve(data: &DataContent, ty: &Type, backend: Option<&dyn DataBackend>) -> Result<Value, ExecError> {
    let packed = if let DataContent::Any(content) = data { unpack(content, ty)? } else { None };
    let value = match (packed, backend) {
        (Some(value), _) => value,
        (None, Some(backend)) => backend.resolve(data, ty)?,
        (None, None) => {
            let what = match data {
                DataContent::Uri(uri) => format!("the uri {uri:?}"),
                DataContent::Any(content) => format!("a message {}", content.type_url),
            };
            return Err(ExecError::Unsupported(format!("data that the computation only names, {what} of type {ty},")));
        }
    };
    check(&value, ty, None)?;
    Ok(value)
}

/// The value that a message is, if it is an array or a value. Their package was renamed once.
fn unpack(content: &Opaque, ty: &Type) -> Result<Option<Value>, ExecError> {
    let name = content.type_url.rsplit('/').next().unwrap_or_default();
    let limits = Limits::default();
    let damaged = |error: DecodeError| EvalError::Data(error.to_string());
    match name.strip_prefix("tensorflow_federated.v0.").or_else(|| name.strip_prefix("federated_language.")) {
        Some("Array") => {
            let array: pb::Array = decode(&content.value, &limits).map_err(damaged)?;
            Ok(Some(Value::array(Array::from_proto(&array)?)))
        }
        Some("Value") => {
            let value: pb::Value = decode(&content.value, &limits).map_err(damaged)?;
            // Without a reader of functions: data is structs, sequences and tensors.
            Ok(Some(Reader::default().read(&value, Some(ty))?))
        }
        _ => Ok(None),
    }
}
