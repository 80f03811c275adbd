//! A computation that is ready to be called: its bindings checked, its module compiled on the first call.

use super::LEAF;
use super::binding::Slot;
use super::fold::Fold;
use super::runtime::{Failure, Runtime};
use super::signature::{ArrayShape, Signature};
use crate::leaf::{Prepared, Until};
use crate::{ExecError, Tensor, Value};
use std::fmt;
use std::sync::{Arc, OnceLock};
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
        let (parameter, result) = bind().map_err(|error: ExecError| error.at(signature.place.clone()))?;
        Ok(Self { signature, parameter, result })
    }
}

/// An XLA computation that is ready to be called. Its modules are compiled when they are first needed.
pub(super) struct Callable<R: Runtime> {
    comp: Arc<tff_ir::Xla>,
    checked: Checked,
    runtime: &'static R,
    executable: OnceLock<Result<R::Executable, ExecError>>,
    /// `None` if the module is not a step of a fold, or if the runtime refuses the module of the fold.
    fold: OnceLock<Option<(Fold, R::Executable)>>,
}

impl<R: Runtime> Callable<R> {
    /// A computation that was checked, on this runtime.
    pub(super) const fn new(comp: Arc<tff_ir::Xla>, checked: Checked, runtime: &'static R) -> Self {
        Self { comp, checked, runtime, executable: OnceLock::new(), fold: OnceLock::new() }
    }

    /// The module, compiled.
    fn executable(&self) -> Result<&R::Executable, ExecError> {
        let compile = || {
            let compiled = self.runtime.compile(&self.comp.hlo_module.value, &self.checked.signature);
            compiled.map_err(|failure| LEAF.refuses(failure.into()).at(self.checked.signature.place.clone()))
        };
        self.executable.get_or_init(compile).as_ref().map_err(Clone::clone)
    }

    /// The module that folds, compiled.
    fn compiled_fold(&self) -> Option<&(Fold, R::Executable)> {
        let compile = || {
            let (_, parameter) = self.checked.parameter.as_ref()?;
            let Checked { signature, result, .. } = &self.checked;
            let fold = Fold::new(&self.comp.hlo_module.value, signature, parameter, result)?;
            let executable = self.runtime.compile(&fold.module, &fold.signature);
            // Without a loop, each step is a run of its own.
            let executable = executable.inspect_err(|error| tracing::debug!(%error, "no loop for a step")).ok()?;
            Some((fold, executable))
        };
        self.fold.get_or_init(compile).as_ref()
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

    /// Runs a module that gives this many results.
    fn execute(
        &self,
        executable: &R::Executable,
        arguments: &[&R::Buffer],
        n_results: usize,
    ) -> Result<Vec<R::Buffer>, ExecError> {
        let results = self.runtime.execute(executable, arguments).map_err(|error| self.failed(error))?;
        match results.len() == n_results {
            true => Ok(results),
            false => Err(LEAF.gave(format!("the module gave {} results instead of {n_results}", results.len()))),
        }
    }

    /// The value that results of these shapes make up.
    fn build(
        &self,
        slot: &Slot,
        results: Vec<impl Into<Arc<R::Buffer>>>,
        shapes: &[ArrayShape],
    ) -> Result<Value, ExecError> {
        let results = results.into_iter().zip(shapes).map(|(buffer, shape)| self.download(buffer.into(), shape));
        slot.build(&results.collect::<Result<Vec<Tensor>, _>>()?)
    }

    fn run_fold(
        &self,
        fold: &Fold,
        executable: &R::Executable,
        states: &[Option<&Tensor>],
        elements: &[Vec<Option<&Tensor>>],
        until: &Until,
    ) -> Result<Value, ExecError> {
        let mut states = self.upload(states)?;
        for elements in elements.chunks(fold.room) {
            until.check()?;
            let inputs = fold.inputs(elements)?;
            let inputs = inputs.iter().map(|array| self.runtime.upload(array).map_err(|error| self.failed(error)));
            let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
            let arguments: Vec<&R::Buffer> = states.iter().map(|state| &**state).chain(&inputs).collect();
            let results = self.execute(executable, &arguments, fold.signature.results.len())?;
            states = results.into_iter().map(Arc::new).collect();
        }
        self.build(&fold.result, states, &fold.signature.results)
    }

    /// The tensor of a result.
    fn download(&self, buffer: Arc<R::Buffer>, shape: &ArrayShape) -> Result<Tensor, ExecError> {
        let array = self.runtime.download(&buffer).map_err(|error| self.failed(error))?;
        if array.dtype() != shape.dtype || array.dims() != shape.dims {
            return Err(LEAF.gave(format!("the module gave {} instead of {shape}", array.ty())));
        }
        Ok(Tensor::with_native(array, buffer))
    }

    fn failed(&self, failure: Failure) -> ExecError {
        LEAF.failed(failure.into()).at(self.checked.signature.place.clone())
    }
}

impl<R: Runtime> Prepared for Callable<R> {
    fn call(&self, argument: Option<&Value>) -> Result<Value, ExecError> {
        let tensors = match (&self.checked.parameter, argument) {
            (None, None) => Vec::new(),
            (None, Some(_)) => return Err(ExecError::UnexpectedArgument),
            (Some((ty, _)), None) => return Err(ExecError::MissingArgument(ty.to_string())),
            (Some((_, slot)), Some(argument)) => slot.tensors(argument, self.checked.signature.parameters.len())?,
        };
        let arguments = self.upload(&tensors)?;
        let arguments: Vec<&R::Buffer> = arguments.iter().map(|buffer| &**buffer).collect();
        let results = self.execute(self.executable()?, &arguments, self.checked.signature.results.len())?;
        self.build(&self.checked.result, results, &self.checked.signature.results)
    }

    fn fold(&self, zero: &Value, elements: &[Value], until: &Until) -> Option<Result<Value, ExecError>> {
        if elements.len() < 2 {
            return None;
        }
        let (fold, executable) = self.compiled_fold()?;
        // A value that does not fit is found again by the call that it does not fit.
        let states = fold.state.tensors(zero, fold.signature.results.len()).ok()?;
        let elements: Option<Vec<_>> =
            elements.iter().map(|element| fold.element.tensors(element, fold.elements.len()).ok()).collect();
        Some(self.run_fold(fold, executable, &states, &elements?, until))
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
