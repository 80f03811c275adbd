//! Runs that a user can end: Ctrl-C is noticed while a computation runs, and so are its deadline and its end by others.

use crate::error::{Class, from_exec, plain};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use tff_exec::{CallOptions, ExecError, Program, Progress, ReportProgress, Value};

/// A run that took no longer than this would end before Ctrl-C is noticed.
const QUICK: Duration = Duration::from_micros(200);

/// How often signals are looked for.
const INTERVAL: Duration = Duration::from_millis(20);

/// The largest argument, by its weight, with which a program was last quick.
#[derive(Default)]
pub(crate) struct Pace(AtomicU64);

/// Calls a program, with the GIL released.
///
/// Python runs signal handlers in its main thread alone, between two of its instructions. So there the call gets a
/// thread of its own, which is told to end, and not waited for, when a handler raises. That costs some 20 µs, and is
/// saved where the program was quick before with an argument as large.
pub(crate) fn run(
    py: Python<'_>,
    program: Program,
    argument: Option<Value>,
    n_clients: Option<usize>,
    mut options: CallOptions,
    pace: &Pace,
    weight: u64,
) -> PyResult<Value> {
    let is_quick = weight <= pace.0.load(Ordering::Relaxed);
    if options.deadline.is_none() && options.cancel.is_none() && (is_quick || !is_main_thread(py)?) {
        let (result, taken) = py.detach(|| timed(|| program.call_with(argument, n_clients, &options)));
        pace.0.store(if taken <= QUICK { weight.max(1) } else { 0 }, Ordering::Relaxed);
        return result.map_err(|error| from_exec(py, &error));
    }
    let cancel = options.cancel.get_or_insert_default().clone();
    let deadline = options.deadline;
    let (sender, mut receiver) = mpsc::channel();
    let runner = thread::Builder::new().name("federated-run".to_owned());
    let spawned = runner.spawn(move || {
        // Nobody receives it when the caller has given up.
        let _ = sender.send(timed(|| program.call_with(argument, n_clients, &options)));
    });
    spawned.map_err(|error| plain(py, Class::Run, error))?;
    loop {
        let left = deadline.map_or(INTERVAL, |deadline| deadline.saturating_duration_since(Instant::now()));
        // By exclusive reference, which another thread may be lent.
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(left.min(INTERVAL))) {
            Ok((result, taken)) => {
                pace.0.store(if taken <= QUICK { weight.max(1) } else { 0 }, Ordering::Relaxed);
                return result.map_err(|error| from_exec(py, &error));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(plain(py, Class::Run, "the thread of the run ended without a result"));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if let Err(interrupted) = py.check_signals() {
            cancel.cancel();
            return Err(interrupted);
        }
        if cancel.is_cancelled() {
            return Err(from_exec(py, &ExecError::GivenUp));
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Err(from_exec(py, &ExecError::Deadline));
        }
    }
}

fn timed(job: impl FnOnce() -> Result<Value, ExecError>) -> (Result<Value, ExecError>, Duration) {
    let started = Instant::now();
    let result = job();
    (result, started.elapsed())
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    static THREADING: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let threading = THREADING.get_or_try_init(py, || py.import("threading").map(Bound::unbind))?.bind(py);
    let main = threading.call_method0(intern!(py, "main_thread"))?;
    threading.call_method0(intern!(py, "get_ident"))?.eq(main.getattr(intern!(py, "ident"))?)
}

/// Ends calls from another thread or task: those that were given it.
#[pyclass(frozen, module = "federated_runtime._native")]
#[derive(Default)]
pub(crate) struct Cancel(pub(crate) tff_exec::Cancel);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends the calls; they raise `RunError`.
    fn cancel(&self) {
        self.0.cancel();
    }
}

/// Tells a Python function of a run: `(intrinsic, n_clients_done)`, as clients end and as intrinsics do.
pub(crate) fn report_to(function: Py<PyAny>) -> Arc<ReportProgress> {
    let done = Mutex::new((String::new(), 0_usize));
    Arc::new(move |progress: Progress<'_>| {
        let (name, n_done) = {
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            match progress {
                Progress::Started { intrinsic } => *done = (intrinsic.uri().to_owned(), 0),
                Progress::Client { .. } => done.1 += 1,
                _ => return,
            }
            done.clone()
        };
        Python::attach(|py| {
            // A function that shows progress must not end the run that it shows.
            if let Err(raised) = function.call1(py, (name, n_done)) {
                raised.write_unraisable(py, Some(function.bind(py)));
            }
        });
    })
}
