//! Listening and serving.

use super::Service;
use super::connections::connections;
use super::executors::Executors;
use super::observe::{Calls, Observed};
use crate::Executor;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tff_proto::v0::executor_group_server::ExecutorGroupServer;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::codec::CompressionEncoding;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

/// The HTTP/2 window of a stream and of a connection: how much may be under way before the
/// receiver says that it read on. As large as the values that clients send in one message, so
/// that these never wait for a round trip.
const WINDOW: u32 = 256 << 20;

/// The largest HTTP/2 frame that the protocol allows.
const MAX_FRAME: u32 = (1 << 24) - 1;

/// How often prepared computations that nobody uses are looked for.
const TIDY: Duration = Duration::from_secs(2);

/// How long a client may take to agree on TLS.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// How messages may be compressed.
const COMPRESSIONS: [CompressionEncoding; 3] =
    [CompressionEncoding::Gzip, CompressionEncoding::Deflate, CompressionEncoding::Zstd];

/// How a server behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The largest message in either direction, in bytes.
    pub max_message_bytes: usize,
    /// How many bytes that clients sent may be alive at a time, in values that exist or are needed
    /// to compute others. Each message counts once, in its size on the wire.
    pub max_live_bytes: usize,
    /// After how long without a request, and without a call under way, an executor is closed and
    /// its values forgotten; never where this is `None`.
    pub session_ttl: Option<Duration>,
    /// Whether a value with numbers that are not finite is an error for whoever asks for it, and so is what was
    /// computed for clients. Without it, a value that is asked for is logged.
    pub trap_not_finite: bool,
    /// Encryption, and which clients are let in; plain text from anyone where this is `None`.
    pub tls: Option<Tls>,
}

/// The keys of a server that speaks TLS only. Everything is PEM.
#[derive(Clone)]
pub struct Tls {
    /// The server's certificate, followed by those between it and a root.
    pub certificate: Vec<u8>,
    /// The private key of the certificate.
    pub key: Vec<u8>,
    /// The certificates that sign those of clients; without them clients need none.
    pub client_ca: Option<Vec<u8>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The private key must not be printed.
        f.debug_struct("Tls").field("client_ca", &self.client_ca.is_some()).finish_non_exhaustive()
    }
}

impl Tls {
    fn config(&self) -> ServerTlsConfig {
        let identity = Identity::from_pem(&self.certificate, &self.key);
        let config = ServerTlsConfig::new().identity(identity).timeout(HANDSHAKE_TIME);
        match &self.client_ca {
            Some(ca) => config.client_ca_root(Certificate::from_pem(ca)),
            None => config,
        }
    }
}

impl Default for ServerOptions {
    /// Messages of 2³¹ − 1 bytes, protobuf's own limit; no other limits, no TLS.
    fn default() -> Self {
        Self {
            max_message_bytes: i32::MAX as usize,
            max_live_bytes: usize::MAX,
            session_ttl: None,
            trap_not_finite: false,
            tls: None,
        }
    }
}

/// Why a server does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The certificates or the key of [`Tls`] cannot be used.
    #[error("the certificates or the key for TLS cannot be used")]
    Tls(#[source] tonic::transport::Error),
    /// The transport failed.
    #[error("the server failed")]
    Transport(#[from] tonic::transport::Error),
    /// The descriptors for server reflection are no descriptors.
    #[error("the descriptors of the service cannot be read")]
    Descriptors(#[from] tonic_reflection::server::Error),
}

/// Listens on a port of these addresses, or of both loopback addresses where there are none.
/// Port 0 takes a free one, the same for all.
///
/// # Errors
/// [`ServeError::Bind`] for the first address that cannot be listened on; a machine without IPv6
/// does not need its loopback address.
pub async fn bind(addresses: &[IpAddr], port: u16) -> Result<Vec<TcpListener>, ServeError> {
    let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let by_default = addresses.is_empty();
    let mut port = port;
    let mut listeners = Vec::new();
    for &address in if by_default { &loopback[..] } else { addresses } {
        let address = SocketAddr::new(address, port);
        match TcpListener::bind(address).await {
            Ok(listener) => {
                port = listener.local_addr().map_or(port, |local| local.port());
                listeners.push(listener);
            }
            Err(source) if by_default && address.is_ipv6() && source.kind() == io::ErrorKind::AddrNotAvailable => {}
            Err(source) => return Err(ServeError::Bind { address, source }),
        }
    }
    Ok(listeners)
}

/// Serves this executor until `shutdown` is done, then until the calls under way are answered. Meanwhile new
/// executors are refused, and the health service says `NOT_SERVING`.
///
/// Beside `ExecutorGroup` there are `grpc.health.v1.Health` and server reflection.
///
/// Connections are never closed for being idle or old: TFF's client would take that for a worker
/// that died.
///
/// # Errors
/// [`ServeError::Tls`], [`ServeError::Transport`]; [`ServeError::Descriptors`] is a bug.
pub async fn serve(
    executor: Executor,
    options: &ServerOptions,
    listeners: Vec<TcpListener>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let calls = Arc::<Calls>::default();
    let prepared = executor.clone();
    let executors = Arc::new(Executors::new(executor, options.max_live_bytes, options.trap_not_finite));
    let max_message_bytes = options.max_message_bytes;
    let service = Service { executors: executors.clone(), calls: calls.clone(), max_message_bytes };
    let group = ExecutorGroupServer::new(service)
        .max_decoding_message_size(max_message_bytes)
        .max_encoding_message_size(max_message_bytes);
    let group = COMPRESSIONS.into_iter().fold(group, |group, it| group.accept_compressed(it).send_compressed(it));
    let (draining, drains) = watch::channel(false);
    let (mut health, health_service) = tonic_health::server::health_reporter();
    report(&health, ServingStatus::Serving).await;
    let drained = async {
        shutdown.await;
        calls.drain();
        report(&health, ServingStatus::NotServing).await;
        calls.idle().await;
        draining.send_replace(true);
        // Whoever watches the health has a call that would never end.
        for name in SERVICES {
            health.clear_service_status(name).await;
        }
    };
    let mut server = tonic::transport::Server::builder();
    if let Some(tls) = &options.tls {
        server = server.tls_config(tls.config()).map_err(ServeError::Tls)?;
    }
    let serving = server
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_frame_size(MAX_FRAME)
        .add_service(Observed::new(group, calls.clone()))
        .add_service(health_service)
        .add_service(reflection().build_v1()?)
        // Tools of before 2023 ask for this one.
        .add_service(reflection().build_v1alpha()?)
        .serve_with_incoming_shutdown(connections(listeners, &drains), drained);
    tokio::select! {
        result = serving => Ok(result?),
        () = expire(&executors, options.session_ttl) => Ok(()),
        () = tidy(prepared) => Ok(()),
    }
}

/// Closes what is not used any more, from time to time, for ever.
async fn expire(executors: &Executors, ttl: Option<Duration>) {
    let Some(ttl) = ttl else { return std::future::pending().await };
    loop {
        // A quarter more than the time that was asked for does no harm.
        tokio::time::sleep((ttl / 4).max(Duration::from_millis(10))).await;
        executors.expire(ttl);
    }
}

/// Drops prepared computations that nobody uses any more, from time to time, for ever.
async fn tidy(executor: Executor) {
    loop {
        tokio::time::sleep(TIDY).await;
        let executor = executor.clone();
        // To free much takes a while.
        if tokio::task::spawn_blocking(move || executor.tidy()).await.is_err() {
            tracing::error!("letting go of prepared computations failed");
        }
    }
}

/// The services whose health is told: all of the server, and the one it is there for.
const SERVICES: [&str; 2] = ["", tff_proto::v0::executor_group_server::SERVICE_NAME];

async fn report(health: &HealthReporter, status: ServingStatus) {
    for name in SERVICES {
        health.set_service_status(name, status).await;
    }
}

fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(tff_proto::SERVICE_DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}
