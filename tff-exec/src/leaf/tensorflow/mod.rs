//! The TensorFlow leaf: computations given as TensorFlow graphs, run in the process through
//! libtensorflow, which is opened when the first one is prepared.
//!
//! A graph is imported once per computation and its session is kept. A call copies what TensorFlow
//! does not hold yet into its memory, runs on the caller's thread, and returns views of the
//! tensors that were fetched.

mod abi;
mod binding;
mod dataset;
mod ffi;
mod graph;
mod kernels;
mod library;
mod native;
mod pool;
mod prepared;
mod reduce;
mod runner;
mod session;
mod state;
mod status;
mod watch;

use crate::leaf::{Keep, Prepared, recent::Recent};
use crate::values::{ExecError, ReadDataset, Value};
use bytes::Bytes;
use dataset::{Form, Reader};
use ffi::Api;
pub use library::Library;
use runner::Runner;
use std::fmt;
use std::sync::Arc;
use tff_types::{FunctionType, Type};
use watch::Watch;

/// Where libtensorflow is, and what the leaf keeps and accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorFlowOptions {
    /// What runs graphs.
    pub library: Library,
    /// How many prepared computations are kept, and for how long.
    pub keep: Keep,
    /// Whether graphs that are simple enough are run without TensorFlow. The results are the same.
    pub kernels: bool,
    /// The most elements that a dataset is read to.
    pub max_sequence_elements: usize,
    /// The most bytes of tensors that a dataset is read to.
    pub max_sequence_bytes: usize,
}

impl Default for TensorFlowOptions {
    fn default() -> Self {
        Self {
            library: Library::default(),
            keep: Keep::default(),
            kernels: true,
            max_sequence_elements: 1 << 20,
            max_sequence_bytes: 1 << 31,
        }
    }
}

/// The TensorFlow leaf: prepares computations and remembers them.
pub struct TensorFlow {
    options: TensorFlowOptions,
    /// By the whole content of graph, bindings and type: a sender's cache key would have to be
    /// trusted.
    prepared: Recent<(Arc<tff_ir::TensorFlow>, FunctionType), Runner>,
    readers: Recent<(Type, Form), Reader>,
    watch: Arc<Watch>,
}

impl TensorFlow {
    /// A leaf that opens the library on first use. The library is opened once in a process, and stays
    /// open.
    ///
    /// TensorFlow logs to stderr what it returns as errors too, unless the environment variable
    /// `TF_CPP_MIN_LOG_LEVEL` was 3 when the process began, or a program set it before the library
    /// was opened. Nothing here writes to the environment: only a program knows when that is sound.
    #[must_use]
    pub fn new(options: TensorFlowOptions) -> Self {
        let (prepared, readers) = (Recent::new(options.keep), Recent::new(options.keep));
        Self { options, prepared, readers, watch: Arc::default() }
    }

    /// The options it was made with.
    #[must_use]
    pub fn options(&self) -> &TensorFlowOptions {
        &self.options
    }

    /// Opens the library now, which takes most of a second, instead of when it is first needed.
    ///
    /// # Errors
    /// [`ExecError::Library`].
    pub fn open(&self) -> Result<(), ExecError> {
        self.library().map(drop)
    }

    fn library(&self) -> Result<&'static Api, ExecError> {
        library::open(&self.options.library)
    }

    /// Checks and imports a computation of this type, or finds it among those that were.
    ///
    /// # Errors
    /// [`ExecError::Library`] without a library, [`ExecError::Prepare`], with the place, where the
    /// graph is damaged, an op is missing, or bindings and type do not fit each other.
    pub fn prepare(&self, comp: &Arc<tff_ir::TensorFlow>, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
        let runner: Result<_, ExecError> = self.prepared.get_or_make(
            &(comp.clone(), ty.clone()),
            |(comp, ty), (other, other_ty)| Arc::ptr_eq(comp, other) && ty == other_ty,
            |key, other| key == other,
            || {
                let runner = Runner::new(comp, ty, &self.options, &self.watch)?;
                let bytes = runner.bytes();
                Ok((Arc::new(runner), bytes))
            },
        );
        Ok(runner?)
    }

    /// Drops values that have been unused for long. A program that runs for long calls this now and then. Gives how
    /// many computations are kept, and about how many bytes they take.
    pub fn tidy(&self) -> (usize, usize) {
        self.readers.tidy();
        self.prepared.tidy();
        self.prepared.size()
    }

    /// What reads datasets of this element type.
    fn reader(&self, element: &Type, form: Form) -> Result<Arc<Reader>, ExecError> {
        self.readers.get_or_make(
            &(element.clone(), form),
            |(ty, form), (other, other_form)| ty.ptr_eq(other) && form == other_form,
            |key, other| key == other,
            || Ok((Arc::new(Reader::new(self.library()?, element, form)?), runner::SESSION_BYTES)),
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
        Self::new(TensorFlowOptions::default())
    }
}

impl fmt::Debug for TensorFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorFlow")
            .field("options", &self.options)
            .field("prepared", &self.prepared.size().0)
            .field("readers", &self.readers.size().0)
            .finish()
    }
}
