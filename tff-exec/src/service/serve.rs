//! Listening and serving.

use super::Service;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use tff_proto::v0::executor_group_server::ExecutorGroupServer;
use tokio::net::{TcpListener, TcpStream};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_stream::{Stream, StreamExt};

/// The HTTP/2 window of a stream and of a connection: how much may be under way before the
/// receiver says that it read on. As large as the values that clients send in one message, so
/// that these never wait for a round trip.
const WINDOW: u32 = 256 << 20;

/// The largest HTTP/2 frame that the protocol allows.
const MAX_FRAME: u32 = (1 << 24) - 1;

/// How a server behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The largest message in either direction, in bytes.
    pub max_message_bytes: usize,
}

impl Default for ServerOptions {
    /// Messages of 2³¹ − 1 bytes, protobuf's own limit.
    fn default() -> Self {
        Self { max_message_bytes: i32::MAX as usize }
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
    /// The transport failed.
    #[error("the server failed")]
    Transport(#[from] tonic::transport::Error),
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

/// Serves until `shutdown` is done, then until the calls under way are answered.
///
/// Connections are never closed for being idle or old: TFF's client would take that for a worker
/// that died.
///
/// # Errors
/// [`ServeError::Transport`].
pub async fn serve(
    service: Service,
    options: &ServerOptions,
    listeners: Vec<TcpListener>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let service = ExecutorGroupServer::new(service)
        .max_decoding_message_size(options.max_message_bytes)
        .max_encoding_message_size(options.max_message_bytes);
    tonic::transport::Server::builder()
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_frame_size(MAX_FRAME)
        .add_service(service)
        .serve_with_incoming_shutdown(connections(listeners), shutdown)
        .await?;
    Ok(())
}

/// The connections of all listeners.
fn connections(listeners: Vec<TcpListener>) -> impl Stream<Item = io::Result<TcpStream>> {
    let none: Box<dyn Stream<Item = io::Result<TcpStream>> + Send + Unpin> = Box::new(tokio_stream::empty());
    let all = listeners.into_iter().fold(none, |all, listener| Box::new(all.merge(TcpListenerStream::new(listener))));
    all.map(|connection| {
        // Small answers must not wait for more to be sent with them.
        connection.and_then(|stream| stream.set_nodelay(true).map(|()| stream))
    })
}
