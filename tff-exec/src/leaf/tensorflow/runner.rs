//! Runs a computation: by kernels if they know its whole graph, otherwise by TensorFlow.

use super::TensorFlowOptions;
use super::kernels::Kernels;
use super::library::{self, Library};
use super::prepared::Callable;
use super::watch::Watch;
use crate::leaf::{Prepared, Until};
use crate::{ExecError, Value};
use std::fmt;
use std::sync::{Arc, OnceLock};
use tff_types::FunctionType;

/// What a session takes for a graph of next to nothing.
pub(super) const SESSION_BYTES: usize = 1 << 15;

/// A TensorFlow computation that is ready to be called.
pub(super) struct Runner {
    comp: Arc<tff_ir::TensorFlow>,
    ty: FunctionType,
    library: Library,
    watch: Arc<Watch>,
    kernels: Option<Kernels>,
    /// There from the start without kernels, otherwise when a call first needs it.
    callable: OnceLock<Callable>,
}

impl Runner {
    /// Opens the library only if it is needed.
    ///
    /// # Errors
    /// [`ExecError::Library`], [`ExecError::Prepare`].
    pub(super) fn new(
        comp: &Arc<tff_ir::TensorFlow>,
        ty: &FunctionType,
        options: &TensorFlowOptions,
        watch: &Arc<Watch>,
    ) -> Result<Self, ExecError> {
        let kernels = if options.kernels { Kernels::new(comp, ty) } else { None };
        let runner = Self {
            comp: comp.clone(),
            ty: ty.clone(),
            library: options.library.clone(),
            watch: watch.clone(),
            kernels,
            callable: OnceLock::new(),
        };
        if runner.kernels.is_none() {
            runner.callable()?;
        }
        Ok(runner)
    }

    /// About how much memory it takes: the message stays, and TensorFlow holds the content of a graph
    /// some four times, as a graph, for its sessions, and in their kernels. Measured on 4 MB
    /// constants and on graphs of 3 KB.
    pub(super) fn bytes(&self) -> usize {
        let message = self.comp.graph.value.len();
        match self.kernels {
            Some(_) => message.saturating_mul(2),
            None => message.saturating_mul(5).saturating_add(SESSION_BYTES),
        }
    }

    fn callable(&self) -> Result<&Callable, ExecError> {
        if let Some(callable) = self.callable.get() {
            return Ok(callable);
        }
        let callable = Callable::new(library::open(&self.library)?, &self.comp, &self.ty, self.watch.clone())?;
        Ok(self.callable.get_or_init(|| callable))
    }
}

impl Prepared for Runner {
    fn call(&self, argument: Option<&Value>) -> Result<Value, ExecError> {
        self.consume(argument.cloned())
    }

    fn consume(&self, argument: Option<Value>) -> Result<Value, ExecError> {
        self.consume_until(argument, &Until::default())
    }

    fn consume_until(&self, argument: Option<Value>, until: &Until) -> Result<Value, ExecError> {
        let Some(kernels) = &self.kernels else { return self.callable()?.call(argument, until) };
        match kernels.run(kernels.collect(argument)?)? {
            Ok(value) => Ok(value),
            Err(tensors) => self.callable()?.call_with_tensors(&tensors, until),
        }
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kernels, self.callable.get()) {
            (Some(kernels), _) => kernels.fmt(f),
            (None, callable) => callable.fmt(f),
        }
    }
}
