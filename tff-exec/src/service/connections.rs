//! Taking connections: also when there are no descriptors for more, and from clients that never speak.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::{Connected, TcpConnectInfo, TcpIncoming};

/// After how much silence the system asks whether a client's machine is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// How long a client may take to say its first word. gRPC's clients say it at once.
const SILENCE: Duration = Duration::from_secs(10);

/// How long no connection is taken after one could not be: until descriptors are free, as a rule.
const PAUSE: Duration = Duration::from_secs(1);

/// The connections of all listeners. Those on which nothing was ever said end when `draining` says so.
pub(super) fn connections(
    listeners: Vec<TcpListener>,
    draining: &watch::Receiver<bool>,
) -> ReceiverStream<io::Result<Connection>> {
    let (taken, connections) = mpsc::channel(1);
    for listener in listeners {
        // Small answers must not wait for more to be sent with them. And a client's machine that is
        // gone without a word must be noticed, by the system: it does not take one that sleeps for gone.
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true)).with_keepalive(Some(KEEPALIVE));
        tokio::spawn(take(incoming, draining.clone(), taken.clone()));
    }
    ReceiverStream::new(connections)
}

/// Hands on connections until nobody wants them any more.
async fn take(mut incoming: TcpIncoming, draining: watch::Receiver<bool>, taken: mpsc::Sender<io::Result<Connection>>) {
    loop {
        let next = tokio::select! {
            () = taken.closed() => return,
            next = incoming.next() => next,
        };
        match next {
            None => return,
            Some(Ok(stream)) => drop(taken.send(Ok(Connection::new(stream, draining.clone()))).await),
            Some(Err(error)) => {
                metrics::counter!("tff_accept_errors").increment(1);
                tracing::warn!("cannot take a connection, the next try is in {PAUSE:?}: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// A connection that ends if its client says nothing for too long after it was made.
pub(super) struct Connection {
    stream: TcpStream,
    /// Done when the client's silence has lasted long enough; `None` from its first word on.
    silence: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Connection {
    fn new(stream: TcpStream, mut draining: watch::Receiver<bool>) -> Self {
        let silence = async move {
            // Whoever could still say it is gone only with the server.
            let drained = async { drop(draining.wait_for(|&draining| draining).await) };
            drop(tokio::time::timeout(SILENCE, drained).await);
        };
        Self { stream, silence: Some(Box::pin(silence)) }
    }
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_ready() {
            self.silence = None;
        } else if let Some(silence) = &mut self.silence {
            ready!(silence.as_mut().poll(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
