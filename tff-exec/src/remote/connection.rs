//! The connection to one worker: calls with deadlines, and what their failures mean.

use super::{Compression, RemoteOptions};
use crate::values::status_code;
use crate::{ExecError, WorkerError};
use std::error::Error;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tff_proto::v0 as pb;
use tff_proto::v0::executor_group_client::ExecutorGroupClient;
use tonic::codec::CompressionEncoding;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Response, Status};

/// The HTTP/2 window of a stream and of a connection: as large as the values that workers send in one
/// message, so that these never wait for a round trip.
const WINDOW: u32 = 256 << 20;

/// After how much silence the system asks whether the worker's machine is still there, how often, and
/// how many times. Asking in HTTP/2 would be better, but gRPC servers take that for an attack.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;

/// How long is waited before a call is repeated: longer each time.
const BACKOFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(200)];

/// What calls are made on.
pub(super) type Client = ExecutorGroupClient<Channel>;

/// The client of one worker.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) name: Arc<str>,
    client: Client,
    deadline: Duration,
    connect_timeout: Duration,
    /// When the worker was lost; it is not asked until a while after.
    lost: Mutex<Option<Instant>>,
    /// Executors on it that it could not be told to forget.
    left_behind: Mutex<Vec<pb::ExecutorId>>,
}

/// What distinguishes calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rpc {
    pub(super) name: &'static str,
    /// Whether it does no harm twice. What creates values would leave one that nobody knows, where only
    /// the answer was lost.
    pub(super) is_repeatable: bool,
    /// Whether it only asks the worker to be there, and to do nothing that takes time.
    pub(super) is_quick: bool,
}

impl Connection {
    /// A client of the worker at `host:port`, which connects when it is first used. Within a runtime.
    ///
    /// # Errors
    /// [`WorkerError::Unavailable`] for what is no address, or for wrong certificates.
    pub(super) fn new(address: &str, options: &RemoteOptions) -> Result<Self, ExecError> {
        let name: Arc<str> = Arc::from(address);
        let unusable = |reason: String| WorkerError::Unavailable { worker: name.clone(), reason };
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let is_address = address.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && !host.contains(['/', '@', '?', '#']) && port.parse::<u16>().is_ok()
        });
        let endpoint = is_address.then(|| Endpoint::from_shared(format!("{scheme}://{address}")));
        let Some(Ok(mut endpoint)) = endpoint else {
            return Err(unusable("expected an address, host:port".to_owned()).into());
        };
        if let Some(tls) = &options.tls {
            let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.ca));
            if let Some((certificate, key)) = &tls.identity {
                config = config.identity(Identity::from_pem(certificate, key));
            }
            endpoint = endpoint.tls_config(config).map_err(|error| unusable(with_causes(&error)))?;
        }
        let channel = endpoint
            .connect_timeout(options.connect_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(KEEPALIVE))
            .tcp_keepalive_interval(Some(KEEPALIVE_INTERVAL))
            .tcp_keepalive_retries(Some(KEEPALIVE_RETRIES))
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .connect_lazy();
        let client = ExecutorGroupClient::new(channel)
            .max_decoding_message_size(i32::MAX as usize)
            .max_encoding_message_size(i32::MAX as usize);
        let client = match options.compression {
            None => client,
            Some(compression) => {
                let encoding = match compression {
                    Compression::Gzip => CompressionEncoding::Gzip,
                    Compression::Zstd => CompressionEncoding::Zstd,
                };
                client.send_compressed(encoding).accept_compressed(encoding)
            }
        };
        let (deadline, connect_timeout) = (options.deadline, options.connect_timeout);
        Ok(Self { name, client, deadline, connect_timeout, lost: Mutex::default(), left_behind: Mutex::default() })
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost().is_some()
    }

    /// The worker is not to be asked until a later round.
    pub(super) fn lose(&self) {
        *self.lost() = Some(Instant::now());
    }

    /// A new round begins: a worker that was lost is asked again, if that was not just now.
    pub(super) fn ask_again(&self) {
        let mut lost = self.lost();
        if lost.is_some_and(|lost| lost.elapsed() >= self.connect_timeout) {
            tracing::debug!(worker = &*self.name, "asked again");
            *lost = None;
        }
    }

    fn lost(&self) -> MutexGuard<'_, Option<Instant>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The executors that the worker could not be told to forget.
    pub(super) fn left_behind(&self) -> MutexGuard<'_, Vec<pb::ExecutorId>> {
        self.left_behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn unavailable(&self, reason: impl Into<String>) -> ExecError {
        WorkerError::Unavailable { worker: self.name.clone(), reason: reason.into() }.into()
    }

    /// Calls the worker, and again after a moment where that is safe and may help.
    ///
    /// # Errors
    /// [`WorkerError::Unavailable`], also when there is no answer within the deadline;
    /// [`WorkerError::Failed`] for what the worker answers.
    pub(super) async fn call<T, F>(&self, rpc: Rpc, send: impl Fn(Client) -> F) -> Result<T, ExecError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let pauses = if rpc.is_repeatable { &BACKOFF[..] } else { &[] };
        let answer = async {
            for &pause in pauses {
                match send(self.client.clone()).await {
                    Err(status) if is_unreachable(&status) => tokio::time::sleep(pause).await,
                    answer => return answer,
                }
            }
            send(self.client.clone()).await
        };
        let deadline = if rpc.is_quick { self.deadline.min(self.connect_timeout) } else { self.deadline };
        match tokio::time::timeout(deadline, answer).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(self.error(rpc, &status)),
            Err(_) => {
                // It would not answer the next call either.
                self.lose();
                Err(self.unavailable(format!("no answer to {} within {deadline:?}", rpc.name)))
            }
        }
    }

    fn error(&self, rpc: Rpc, status: &Status) -> ExecError {
        // A worker that does not know its executor was started anew, or took us for gone.
        if is_unreachable(status) || status.code() == Code::FailedPrecondition {
            return self.unavailable(format!("{}: {}", rpc.name, with_causes(status)));
        }
        let message = if status.message().is_empty() { rpc.name } else { status.message() };
        let (worker, code) = (self.name.clone(), status_code::name(status.code().into()));
        WorkerError::Failed { worker, status: code, message: first_line(message) }.into()
    }
}

/// Whether this tells of the connection: what a worker answers has no cause here.
fn is_unreachable(status: &Status) -> bool {
    status.code() == Code::Unavailable || status.source().is_some()
}

/// The message of an error and of what is behind it, on one line.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |&error| error.source());
    let message = match error.downcast_ref::<Status>() {
        Some(status) => status.message().to_owned(),
        None => error.to_string(),
    };
    // Many a cause is told by what it causes, too.
    let message = causes
        .map(ToString::to_string)
        .fold(message, |message, cause| if message.contains(&cause) { message } else { format!("{message}: {cause}") });
    first_line(&message)
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}
