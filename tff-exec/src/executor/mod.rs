//! The runtime that programs share.

mod program;

pub use program::Program;

use crate::composing::Workers;
use crate::eval::{Compilation, Context, Control, DataBackend, Host, Want, comp_from_proto, compile};
use crate::leaf::{Prepared, tensorflow, xla};
use crate::values::wire::Reader;
use crate::values::{ReadDataset, check};
use crate::{CallOptions, EvalError, ExecError, TensorFlow, Value, Xla};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};
use tff_ir::{Comp, CompiledComputation};
use tff_proto::v0 as pb;
use tff_types::{FunctionType, Type};

/// Turns a computation into one that uses only intrinsics that the evaluator implements, or says in one line
/// why it cannot.
pub type Compile = dyn Fn(&Comp) -> Result<Comp, Box<dyn Error + Send + Sync>> + Send + Sync;

/// Prepares compiled computations that a program runs itself; `None` for those that it leaves to
/// the leaves of this crate.
pub type PrepareLeaf =
    dyn Fn(&CompiledComputation, &FunctionType) -> Result<Option<Arc<dyn Prepared>>, ExecError> + Send + Sync;

/// How an [`Executor`] is set up.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// How many threads compute for clients; all cores where that is `None` or zero.
    pub threads: Option<usize>,
    /// What runs TensorFlow's graphs.
    pub tensorflow: tensorflow::Library,
    /// Whether TensorFlow also runs the small graphs that the kernels could run. The results are the same, so this
    /// is for tests of graphs.
    pub without_kernels: bool,
    /// What compiles and runs computations in XLA.
    pub xla: xla::Library,
    /// Compiles a computation that uses intrinsics that the evaluator does not implement, or whose functions
    /// are sent to workers. Without it, these intrinsics fail when they are called.
    pub compile: Option<Arc<Compile>>,
    /// Is asked before the leaves of this crate to prepare a compiled computation.
    pub leaf: Option<Arc<PrepareLeaf>>,
    /// What finds the values of `data` in computations. Without it, only data that is an array or a value itself
    /// has one; other data is refused when it is needed.
    pub data: Option<Arc<dyn DataBackend>>,
    /// The workers on which programs have their clients; without them, clients are computed here.
    pub workers: Option<Arc<dyn Workers>>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("threads", &self.threads)
            .field("tensorflow", &self.tensorflow)
            .field("without_kernels", &self.without_kernels)
            .field("xla", &self.xla)
            .field("compile", &self.compile.is_some())
            .field("leaf", &self.leaf.is_some())
            .field("data", &self.data.is_some())
            .field("workers", &self.workers)
            .finish()
    }
}

/// A runtime: the native libraries and the threads that programs share. Cheap to clone.
///
/// Making one starts nothing: libraries are opened and threads started when they are needed.
#[derive(Clone, Debug)]
pub struct Executor(Arc<Runtime>);

pub(crate) struct Runtime {
    options: Options,
    tensorflow: TensorFlow,
    xla: Xla,
    threads: usize,
    pool: OnceLock<ThreadPool>,
}

impl Runtime {
    /// The code of a computation. It is compiled first if its intrinsics or workers need that: functions that
    /// workers are sent must not refer to anything around them.
    pub(crate) fn load(&self, comp: &Comp) -> Result<Compilation, ExecError> {
        let compilation = compile(comp)?;
        match &self.options.compile {
            Some(to_native) if !compilation.is_native || self.workers().is_some() => {
                compile(&to_native(comp).map_err(|error| EvalError::Compile(error.into()))?)
            }
            _ => Ok(compilation),
        }
    }

    /// The workers on which programs have their clients.
    pub(crate) fn workers(&self) -> Option<&dyn Workers> {
        self.options.workers.as_deref()
    }
}

impl Host for Runtime {
    fn prepare_leaf(&self, comp: &CompiledComputation, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
        if let Some(prepare) = &self.options.leaf
            && let Some(prepared) = prepare(comp, ty)?
        {
            return Ok(prepared);
        }
        match comp {
            CompiledComputation::TensorFlow(comp) => self.tensorflow.prepare(comp, ty),
            CompiledComputation::Xla(comp) => self.xla.prepare(comp, ty),
        }
    }

    fn data(&self) -> Option<&dyn DataBackend> {
        self.options.data.as_deref()
    }

    fn datasets(&self) -> &dyn ReadDataset {
        &self.tensorflow
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn pool(&self) -> Result<&ThreadPool, ExecError> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let pool = ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .thread_name(|index| format!("tff-client-{index}"))
            .build()
            .map_err(|error| ExecError::Library { library: "the thread pool", reason: error.to_string() })?;
        Ok(self.pool.get_or_init(|| pool))
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("threads", &self.threads)
            .field("tensorflow", &self.tensorflow)
            .field("xla", &self.xla)
            .finish()
    }
}

impl Executor {
    /// A runtime with these options.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.filter(|&threads| threads > 0).unwrap_or_else(cores);
        let tensorflow = TensorFlow::new(tensorflow::TensorFlowOptions {
            library: options.tensorflow.clone(),
            kernels: !options.without_kernels,
            ..Default::default()
        });
        let xla = Xla::new(xla::XlaOptions { library: options.xla.clone(), ..Default::default() });
        Self(Arc::new(Runtime { options, tensorflow, xla, threads, pool: OnceLock::new() }))
    }

    pub(crate) const fn runtime(&self) -> &Arc<Runtime> {
        &self.0
    }

    /// The TensorFlow leaf, through which the elements of datasets are read.
    #[must_use]
    pub fn tensorflow(&self) -> &TensorFlow {
        &self.0.tensorflow
    }

    /// Drops prepared computations that nobody has used for a while, and sets the gauges
    /// `tff_prepared` and `tff_prepared_bytes`. The same happens whenever one is prepared. Only a program
    /// that runs for long needs to call this now and then, as [`serve`](crate::service::serve) does.
    pub fn tidy(&self) {
        for (leaf, (n_prepared, bytes)) in [("TensorFlow", self.0.tensorflow.tidy()), ("XLA", self.0.xla.tidy())] {
            metrics::gauge!("tff_prepared", "leaf" => leaf).set(n_prepared as f64);
            metrics::gauge!("tff_prepared_bytes", "leaf" => leaf).set(bytes as f64);
        }
    }

    /// Reads a value of type `ty`, for this number of clients where that is known. Computations in the
    /// message are evaluated; a function is the value of one.
    ///
    /// # Errors
    /// Those of [`value_from_proto`](crate::value_from_proto), and whatever a computation fails with.
    pub fn read_value(&self, message: &pb::Value, ty: &Type, n_clients: Option<usize>) -> Result<Value, ExecError> {
        let options = CallOptions::default();
        let evaluate = |message: &pb::Computation, ty: Option<&Type>| {
            let comp = comp_from_proto(message, ty)?;
            let ctx = Context::new(&*self.0, n_clients, Control::from(&options));
            let value = ctx.run(&self.0.load(&comp)?.body, &Want::Whole).into_value()?;
            check(&value, comp.ty(), n_clients)?;
            Ok(value)
        };
        Reader { computation: Some(&evaluate), n_clients, ..Reader::default() }.read(message, Some(ty))
    }

    /// Prepares a computation to be run, once or many times.
    ///
    /// # Errors
    /// [`EvalError::UnboundReference`] where it is not closed, [`ExecError::Limit`] where it is nested too
    /// deeply, [`EvalError::Compile`] where [`Options::compile`] is needed and fails.
    pub fn prepare(&self, comp: &Comp) -> Result<Program, ExecError> {
        Ok(Program::new(self.clone(), comp.ty().clone(), self.0.load(comp)?))
    }
}
