//! Counts what is alive: values under numbers, and the payloads that peers sent.

use crate::{ExecError, SessionError};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the sessions of a server hold, and how much they may.
#[derive(Debug)]
pub(crate) struct Live {
    bytes: AtomicUsize,
    max_bytes: usize,
}

impl Live {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { bytes: AtomicUsize::new(0), max_bytes }
    }

    /// Counts a payload as alive until the last part of it is dropped.
    ///
    /// # Errors
    /// [`SessionError::LiveBytes`] where that is more than may be alive.
    pub(crate) fn receive(self: &Arc<Self>, bytes: usize) -> Result<Arc<Received>, ExecError> {
        let within = |alive: usize| alive.checked_add(bytes).filter(|&sum| sum <= self.max_bytes);
        let counted = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        counted.map_err(|alive| SessionError::LiveBytes { bytes, alive, limit: self.max_bytes })?;
        gauge_bytes().increment(bytes as f64);
        Ok(Arc::new(Received { live: self.clone(), bytes }))
    }
}

/// A payload that a peer sent, counted once however many values share it.
#[derive(Debug)]
pub(crate) struct Received {
    live: Arc<Live>,
    bytes: usize,
}

impl Drop for Received {
    fn drop(&mut self) {
        self.live.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        gauge_bytes().decrement(self.bytes as f64);
    }
}

fn gauge_bytes() -> metrics::Gauge {
    metrics::gauge!("tff_received_bytes")
}

/// Something that a gauge of this name counts, until it is dropped.
#[derive(Debug)]
pub(crate) struct Gauged(&'static str);

impl Gauged {
    pub(crate) fn new(name: &'static str) -> Self {
        metrics::gauge!(name).increment(1.0);
        Self(name)
    }
}

impl Drop for Gauged {
    fn drop(&mut self) {
        metrics::gauge!(self.0).decrement(1.0);
    }
}

impl Received {
    /// The same buffer, which keeps this payload counted, also in other values that come to share it.
    pub(crate) fn count(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Counted { bytes, _received: self.clone() })
    }
}

/// A buffer, and the payload it is of.
struct Counted {
    bytes: Bytes,
    _received: Arc<Received>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
