//! A session: values under numbers, made step by step, for one number of clients.

use crate::eval::{Compilation, Context, Frame, Function};
use crate::executor::Runtime;
use crate::lazy::{Lazy, Outcome};
use crate::untyped::{self, Dialect};
use crate::{ExecError, Executor, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tff_ir::Comp;
use tff_proto::v0 as pb;

/// Values that a peer makes one by one: created, called, selected from, computed, disposed of.
///
/// Nothing here blocks: creating records or starts work, [`Session::compute`] hands the value to
/// a callback when it is there. Values are known by numbers, counted from 0 and never used again.
#[derive(Debug)]
pub struct Session {
    executor: Executor,
    n_clients: usize,
    values: RwLock<Table>,
    dialect: Mutex<Dialect>,
    closed: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    entries: HashMap<u64, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    value: Lazy,
    /// The message of a function, a constant, or an array that is none: by itself it is computed
    /// to what was sent, and only its use in a call needs more.
    source: Option<Arc<pb::Value>>,
}

impl Session {
    /// A session for this number of clients.
    #[must_use]
    pub fn new(executor: Executor, n_clients: usize) -> Self {
        Self { executor, n_clients, values: RwLock::default(), dialect: Mutex::default(), closed: Arc::default() }
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

    /// Creates a value from a message; evaluates a computation that is not a function already.
    ///
    /// # Errors
    /// [`ExecError::Empty`] for an empty message, [`ExecError::UnboundReference`], and whatever is
    /// wrong with the value itself.
    pub fn create_value(&self, value: &pb::Value) -> Result<u64, ExecError> {
        let entry = match &value.value {
            Some(pb::value::Value::Computation(comp)) => self.computation(comp, value)?,
            kind => {
                let mut dialect = *self.dialect();
                let read = untyped::read(value, self.n_clients, &mut dialect);
                *self.dialect() = dialect;
                let source = match (&read, kind) {
                    (Ok(_), _) => None,
                    // Of federated and empty values it is known at once what every use would find.
                    (Err(error), Some(pb::value::Value::Federated(_)) | None) => return Err(error.clone()),
                    (Err(_), Some(_)) => Some(Arc::new(value.clone())),
                };
                Entry { value: Lazy::ready(read), source }
            }
        };
        Ok(self.insert(entry))
    }

    fn computation(&self, message: &pb::Computation, whole: &pb::Value) -> Result<Entry, ExecError> {
        let kind = message.computation.as_ref().ok_or(ExecError::Empty)?;
        let compiled = Comp::from_proto_lenient(message)
            .map_err(|error| ExecError::Decode(error.to_string()))
            .and_then(|comp| self.executor.runtime().load(&comp));
        let Compilation { code, frame_size, .. } = match compiled {
            Ok(compiled) => compiled,
            // What stands for itself is wrong only for whoever uses it.
            Err(error) if is_leaf(kind) => {
                return Ok(Entry { value: Lazy::ready(Err(error)), source: Some(Arc::new(whole.clone())) });
            }
            Err(error) => return Err(error),
        };
        let known = Function::from_code(&code).map(Value::Function).or_else(|| code.constant().cloned());
        if let Some(value) = known {
            return Ok(Entry { value: Lazy::ready(Ok(value)), source: Some(Arc::new(whole.clone())) });
        }
        let value = Lazy::pending();
        self.spawn(value.clone(), move |ctx| ctx.eval(&code, &mut Frame::new(frame_size)));
        Ok(Entry { value, source: None })
    }

    /// Creates the value of a call; the call starts when function and argument are there.
    ///
    /// # Errors
    /// [`ExecError::UnknownValue`].
    pub fn create_call(&self, function: u64, argument: Option<u64>) -> Result<u64, ExecError> {
        let mut inputs = vec![self.entry(function)?.value];
        if let Some(argument) = argument {
            inputs.push(self.entry(argument)?.value);
        }
        let value = Lazy::pending();
        let (result, executor, n_clients, closed) =
            (value.clone(), self.executor.clone(), self.n_clients, self.closed.clone());
        Lazy::when_all_done(inputs, move |inputs| {
            let mut inputs = match inputs {
                Ok(inputs) => inputs.into_iter(),
                Err(error) => return result.set(Err(error)),
            };
            let (function, argument) = (inputs.next(), inputs.next());
            start(&executor, n_clients, closed, result, move |ctx| match function {
                Some(function) => ctx.apply(&function, argument),
                None => Err(ExecError::Empty),
            });
        });
        Ok(self.insert(Entry { value, source: None }))
    }

    /// Creates a struct of values.
    ///
    /// # Errors
    /// [`ExecError::UnknownValue`].
    pub fn create_struct(&self, elements: &[u64]) -> Result<u64, ExecError> {
        let inputs = elements.iter().map(|&id| Ok(self.entry(id)?.value)).collect::<Result<Vec<_>, ExecError>>()?;
        let value = self.derive(inputs, |elements| Value::structure(elements).bounded());
        Ok(self.insert(Entry { value, source: None }))
    }

    /// Creates the element of a struct value at this position.
    ///
    /// # Errors
    /// [`ExecError::UnknownValue`]; where the struct is there already, what is wrong with the
    /// selection.
    pub fn create_selection(&self, source: u64, index: u32) -> Result<u64, ExecError> {
        let select = move |mut inputs: Vec<Value>| {
            let source = inputs.pop().ok_or(ExecError::Empty)?;
            crate::eval::select(source, usize::try_from(index).unwrap_or(usize::MAX))
        };
        let value = self.derive(vec![self.entry(source)?.value], select);
        if let Some(Err(error)) = value.peek() {
            return Err(error);
        }
        Ok(self.insert(Entry { value, source: None }))
    }

    /// Calls `receive` with the message of a value when it is there, on whatever thread brings it.
    ///
    /// # Errors
    /// [`ExecError::UnknownValue`]; what the value itself failed with goes to `receive`.
    pub fn compute(
        &self,
        id: u64,
        receive: impl FnOnce(Result<pb::Value, ExecError>) + Send + 'static,
    ) -> Result<(), ExecError> {
        let entry = self.entry(id)?;
        if let Some(source) = entry.source {
            receive(Ok((*source).clone()));
            return Ok(());
        }
        let (n_clients, dialect) = (self.n_clients, *self.dialect());
        entry.value.when_done(move |outcome| {
            receive(outcome.as_ref().map_err(Clone::clone).and_then(|value| untyped::write(value, n_clients, dialect)));
        });
        Ok(())
    }

    /// Forgets values; work that is under way goes on for others that need it.
    ///
    /// # Errors
    /// [`ExecError::UnknownValue`] for the first that does not exist, when all others are gone.
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
        unknown.map_or(Ok(()), |id| Err(ExecError::UnknownValue(id)))
    }

    /// Forgets every value and starts no more work.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        let entries = std::mem::take(&mut self.write().entries);
        drop(entries);
    }

    fn derive(&self, inputs: Vec<Lazy>, compute: impl FnOnce(Vec<Value>) -> Outcome + Send + 'static) -> Lazy {
        let ready: Option<Result<Vec<Value>, ExecError>> = inputs.iter().map(Lazy::peek).collect();
        if let Some(inputs) = ready {
            return Lazy::ready(inputs.and_then(compute));
        }
        let value = Lazy::pending();
        let (result, executor, n_clients, closed) =
            (value.clone(), self.executor.clone(), self.n_clients, self.closed.clone());
        // A waiter only starts work, so that a chain of values cannot nest waiters in waiters.
        Lazy::when_all_done(inputs, move |inputs| {
            start(&executor, n_clients, closed, result, move |_| inputs.and_then(compute));
        });
        value
    }

    fn spawn(&self, result: Lazy, work: impl FnOnce(&Context<'_>) -> Outcome + Send + 'static) {
        start(&self.executor, self.n_clients, self.closed.clone(), result, work);
    }

    fn insert(&self, entry: Entry) -> u64 {
        let mut table = self.write();
        let id = table.next;
        table.next += 1;
        table.entries.insert(id, entry);
        id
    }

    fn entry(&self, id: u64) -> Result<Entry, ExecError> {
        self.read().entries.get(&id).cloned().ok_or(ExecError::UnknownValue(id))
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

/// Runs `work` on the pool and brings its outcome to `result`.
fn start(
    executor: &Executor,
    n_clients: usize,
    closed: Arc<AtomicBool>,
    result: Lazy,
    work: impl FnOnce(&Context<'_>) -> Outcome + Send + 'static,
) {
    let runtime: Arc<Runtime> = executor.runtime().clone();
    let job = {
        let runtime = runtime.clone();
        let result = result.clone();
        move || {
            if closed.load(Ordering::Relaxed) {
                return result.set(Err(ExecError::Closed));
            }
            let ctx = Context::new(&runtime, Some(n_clients));
            // A panic would leave the value pending for ever; it is a bug, told as an error.
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&ctx)));
            result.set(outcome.unwrap_or_else(|_| Err(ExecError::Internal("a computation panicked"))));
        }
    };
    match runtime.pool() {
        Ok(pool) => pool.spawn_fifo(job),
        Err(error) => result.set(Err(error)),
    }
}
