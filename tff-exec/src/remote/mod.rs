//! Clients of other workers: of any server of `tensorflow_federated.v0.ExecutorGroup`, this crate's
//! own or TFF's.
//!
//! [`RemoteExecutor`] makes values on one worker, [`RemoteWorkers`] spreads the clients of programs over
//! several. Their methods block; a small runtime of their own makes the calls.
//! Requests are in the dialect of TFF 0.87, with arrays and serialized datasets.

mod connection;
mod executor;
mod workers;

pub use executor::RemoteExecutor;
pub use workers::RemoteWorkers;

use std::fmt;
use std::time::Duration;

/// How workers are reached, and how long is waited for them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// How long a worker may take to answer a call: to receive a value, or to compute one. TFF's own
    /// worker computes in calls of both kinds.
    pub deadline: Duration,
    /// How long a worker may take to be there: to be connected to and to answer at all.
    pub connect_timeout: Duration,
    /// How often the work for a program is done again because a worker was lost meanwhile.
    pub max_retries: usize,
    /// How requests are compressed, and answers asked for; not at all where this is `None`. The worker must
    /// know it: TFF's own knows gzip.
    pub compression: Option<Compression>,
    /// Encryption; plain text where this is `None`.
    pub tls: Option<RemoteTls>,
}

impl Default for RemoteOptions {
    /// 10 minutes for an answer, 10 seconds to be there, 3 retries, no compression, no TLS.
    fn default() -> Self {
        let (deadline, connect_timeout) = (Duration::from_secs(600), Duration::from_secs(10));
        Self { deadline, connect_timeout, max_retries: 3, compression: None, tls: None }
    }
}

/// How messages to and from workers are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Known to every server of gRPC.
    Gzip,
    /// Quicker and smaller, and known to this crate's workers.
    Zstd,
}

/// The certificates to trust, and our own certificate with its key. Everything is PEM.
#[derive(Clone)]
pub struct RemoteTls {
    /// The certificates that sign those of the workers.
    pub ca: Vec<u8>,
    /// The client's own certificate, followed by those between it and a root, and its private key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for RemoteTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The private key must not be printed.
        f.debug_struct("RemoteTls").field("identity", &self.identity.is_some()).finish_non_exhaustive()
    }
}
