//! The XLA leaf: computations given as XLA modules, compiled and run in the process.
//!
//! A module is compiled once per computation. A call copies what the device does not hold yet into
//! its memory, runs on the caller's thread, and returns tensors that remember where the device has
//! them. Everything that a sender decides is checked here, before a runtime sees it; what compiles
//! and runs is a runtime, behind the trait in `runtime.rs`.

mod binding;
mod pjrt;
mod prepared;
mod runtime;
mod signature;

use crate::ExecError;
use crate::leaf::{Prepared, recent::Recent};
use prepared::{Callable, Checked};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tff_types::FunctionType;

/// The leaf's name in errors.
const LEAF: &str = "XLA";

fn prepare_error(reason: impl Into<String>) -> ExecError {
    ExecError::Prepare { leaf: LEAF, reason: reason.into() }
}

fn run_error(reason: impl Into<String>) -> ExecError {
    ExecError::Run { leaf: LEAF, reason: reason.into() }
}

/// Where the runtime is, and what the leaf keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Where a PJRT plugin may be, a shared library that exports `GetPjrtApi`: the first file that
    /// exists is opened. The environment's `TFF_PJRT_PLUGIN` comes before them.
    pub plugins: Vec<PathBuf>,
    /// How many prepared computations are kept; the one unused for longest makes room.
    pub max_prepared: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { plugins: Vec::new(), max_prepared: 512 }
    }
}

/// The XLA leaf: prepares computations and remembers them.
pub struct Xla {
    options: Options,
    /// By the whole content of module, bindings and type.
    prepared: Recent<(Arc<tff_ir::Xla>, FunctionType), dyn Prepared>,
}

impl Xla {
    /// A leaf that opens the plugin on first use. A plugin is opened once in a process, and stays
    /// open. Plugins log to stderr what they return as errors too, unless `TF_CPP_MIN_LOG_LEVEL`
    /// is set, as [`TensorFlow::new`](crate::TensorFlow::new) does.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        let prepared = Recent::new(options.max_prepared);
        Self { options, prepared }
    }

    /// The options it was made with.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Opens the plugin now instead of when it is first needed.
    ///
    /// # Errors
    /// [`ExecError::Library`].
    pub fn open(&self) -> Result<(), ExecError> {
        pjrt::open(&self.options.plugins).map(drop)
    }

    /// Checks what can be checked of a computation without a plugin.
    ///
    /// # Errors
    /// [`ExecError::Prepare`], with the place, where the module is damaged, or module, bindings and
    /// type do not fit each other.
    pub fn check(comp: &tff_ir::Xla, ty: &FunctionType) -> Result<(), ExecError> {
        Checked::new(comp, ty).map(drop)
    }

    /// Checks and compiles a computation of this type, or finds it among those that were.
    ///
    /// # Errors
    /// Those of [`Self::check`]; [`ExecError::Library`] without a plugin; [`ExecError::Prepare`]
    /// where the plugin refuses the module.
    pub fn prepare(&self, comp: &Arc<tff_ir::Xla>, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
        self.prepared.get_or_make(
            &(comp.clone(), ty.clone()),
            |(comp, ty), (other, other_ty)| Arc::ptr_eq(comp, other) && ty == other_ty,
            |key, other| key == other,
            || {
                let checked = Checked::new(comp, ty)?;
                Ok(Arc::new(Callable::new(comp, checked, pjrt::open(&self.options.plugins)?)?))
            },
        )
    }
}

impl Default for Xla {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl fmt::Debug for Xla {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Xla").field("options", &self.options).field("prepared", &self.prepared.len()).finish()
    }
}
