//! A computation that is ready to be called: its module compiled, its bindings checked.

use super::LEAF;
use super::binding::Slot;
use super::runtime::{Failure, Runtime};
use super::signature::{ArrayShape, Signature};
use crate::leaf::Prepared;
use crate::{ExecError, Tensor, Value};
use std::fmt;
use std::sync::Arc;
use tff_types::{FunctionType, Type};

/// What is known of a computation without a runtime: that module, bindings and type fit each other.
pub(super) struct Checked {
    signature: Signature,
    /// Not needed without a parameter.
    parameter: Option<(Type, Slot)>,
    result: Slot,
}

impl Checked {
    /// Checks a computation.
    ///
    /// # Errors
    /// [`ExecError::Prepare`] for everything that is wrong with the signature of the module, the
    /// bindings or both.
    pub(super) fn new(comp: &tff_ir::Xla, ty: &FunctionType) -> Result<Self, ExecError> {
        let signature = Signature::read(&comp.hlo_module)?;
        let bind = || {
            let parameters = &signature.parameters;
            let parameter = match (&comp.parameter, &ty.parameter) {
                (Some(binding), Some(ty)) => Some((ty.clone(), Slot::bind_parameter(binding, ty, parameters)?)),
                (None, None) if parameters.is_empty() => None,
                (None, None) => {
                    let n_arguments = parameters.len();
                    let reason = format!("the module takes {n_arguments} arguments, and the type has no parameter");
                    return Err(LEAF.misbound(reason));
                }
                (Some(_), None) => return Err(LEAF.misbound("a binding of a parameter for a type without one")),
                (None, Some(ty)) => return Err(LEAF.misbound(format!("no binding of the parameter of type {ty}"))),
            };
            Ok((parameter, Slot::bind_result(&comp.result, &ty.result, &signature.results)?))
        };
        let (parameter, result) = bind().map_err(|error: ExecError| error.at(signature.place.as_str()))?;
        Ok(Self { signature, parameter, result })
    }
}

/// An XLA computation that is ready to be called.
pub(super) struct Callable<R: Runtime> {
    checked: Checked,
    runtime: &'static R,
    executable: R::Executable,
}

impl<R: Runtime> Callable<R> {
    /// Compiles the module of a computation, which was checked.
    ///
    /// # Errors
    /// [`ExecError::Prepare`] where the runtime refuses the module.
    pub(super) fn new(comp: &tff_ir::Xla, checked: Checked, runtime: &'static R) -> Result<Self, ExecError> {
        let compiled = runtime.compile(&comp.hlo_module.value, &checked.signature);
        let executable =
            compiled.map_err(|failure| LEAF.refuses(failure.into()).at(checked.signature.place.as_str()))?;
        Ok(Self { checked, runtime, executable })
    }

    /// The buffers of the tensors, each copied to the device unless it is there.
    fn upload(&self, tensors: &[Option<&Tensor>]) -> Result<Vec<Arc<R::Buffer>>, ExecError> {
        let runtime = self.runtime;
        let upload = |tensor: &Option<&Tensor>| {
            // Every parameter of the module is bound to a part of the argument.
            let tensor = tensor.ok_or(ExecError::Internal("a parameter without argument"))?;
            tensor.native(|buffer| runtime.owns(buffer), |array| runtime.upload(array)).map_err(|it| self.failed(it))
        };
        tensors.iter().map(upload).collect()
    }

    /// The tensor of a result.
    fn download(&self, buffer: R::Buffer, shape: &ArrayShape) -> Result<Tensor, ExecError> {
        let buffer = Arc::new(buffer);
        let array = self.runtime.download(&buffer).map_err(|error| self.failed(error))?;
        if array.dtype() != shape.dtype || array.dims() != shape.dims {
            return Err(LEAF.gave(format!("the module gave {} instead of {shape}", array.ty())));
        }
        Ok(Tensor::with_native(array, buffer))
    }

    fn failed(&self, failure: Failure) -> ExecError {
        LEAF.failed(failure.into()).at(self.checked.signature.place.as_str())
    }
}

impl<R: Runtime> Prepared for Callable<R> {
    fn call(&self, argument: Option<&Value>) -> Result<Value, ExecError> {
        let mut tensors = vec![None; self.checked.signature.parameters.len()];
        match (&self.checked.parameter, argument) {
            (None, None) => {}
            (None, Some(_)) => return Err(ExecError::UnexpectedArgument),
            (Some((ty, _)), None) => return Err(ExecError::MissingArgument(ty.to_string())),
            (Some((_, slot)), Some(argument)) => slot.collect(argument, &mut tensors)?,
        }
        let arguments = self.upload(&tensors)?;
        let arguments: Vec<&R::Buffer> = arguments.iter().map(|buffer| &**buffer).collect();
        let results = self.runtime.execute(&self.executable, &arguments).map_err(|error| self.failed(error))?;
        let shapes = &self.checked.signature.results;
        if results.len() != shapes.len() {
            return Err(LEAF.gave(format!("the module gave {} results instead of {}", results.len(), shapes.len())));
        }
        let results = results.into_iter().zip(shapes).map(|(buffer, shape)| self.download(buffer, shape));
        self.checked.result.build(&results.collect::<Result<Vec<Tensor>, _>>()?)
    }
}

impl<R: Runtime> fmt::Debug for Callable<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callable")
            .field("leaf", &LEAF.0)
            .field("runtime", &self.runtime)
            .field("module", &self.checked.signature.place)
            .field("parameters", &self.checked.signature.parameters.len())
            .field("results", &self.checked.signature.results.len())
            .finish_non_exhaustive()
    }
}
