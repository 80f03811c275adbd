//! Other machines on which commands compute for the clients.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tff_exec::Workers;
use tff_exec::remote::{Compression, RemoteOptions, RemoteTls, RemoteWorkers};

/// Where the clients are computed.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct WorkersArgs {
    /// Compute for the clients on these workers: `tff serve`, tff-worker, or TFF's own worker.
    ///
    /// The clients are spread evenly, in their order. The partial aggregates of the workers are merged
    /// here, in the order of this list. If a worker cannot be reached, dies or exceeds the deadline,
    /// its name goes to stderr, and the round is repeated on the workers that are left, up to 3 times.
    /// If none is left, the command fails. In later rounds a lost worker is asked again.
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',')]
    workers: Vec<String>,
    /// How long a worker may take for one answer, such as a round for its clients.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    worker_deadline: u64,
    /// Compress what goes to the workers and comes from them.
    #[arg(long, value_name = "METHOD", requires = "workers")]
    worker_compression: Option<Method>,
    /// The certificates that signed those of the workers, a PEM file; turns on TLS.
    #[arg(long, value_name = "FILE", requires = "workers")]
    worker_ca: Option<PathBuf>,
    /// The certificate chain to show to the workers, a PEM file.
    #[arg(long, value_name = "FILE", requires_all = ["worker_ca", "worker_key"])]
    worker_cert: Option<PathBuf>,
    /// The private key of the certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "worker_cert")]
    worker_key: Option<PathBuf>,
}

/// How messages are compressed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Method {
    /// Known to TFF's own worker, too
    Gzip,
    /// Quicker and smaller
    Zstd,
}

impl WorkersArgs {
    /// The workers, if there are any; otherwise the clients are computed here.
    pub(crate) fn connect(&self) -> Result<Option<Arc<dyn Workers>>> {
        if self.workers.is_empty() {
            return Ok(None);
        }
        let addresses: Vec<&str> = self.workers.iter().map(|it| it.trim()).filter(|it| !it.is_empty()).collect();
        let mut options = RemoteOptions::default();
        options.deadline = Duration::from_secs(self.worker_deadline);
        options.compression = self.worker_compression.map(|method| match method {
            Method::Gzip => Compression::Gzip,
            Method::Zstd => Compression::Zstd,
        });
        options.tls = self.tls()?;
        let workers = RemoteWorkers::new(&addresses, &options).context("--workers")?;
        Ok(Some(Arc::new(workers)))
    }

    fn tls(&self) -> Result<Option<RemoteTls>> {
        let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        let Some(ca) = &self.worker_ca else { return Ok(None) };
        let identity = match (&self.worker_cert, &self.worker_key) {
            (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
            _ => None,
        };
        Ok(Some(RemoteTls { ca: read(ca)?, identity }))
    }
}
