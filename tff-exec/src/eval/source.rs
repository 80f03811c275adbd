//! Functions as computations again, for those who must be sent them.

use super::intrinsic::native;
use super::run::{Compiled, Function, Kind, unknown};
use crate::{ExecError, Value};
use std::sync::Arc;
use tff_ir::{BuildError, Comp};
use tff_types::Type;

impl Function {
    /// The computation that the function stands for. It refers to nothing around it: what was
    /// captured is written into it, in the function's own body, since peers may forget what is around
    /// a function that they are given.
    ///
    /// # Errors
    /// [`ExecError::Unsupported`] where it captured sequences or placed values, which computations
    /// cannot hold.
    pub(crate) fn to_comp(&self) -> Result<Comp, ExecError> {
        match &self.0 {
            Kind::Closure(lambda, captured) if captured.is_empty() => Ok(lambda.comp.clone()),
            Kind::Closure(lambda, captured) => {
                let Some(source) = lambda.comp.as_lambda() else { return Ok(lambda.comp.clone()) };
                let names = lambda.capture_names.iter().cloned();
                let locals = names.zip(captured.iter().map(constant)).map(|(name, value)| Ok((name, value?)));
                let locals = locals.collect::<Result<Vec<_>, ExecError>>()?;
                let result = Comp::block(locals, source.result.clone()).map_err(wrong)?;
                let parameter = source.parameter.as_ref().map(|it| (it.name.clone(), it.ty.clone()));
                Comp::lambda(parameter, result).map_err(wrong)
            }
            Kind::Intrinsic(intrinsic, _) if native(intrinsic).is_none() => Err(unknown(intrinsic)),
            Kind::Intrinsic(intrinsic, ty) => Comp::intrinsic(intrinsic.clone(), ty.clone()).map_err(wrong),
            Kind::Compiled(compiled) => compiled.to_comp(),
        }
    }

    /// What tells functions apart as long as they live, where they are what the code says, with
    /// nothing captured.
    pub(crate) fn address(&self) -> Option<usize> {
        match &self.0 {
            Kind::Closure(lambda, captured) if captured.is_empty() => Some(Arc::as_ptr(lambda).addr()),
            Kind::Compiled(compiled) => Some(Arc::as_ptr(compiled).addr()),
            Kind::Closure(..) | Kind::Intrinsic(..) => None,
        }
    }
}

impl Compiled {
    fn to_comp(&self) -> Result<Comp, ExecError> {
        let ty = Type::function(self.ty.parameter.clone(), self.ty.result.clone())?;
        Comp::compiled(self.comp.clone(), ty).map_err(wrong)
    }
}

/// A computation of this value.
fn constant(value: &Value) -> Result<Comp, ExecError> {
    match value {
        Value::Tensor(tensor) => Ok(Comp::literal(tensor.array().clone())),
        Value::Struct(elements) => {
            Comp::tuple(elements.iter().map(constant).collect::<Result<Vec<_>, _>>()?).map_err(wrong)
        }
        Value::Function(function) => function.to_comp(),
        Value::Placement(placement) => Ok(Comp::placement(*placement)),
        Value::Sequence(_) | Value::Server(_) | Value::Clients(_) => {
            let what = value.describe();
            Err(ExecError::Unsupported(format!("to send a function that refers to {what} around it")))
        }
    }
}

fn wrong(error: BuildError) -> ExecError {
    ExecError::Decode(error.to_string())
}
