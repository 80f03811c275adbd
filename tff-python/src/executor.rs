//! `Executor` and `Program`: computations that run.

use crate::computation::{Computation, options};
use crate::error::from_exec;
use crate::leaf::Registered;
use crate::read::Reader;
use crate::run::{Cancel, Pace, report_to, run};
use crate::types::Type;
use crate::value::{decode, encode};
use crate::write::Writer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString, PyTuple};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tff_exec::leaf::{self, xla};
use tff_exec::remote::{RemoteOptions, RemoteWorkers};
use tff_exec::{CallOptions, Options, Place, Value, infer_cardinality};
use tff_ir::Comp;

/// How often this process, or one that it was forked from, was forked.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Says that this process is a new one: it has none of the threads of the one that it was forked from.
#[pyfunction]
pub(crate) fn after_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Something that is made anew after a fork, since it uses threads.
struct Forkable<T>(Mutex<(u64, T)>);

impl<T: Clone> Forkable<T> {
    fn new(made: T) -> Self {
        Self(Mutex::new((FORKS.load(Ordering::Relaxed), made)))
    }

    fn get<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let forks = FORKS.load(Ordering::Relaxed);
        if kept.0 != forks {
            let old = std::mem::replace(&mut *kept, (forks, make()?));
            // Dropping it would wait for threads that are not there.
            std::mem::forget(old);
        }
        Ok(kept.1.clone())
    }
}

/// A runtime: the native libraries and the threads that programs share.
///
/// Args:
///     threads: How many threads compute; by default as many as there are cores.
///     tensorflow: A libtensorflow, its file or folder; by default that of the installed TensorFlow.
///     pjrt: A PJRT plugin, which runs XLA; by default that of the extra ``xla``.
///     pjrt_options: Options of the plugin by their names, such as the share of a GPU's memory.
///     workers: Addresses of workers that compute instead of this process, as ``host:port``.
///     data: A function that gives the values of data that computations name: it takes a URI, or a pair of the URL of a
///         type and bytes, and the `Type` of the value.
///     insecure_aggregation: Whether secure sums are computed as plain ones.
///     kernels: Whether small TensorFlow graphs are computed without TensorFlow where that gives the same.
#[pyclass(frozen, module = "federated_runtime")]
pub(crate) struct Executor {
    options: Options,
    executor: Forkable<tff_exec::Executor>,
}

impl Executor {
    pub(crate) fn get(&self) -> tff_exec::Executor {
        let made =
            self.executor.get(|| Ok::<_, std::convert::Infallible>(tff_exec::Executor::new(self.options.clone())));
        match made {
            Ok(executor) => executor,
            Err(never) => match never {},
        }
    }
}

/// An option of a plugin, by the type of its value.
struct PluginOption(xla::OptionValue);

impl<'py> FromPyObject<'_, 'py> for PluginOption {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(if object.is_instance_of::<PyBool>() {
            xla::OptionValue::Bool(object.extract()?)
        } else if object.is_instance_of::<PyInt>() {
            xla::OptionValue::Int64(object.extract()?)
        } else if object.is_instance_of::<PyFloat>() {
            xla::OptionValue::Float(object.extract()?)
        } else if object.is_instance_of::<PyString>() {
            xla::OptionValue::String(object.extract()?)
        } else {
            xla::OptionValue::Int64List(object.extract()?)
        }))
    }
}

#[pymethods]
impl Executor {
    #[new]
    #[pyo3(signature = (*, threads = None, tensorflow = None, pjrt = None, pjrt_options = None, workers = None, data = None, insecure_aggregation = false, kernels = true))]
    fn new(
        py: Python<'_>,
        threads: Option<usize>,
        tensorflow: Option<PathBuf>,
        pjrt: Option<PathBuf>,
        pjrt_options: Option<BTreeMap<String, PluginOption>>,
        workers: Option<Vec<String>>,
        data: Option<Py<PyAny>>,
        insecure_aggregation: bool,
        kernels: bool,
    ) -> PyResult<Self> {
        let mut made = Options::default();
        made.threads = threads;
        let libraries = py.import("federated_runtime._libraries")?;
        let found = |name: &str| -> PyResult<Option<PathBuf>> { libraries.call_method0(name)?.extract() };
        let tensorflow = tensorflow.map_or_else(|| found("tensorflow"), |path| Ok(Some(path)))?;
        made.tensorflow = tensorflow.map(leaf::tensorflow::Library::Path).unwrap_or_default();
        made.without_kernels = !kernels;
        if let Some(file) = pjrt.map_or_else(|| found("pjrt"), |path| Ok(Some(path)))? {
            let mut plugin = xla::Plugin::new(vec![file]);
            plugin.options = pjrt_options.unwrap_or_default().into_iter().map(|(name, it)| (name, it.0)).collect();
            made.xla = xla::Library::Plugin(plugin);
        }
        if let Some(addresses) = workers {
            let workers = RemoteWorkers::new(&addresses, &RemoteOptions::default());
            made.workers = Some(Arc::new(workers.map_err(|error| from_exec(py, &error))?));
        }
        made.data = Some(Arc::new(Registered { data }));
        made.compile = Some(tff_sim::compiler(move || options(insecure_aggregation)));
        let executor = Forkable::new(tff_exec::Executor::new(made.clone()));
        Ok(Self { options: made, executor })
    }

    /// Prepares a computation: compiles its graphs and modules, and checks what can be checked.
    ///
    /// Raises:
    ///     CompileError: It cannot be compiled.
    ///     LibraryError: A native library is missing; the message says what to install.
    fn prepare(slf: &Bound<'_, Self>, comp: &Computation) -> PyResult<Program> {
        let py = slf.py();
        let executor = slf.get().get();
        let program = py.detach(|| executor.prepare(&comp.0)).map_err(|error| from_exec(py, &error))?;
        Ok(Program {
            executor: slf.clone().unbind(),
            comp: comp.0.clone(),
            program: Forkable::new(program),
            pace: Pace::default(),
        })
    }
}

/// A computation that is ready to run, once or many times, also from several threads at a time.
#[pyclass(frozen, module = "federated_runtime")]
pub(crate) struct Program {
    executor: Py<Executor>,
    comp: Comp,
    program: Forkable<tff_exec::Program>,
    pace: Pace,
}

impl Program {
    fn parameter(&self) -> Option<&tff_types::Type> {
        self.comp.ty().as_function()?.parameter.as_ref()
    }

    fn result(&self) -> &tff_types::Type {
        self.comp.ty().as_function().map_or(self.comp.ty(), |function| &function.result)
    }

    fn call(
        &self,
        py: Python<'_>,
        argument: Option<Value>,
        weight: u64,
        n_clients: Option<usize>,
        options: CallOptions,
    ) -> PyResult<Value> {
        let executor = self.executor.get();
        let program = self.program.get(|| executor.get().prepare(&self.comp)).map_err(|error| from_exec(py, &error))?;
        run(py, program, argument, n_clients, options, &self.pace, weight)
    }
}

/// When a call that may take so many seconds ends.
fn deadline(timeout: Option<f64>) -> PyResult<Option<Instant>> {
    let Some(timeout) = timeout else { return Ok(None) };
    let duration = Duration::try_from_secs_f64(timeout);
    let duration = duration.map_err(|error| PyValueError::new_err(format!("timeout: {error}")))?;
    // What is too far away to be said is no deadline.
    Ok(Instant::now().checked_add(duration))
}

#[pymethods]
impl Program {
    /// The type of the computation.
    #[getter]
    fn r#type(&self) -> Type {
        Type(self.comp.ty().clone())
    }

    /// Runs the computation and waits for the result. The GIL is released, and Ctrl-C ends the run.
    ///
    /// Args:
    ///     *args: The argument; several are the elements of a struct.
    ///     n_clients: How many clients there are; needed where the argument does not say.
    ///     default_n_clients: The same, where the argument does not say.
    ///     timeout: The most seconds that it may take.
    ///     progress: Called with the name of an intrinsic and the number of clients for which it is done.
    ///     cancel: What ends the run from another thread.
    ///     structure: Makes structs of lists of names and values; by default dicts and tuples.
    ///     raw: Whether the result stays a ``Value``, which programs take as it is.
    ///
    /// Raises:
    ///     MismatchError: The argument is not of the type of the parameter.
    ///     DeadlineError: The run took longer than ``timeout``.
    ///     RunError: The computation failed; the cause of it is what a function of yours raised.
    #[pyo3(signature = (*args, n_clients = None, default_n_clients = None, timeout = None, progress = None, cancel = None, structure = None, raw = false))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        n_clients: Option<usize>,
        default_n_clients: Option<usize>,
        timeout: Option<f64>,
        progress: Option<Py<PyAny>>,
        cancel: Option<&Cancel>,
        structure: Option<Bound<'py, PyAny>>,
        raw: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = match args.len() {
            0 => None,
            1 => Some(args.get_item(0)?),
            _ => Some(args.clone().into_any()),
        };
        let reader = Reader::default();
        let argument = match (given, self.parameter()) {
            (Some(given), Some(ty)) => Some(reader.read(&given, ty).map_err(|error| error.raise(py, "argument"))?),
            (Some(_), None) => return Err(from_exec(py, &tff_exec::ExecError::UnexpectedArgument)),
            (None, _) => None,
        };
        let n_clients = match (n_clients, default_n_clients, &argument) {
            (None, Some(_), Some(argument)) => infer_cardinality(argument)
                .map_err(|error| from_exec(py, &error.at(Place::Argument)))?
                .or(default_n_clients),
            (n_clients, default, _) => n_clients.or(default),
        };
        let mut options = CallOptions::default();
        options.deadline = deadline(timeout)?;
        options.cancel = cancel.map(|cancel| cancel.0.clone());
        options.progress = progress.map(report_to);
        let value = self.call(py, argument, reader.weight(), n_clients, options)?;
        if raw {
            let kept = crate::value::Value { value, ty: self.result().clone() };
            return Ok(Bound::new(py, kept)?.into_any());
        }
        let executor = self.executor.get().get();
        Writer { py, structure: structure.as_ref(), executor: Some(&executor) }.write(&value, self.result())
    }

    /// Calls it with a serialized `Value`, and gives one.
    #[pyo3(signature = (argument = None, *, n_clients = None, timeout = None))]
    fn call_bytes<'py>(
        &self,
        py: Python<'py>,
        argument: Option<&[u8]>,
        n_clients: Option<usize>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let argument = match (argument, self.parameter()) {
            (Some(data), Some(ty)) => Some(decode(py, data, ty)?),
            (Some(_), None) => return Err(from_exec(py, &tff_exec::ExecError::UnexpectedArgument)),
            (None, _) => None,
        };
        let mut options = CallOptions::default();
        options.deadline = deadline(timeout)?;
        let value = self.call(py, argument, u64::MAX, n_clients, options)?;
        encode(py, &value, self.result())
    }

    fn __repr__(&self) -> String {
        format!("<Program {}>", self.comp.ty())
    }
}
