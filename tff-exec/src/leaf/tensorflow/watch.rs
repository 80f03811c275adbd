//! Ends the runs of graphs that nobody needs any more.
//!
//! A run takes the thread that calls it until it ends, so another thread looks, some times a second,
//! whether it is still needed, and closes its session if it is not.

use super::ffi::NativeSession;
use crate::leaf::Until;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(100);

/// After how many looks at nothing the thread waits to be woken.
const MAX_IDLE: u32 = 100;

/// The runs that are under way, and the thread that watches them once there was one.
#[derive(Default)]
pub(super) struct Watch {
    shared: Arc<Shared>,
    start: OnceLock<()>,
}

#[derive(Default)]
struct Shared {
    runs: Mutex<Runs>,
    wake: Condvar,
}

#[derive(Default)]
struct Runs {
    under_way: Vec<(u64, Until, Arc<NativeSession>)>,
    n_begun: u64,
    is_asleep: bool,
    is_over: bool,
}

impl Watch {
    /// Calls `run`. If its result stops being needed before it ends, the session that it uses is closed.
    pub(super) fn during<T>(&self, until: &Until, session: &Arc<NativeSession>, run: impl FnOnce() -> T) -> T {
        if until.given_up.is_none() && until.deadline.is_none() {
            return run();
        }
        self.start.get_or_init(|| {
            let shared = self.shared.clone();
            let started = thread::Builder::new().name("tff-watch".to_owned()).spawn(move || shared.watch());
            if let Err(error) = started {
                tracing::warn!(%error, "graphs that nobody needs any more are not ended");
            }
        });
        let id = self.shared.with(|runs| {
            runs.n_begun += 1;
            runs.under_way.push((runs.n_begun, until.clone(), session.clone()));
            if runs.is_asleep {
                self.shared.wake.notify_one();
            }
            runs.n_begun
        });
        let result = run();
        self.shared.with(|runs| {
            if let Some(position) = runs.under_way.iter().position(|(other, ..)| *other == id) {
                runs.under_way.swap_remove(position);
            }
        });
        result
    }
}

impl Shared {
    fn with<T>(&self, f: impl FnOnce(&mut Runs) -> T) -> T {
        f(&mut self.runs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn watch(&self) {
        let mut n_idle = 0;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        while !runs.is_over {
            // To close a session takes some microseconds: the runs end by themselves.
            runs.under_way.iter().filter(|(_, until, _)| until.check().is_err()).for_each(|(.., it)| it.close());
            n_idle = if runs.under_way.is_empty() { n_idle + 1 } else { 0 };
            runs = if n_idle > MAX_IDLE {
                n_idle = 0;
                runs.is_asleep = true;
                let mut woken = self.wake.wait(runs).unwrap_or_else(PoisonError::into_inner);
                woken.is_asleep = false;
                woken
            } else {
                self.wake.wait_timeout(runs, LOOK).unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.with(|runs| runs.is_over = true);
        self.shared.wake.notify_one();
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
