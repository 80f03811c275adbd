//! The server behind `tff serve` and `tff-worker`: its options, its start and its end.

use crate::output;
use anyhow::{Context, Result};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use tff_exec::Executor;
use tff_exec::service::{ServerOptions, Tls, bind, serve};
use tokio::signal::unix::{SignalKind, signal};

/// The address of a server, its limits, and when it ends.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// The port to listen on; 0 takes a free one and prints it.
    #[arg(long, default_value_t = 10000, value_name = "PORT")]
    port: u16,
    /// An IP address to listen on instead of the loopback addresses, which are `localhost`; may be repeated.
    #[arg(long, value_name = "ADDRESS")]
    host: Vec<Host>,
    /// The largest message in either direction; at most and by default 2147483647.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    max_message_bytes: Option<u32>,
    /// The most bytes of received values that may be alive at a time, running calls included.
    ///
    /// By default there is no limit. What is computed is not counted. An executor is for at most 1,000,000
    /// clients, whatever the limit.
    #[arg(long, value_name = "BYTES")]
    max_live_bytes: Option<usize>,
    /// Close an executor, and drop its values, if no client used it for this long.
    ///
    /// By default, an executor lives until its client disposes of it: a notebook may idle for hours.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    session_ttl: Option<u64>,
    /// Answer with an error that names the clients where a value has nan or inf, instead of a line in the log.
    #[arg(long)]
    trap_nan: bool,
    /// The server's certificate chain, a PEM file; turns on TLS.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Admit only clients with a certificate that one of the certificates in this PEM file signed.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_ca: Option<PathBuf>,
    /// Serve metrics for Prometheus at this address, as http://ADDRESS/metrics.
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics_addr: Option<SocketAddr>,
    /// Exit when the process with this id ends.
    #[arg(long, value_name = "PID")]
    parent_pid: Option<i32>,
    /// How long running calls may take to finish after SIGTERM, in milliseconds.
    #[arg(long, default_value_t = 800, value_name = "MS")]
    drain_ms: u64,
}

/// An address to listen on; `None` stands for both loopback addresses.
#[derive(Clone, Debug)]
struct Host(Option<IpAddr>);

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "localhost" => Ok(Self(None)),
            _ => text
                .parse()
                .map(|address| Self(Some(address)))
                .map_err(|_| "expected an IP address or localhost".into()),
        }
    }
}

impl ServerArgs {
    /// The addresses to listen on; none stands for the loopback addresses.
    fn addresses(&self) -> Vec<IpAddr> {
        if self.host.iter().all(|host| host.0.is_none()) {
            return Vec::new();
        }
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        self.host.iter().flat_map(|host| host.0.map_or(loopback.to_vec(), |address| vec![address])).collect()
    }

    /// Takes a limit of messages that was given in another way, unless there is one.
    pub(crate) fn with_message_limit(mut self, megabytes: Option<u32>) -> Self {
        let bytes = megabytes.map(|megabytes| megabytes.saturating_mul(1 << 20).clamp(1, i32::MAX.unsigned_abs()));
        self.max_message_bytes = self.max_message_bytes.or(bytes);
        self
    }

    fn options(&self) -> Result<ServerOptions> {
        let mut options = ServerOptions::default();
        if let Some(bytes) = self.max_message_bytes {
            options.max_message_bytes = bytes as usize;
        }
        if let Some(bytes) = self.max_live_bytes {
            options.max_live_bytes = bytes;
        }
        options.trap_not_finite = self.trap_nan;
        options.session_ttl = self.session_ttl.map(Duration::from_secs);
        if let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) {
            let read = |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
            let client_ca = self.tls_ca.as_ref().map(read).transpose()?;
            options.tls = Some(Tls { certificate: read(cert)?, key: read(key)?, client_ca });
        }
        Ok(options)
    }
}

/// Serves the executor until the process is told to end, and ends the process.
pub(crate) fn run(args: &ServerArgs, executor: Executor) -> ! {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(run_here(args, executor)),
        Err(error) => Err(error.into()),
    };
    end(result)
}

/// Ends the process at once: exit handlers of native libraries must not run while their threads
/// compute.
pub(crate) fn end(result: Result<()>) -> ! {
    let code = result.map_or_else(
        |error| {
            output::report(&error);
            1
        },
        |()| 0,
    );
    signal_hook::low_level::exit(code)
}

async fn run_here(args: &ServerArgs, executor: Executor) -> Result<()> {
    // Before anything that a launcher could wait for; also where the parent had signals ignored.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let options = args.options()?;
    let listeners = bind(&args.addresses(), args.port).await?;
    for listener in &listeners {
        tracing::info!(address = %listener.local_addr()?, "listening");
    }
    if args.port == 0
        && let Some(listener) = listeners.first()
    {
        writeln!(std::io::stdout(), "{}", listener.local_addr()?.port())?;
    }
    if let Some(address) = args.metrics_addr {
        crate::metrics::export(address)?;
    }
    let (drain, drained) = tokio::sync::oneshot::channel::<()>();
    let serving = serve(executor, &options, listeners, async {
        // A dropped sender shuts down as well as a message does.
        let _ = drained.await;
    });
    tokio::pin!(serving);
    tokio::select! {
        result = &mut serving => return Ok(result?),
        _ = interrupt.recv() => return Ok(()),
        () = parent_gone(args.parent_pid) => return Ok(()),
        _ = terminate.recv() => drop(drain),
    }
    tracing::info!("finishing the calls that are under way");
    tokio::select! {
        result = &mut serving => Ok(result?),
        _ = interrupt.recv() => Ok(()),
        () = tokio::time::sleep(Duration::from_millis(args.drain_ms)) => Ok(()),
    }
}

/// Waits until the process with this id has ended; for ever if there is no process to watch.
async fn parent_gone(pid: Option<i32>) {
    let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) else { return std::future::pending().await };
    // Any other error says that the process is there, and another user's.
    while rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH) {
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    tracing::info!("the parent process is gone");
}
