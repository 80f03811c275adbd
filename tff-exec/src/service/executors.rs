//! The executors of the protocol: sessions shared by cardinality and counted.

use crate::{Executor, Session};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tff_proto::v0 as pb;
use tonic::Status;

/// Sessions by executor id, `clients=3/81971/0`: the cardinalities, a number of this process, and
/// a count.
#[derive(Debug)]
pub(super) struct Executors {
    executor: Executor,
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
    cardinalities: String,
    users: u64,
}

impl Executors {
    pub(super) fn new(executor: Executor) -> Self {
        // Only to tell this process's ids from those of one before it.
        let service_id = RandomState::new().hash_one(std::process::id()) % 100_000;
        Self { executor, service_id, table: Mutex::default() }
    }

    /// The id of the session for these cardinalities, made if there is none; one more user.
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
        let clients = usize::try_from(clients).map_err(|_| {
            Status::invalid_argument(format!("the cardinality of `clients` is {clients}, expected 0 or more"))
        })?;
        let key = by_uri.iter().map(|(uri, number)| format!("{uri}={number}")).collect::<Vec<_>>().join(",");
        let mut table = self.table();
        if let Some(id) = table.by_cardinalities.get(&key).cloned()
            && let Some(entry) = table.by_id.get_mut(&id)
        {
            entry.users += 1;
            return Ok(id);
        }
        let id = format!("{key}/{}/{}", self.service_id, table.next_index);
        table.next_index += 1;
        let session = Arc::new(Session::new(self.executor.clone(), clients));
        table.by_id.insert(id.clone(), Entry { session, cardinalities: key.clone(), users: 1 });
        table.by_cardinalities.insert(key, id.clone());
        Ok(id)
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.table().by_id.get(id).map(|entry| entry.session.clone())
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
            let entry = table.by_id.remove(id);
            if let Some(entry) = &entry {
                table.by_cardinalities.remove(&entry.cardinalities);
            }
            entry
        };
        if let Some(entry) = closed {
            entry.session.close();
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
