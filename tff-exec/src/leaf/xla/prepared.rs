//! A computation that is ready to be called: its module compiled, its bindings checked.

use super::binding::Slot;
use super::runtime::{Failure, Runtime};
use super::signature::{ArrayShape, Signature};
use super::{LEAF, prepare_error, run_error};
use crate::leaf::{Prepared, one_line};
use crate::{ExecError, Tensor, Value};
use std::fmt;
use std::sync::Arc;
use tff_types::{FunctionType, Type};

/// An XLA computation that is ready to be called.
pub(super) struct Callable<R: Runtime> {
    runtime: &'static R,
    executable: R::Executable,
    signature: Signature,
    /// Not needed without a parameter.
    parameter: Option<(Type, Slot)>,
    result: Slot,
}

impl<R: Runtime> Callable<R> {
    /// Checks bindings, type and module against each other and compiles the module.
    ///
    /// `open` gives the runtime; it is called when all is checked that can be without one.
    ///
    /// # Errors
    /// [`ExecError::Prepare`] for everything that is wrong with the module, the bindings or both;
    /// those of `open`.
    pub(super) fn new(
        comp: &tff_ir::Xla,
        ty: &FunctionType,
        open: impl FnOnce() -> Result<&'static R, ExecError>,
    ) -> Result<Self, ExecError> {
        let signature = Signature::read(&comp.hlo_module)?;
        let place = signature.place.as_str();
        let bind = || {
            let parameters = &signature.parameters;
            let parameter = match (&comp.parameter, &ty.parameter) {
                (Some(binding), Some(ty)) => Some((ty.clone(), Slot::bind_parameter(binding, ty, parameters)?)),
                (None, None) if parameters.is_empty() => None,
                (None, None) => {
                    let reason =
                        format!("the module takes {} arguments, and the type has no parameter", parameters.len());
                    return Err(prepare_error(reason));
                }
                (Some(_), None) => return Err(prepare_error("a binding of a parameter for a type without one")),
                (None, Some(ty)) => return Err(prepare_error(format!("no binding of the parameter of type {ty}"))),
            };
            Ok((parameter, Slot::bind_result(&comp.result, &ty.result, &signature.results)?))
        };
        let (parameter, result) = bind().map_err(|error: ExecError| error.at(place))?;
        let runtime = open()?;
        let executable = runtime.compile(&comp.hlo_module.value, &signature);
        let executable = executable.map_err(|error| prepare_error(one_line(&error.to_string())).at(place))?;
        Ok(Self { runtime, executable, signature, parameter, result })
    }

    /// The buffers of the tensors, each copied to the device unless it is there.
    fn upload(&self, tensors: &[Option<&Tensor>]) -> Result<Vec<Arc<R::Buffer>>, ExecError> {
        let runtime = self.runtime;
        let upload = |tensor: &Option<&Tensor>| {
            // Every parameter of the module is bound to a part of the argument.
            let tensor = tensor.ok_or(ExecError::Internal("a parameter without argument"))?;
            tensor.native(|buffer| runtime.owns(buffer), |array| runtime.upload(array)).map_err(|it| self.failed(&it))
        };
        tensors.iter().map(upload).collect()
    }

    /// The tensor of a result.
    fn download(&self, buffer: R::Buffer, shape: &ArrayShape) -> Result<Tensor, ExecError> {
        let buffer = Arc::new(buffer);
        let array = self.runtime.download(&buffer).map_err(|error| self.failed(&error))?;
        if array.dtype() != shape.dtype || array.dims() != shape.dims {
            return Err(run_error(format!("the module gave {} instead of {shape}", array.ty())));
        }
        Ok(Tensor::with_native(array, buffer))
    }

    fn failed(&self, failure: &Failure) -> ExecError {
        run_error(one_line(&failure.to_string())).at(self.signature.place.as_str())
    }
}

impl<R: Runtime> Prepared for Callable<R> {
    fn call(&self, argument: Option<&Value>) -> Result<Value, ExecError> {
        let mut tensors = vec![None; self.signature.parameters.len()];
        match (&self.parameter, argument) {
            (None, None) => {}
            (None, Some(_)) => return Err(ExecError::UnexpectedArgument),
            (Some((ty, _)), None) => return Err(ExecError::MissingArgument(ty.to_string())),
            (Some((_, slot)), Some(argument)) => slot.collect(argument, &mut tensors)?,
        }
        let arguments = self.upload(&tensors)?;
        let arguments: Vec<&R::Buffer> = arguments.iter().map(|buffer| &**buffer).collect();
        let results = self.runtime.execute(&self.executable, &arguments).map_err(|error| self.failed(&error))?;
        let shapes = &self.signature.results;
        if results.len() != shapes.len() {
            return Err(run_error(format!("the module gave {} results instead of {}", results.len(), shapes.len())));
        }
        let results = results.into_iter().zip(shapes).map(|(buffer, shape)| self.download(buffer, shape));
        self.result.build(&results.collect::<Result<Vec<Tensor>, _>>()?)
    }
}

impl<R: Runtime> fmt::Debug for Callable<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callable")
            .field("leaf", &LEAF)
            .field("runtime", &self.runtime)
            .field("module", &self.signature.place)
            .field("parameters", &self.signature.parameters.len())
            .field("results", &self.signature.results.len())
            .finish_non_exhaustive()
    }
}
