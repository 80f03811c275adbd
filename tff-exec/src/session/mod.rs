//! A session: values under numbers, made step by step, for one number of clients.

mod lazy;
mod live;
mod work;

use crate::eval::{Context, Control, Host, Part, Want};
use crate::executor::Runtime;
use crate::values::wire::{Dialect, ReadComputation, Reader, Writer, computations};
use crate::{ExecError, Executor, NotFinite, NotFiniteClients, SessionError, WireError};
use bytes::Bytes;
use lazy::Lazy;
use live::Received;
pub(crate) use live::{Gauged, Live};
use prost::Message;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tff_ir::Comp;
use tff_proto::v0 as pb;
use tff_types::Type;
use work::{Need, Work};

/// Values that a peer makes one by one: created, called, selected from, computed, disposed of.
///
/// Nothing here blocks: creating records or starts work, [`Session::compute`] hands the value to
/// a callback when it is there. Values are known by numbers, counted from 0 and never used again.
#[derive(Debug)]
pub struct Session {
    executor: Executor,
    n_clients: usize,
    values: RwLock<Table>,
    dialect: Arc<Mutex<Dialect>>,
    live: Arc<Live>,
    /// Whether numbers that are not finite are an error.
    trap_not_finite: bool,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    entries: HashMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    value: Lazy,
    /// The message of a function, a constant, or an array that is none: by itself it is computed
    /// to what was sent, and only its use in a call needs more.
    source: Option<Arc<Source>>,
    _gauged: Gauged,
}

impl Entry {
    fn new(value: Lazy, source: Option<Source>) -> Self {
        Self { value, source: source.map(Arc::new), _gauged: Gauged::new("tff_values") }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.value.forget_number();
    }
}

#[derive(Debug)]
struct Source {
    message: pb::Value,
    _received: Arc<Received>,
}

/// Someone who waits for a value. When it is dropped before the value is there, the one who knows
/// the value's number is taken to have lost interest: the work is given up, unless others need it.
pub struct Waiting {
    value: Lazy,
    _need: Option<Need>,
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("value", &self.value).finish_non_exhaustive()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.value.peek().is_none() {
            self.value.forget_number();
        }
    }
}

impl Session {
    /// A session for this number of clients.
    #[must_use]
    pub fn new(executor: Executor, n_clients: usize) -> Self {
        Self::within(executor, n_clients, Arc::new(Live::new(usize::MAX)), false)
    }

    /// A session that shares its limit of received bytes with others.
    pub(crate) fn within(executor: Executor, n_clients: usize, live: Arc<Live>, trap_not_finite: bool) -> Self {
        Self { executor, n_clients, values: RwLock::default(), dialect: Arc::default(), live, trap_not_finite }
    }

    /// The number of clients.
    #[must_use]
    pub const fn n_clients(&self) -> usize {
        self.n_clients
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().entries.len()
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Creates a value from a message; evaluates a computation that is not a function already, also in a
    /// struct or in a federated value.
    ///
    /// # Errors
    /// [`WireError::Empty`] for an empty message, [`SessionError::LiveBytes`],
    /// [`EvalError::UnboundReference`](crate::EvalError::UnboundReference), and whatever is wrong with the value itself.
    pub fn create_value(&self, value: pb::Value) -> Result<u64, ExecError> {
        let received = self.live.receive(value.encoded_len())?;
        if let Some(pb::value::Value::Computation(comp)) = &value.value {
            self.dialect().hear(comp);
            let comp = self.computation(comp)?;
            return Ok(self.insert(match comp {
                Computation::Known(outcome) => {
                    Entry::new(Lazy::ready(outcome), Some(Source { message: value, _received: received }))
                }
                Computation::Started(value) => Entry::new(value, None),
            }));
        }
        let parts = computations(&value);
        if !parts.is_empty() {
            parts.iter().for_each(|comp| self.dialect().hear(comp));
            let parts = parts.into_iter().map(|comp| self.computation(comp).map(Computation::into_lazy));
            let parts = parts.collect::<Result<_, _>>()?;
            let value = self.assemble(value, received, parts);
            // What is known at once to be wrong is said at once, as of a value without computations.
            if let Some(Part::Failed(error)) = value.peek() {
                return Err(*error);
            }
            return Ok(self.insert(Entry::new(value, None)));
        }
        let wrap = |bytes: Bytes| received.count(bytes);
        let dialect = *self.dialect();
        let mut reader = Reader { n_clients: Some(self.n_clients), dialect, wrap: Some(&wrap), ..Reader::default() };
        let read = reader.read(&value, None);
        *self.dialect() = reader.dialect;
        Ok(self.insert(match read {
            Ok(read) => Entry::new(Lazy::ready(Part::Value(read)), None),
            // Of federated and empty values it is known at once what every use would find.
            Err(error) if matches!(value.value, Some(pb::value::Value::Federated(_)) | None) => return Err(error),
            Err(error) => Entry::new(Lazy::ready(error.into()), Some(Source { message: value, _received: received })),
        }))
    }

    /// The value of a message, when the values of the computations in it are there.
    fn assemble(&self, message: pb::Value, received: Arc<Received>, parts: Vec<Lazy>) -> Lazy {
        let (n_clients, heard) = (self.n_clients, self.dialect.clone());
        self.derive(parts, move |parts| {
            let parts = Mutex::new(parts.into_iter());
            // It asks for them in the order in which they were started.
            let computed = |_: &pb::Computation, _: Option<&Type>| {
                let part = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
                part.ok_or_else(no_input)?.into_value()
            };
            let wrap = |bytes: Bytes| received.count(bytes);
            let (computation, wrap): (Option<&ReadComputation<'_>>, Option<&dyn Fn(Bytes) -> Bytes>) =
                (Some(&computed), Some(&wrap));
            let mut dialect = heard.lock().unwrap_or_else(PoisonError::into_inner);
            let mut reader = Reader { n_clients: Some(n_clients), dialect: *dialect, computation, wrap };
            let read = reader.read(&message, None);
            *dialect = reader.dialect;
            read.into()
        })
    }

    fn computation(&self, message: &pb::Computation) -> Result<Computation, ExecError> {
        let kind = message.computation.as_ref().ok_or(WireError::Empty)?;
        let compiled = Comp::from_proto_lenient(message)
            .map_err(ExecError::from)
            .and_then(|comp| self.executor.runtime().load(&comp));
        let compiled = match compiled {
            Ok(compiled) => compiled,
            // A value that stands for itself is an error only when it is used.
            Err(error) if is_leaf(kind) => return Ok(Computation::Known(error.into())),
            Err(error) => return Err(error),
        };
        if let Some(known) = compiled.known(&**self.executor.runtime()) {
            return Ok(Computation::Known(known.into()));
        }
        let (value, job) = self.job(&[]);
        job.start(move |ctx| ctx.run(&compiled.body, &Want::Parts));
        Ok(Computation::Started(value))
    }

    /// Creates the value of a call; the call starts when function and argument are there.
    ///
    /// # Errors
    /// [`SessionError::UnknownValue`].
    pub fn create_call(&self, function: u64, argument: Option<u64>) -> Result<u64, ExecError> {
        let mut inputs = vec![self.value(function)?];
        if let Some(argument) = argument {
            inputs.push(self.value(argument)?);
        }
        let (value, job) = self.job(&inputs);
        Lazy::when_all_done(inputs, move |inputs| {
            let mut inputs = inputs.into_iter();
            match inputs.next().ok_or_else(no_input).and_then(Part::into_value) {
                Ok(function) => job.start(move |ctx| ctx.apply_part(&function, inputs.next(), &Want::Parts)),
                Err(error) => job.result.set(error.into()),
            }
        });
        Ok(self.insert(Entry::new(value, None)))
    }

    /// Creates a struct of values.
    ///
    /// # Errors
    /// [`SessionError::UnknownValue`].
    pub fn create_struct(&self, elements: &[u64]) -> Result<u64, ExecError> {
        let inputs = elements.iter().map(|&id| self.value(id)).collect::<Result<Vec<_>, ExecError>>()?;
        let value = self.derive(inputs, Part::structure);
        Ok(self.insert(Entry::new(value, None)))
    }

    /// Creates the element of a struct value at this position.
    ///
    /// # Errors
    /// [`SessionError::UnknownValue`]; where the struct is there already, what is wrong with the
    /// selection.
    pub fn create_selection(&self, source: u64, index: u32) -> Result<u64, ExecError> {
        let want = Want::Element(usize::try_from(index).unwrap_or(usize::MAX), &Want::Parts);
        let select = move |inputs: Vec<Part>| inputs.first().map_or_else(|| no_input().into(), |it| it.get(&want));
        let value = self.derive(vec![self.value(source)?], select);
        if let Some(Part::Failed(error)) = value.peek() {
            return Err(*error);
        }
        Ok(self.insert(Entry::new(value, None)))
    }

    /// Calls `receive` with the message of a value when it is there, on whatever thread brings it.
    ///
    /// The caller keeps what is returned for as long as it wants the value.
    ///
    /// # Errors
    /// [`SessionError::UnknownValue`]; what the value itself failed with goes to `receive`.
    pub fn compute(
        &self,
        id: u64,
        receive: impl FnOnce(Result<pb::Value, ExecError>) + Send + 'static,
    ) -> Result<Waiting, ExecError> {
        let (value, source) = {
            let table = self.read();
            let entry = table.entries.get(&id).ok_or(SessionError::UnknownValue(id))?;
            (entry.value.clone(), entry.source.clone())
        };
        let waiting = Waiting { _need: value.need(), value };
        if let Some(source) = source {
            receive(Ok(source.message.clone()));
            return Ok(waiting);
        }
        let (executor, n_clients, dialect) = (self.executor.clone(), self.n_clients, *self.dialect());
        let (trap_not_finite, span) = (self.trap_not_finite, tracing::Span::current());
        waiting.value.when_done(move |outcome| {
            let writer = Writer::for_peer(dialect, n_clients, executor.tensorflow());
            let value = outcome.clone().into_value().and_then(|value| {
                match NotFinite::find(&value, None, &NotFiniteClients::default(), n_clients == 0) {
                    Some(found) if trap_not_finite => return Err(found.into()),
                    Some(found) => span.in_scope(|| tracing::warn!(n_clients, "{found}")),
                    None => {}
                }
                Ok(value)
            });
            receive(value.and_then(|value| writer.write(&value, None)));
        });
        Ok(waiting)
    }

    /// Forgets values; work that is under way goes on only for others that need it.
    ///
    /// # Errors
    /// [`SessionError::UnknownValue`] for the first that does not exist, when all others are gone.
    pub fn dispose(&self, ids: &[u64]) -> Result<(), ExecError> {
        let mut disposed = Vec::with_capacity(ids.len());
        let mut unknown = None;
        {
            let mut table = self.write();
            for &id in ids {
                match table.entries.remove(&id) {
                    Some(entry) => disposed.push(entry),
                    None => unknown = unknown.or(Some(id)),
                }
            }
        }
        // Dropped here, outside the lock: freeing large values takes time.
        drop(disposed);
        unknown.map_or(Ok(()), |id| Err(SessionError::UnknownValue(id).into()))
    }

    /// Forgets every value.
    pub fn close(&self) {
        let entries = std::mem::take(&mut self.write().entries);
        drop(entries);
    }

    fn derive(&self, inputs: Vec<Lazy>, compute: impl FnOnce(Vec<Part>) -> Part + Send + 'static) -> Lazy {
        let ready: Option<Vec<Part>> = inputs.iter().map(Lazy::peek).collect();
        if let Some(inputs) = ready {
            return Lazy::ready(compute(inputs));
        }
        let (value, job) = self.job(&inputs);
        // A waiter only starts work, so that a chain of values cannot nest waiters in waiters.
        Lazy::when_all_done(inputs, move |inputs| job.start(move |_| compute(inputs)));
        value
    }

    /// A value that will be made of these inputs, and what will bring it.
    fn job(&self, inputs: &[Lazy]) -> (Lazy, Job) {
        let (value, work) = Lazy::pending(inputs);
        let result = value.clone();
        let computed = self.trap_not_finite.then(NotFiniteClients::default);
        (value, Job { executor: self.executor.clone(), n_clients: self.n_clients, computed, work, result })
    }

    fn insert(&self, entry: Entry) -> u64 {
        let mut table = self.write();
        let id = table.next;
        table.next += 1;
        table.entries.insert(id, entry);
        id
    }

    fn value(&self, id: u64) -> Result<Lazy, ExecError> {
        self.read()
            .entries
            .get(&id)
            .map(|entry| entry.value.clone())
            .ok_or_else(|| SessionError::UnknownValue(id).into())
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.values.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.values.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn dialect(&self) -> MutexGuard<'_, Dialect> {
        self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a computation has no parts that would have to be evaluated.
const fn is_leaf(kind: &pb::computation::Computation) -> bool {
    use pb::computation::Computation as C;
    matches!(kind, C::Tensorflow(_) | C::Xla(_) | C::Data(_) | C::Literal(_) | C::Intrinsic(_) | C::Placement(_))
}

/// What became of a computation that was sent.
enum Computation {
    /// It stands for itself.
    Known(Part),
    /// It is being evaluated.
    Started(Lazy),
}

impl Computation {
    fn into_lazy(self) -> Lazy {
        match self {
            Self::Known(part) => Lazy::ready(part),
            Self::Started(value) => value,
        }
    }
}

/// What brings a value.
struct Job {
    executor: Executor,
    n_clients: usize,
    /// The clients for which something is computed that is not finite, where that is an error.
    computed: Option<NotFiniteClients>,
    work: Work,
    result: Lazy,
}

impl Job {
    /// Runs `compute` on the pool and brings its outcome to the value.
    fn start(self, compute: impl FnOnce(&Context<'_>) -> Part + Send + 'static) {
        let runtime: Arc<Runtime> = self.executor.runtime().clone();
        let (result, span) = (self.result.clone(), tracing::Span::current());
        let job = {
            let runtime = runtime.clone();
            move || {
                let _in_span = span.enter();
                if self.work.given_up().load(Ordering::Relaxed) {
                    return self.result.set(ExecError::GivenUp.into());
                }
                let control = Control::ending(self.work.given_up(), self.computed.as_ref());
                let ctx = Context::new(&*runtime, Some(self.n_clients), control);
                // A panic is a bug. Reported as an error, it does not leave the value pending for ever.
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compute(&ctx)));
                let outcome = outcome.unwrap_or_else(|_| ExecError::Internal("a computation panicked").into());
                let not_finite = self.computed.and_then(|computed| computed.to_error());
                self.result.set(not_finite.map_or(outcome, |found| ExecError::from(found).into()));
            }
        };
        match runtime.pool() {
            Ok(pool) => pool.spawn_fifo(job),
            Err(error) => result.set(error.into()),
        }
    }
}

/// What a value is made of is counted when work on it begins, so this is a bug.
fn no_input() -> ExecError {
    ExecError::Internal("a value was computed without what it is made of")
}
