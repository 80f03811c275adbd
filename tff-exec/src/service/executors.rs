//! The executors of the protocol: sessions shared by cardinality and counted.

use crate::session::{Gauged, Live};
use crate::{Executor, Session};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tff_proto::v0 as pb;
use tonic::Status;

/// Sessions by executor id, `clients=3/81971/0`: the cardinalities, a number of this process, and
/// a count.
#[derive(Debug)]
pub(super) struct Executors {
    executor: Executor,
    live: Arc<Live>,
    trap_not_finite: bool,
    service_id: u64,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    next_index: u64,
    /// The id of the session for these cardinalities.
    by_cardinalities: HashMap<String, String>,
    by_id: HashMap<String, Entry>,
}

#[derive(Debug)]
struct Entry {
    session: Arc<Session>,
    usage: Arc<Mutex<Usage>>,
    cardinalities: String,
    users: u64,
    _gauged: Gauged,
}

/// When an executor was last used.
#[derive(Debug)]
struct Usage {
    calls: usize,
    last: Instant,
}

impl Usage {
    fn is_over(&self, ttl: Duration) -> bool {
        self.calls == 0 && self.last.elapsed() >= ttl
    }
}

/// A session in use by a call: until it is dropped, the session is not taken for abandoned.
pub(super) struct Lease {
    session: Arc<Session>,
    usage: Arc<Mutex<Usage>>,
}

impl Lease {
    fn new(entry: &Entry) -> Self {
        let lease = Self { session: entry.session.clone(), usage: entry.usage.clone() };
        lease.note(|usage| usage.calls += 1);
        lease
    }

    fn note(&self, change: impl FnOnce(&mut Usage)) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut usage);
        usage.last = Instant::now();
    }
}

impl Deref for Lease {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.note(|usage| usage.calls -= 1);
    }
}

impl Executors {
    pub(super) fn new(executor: Executor, max_live_bytes: usize, trap_not_finite: bool) -> Self {
        // Only to tell this process's ids from those of one before it.
        let service_id = RandomState::new().hash_one(std::process::id()) % 100_000;
        let live = Arc::new(Live::new(max_live_bytes));
        Self { executor, live, trap_not_finite, service_id, table: Mutex::default() }
    }

    /// The id of the session for these cardinalities, which is made if it does not exist; adds a user.
    pub(super) fn acquire(&self, cardinalities: &[pb::Cardinality]) -> Result<String, Status> {
        let mut by_uri = BTreeMap::new();
        for cardinality in cardinalities {
            let uri = cardinality.placement.as_ref().map_or("", |placement| &placement.uri);
            // Of two numbers for one placement the first counts.
            by_uri.entry(uri).or_insert(cardinality.cardinality);
        }
        let Some(&clients) = by_uri.get("clients") else {
            return Err(Status::not_found("No cardinality provided for `clients` placement."));
        };
        // TFF's worker takes a negative number and fails at the first use of it. No value has so many
        // members, so this comes to the same.
        let clients = usize::try_from(clients).unwrap_or(0);
        let key = by_uri.iter().map(|(uri, number)| format!("{uri}={number}")).collect::<Vec<_>>().join(",");
        let mut table = self.table();
        if let Some(id) = table.by_cardinalities.get(&key).cloned()
            && let Some(entry) = table.by_id.get_mut(&id)
        {
            entry.users += 1;
            // The moment of use is that of the lease's end.
            drop(Lease::new(entry));
            return Ok(id);
        }
        let id = format!("{key}/{}/{}", self.service_id, table.next_index);
        table.next_index += 1;
        let (executor, live) = (self.executor.clone(), self.live.clone());
        let session = Arc::new(Session::within(executor, clients, live, self.trap_not_finite));
        let usage = Arc::new(Mutex::new(Usage { calls: 0, last: Instant::now() }));
        table.by_id.insert(
            id.clone(),
            Entry { session, usage, cardinalities: key.clone(), users: 1, _gauged: Gauged::new("tff_executors") },
        );
        table.by_cardinalities.insert(key, id.clone());
        Ok(id)
    }

    pub(super) fn lease(&self, id: &str) -> Option<Lease> {
        self.table().by_id.get(id).map(Lease::new)
    }

    /// One user less; the last one closes the session. An unknown id is no error.
    pub(super) fn release(&self, id: &str) {
        let closed = {
            let mut table = self.table();
            let Some(entry) = table.by_id.get_mut(id) else { return };
            entry.users -= 1;
            if entry.users > 0 {
                return;
            }
            table.remove(id)
        };
        if let Some(entry) = closed {
            entry.session.close();
        }
    }

    /// Closes the sessions that were not used for this long, whoever their users are.
    pub(super) fn expire(&self, ttl: Duration) {
        let expired: Vec<Entry> = {
            let mut table = self.table();
            let is_over = |entry: &Entry| entry.usage.lock().unwrap_or_else(PoisonError::into_inner).is_over(ttl);
            let ids = table.by_id.iter().filter(|(_, entry)| is_over(entry)).map(|(id, _)| id.clone());
            let ids: Vec<String> = ids.collect();
            ids.iter().filter_map(|id| table.remove(id)).collect()
        };
        for entry in expired {
            tracing::info!(
                cardinalities = entry.cardinalities,
                values = entry.session.len(),
                "closed, as not used for {ttl:?}"
            );
            entry.session.close();
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn remove(&mut self, id: &str) -> Option<Entry> {
        let entry = self.by_id.remove(id)?;
        self.by_cardinalities.remove(&entry.cardinalities);
        Some(entry)
    }
}
