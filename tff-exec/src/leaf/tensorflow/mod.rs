//! The TensorFlow leaf: computations given as TensorFlow graphs, run in the process through
//! libtensorflow, which is opened when the first one is prepared.
//!
//! A graph is imported once per computation and its session is kept. A call copies what TensorFlow
//! does not hold yet into its memory, runs on the caller's thread, and returns views of the
//! tensors that were fetched.

pub(super) mod binding;
mod dataset;
mod ffi;
pub(super) mod graph;
mod library;
pub(super) mod native;
mod pool;
mod prepared;
mod reduce;
mod runner;
mod session;
mod state;
pub(super) mod status;

use crate::leaf::{Prepared, recent::Recent};
use crate::values::{ExecError, ReadDataset, Value};
use bytes::Bytes;
use dataset::{Form, Reader};
use runner::Runner;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tff_types::{FunctionType, Type};

/// Where libtensorflow is, and what the leaf keeps and accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The directory that holds `libtensorflow.so` (or `.dylib`). The environment's
    /// `TENSORFLOW_DIR` comes before it; where both are missing the library is looked for in the
    /// system's library path and in `/usr/local/lib`.
    pub library_dir: Option<PathBuf>,
    /// How many prepared computations are kept; the one unused for longest makes room.
    pub max_prepared: usize,
    /// Whether graphs that are simple enough are run without TensorFlow. The results are the same.
    pub kernels: bool,
    /// The most elements that a dataset is read to.
    pub max_sequence_elements: usize,
    /// The most bytes of tensors that a dataset is read to.
    pub max_sequence_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            library_dir: None,
            max_prepared: 512,
            kernels: true,
            max_sequence_elements: 1 << 20,
            max_sequence_bytes: 1 << 31,
        }
    }
}

/// The TensorFlow leaf: prepares computations and remembers them.
pub struct TensorFlow {
    options: Options,
    /// By the whole content of graph, bindings and type: a sender's cache key would have to be
    /// trusted.
    prepared: Recent<(Arc<tff_ir::TensorFlow>, FunctionType), Runner>,
    readers: Recent<(Type, Form), Reader>,
}

impl TensorFlow {
    /// A leaf that opens the library of the process on first use.
    ///
    /// TensorFlow reads its settings from the environment of the process, so this sets
    /// `TF_CPP_MIN_LOG_LEVEL` (to fatal errors only, since all others are returned) and `TENSORFLOW_DIR` there unless they are set.
    /// Call it early, while no foreign code in another thread reads the environment.
    #[must_use]
    pub fn new(options: Options) -> Self {
        library::announce(options.library_dir.as_deref());
        let (prepared, readers) = (Recent::new(options.max_prepared), Recent::new(options.max_prepared));
        Self { options, prepared, readers }
    }

    /// The options it was made with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Opens the library now, which takes most of a second, instead of when it is first needed.
    ///
    /// # Errors
    /// [`ExecError::Library`].
    pub fn open(&self) -> Result<(), ExecError> {
        library::open()
    }

    /// Checks and imports a computation of this type, or finds it among those that were.
    ///
    /// # Errors
    /// [`ExecError::Library`] without a library, [`ExecError::Prepare`], with the place, where the
    /// graph is damaged, an op is missing, or bindings and type do not fit each other.
    pub fn prepare(&self, comp: &Arc<tff_ir::TensorFlow>, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
        let runner = self.prepared.get_or_make(
            &(comp.clone(), ty.clone()),
            |(comp, ty), (other, other_ty)| Arc::ptr_eq(comp, other) && ty == other_ty,
            |key, other| key == other,
            || Runner::new(comp, ty, self.options.kernels).map(Arc::new),
        )?;
        Ok(runner)
    }

    /// What reads datasets of this element type.
    fn reader(&self, element: &Type, form: Form) -> Result<Arc<Reader>, ExecError> {
        self.readers.get_or_make(
            &(element.clone(), form),
            |(ty, form), (other, other_form)| ty.ptr_eq(other) && form == other_form,
            |key, other| key == other,
            || {
                library::open()?;
                Reader::new(element, form).map(Arc::new)
            },
        )
    }
}

impl ReadDataset for TensorFlow {
    fn read_dataset(&self, graph: &Bytes, element: &Type) -> Result<Arc<[Value]>, ExecError> {
        dataset::read(self, graph, element)
    }
}

impl Default for TensorFlow {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl fmt::Debug for TensorFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorFlow")
            .field("options", &self.options)
            .field("prepared", &self.prepared.len())
            .field("readers", &self.readers.len())
            .finish()
    }
}
