//! Runs that a user can end: Ctrl-C is noticed while a computation runs, and so is its deadline.

use crate::error::{Class, from_exec, plain};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use tff_exec::{ExecError, Value};

/// A run that took no longer than this would end before Ctrl-C is noticed.
const QUICK: Duration = Duration::from_micros(200);

/// How often signals are looked for.
const INTERVAL: Duration = Duration::from_millis(20);

/// The largest argument, by its weight, with which a program was last quick.
#[derive(Default)]
pub(crate) struct Pace(AtomicU64);

/// Runs `job`, with the GIL released.
///
/// Python runs signal handlers in its main thread alone, between two of its instructions. So there the job gets a
/// thread of its own, which is left behind when a handler raises. That costs some 20 µs, and is saved where the
/// program was quick before with an argument as large.
pub(crate) fn run(
    py: Python<'_>,
    job: impl FnOnce() -> Result<Value, ExecError> + Send + 'static,
    pace: &Pace,
    weight: u64,
    timeout: Option<Duration>,
) -> PyResult<Value> {
    let is_quick = weight <= pace.0.load(Ordering::Relaxed);
    if timeout.is_none() && (is_quick || !is_main_thread(py)?) {
        let (result, taken) = py.detach(|| timed(job));
        pace.0.store(if taken <= QUICK { weight.max(1) } else { 0 }, Ordering::Relaxed);
        return result.map_err(|error| from_exec(py, &error));
    }
    let started = Instant::now();
    let (sender, mut receiver) = mpsc::channel();
    let runner = thread::Builder::new().name("federated-run".to_owned());
    let spawned = runner.spawn(move || {
        // Nobody receives it when the caller has given up.
        let _ = sender.send(timed(job));
    });
    spawned.map_err(|error| plain(py, Class::Run, error))?;
    loop {
        let left = timeout.map_or(INTERVAL, |timeout| timeout.saturating_sub(started.elapsed()).min(INTERVAL));
        // By exclusive reference, which another thread may be lent.
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(left)) {
            Ok((result, taken)) => {
                pace.0.store(if taken <= QUICK { weight.max(1) } else { 0 }, Ordering::Relaxed);
                return result.map_err(|error| from_exec(py, &error));
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(plain(py, Class::Run, "the thread of the run ended without a result"));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        py.check_signals()?;
        if let Some(timeout) = timeout
            && started.elapsed() >= timeout
        {
            let message = format!("the run did not end within {} s", timeout.as_secs_f64());
            return Err(plain(py, Class::Deadline, message));
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
