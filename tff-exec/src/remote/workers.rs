//! Several workers: clients spread evenly over those that can be reached.

use super::connection::Connection;
use super::{RemoteExecutor, RemoteOptions};
use crate::{Child, ExecError, Value, WorkerError, Workers};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How many executors of a worker are kept for later use, one for each number of clients.
const MAX_KEPT: usize = 8;

/// How long, at the end, is waited for workers to be told to forget what they hold.
const CLOSING_TIME: Duration = Duration::from_secs(2);

/// The threads that do the calls; none of them computes.
const THREADS: usize = 2;

/// Workers on which the clients of programs are.
///
/// Of `n` clients, each of `k` workers has `n / k`, neighbours in the clients' order, the first `n % k` one
/// more; where there are fewer clients than workers, the last workers have nothing to do. A worker that
/// does not answer is not asked again in the same run of a program, and in later ones after a while.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use tff_exec::{Executor, Options, remote::{RemoteOptions, RemoteWorkers}};
/// let workers = RemoteWorkers::new(&["one:8000", "two:8000"], &RemoteOptions::default())?;
/// let mut options = Options::default();
/// options.workers = Some(Arc::new(workers));
/// // Its programs have their clients on these workers.
/// let executor = Executor::new(options);
/// # Ok::<(), tff_exec::ExecError>(())
/// ```
pub struct RemoteWorkers {
    members: Vec<Member>,
    max_retries: usize,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    /// Held by every executor for as long as the worker has anything of it.
    open: Option<mpsc::Sender<()>>,
    closed: Mutex<mpsc::Receiver<()>>,
}

struct Member {
    connection: Arc<Connection>,
    executors: Mutex<Vec<Arc<RemoteExecutor>>>,
}

impl Member {
    fn kept(&self) -> std::sync::MutexGuard<'_, Vec<Arc<RemoteExecutor>>> {
        self.executors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The executor for this many clients, if there is one.
    fn executor(&self, n_clients: usize) -> Option<Arc<RemoteExecutor>> {
        self.kept().iter().find(|executor| executor.n_clients() == n_clients).cloned()
    }

    fn keep(&self, executor: Arc<RemoteExecutor>) {
        let mut kept = self.kept();
        if kept.len() == MAX_KEPT {
            kept.remove(0);
        }
        kept.push(executor);
    }
}

impl fmt::Debug for RemoteWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteWorkers").field("available", &self.available()).finish_non_exhaustive()
    }
}

impl RemoteWorkers {
    /// The workers at these addresses, `host:port`, in the order in which they get their clients. They
    /// are connected to when they are needed.
    ///
    /// # Errors
    /// [`WorkerError::Unavailable`] for what is no address, and for no address at all;
    /// [`ExecError::Library`] where no threads can be started.
    pub fn new(addresses: &[impl AsRef<str>], options: &RemoteOptions) -> Result<Self, ExecError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("tff-remote")
            .enable_all()
            .build()
            .map_err(|error| ExecError::Library { library: "the network's threads", reason: error.to_string() })?;
        let (open, closed) = mpsc::channel();
        // Made first: what ends the runtime is the drop of this.
        let mut workers = Self {
            members: Vec::with_capacity(addresses.len()),
            max_retries: options.max_retries,
            runtime: Some(runtime),
            open: Some(open),
            closed: Mutex::new(closed),
        };
        if addresses.is_empty() {
            return Err(none_left());
        }
        let handle = workers.runtime.as_ref().map(|runtime| runtime.handle().clone());
        let _within = handle.as_ref().map(tokio::runtime::Handle::enter);
        for address in addresses {
            let connection = Arc::new(Connection::new(address.as_ref(), options)?);
            workers.members.push(Member { connection, executors: Mutex::default() });
        }
        Ok(workers)
    }

    /// The addresses of the workers that were not found to be unavailable.
    #[must_use]
    pub fn available(&self) -> Vec<Arc<str>> {
        self.members().map(|member| member.connection.name.clone()).collect()
    }

    fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.connection.is_lost())
    }

    /// Executors for this many clients, 1 or more, spread over the workers that answer.
    ///
    /// # Errors
    /// [`WorkerError::Unavailable`] where none is left, [`WorkerError::Failed`] for what one answers.
    pub fn executors(&self, n_clients: usize) -> Result<Vec<Arc<RemoteExecutor>>, ExecError> {
        let mut last = None;
        loop {
            let members: Vec<&Member> = self.members().collect();
            let n_parts = members.len().min(n_clients);
            if n_parts == 0 {
                return Err(last.unwrap_or_else(none_left));
            }
            let sizes = (0..n_parts).map(|index| n_clients / n_parts + usize::from(index < n_clients % n_parts));
            let opened = self.open_all(members.iter().zip(sizes).map(|(&member, size)| (member, size)).collect());
            let mut executors = Vec::with_capacity(n_parts);
            let mut lost = None;
            for (member, executor) in members.iter().zip(opened) {
                match executor {
                    Ok(executor) => executors.push(executor),
                    Err(error @ ExecError::Worker(WorkerError::Unavailable { .. })) => {
                        member.connection.lose();
                        tracing::warn!("{error}");
                        lost = Some(error);
                    }
                    Err(error) => return Err(error),
                }
            }
            if lost.is_none() {
                return Ok(executors);
            }
            last = lost;
        }
    }

    /// An executor of each of these, for so many clients: one that is kept, or a new one.
    fn open_all(&self, parts: Vec<(&Member, usize)>) -> Vec<Result<Arc<RemoteExecutor>, ExecError>> {
        // All are asked before the first answer is waited for.
        let opening = parts.into_iter().map(|(member, n_clients)| {
            let kept = member.executor(n_clients);
            (member, kept.ok_or_else(|| self.open(member, n_clients)))
        });
        let opening: Vec<_> = opening.collect();
        let opened = opening.into_iter().map(|(member, opening)| match opening {
            Ok(kept) => Ok(kept),
            Err(opening) => {
                let gone = || Err(member.connection.unavailable("its connection is closed"));
                let executor = Arc::new(opening.recv().unwrap_or_else(|_| gone())?);
                member.keep(executor.clone());
                Ok(executor)
            }
        });
        opened.collect()
    }

    fn open(&self, member: &Member, n_clients: usize) -> mpsc::Receiver<Result<RemoteExecutor, ExecError>> {
        let (sender, receiver) = mpsc::channel();
        let (connection, open) = (member.connection.clone(), self.open.clone());
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move {
                // Whoever asked waits for it.
                let _ = sender.send(RemoteExecutor::open(connection, n_clients, open).await);
            });
        }
        receiver
    }
}

fn none_left() -> ExecError {
    WorkerError::Unavailable { worker: Arc::from("any"), reason: "none is left".to_owned() }.into()
}

impl Workers for RemoteWorkers {
    fn run(
        &self,
        n_clients: usize,
        round: &mut dyn FnMut(Vec<Arc<dyn Child>>) -> Result<Value, ExecError>,
    ) -> Result<Value, ExecError> {
        let mut retries = self.max_retries;
        self.members.iter().for_each(|member| member.connection.ask_again());
        loop {
            let executors = self.executors(n_clients)?;
            let children = executors.into_iter().map(|executor| executor as Arc<dyn Child>).collect();
            let error = match round(children) {
                Err(error) if matches!(error.cause(), ExecError::Worker(WorkerError::Unavailable { .. })) => error,
                outcome => return outcome,
            };
            // A worker that has lost its values needs a new executor; a worker that is gone cannot make one.
            self.members.iter().for_each(|member| member.kept().clear());
            if retries == 0 {
                return Err(error);
            }
            retries -= 1;
            tracing::warn!("{}; its work is done again by those that answer", error.cause());
        }
    }
}

impl Drop for RemoteWorkers {
    fn drop(&mut self) {
        self.members.clear();
        self.open = None;
        // Nothing is ever sent: this ends when every executor is closed.
        let closed = self.closed.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = closed.recv_timeout(CLOSING_TIME);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
