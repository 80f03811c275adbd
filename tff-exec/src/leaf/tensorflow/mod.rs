//! The TensorFlow leaf: computations given as TensorFlow graphs, run in the process through
//! libtensorflow, which is opened when the first one is prepared.
//!
//! A graph is imported once per computation and its session is kept. A call copies what TensorFlow
//! does not hold yet into its memory, runs on the caller's thread, and returns views of the
//! tensors that were fetched.

mod binding;
pub(crate) mod dataset;
mod ffi;
mod graph;
mod library;
mod native;
mod prepared;
mod session;
mod state;
mod status;

use crate::{ExecError, leaf::Prepared};
use prepared::Callable;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tff_types::FunctionType;

/// Where libtensorflow is, and what the leaf keeps and accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The directory that holds `libtensorflow.so` (or `.dylib`). The environment's
    /// `TENSORFLOW_DIR` comes before it; where both are missing the library is looked for in the
    /// system's library path and in `/usr/local/lib`.
    pub library_dir: Option<PathBuf>,
    /// How many prepared computations are kept; the one unused for longest makes room.
    pub max_prepared: usize,
    /// The most elements that a dataset is read to.
    pub max_sequence_elements: usize,
    /// The most bytes of tensors that a dataset is read to.
    pub max_sequence_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { library_dir: None, max_prepared: 512, max_sequence_elements: 1 << 20, max_sequence_bytes: 1 << 31 }
    }
}

/// The TensorFlow leaf: prepares computations and remembers them.
pub struct TensorFlow {
    options: Options,
    prepared: Mutex<Recent>,
}

/// Prepared computations, found by the whole content of graph, bindings and type: a sender's cache
/// key would have to be trusted.
#[derive(Default)]
struct Recent {
    entries: Vec<Entry>,
    /// Counts the look-ups.
    clock: u64,
}

struct Entry {
    comp: Arc<tff_ir::TensorFlow>,
    ty: FunctionType,
    callable: Arc<Callable>,
    /// The look-up that found it last.
    used: u64,
}

impl TensorFlow {
    /// A leaf that opens the library of the process on first use.
    ///
    /// TensorFlow reads its settings from the environment of the process, so this sets
    /// `TF_CPP_MIN_LOG_LEVEL` (to errors only) and `TENSORFLOW_DIR` there unless they are set.
    /// Call it early, while no foreign code in another thread reads the environment.
    #[must_use]
    pub fn new(options: Options) -> Self {
        library::announce(options.library_dir.as_deref());
        Self { options, prepared: Mutex::default() }
    }

    /// The options it was made with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Checks and imports a computation of this type, or finds it among those that were.
    ///
    /// # Errors
    /// [`ExecError::Library`] without a library, [`ExecError::Prepare`], with the place, where the
    /// graph is damaged, an op is missing, or bindings and type do not fit each other.
    pub fn prepare(&self, comp: &Arc<tff_ir::TensorFlow>, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
        if let Some(callable) = self.recent(|recent| recent.find(comp, ty)) {
            return Ok(callable);
        }
        library::open()?;
        // Not under the lock: of two threads that race, one drops its copy.
        let made = Arc::new(Callable::new(comp, ty)?);
        Ok(self.recent(|recent| match recent.find(comp, ty) {
            Some(found) => found,
            None => recent.insert(comp, ty, made, self.options.max_prepared),
        }))
    }

    fn recent<T>(&self, f: impl FnOnce(&mut Recent) -> T) -> T {
        f(&mut self.prepared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Recent {
    /// Finds an equal computation. The same one in memory is found without looking into any;
    /// graphs that differ mostly do so in their length.
    fn find(&mut self, comp: &Arc<tff_ir::TensorFlow>, ty: &FunctionType) -> Option<Arc<Callable>> {
        let same = |entry: &Entry| Arc::ptr_eq(&entry.comp, comp) && entry.ty == *ty;
        let equal = |entry: &Entry| entry.comp == *comp && entry.ty == *ty;
        let index = self.entries.iter().position(same).or_else(|| self.entries.iter().position(equal))?;
        let entry = self.entries.get_mut(index)?;
        self.clock += 1;
        entry.used = self.clock;
        // Who asked last is likely to ask again.
        entry.comp = comp.clone();
        Some(entry.callable.clone())
    }

    fn insert(
        &mut self,
        comp: &Arc<tff_ir::TensorFlow>,
        ty: &FunctionType,
        callable: Arc<Callable>,
        limit: usize,
    ) -> Arc<Callable> {
        if self.entries.len() >= limit.max(1)
            && let Some((oldest, _)) = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.used)
        {
            self.entries.swap_remove(oldest);
        }
        self.clock += 1;
        let entry = Entry { comp: comp.clone(), ty: ty.clone(), callable: callable.clone(), used: self.clock };
        self.entries.push(entry);
        callable
    }
}

impl Default for TensorFlow {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl fmt::Debug for TensorFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prepared = self.recent(|recent| recent.entries.len());
        f.debug_struct("TensorFlow").field("options", &self.options).field("prepared", &prepared).finish()
    }
}
