//! A store of values that are expensive to make and to keep. It drops a value some time after its
//! last use, and sooner if the unused values are large.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How much a store keeps of the values that nobody else holds. Values in use stay alive with their
/// users in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The most values; the one unused for longest makes room.
    pub max_values: usize,
    /// The most bytes of the values that nobody uses, as they are estimated.
    pub max_unused_bytes: usize,
    /// How long a value is kept after its last use.
    pub unused_for: Duration,
}

impl Default for Keep {
    /// 512 values; 256 MiB for 10 seconds of those that nobody uses.
    fn default() -> Self {
        Self { max_values: 512, max_unused_bytes: 1 << 28, unused_for: Duration::from_secs(10) }
    }
}

/// Values by key. Keys are compared, not hashed: there are some hundreds, and most of the time
/// two differ in their first word.
pub(crate) struct Recent<K, V: ?Sized> {
    keep: Keep,
    inner: Mutex<Inner<K, V>>,
}

struct Inner<K, V: ?Sized> {
    entries: Vec<Entry<K, V>>,
    /// Counts the look-ups.
    clock: u64,
}

struct Entry<K, V: ?Sized> {
    key: K,
    value: Arc<V>,
    /// The memory that the value takes, as it is estimated.
    bytes: usize,
    /// The look-up that found it last.
    used: u64,
    /// When it was first seen without a user.
    unused_since: Option<Instant>,
}

impl<K: Clone, V: ?Sized> Recent<K, V> {
    /// An empty store.
    pub(crate) const fn new(keep: Keep) -> Self {
        Self { keep, inner: Mutex::new(Inner { entries: Vec::new(), clock: 0 }) }
    }

    /// The value of a key, made unless it is there, with an estimate of the bytes that it takes.
    /// `same` is a quick test that two keys are the same in memory, `equal` that they are equal; the
    /// key is replaced by the equal one, since the last user is likely to ask again.
    ///
    /// # Errors
    /// Those of `make`; nothing is stored then.
    pub(crate) fn get_or_make<E>(
        &self,
        key: &K,
        same: impl Fn(&K, &K) -> bool,
        equal: impl Fn(&K, &K) -> bool,
        make: impl FnOnce() -> Result<(Arc<V>, usize), E>,
    ) -> Result<Arc<V>, E> {
        let find = |inner: &mut Inner<K, V>| {
            let position = |test: &dyn Fn(&K, &K) -> bool| inner.entries.iter().position(|it| test(&it.key, key));
            let index = position(&same).or_else(|| position(&equal))?;
            inner.clock += 1;
            let entry = inner.entries.get_mut(index)?;
            (entry.used, entry.unused_since) = (inner.clock, None);
            entry.key = key.clone();
            Some(entry.value.clone())
        };
        if let Some(found) = self.with(find) {
            return Ok(found);
        }
        // Not under the lock: of two threads that race, one drops what it made.
        let (made, bytes) = make()?;
        let stored = self.with(|inner| find(inner).unwrap_or_else(|| inner.insert(key.clone(), made, bytes)));
        self.tidy();
        Ok(stored)
    }

    /// Drops values that were not used for long, and those beyond the limits. Called now and then.
    pub(crate) fn tidy(&self) {
        let now = Instant::now();
        // Dropped after the lock: to free a value may take a while.
        let dropped = self.with(|inner| inner.take_unused(&self.keep, now));
        drop(dropped);
    }

    /// How many values there are, and how many bytes they take.
    pub(crate) fn size(&self) -> (usize, usize) {
        self.with(|inner| (inner.entries.len(), inner.entries.iter().map(|entry| entry.bytes).sum()))
    }

    fn with<T>(&self, f: impl FnOnce(&mut Inner<K, V>) -> T) -> T {
        f(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<K, V: ?Sized> fmt::Debug for Recent<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent").field("keep", &self.keep).finish_non_exhaustive()
    }
}

impl<K, V: ?Sized> Inner<K, V> {
    fn insert(&mut self, key: K, value: Arc<V>, bytes: usize) -> Arc<V> {
        self.clock += 1;
        self.entries.push(Entry { key, value: value.clone(), bytes, used: self.clock, unused_since: None });
        value
    }

    /// Takes out what is not kept.
    fn take_unused(&mut self, keep: &Keep, now: Instant) -> Vec<Entry<K, V>> {
        // The one used last comes first.
        self.entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.used));
        let (mut n_kept, mut unused_bytes) = (0, 0usize);
        let is_dropped = |entry: &mut Entry<K, V>| {
            let is_unused = Arc::strong_count(&entry.value) == 1;
            entry.unused_since = is_unused.then(|| entry.unused_since.unwrap_or(now));
            let is_old = entry.unused_since.is_some_and(|since| now.duration_since(since) >= keep.unused_for);
            let is_much = is_unused && unused_bytes.saturating_add(entry.bytes) > keep.max_unused_bytes;
            if is_old || is_much || n_kept >= keep.max_values.max(1) {
                return true;
            }
            n_kept += 1;
            unused_bytes += if is_unused { entry.bytes } else { 0 };
            false
        };
        self.entries.extract_if(.., is_dropped).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, Duration, Instant, Keep, Recent};
    use std::convert::Infallible;

    const KEEP: Keep = Keep { max_values: 2, max_unused_bytes: 100, unused_for: Duration::from_secs(10) };

    fn get(store: &Recent<u32, u32>, key: u32, value: u32) -> Arc<u32> {
        let value: Result<_, Infallible> =
            store.get_or_make(&key, u32::eq, u32::eq, || Ok((Arc::new(value), value as usize)));
        value.unwrap()
    }

    #[test]
    fn first_value_stays() {
        let store = Recent::new(KEEP);
        assert_eq!([*get(&store, 1, 10), *get(&store, 1, 11)], [10, 10]);
    }

    #[test]
    fn longest_unused_goes() {
        let store = Recent::new(KEEP);
        get(&store, 1, 10);
        get(&store, 2, 20);
        get(&store, 1, 11);
        get(&store, 3, 30);
        assert_eq!([*get(&store, 1, 12), *get(&store, 2, 21)], [10, 21]);
        assert_eq!(store.size(), (2, 31));
    }

    #[test]
    fn what_nobody_uses_is_bounded_by_bytes() {
        let store = Recent::new(Keep { max_values: 9, ..KEEP });
        let used = get(&store, 1, 1000);
        get(&store, 2, 60);
        get(&store, 3, 50);
        store.tidy();
        // The last one that nobody uses; values in use do not count.
        assert_eq!(store.size(), (2, 1050));
        drop(used);
        store.tidy();
        assert_eq!(store.size(), (1, 50));
    }

    #[test]
    fn what_nobody_uses_goes_after_a_while() {
        let store = Recent::new(KEEP);
        let used = get(&store, 1, 10);
        drop(get(&store, 2, 20));
        let mut now = Instant::now();
        let mut later = |seconds| {
            now += Duration::from_secs(seconds);
            store.with(|inner| inner.take_unused(&KEEP, now)).len()
        };
        assert_eq!([later(0), later(9), later(2)], [0, 0, 1]);
        assert_eq!(store.size(), (1, 10));
        drop(used);
        // From when it was first seen.
        assert_eq!([later(100), later(9), later(1)], [0, 0, 1]);
        assert_eq!(store.size(), (0, 0));
    }
}
