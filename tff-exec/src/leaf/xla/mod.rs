//! The XLA leaf: computations given as XLA modules, compiled and run in the process.
//!
//! A module is compiled once per computation, when it is first called. A call copies what the device does not hold yet into
//! its memory, runs on the caller's thread, and returns tensors that remember where the device has
//! them. Everything that a sender decides is checked here, before a runtime sees it. A runtime, behind the
//! trait in `runtime.rs`, compiles and runs.

mod binding;
#[cfg(feature = "xla")]
mod extension;
mod fold;
mod pjrt;
mod prepared;
mod runtime;
mod signature;

use crate::ExecError;
use crate::leaf::{Keep, Prepared, recent::Recent};
use crate::values::LeafName;
pub use pjrt::{Handler, OptionValue, Plugin, add_handlers};
use prepared::{Callable, Checked};
use std::fmt;
use std::sync::Arc;
use tff_types::FunctionType;

/// The leaf's name in errors.
const LEAF: LeafName = LeafName("XLA");

/// About what the machine code of a module takes, whatever its size; beside it the library keeps the
/// module in several forms.
const MACHINE_CODE_BYTES: usize = 1 << 17;

/// The library that compiles and runs modules.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Library {
    /// A PJRT plugin, which is opened at run time.
    Plugin(Plugin),
    /// The XLA that the program is linked with, on the CPU.
    #[cfg(feature = "xla")]
    Linked,
}

impl Default for Library {
    /// A plugin without a file, so that modules are only checked.
    fn default() -> Self {
        Self::Plugin(Plugin::default())
    }
}

/// What a leaf runs on, and what it keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct XlaOptions {
    /// What compiles and runs modules.
    pub library: Library,
    /// How many prepared computations are kept, and for how long.
    pub keep: Keep,
}

/// The XLA leaf: prepares computations and remembers them.
pub struct Xla {
    options: XlaOptions,
    /// By the whole content of module, bindings and type.
    prepared: Recent<(Arc<tff_ir::Xla>, FunctionType), dyn Prepared>,
}

impl Xla {
    /// A leaf that opens the library on first use. A library stays open for the rest of the process,
    /// and so does each client. What [`TensorFlow::new`](crate::TensorFlow::new) says of logs holds
    /// for plugins too.
    #[must_use]
    pub const fn new(options: XlaOptions) -> Self {
        let prepared = Recent::new(options.keep);
        Self { options, prepared }
    }

    /// The options it was made with.
    #[must_use]
    pub const fn options(&self) -> &XlaOptions {
        &self.options
    }

    /// Opens the library now instead of when it is first needed.
    ///
    /// # Errors
    /// [`ExecError::Library`].
    pub fn open(&self) -> Result<(), ExecError> {
        match &self.options.library {
            Library::Plugin(plugin) => pjrt::open(plugin).map(drop),
            #[cfg(feature = "xla")]
            Library::Linked => extension::open().map(drop),
        }
    }

    /// Checks what can be checked of a computation without a library.
    ///
    /// # Errors
    /// [`ExecError::Prepare`], with the place, where the module is damaged, or module, bindings and
    /// type do not fit each other.
    pub fn check(comp: &tff_ir::Xla, ty: &FunctionType) -> Result<(), ExecError> {
        Checked::new(comp, ty).map(drop)
    }

    /// Drops values that have been unused for long. A program that runs for long calls this now and then. Gives how
    /// many computations are kept, and about how many bytes they take.
    pub fn tidy(&self) -> (usize, usize) {
        self.prepared.tidy();
        self.prepared.size()
    }

    /// Checks a computation of this type, or finds it among those that were. The library compiles its module
    /// at the first call, which is where a module that it refuses fails with [`ExecError::Prepare`].
    ///
    /// # Errors
    /// Those of [`Self::check`]; [`ExecError::Library`] without the library.
    pub fn prepare(&self, comp: &Arc<tff_ir::Xla>, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
        self.prepared.get_or_make(
            &(comp.clone(), ty.clone()),
            |(comp, ty), (other, other_ty)| Arc::ptr_eq(comp, other) && ty == other_ty,
            |key, other| key == other,
            || {
                let checked = Checked::new(comp, ty)?;
                let prepared: Arc<dyn Prepared> = match &self.options.library {
                    Library::Plugin(plugin) => Arc::new(Callable::new(comp.clone(), checked, pjrt::open(plugin)?)),
                    #[cfg(feature = "xla")]
                    Library::Linked => Arc::new(Callable::new(comp.clone(), checked, extension::open()?)),
                };
                Ok((prepared, comp.hlo_module.value.len().saturating_mul(4).saturating_add(MACHINE_CODE_BYTES)))
            },
        )
    }
}

impl Default for Xla {
    fn default() -> Self {
        Self::new(XlaOptions::default())
    }
}

impl fmt::Debug for Xla {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Xla").field("options", &self.options).field("prepared", &self.prepared.size().0).finish()
    }
}
