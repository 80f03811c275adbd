//! Function values, as all code except the evaluator sees them.

use crate::ExecError;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use tff_ir::Comp;
use tff_types::Type;

/// A function: something that a computation can call, pass on and return.
///
/// It clones by reference count. What is behind it is the evaluator's business, which makes
/// functions: see `from_comp` and `from_prepared`.
#[derive(Clone)]
pub struct Function(Arc<dyn FunctionValue>);

/// What the evaluator puts behind a [`Function`].
pub(crate) trait FunctionValue: Any + fmt::Debug + Send + Sync {
    /// The type, where it is known.
    fn ty(&self) -> Option<&Type>;

    /// How deeply the values in it are nested: 1 where it holds none.
    fn depth(&self) -> u32;

    /// The computation that the function stands for. It refers to nothing around it.
    fn to_comp(&self) -> Result<Comp, ExecError>;
}

impl Function {
    pub(crate) fn new(function: impl FunctionValue) -> Self {
        Self(Arc::new(function))
    }

    /// What is behind it, where that is of type `T`.
    pub(crate) fn downcast<T: FunctionValue>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// The type, where it is known: an intrinsic that no runtime runs has none.
    #[must_use]
    pub fn ty(&self) -> Option<&Type> {
        self.0.ty()
    }

    /// The type of what a call gives, where it is known.
    pub(crate) fn result_type(&self) -> Option<&Type> {
        self.ty().and_then(Type::as_function).map(|ty| &ty.result)
    }

    pub(crate) fn depth(&self) -> u32 {
        self.0.depth()
    }

    /// What tells functions apart as long as they live, where they captured nothing: these are the
    /// same each time.
    pub(crate) fn address(&self) -> Option<usize> {
        (self.depth() == 1).then(|| Arc::as_ptr(&self.0).addr())
    }

    /// The computation that the function stands for, as others can be sent it. It refers to nothing
    /// around it: what it captured is written into it.
    ///
    /// # Errors
    /// [`ExecError::Unsupported`] where it captured sequences or placed values, which computations
    /// cannot hold, or runs code of the program itself; [`EvalError::UnknownIntrinsic`](crate::EvalError::UnknownIntrinsic).
    pub fn to_comp(&self) -> Result<Comp, ExecError> {
        self.0.to_comp()
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
