//! A bounded store of things that are expensive to make, which forgets what is unused for longest.

use std::sync::{Arc, Mutex, PoisonError};

/// Values by key. Keys are compared, not hashed: there are some hundreds, and most of the time
/// two differ in their first word.
#[derive(Debug)]
pub(crate) struct Recent<K, V: ?Sized> {
    limit: usize,
    inner: Mutex<Inner<K, V>>,
}

#[derive(Debug)]
struct Inner<K, V: ?Sized> {
    entries: Vec<Entry<K, V>>,
    /// Counts the look-ups.
    clock: u64,
}

#[derive(Debug)]
struct Entry<K, V: ?Sized> {
    key: K,
    value: Arc<V>,
    /// The look-up that found it last.
    used: u64,
}

impl<K: Clone, V: ?Sized> Recent<K, V> {
    /// An empty store of at most `limit` values, at least one.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { limit, inner: Mutex::new(Inner { entries: Vec::new(), clock: 0 }) }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.with(|inner| inner.entries.len())
    }

    /// The value of a key, made unless it is there. `same` is a quick test that two keys are the
    /// same in memory, `equal` that they are equal; the key is replaced by the equal one, since
    /// who asked last is likely to ask again.
    ///
    /// # Errors
    /// Those of `make`; nothing is stored then.
    pub(crate) fn get_or_make<E>(
        &self,
        key: &K,
        same: impl Fn(&K, &K) -> bool,
        equal: impl Fn(&K, &K) -> bool,
        make: impl FnOnce() -> Result<Arc<V>, E>,
    ) -> Result<Arc<V>, E> {
        let find = |inner: &mut Inner<K, V>| {
            let position = |test: &dyn Fn(&K, &K) -> bool| inner.entries.iter().position(|it| test(&it.key, key));
            let index = position(&same).or_else(|| position(&equal))?;
            inner.clock += 1;
            let entry = inner.entries.get_mut(index)?;
            entry.used = inner.clock;
            entry.key = key.clone();
            Some(entry.value.clone())
        };
        if let Some(found) = self.with(find) {
            return Ok(found);
        }
        // Not under the lock: of two threads that race, one drops what it made.
        let made = make()?;
        Ok(self.with(|inner| find(inner).unwrap_or_else(|| inner.insert(key.clone(), made, self.limit))))
    }

    fn with<T>(&self, f: impl FnOnce(&mut Inner<K, V>) -> T) -> T {
        f(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<K, V: ?Sized> Inner<K, V> {
    fn insert(&mut self, key: K, value: Arc<V>, limit: usize) -> Arc<V> {
        if self.entries.len() >= limit.max(1)
            && let Some((oldest, _)) = self.entries.iter().enumerate().min_by_key(|(_, entry)| entry.used)
        {
            self.entries.swap_remove(oldest);
        }
        self.clock += 1;
        self.entries.push(Entry { key, value: value.clone(), used: self.clock });
        value
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, Recent};
    use std::convert::Infallible;

    fn get(store: &Recent<u32, u32>, key: u32, value: u32) -> u32 {
        let value: Result<_, Infallible> = store.get_or_make(&key, u32::eq, u32::eq, || Ok(Arc::new(value)));
        *value.unwrap()
    }

    #[test]
    fn first_value_stays() {
        let store = Recent::new(2);
        assert_eq!([get(&store, 1, 10), get(&store, 1, 11)], [10, 10]);
    }

    #[test]
    fn longest_unused_goes() {
        let store = Recent::new(2);
        get(&store, 1, 10);
        get(&store, 2, 20);
        get(&store, 1, 11);
        get(&store, 3, 30);
        assert_eq!([get(&store, 1, 12), get(&store, 2, 21)], [10, 21]);
        assert_eq!(store.len(), 2);
    }
}
