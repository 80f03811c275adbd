//! Functions: the content of a function value, how one is made, and how it becomes a computation
//! again, for workers that must get them.

use super::code::{Code, LambdaCode, compile};
use super::host::Host;
use super::intrinsic::{native, unknown};
use super::part::Part;
use crate::leaf::Prepared;
use crate::values::FunctionValue;
use crate::values::wire::Reader;
use crate::{ExecError, Function, Value};
use std::fmt;
use std::sync::{Arc, OnceLock};
use tff_ir::{Comp, CompiledComputation, Intrinsic};
use tff_proto::v0 as pb;
use tff_types::{FunctionType, Type};

/// What is behind a function value.
pub(super) enum Kind {
    Closure(Closure),
    /// One that a compiler would have to reduce is a value like others, until it is called.
    Intrinsic(Intrinsic, Type),
    Compiled(Compiled),
    /// What a program brings along.
    Own(Arc<dyn Prepared>, Type),
}

/// A lambda with the values that it refers to. One that failed matters when it is needed.
pub(super) struct Closure {
    pub(super) lambda: Arc<LambdaCode>,
    pub(super) captured: Box<[Part]>,
}

impl Closure {
    /// The function that this one does nothing but call, with its own argument: `(a -> f(a))`. For an argument
    /// that is a pair, also `(a -> f(<a[0],a[1]>))`.
    pub(super) fn only_calls(&self) -> Option<&Value> {
        let body = &self.lambda.body;
        let Code::Call(function, Some(argument)) = body.named(&body.result) else { return None };
        let is_argument = |code| matches!((body.named(code), body.locals.first()), (Code::Local(0), Some(None)));
        let is_element = |code, at| match body.named(code) {
            Code::Selection(source, index) => *index == at && is_argument(source),
            _ => false,
        };
        let is_same = match body.named(argument) {
            Code::Struct(elements) => {
                matches!(&**elements, [first, second] if is_element(first, 0) && is_element(second, 1))
            }
            code => is_argument(code),
        };
        match body.named(function) {
            Code::Constant(function) if is_same => Some(function),
            Code::Captured(position) if is_same => match self.captured.get(*position)? {
                Part::Value(function) => Some(function),
                Part::Failed(_) | Part::Struct(_) => None,
            },
            _ => None,
        }
    }
}

/// A compiled computation, prepared by its leaf when it is first called.
#[derive(Debug)]
pub(super) struct Compiled {
    comp: CompiledComputation,
    ty: Type,
    prepared: OnceLock<Arc<dyn Prepared>>,
}

impl Compiled {
    pub(super) fn prepared(&self, host: &dyn Host) -> Result<&Arc<dyn Prepared>, ExecError> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(prepared);
        }
        let prepared = host.prepare_leaf(&self.comp, function_type(&self.ty)?)?;
        Ok(self.prepared.get_or_init(|| prepared))
    }
}

impl Function {
    /// The function that a closed computation is: a lambda, an intrinsic, or a compiled computation.
    ///
    /// # Errors
    /// [`ExecError::Mismatch`] where it would have to be evaluated first;
    /// [`EvalError::UnboundReference`](crate::EvalError::UnboundReference), [`ExecError::Limit`].
    pub fn from_comp(comp: &Comp) -> Result<Self, ExecError> {
        match compile(comp)?.body.result {
            Code::Constant(Value::Function(function)) => Ok(function),
            _ => Err(ExecError::mismatch("a function that needs no evaluation", comp.kind_name())),
        }
    }

    /// A function of the type `ty` that is code of the program itself. It is called on the threads
    /// that compute, with arguments that it has to check.
    ///
    /// # Errors
    /// [`ExecError::Mismatch`] where `ty` is not the type of a function.
    pub fn from_prepared(prepared: Arc<dyn Prepared>, ty: Type) -> Result<Self, ExecError> {
        function_type(&ty)?;
        Ok(Self::new(Kind::Own(prepared, ty)))
    }

    pub(super) fn closure(lambda: Arc<LambdaCode>, captured: Box<[Part]>) -> Self {
        Self::new(Kind::Closure(Closure { lambda, captured }))
    }

    pub(crate) fn intrinsic(intrinsic: &Intrinsic, ty: &Type) -> Self {
        Self::new(Kind::Intrinsic(intrinsic.clone(), ty.clone()))
    }

    pub(super) fn compiled(comp: CompiledComputation, ty: &Type) -> Result<Self, ExecError> {
        function_type(ty)?;
        Ok(Self::new(Kind::Compiled(Compiled { comp, ty: ty.clone(), prepared: OnceLock::new() })))
    }
}

impl Kind {
    pub(super) fn of(function: &Function) -> Result<&Self, ExecError> {
        function.downcast().ok_or(ExecError::Internal("a function of an unknown kind"))
    }
}

impl FunctionValue for Kind {
    fn ty(&self) -> Option<&Type> {
        match self {
            Self::Closure(closure) => Some(closure.lambda.comp.ty()),
            Self::Compiled(compiled) => Some(&compiled.ty),
            Self::Intrinsic(_, ty) | Self::Own(_, ty) => Some(ty),
        }
    }

    fn depth(&self) -> u32 {
        match self {
            Self::Closure(closure) => closure.captured.iter().map(Part::depth).max().unwrap_or(0).saturating_add(1),
            Self::Intrinsic(..) | Self::Compiled(_) | Self::Own(..) => 1,
        }
    }

    /// What was captured is written into the function's own body, since peers may forget what is
    /// around a function that they are given.
    fn to_comp(&self) -> Result<Comp, ExecError> {
        match self {
            Self::Closure(Closure { lambda, captured }) if captured.is_empty() => Ok(lambda.comp.clone()),
            Self::Closure(Closure { lambda, captured }) => {
                let Some(source) = lambda.comp.as_lambda() else { return Ok(lambda.comp.clone()) };
                let names = lambda.capture_names.iter().cloned();
                let locals = names.zip(captured).map(|(name, part)| Ok((name, constant(&part.clone().into_value()?)?)));
                let locals = locals.collect::<Result<Vec<_>, ExecError>>()?;
                let result = Comp::block(locals, source.result.clone())?;
                let parameter = source.parameter.as_ref().map(|it| (it.name.clone(), it.ty.clone()));
                Ok(Comp::lambda(parameter, result)?)
            }
            Self::Intrinsic(intrinsic, _) if native(intrinsic).is_none() => Err(unknown(intrinsic).into()),
            Self::Intrinsic(intrinsic, ty) => Ok(Comp::intrinsic(intrinsic.clone(), ty.clone())?),
            Self::Compiled(compiled) => Ok(Comp::compiled(compiled.comp.clone(), compiled.ty.clone())?),
            Self::Own(..) => Err(ExecError::Unsupported("to send a function that is code of this program".to_owned())),
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closure(closure) => write!(f, "Function(lambda of type {})", closure.lambda.comp.ty()),
            Self::Intrinsic(intrinsic, _) => write!(f, "Function({})", intrinsic.uri()),
            Self::Compiled(compiled) => write!(f, "Function(compiled of type {})", compiled.ty),
            Self::Own(prepared, _) => prepared.fmt(f),
        }
    }
}

fn function_type(ty: &Type) -> Result<&FunctionType, ExecError> {
    ty.as_function().ok_or_else(|| ExecError::mismatch("the type of a function", ty))
}

/// A computation of this value.
fn constant(value: &Value) -> Result<Comp, ExecError> {
    match value {
        Value::Tensor(tensor) => Ok(Comp::literal(tensor.array().clone())),
        Value::Struct(elements) => Ok(Comp::tuple(elements.iter().map(constant).collect::<Result<Vec<_>, _>>()?)?),
        Value::Function(function) => function.to_comp(),
        Value::Placement(placement) => Ok(Comp::placement(*placement)),
        Value::Sequence(_) | Value::Server(_) | Value::Clients(_) => {
            let what = value.describe();
            Err(ExecError::Unsupported(format!("to send a function that refers to {what} around it")))
        }
    }
}

/// Reads a value of type `ty`.
///
/// Names of struct elements may be absent from the message; where they are there they must be the
/// type's. Computations in the message must be functions that need no evaluation: an executor reads
/// others, see [`Executor::read_value`](crate::Executor::read_value).
///
/// # Errors
/// [`ExecError::Mismatch`], [`ExecError::Cardinality`], [`ExecError::Array`] or
/// [`ExecError::Decode`], with the path inside the value.
pub fn value_from_proto(proto: &pb::Value, ty: &Type) -> Result<Value, ExecError> {
    let function = |message: &pb::Computation, ty: Option<&Type>| {
        Ok(Value::Function(Function::from_comp(&comp_from_proto(message, ty)?)?))
    };
    Reader { computation: Some(&function), ..Reader::default() }.read(proto, Some(ty))
}

/// The computation in a message, checked to be of this type.
pub(crate) fn comp_from_proto(message: &pb::Computation, ty: Option<&Type>) -> Result<Comp, ExecError> {
    let comp = Comp::from_proto(message)?;
    match ty.filter(|ty| !ty.is_assignable_from(comp.ty())) {
        Some(ty) => Err(ExecError::mismatch(ty, comp.ty())),
        None => Ok(comp),
    }
}
