//! The runtime and the programs that run on it.

use crate::composing::{Children, Workers};
use crate::eval::{Code, Compilation, Context, Elsewhere, Frame, Host, compile};
use crate::leaf::{Prepared, tensorflow, xla};
use crate::values::{ReadDataset, check, check_n_clients, conform};
use crate::{ExecError, TensorFlow, Value, Xla, infer_cardinality};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fmt;
use std::sync::{Arc, OnceLock};
use tff_ir::{Comp, CompiledComputation};
use tff_types::{FunctionType, Placement, Type};

/// Turns a computation into one whose intrinsics are all run as they stand, or says in one line why
/// it cannot.
pub type Compile = dyn Fn(&Comp) -> Result<Comp, String> + Send + Sync;

/// How an [`Executor`] is set up.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// How many threads compute for clients; all cores where that is `None` or zero.
    pub threads: Option<usize>,
    /// What runs TensorFlow's graphs.
    pub tensorflow: tensorflow::Library,
    /// Whether TensorFlow runs also the small graphs that need no library: they give the same, so
    /// that this is for tests of graphs.
    pub without_kernels: bool,
    /// What compiles and runs computations in XLA.
    pub xla: xla::Library,
    /// What compiles a computation that holds other intrinsics than those that are run as they
    /// stand, or whose functions are sent to workers. Without it, these intrinsics fail when they
    /// are called.
    pub compile: Option<Arc<Compile>>,
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
    tensorflow: TensorFlow,
    xla: Xla,
    threads: usize,
    pool: OnceLock<ThreadPool>,
    compile: Option<Arc<Compile>>,
    workers: Option<Arc<dyn Workers>>,
}

impl Runtime {
    /// The code of a computation, compiled first where its intrinsics need it, or workers: these
    /// are sent functions that must not refer to what is around them.
    pub(crate) fn load(&self, comp: &Comp) -> Result<Compilation, ExecError> {
        let compilation = compile(comp)?;
        match &self.compile {
            Some(to_native) if !compilation.is_native || self.workers.is_some() => {
                compile(&to_native(comp).map_err(ExecError::Compile)?)
            }
            _ => Ok(compilation),
        }
    }
}

impl Host for Runtime {
    fn prepare_leaf(&self, comp: &CompiledComputation, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
        match comp {
            CompiledComputation::TensorFlow(comp) => self.tensorflow.prepare(comp, ty),
            CompiledComputation::Xla(comp) => self.xla.prepare(comp, ty),
        }
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
        let tensorflow = TensorFlow::new(tensorflow::Options {
            library: options.tensorflow,
            kernels: !options.without_kernels,
            ..Default::default()
        });
        let xla = Xla::new(xla::Options { library: options.xla, ..Default::default() });
        let (compile, workers) = (options.compile, options.workers);
        Self(Arc::new(Runtime { tensorflow, xla, threads, pool: OnceLock::new(), compile, workers }))
    }

    pub(crate) const fn runtime(&self) -> &Arc<Runtime> {
        &self.0
    }

    /// The TensorFlow leaf, through which the elements of datasets are read.
    #[must_use]
    pub fn tensorflow(&self) -> &TensorFlow {
        &self.0.tensorflow
    }

    /// Prepares a computation to be run, once or many times.
    ///
    /// # Errors
    /// [`ExecError::UnboundReference`] where it is not closed, [`ExecError::Unsupported`] where it
    /// refers to data, [`ExecError::Limit`] where it is nested too deeply, [`ExecError::Compile`]
    /// where [`Options::compile`] is needed and fails.
    pub fn prepare(&self, comp: &Comp) -> Result<Program, ExecError> {
        let Compilation { code, frame_size, .. } = self.0.load(comp)?;
        Ok(Program { executor: self.clone(), ty: comp.ty().clone(), code: Arc::new(code), frame_size })
    }
}

/// A computation that is ready to run. Cheap to clone; runs may overlap.
#[derive(Clone, Debug)]
pub struct Program {
    executor: Executor,
    ty: Type,
    code: Arc<Code>,
    frame_size: usize,
}

impl Program {
    /// The type of the computation: a function type for what has to be called.
    #[must_use]
    pub const fn ty(&self) -> &Type {
        &self.ty
    }

    /// Runs the computation on `n_clients` clients. A function is called, with `argument` if it
    /// has a parameter; any other computation is evaluated.
    ///
    /// The number of clients follows from values of the argument that are not all-equal; where it
    /// is given too, it must agree.
    ///
    /// Where there are [`Workers`], the clients' part is done there, and again on those that are left
    /// if one is lost meanwhile.
    ///
    /// # Errors
    /// [`ExecError::MissingArgument`], [`ExecError::UnexpectedArgument`]; [`ExecError::Mismatch`]
    /// and [`ExecError::Cardinality`] with the path inside the argument; whatever fails on the way.
    pub fn call(&self, argument: Option<Value>, n_clients: Option<usize>) -> Result<Value, ExecError> {
        let n_clients = cardinality(argument.as_ref(), n_clients)?;
        match (&self.executor.0.workers, n_clients) {
            (Some(workers), Some(n_clients @ 1..)) => workers.run(check_n_clients(n_clients)?, &mut |children| {
                let children = Children::new(children);
                self.call_on(Some(&children), argument.clone(), Some(n_clients))
            }),
            _ => self.call_on(None, argument, n_clients),
        }
    }

    fn call_on(
        &self,
        elsewhere: Option<&dyn Elsewhere>,
        argument: Option<Value>,
        n_clients: Option<usize>,
    ) -> Result<Value, ExecError> {
        let ctx = Context::new(&*self.executor.0, n_clients).on(elsewhere);
        let value = ctx.eval(&self.code, &mut Frame::new(self.frame_size))?;
        let Some(function) = self.ty.as_function() else {
            if argument.is_some() {
                return Err(ExecError::UnexpectedArgument);
            }
            return conform(value, &self.ty, n_clients);
        };
        match (&function.parameter, &argument) {
            (None, None) => {}
            (None, Some(_)) => return Err(ExecError::UnexpectedArgument),
            (Some(parameter), None) => return Err(ExecError::MissingArgument(parameter.to_string())),
            (Some(parameter), Some(argument)) => {
                check(argument, parameter, n_clients).map_err(|error| error.at("argument"))?;
            }
        }
        conform(ctx.apply(&value, argument)?, &function.result, n_clients)
    }
}

/// The number of clients that the argument implies and the caller gives.
fn cardinality(argument: Option<&Value>, given: Option<usize>) -> Result<Option<usize>, ExecError> {
    let implied = argument.map(infer_cardinality).transpose().map_err(|error| error.at("argument"))?.flatten();
    match (implied, given) {
        (Some(found), Some(expected)) if found != expected => {
            Err(ExecError::Cardinality { placement: Placement::Clients, expected, found }.at("argument"))
        }
        (implied, given) => Ok(implied.or(given)),
    }
}
