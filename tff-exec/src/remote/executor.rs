//! An executor on a worker. It gives values their numbers before the calls that make them are done.

use super::connection::{Client, Connection, Rpc};
use crate::{Child, ExecError, Receive, SessionError, WorkerError};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tff_proto::v0 as pb;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

/// How long values to be disposed of are collected, for one call.
const LINGER: Duration = Duration::from_millis(5);

/// How many values are disposed of in one call.
const MAX_DISPOSED: usize = 1_000;

const GET_EXECUTOR: Rpc = Rpc { name: "GetExecutor", is_repeatable: true, is_quick: true };
const CREATE_VALUE: Rpc = Rpc { name: "CreateValue", is_repeatable: false, is_quick: false };
const CREATE_CALL: Rpc = Rpc { name: "CreateCall", is_repeatable: false, is_quick: false };
const CREATE_STRUCT: Rpc = Rpc { name: "CreateStruct", is_repeatable: false, is_quick: false };
const COMPUTE: Rpc = Rpc { name: "Compute", is_repeatable: true, is_quick: false };
const DISPOSE: Rpc = Rpc { name: "Dispose", is_repeatable: true, is_quick: true };
const DISPOSE_EXECUTOR: Rpc = Rpc { name: "DisposeExecutor", is_repeatable: false, is_quick: true };

/// An executor of the protocol on one worker, for a number of clients.
///
/// A value is created by a call that is sent as soon as the worker has answered those that created
/// what it is made of. When this is dropped, the worker is told to forget what is left, and the executor.
pub struct RemoteExecutor {
    connection: Arc<Connection>,
    runtime: Handle,
    id: pb::ExecutorId,
    n_clients: usize,
    table: Mutex<Table>,
    disposals: mpsc::UnboundedSender<String>,
}

#[derive(Default)]
struct Table {
    next: u64,
    values: HashMap<u64, RemoteValue>,
}

struct RemoteValue {
    reference: Reference,
    /// The calls that wait for its content.
    computing: Vec<AbortHandle>,
}

impl Drop for RemoteValue {
    fn drop(&mut self) {
        // The worker ends work that nobody waits for.
        self.computing.iter().for_each(AbortHandle::abort);
    }
}

/// What a worker knows a value by, once it does.
type Reference = watch::Receiver<Option<Result<Arc<Named>, ExecError>>>;

/// The worker's name for a value, which is disposed of when neither its number nor a call that is under way
/// needs it any more.
struct Named {
    name: String,
    disposals: mpsc::UnboundedSender<String>,
}

impl Named {
    fn to_proto(&self) -> pb::ValueRef {
        pb::ValueRef { id: self.name.clone() }
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        // Nobody listens where the worker is not asked any more.
        let _ = self.disposals.send(std::mem::take(&mut self.name));
    }
}

impl fmt::Debug for RemoteExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteExecutor").field("worker", &self.connection.name).field("id", &self.id.id).finish()
    }
}

impl RemoteExecutor {
    /// Asks a worker for an executor. `open` is held for as long as the worker has anything of it.
    ///
    /// # Errors
    /// [`WorkerError::Unavailable`], [`WorkerError::Failed`].
    pub(super) async fn open(
        connection: Arc<Connection>,
        n_clients: usize,
        open: impl Send + 'static,
    ) -> Result<Self, ExecError> {
        let number = i32::try_from(n_clients)
            .map_err(|_| ExecError::Limit { what: "the number of clients", limit: i32::MAX as usize })?;
        let placement = Some(tff_types::Placement::Clients.to_proto());
        let request =
            pb::GetExecutorRequest { cardinalities: vec![pb::Cardinality { placement, cardinality: number }] };
        let send = |mut client: Client| {
            let request = request.clone();
            async move { client.get_executor(request).await }
        };
        let response = connection.call(GET_EXECUTOR, send).await?;
        let id = response.executor.ok_or_else(|| connection.unavailable("it gives no executor"))?;
        tracing::debug!(worker = &*connection.name, executor = id.id, "opened");
        let (disposals, disposed) = mpsc::unbounded_channel();
        let runtime = Handle::current();
        let closing = dispose_all(connection.clone(), id.clone(), disposed);
        let left_behind = std::mem::take(&mut *connection.left_behind());
        let again = connection.clone();
        runtime.spawn(async move {
            for executor in left_behind {
                dispose_executor(&again, executor).await;
            }
            closing.await;
            drop(open);
        });
        Ok(Self { connection, runtime, id, n_clients, table: Mutex::default(), disposals })
    }

    /// A value that a call creates, made of those under these numbers.
    fn create<F>(
        &self,
        rpc: Rpc,
        inputs: &[u64],
        send: impl Fn(Client, pb::ExecutorId, Vec<pb::ValueRef>) -> F + Send + Sync + 'static,
    ) -> u64
    where
        F: Future<Output = Result<Option<pb::ValueRef>, tonic::Status>> + Send,
    {
        let (sender, reference) = watch::channel(None);
        let (id, inputs) = {
            let mut table = self.table();
            let inputs: Vec<_> = inputs.iter().map(|&id| table.reference(id)).collect();
            (table.insert(reference), inputs)
        };
        let (connection, executor) = (self.connection.clone(), self.id.clone());
        let disposals = self.disposals.clone();
        self.runtime.spawn(async move {
            let created = async {
                // Kept until the worker has used them.
                let mut named = Vec::with_capacity(inputs.len());
                for input in inputs {
                    named.push(known(input?).await?);
                }
                let send = |client| {
                    let created = send(client, executor.clone(), named.iter().map(|named| named.to_proto()).collect());
                    async move { created.await.map(tonic::Response::new) }
                };
                let created = connection.call(rpc, send).await?;
                created
                    .map(|value_ref| Arc::new(Named { name: value_ref.id, disposals }))
                    .ok_or_else(|| connection.unavailable(format!("{} gives no value", rpc.name)))
            };
            sender.send_replace(Some(created.await));
        });
        id
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn insert(&mut self, reference: Reference) -> u64 {
        let id = self.next;
        self.next += 1;
        self.values.insert(id, RemoteValue { reference, computing: Vec::new() });
        id
    }

    fn reference(&self, id: u64) -> Result<Reference, ExecError> {
        self.values.get(&id).map(|value| value.reference.clone()).ok_or_else(|| SessionError::UnknownValue(id).into())
    }
}

impl Child for RemoteExecutor {
    fn name(&self) -> &Arc<str> {
        &self.connection.name
    }

    fn n_clients(&self) -> usize {
        self.n_clients
    }

    fn create_value(&self, value: pb::Value) -> u64 {
        self.create(CREATE_VALUE, &[], move |mut client, executor, _| {
            let request = pb::CreateValueRequest { executor: Some(executor), value: Some(value.clone()) };
            async move { Ok(client.create_value(request).await?.into_inner().value_ref) }
        })
    }

    fn create_call(&self, function: u64, argument: Option<u64>) -> u64 {
        let inputs = [Some(function), argument];
        let inputs: Vec<u64> = inputs.into_iter().flatten().collect();
        self.create(CREATE_CALL, &inputs, |mut client, executor, inputs| {
            let mut inputs = inputs.into_iter();
            let (function_ref, argument_ref) = (inputs.next(), inputs.next());
            let request = pb::CreateCallRequest { executor: Some(executor), function_ref, argument_ref };
            async move { Ok(client.create_call(request).await?.into_inner().value_ref) }
        })
    }

    fn create_struct(&self, elements: &[u64]) -> u64 {
        self.create(CREATE_STRUCT, elements, |mut client, executor, elements| {
            let element = |value_ref| pb::create_struct_request::Element { name: String::new(), value_ref };
            let element = elements.into_iter().map(Some).map(element).collect();
            let request = pb::CreateStructRequest { executor: Some(executor), element };
            async move { Ok(client.create_struct(request).await?.into_inner().value_ref) }
        })
    }

    fn compute(&self, id: u64, receive: Receive) {
        let reference = match self.table().reference(id) {
            Ok(reference) => reference,
            Err(error) => return receive(Err(error)),
        };
        let (connection, executor) = (self.connection.clone(), self.id.clone());
        let computing = self.runtime.spawn(async move {
            let computed = async {
                let named = known(reference).await?;
                let request = pb::ComputeRequest { executor: Some(executor), value_ref: Some(named.to_proto()) };
                let send = |mut client: Client| {
                    let request = request.clone();
                    async move { client.compute(request).await }
                };
                let response = connection.call(COMPUTE, send).await?;
                response.value.ok_or_else(|| connection.unavailable("Compute gives no value"))
            };
            receive(computed.await);
        });
        if let Some(value) = self.table().values.get_mut(&id) {
            value.computing.push(computing.abort_handle());
        }
    }

    fn dispose(&self, id: u64) {
        let value = self.table().values.remove(&id);
        // Outside the lock.
        drop(value);
    }
}

/// The worker's name for a value, when it is there.
async fn known(mut reference: Reference) -> Result<Arc<Named>, ExecError> {
    match reference.wait_for(Option::is_some).await {
        Ok(outcome) => outcome.clone().unwrap_or(Err(ExecError::GivenUp)),
        // The runtime is gone, and with it everything that waits.
        Err(_) => Err(ExecError::GivenUp),
    }
}

/// Disposes of what it is told to, many at a time, and in the end of the executor, too. Who is lost is told
/// only the end: that of the executor is the end of its values.
async fn dispose_all(
    connection: Arc<Connection>,
    executor: pb::ExecutorId,
    mut disposed: mpsc::UnboundedReceiver<String>,
) {
    let mut ids = Vec::new();
    while disposed.recv_many(&mut ids, MAX_DISPOSED).await > 0 {
        tokio::time::sleep(LINGER).await;
        while ids.len() < MAX_DISPOSED
            && let Ok(id) = disposed.try_recv()
        {
            ids.push(id);
        }
        if connection.is_lost() {
            ids.clear();
            continue;
        }
        let value_ref = ids.drain(..).map(|id| pb::ValueRef { id }).collect();
        let request = pb::DisposeRequest { executor: Some(executor.clone()), value_ref };
        let send = |mut client: Client| {
            let request = request.clone();
            async move { client.dispose(request).await }
        };
        note(connection.call(DISPOSE, send).await);
    }
    dispose_executor(&connection, executor).await;
}

/// Disposes of an executor: now, or when the worker is there again.
async fn dispose_executor(connection: &Connection, executor: pb::ExecutorId) {
    let send = |mut client: Client| {
        let request = pb::DisposeExecutorRequest { executor: Some(executor.clone()) };
        async move { client.dispose_executor(request).await }
    };
    let disposed = connection.call(DISPOSE_EXECUTOR, send).await;
    if matches!(disposed, Err(ExecError::Worker(WorkerError::Unavailable { .. }))) {
        connection.left_behind().push(executor);
    }
    note(disposed);
}

/// A worker that cannot be told to forget has forgotten, or will.
fn note<T>(disposed: Result<T, ExecError>) {
    if let Err(error) = disposed {
        tracing::debug!("not disposed of: {error}");
    }
}
