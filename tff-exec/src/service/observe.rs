//! What all calls share: an id for the logs, the outcome, and the number of running calls.

use crate::values::status_code;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::sync::watch;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::NamedService;
use tonic::{Code, Status};
use tracing::Instrument;

/// The header in which a client may name its request, and is told the name.
const REQUEST_ID: http::HeaderName = http::HeaderName::from_static("x-request-id");

/// The longest name of a request that is taken from a client.
const MAX_REQUEST_ID: usize = 64;

/// Says what the metrics of a server mean, to the recorder that is installed.
///
/// Gauges: `tff_executors`, `tff_values`, `tff_received_bytes`, `tff_calls_under_way` by `rpc`,
/// `tff_prepared` and `tff_prepared_bytes` by `leaf`.
/// Counter: `tff_accept_errors`.
/// Histogram: `tff_call_seconds` by `rpc` and `code`.
pub fn describe_metrics() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram, gauge};
    describe_gauge!("tff_executors", "Executors that clients have not disposed of");
    describe_gauge!("tff_values", "Values that clients have not disposed of");
    describe_gauge!("tff_received_bytes", Unit::Bytes, "What clients sent and is alive, in values or in calls");
    describe_gauge!("tff_prepared", "Graphs and modules that are kept, prepared to be called");
    describe_gauge!("tff_prepared_bytes", Unit::Bytes, "About what these take");
    describe_gauge!("tff_calls_under_way", "Calls that are not answered yet");
    describe_histogram!("tff_call_seconds", Unit::Seconds, "How long calls took, from their head to their answer");
    describe_counter!("tff_accept_errors", "Connections that could not be taken");
    // Nothing is something to tell, before there was anything.
    for name in ["tff_executors", "tff_values", "tff_received_bytes"] {
        gauge!(name).increment(0.0);
    }
}

/// The name of an RPC, of those there are: what peers make up must not grow the metrics.
fn rpc_of(path: &str) -> &'static str {
    const RPCS: [&str; 8] = [
        "GetExecutor",
        "CreateValue",
        "CreateCall",
        "CreateStruct",
        "CreateSelection",
        "Compute",
        "Dispose",
        "DisposeExecutor",
    ];
    let name = path.rsplit('/').next().unwrap_or_default();
    RPCS.into_iter().find(|&rpc| rpc == name).unwrap_or("other")
}

/// The calls of a server.
#[derive(Debug)]
pub(super) struct Calls {
    under_way: watch::Sender<usize>,
    next_id: AtomicU64,
    draining: AtomicBool,
}

impl Default for Calls {
    fn default() -> Self {
        Self { under_way: watch::Sender::new(0), next_id: AtomicU64::new(1), draining: AtomicBool::new(false) }
    }
}

impl Calls {
    /// From here on no new work is wanted.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Waits until no call is under way.
    pub(super) async fn idle(&self) {
        // The sender is ours, so that it cannot be gone.
        let _ = self.under_way.subscribe().wait_for(|&calls| calls == 0).await;
    }

    /// The name of a request: the client's own, if it is short and harmless in a log, or a number.
    fn request_id<B>(&self, request: &http::Request<B>) -> http::HeaderValue {
        let own = request.headers().get(REQUEST_ID).filter(|id| {
            let id = id.as_bytes();
            !id.is_empty() && id.len() <= MAX_REQUEST_ID && id.iter().all(u8::is_ascii_graphic)
        });
        own.cloned().unwrap_or_else(|| self.next_id.fetch_add(1, Ordering::Relaxed).into())
    }
}

/// A call that is under way, until it is dropped: answered, or given up by its client.
struct Call {
    calls: Arc<Calls>,
    rpc: &'static str,
    start: Instant,
    /// `None` while there is no answer.
    code: Option<Code>,
}

impl Call {
    fn start(calls: Arc<Calls>, rpc: &'static str) -> Self {
        calls.under_way.send_modify(|calls| *calls += 1);
        metrics::gauge!("tff_calls_under_way", "rpc" => rpc).increment(1.0);
        Self { calls, rpc, start: Instant::now(), code: None }
    }

    fn answer(&mut self, response: &http::Response<Body>) {
        // A call that failed before it had anything to send says so in the headers.
        let status = Status::from_header_map(response.headers());
        self.code = Some(status.as_ref().map_or(Code::Ok, Status::code));
        let elapsed = self.start.elapsed();
        match status {
            None => tracing::debug!(?elapsed, "ok"),
            Some(status) if matches!(status.code(), Code::Internal | Code::Unknown) => {
                tracing::warn!(code = ?status.code(), ?elapsed, "{}", status.message());
            }
            Some(status) => tracing::info!(code = ?status.code(), ?elapsed, "{}", status.message()),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.code.is_none() {
            tracing::info!(elapsed = ?self.start.elapsed(), "the client hung up");
        }
        // A client that hung up is to gRPC one that cancelled.
        let ended = self.code.unwrap_or(Code::Cancelled);
        metrics::gauge!("tff_calls_under_way", "rpc" => self.rpc).decrement(1.0);
        metrics::histogram!("tff_call_seconds", "rpc" => self.rpc, "code" => status_code::name(ended.into()))
            .record(self.start.elapsed());
        self.calls.under_way.send_modify(|calls| *calls -= 1);
    }
}

/// Leaves of the compressions in which a client can read the answer that in which it wrote. All clients of
/// gRPC can read some; who wrote without compression wants the answer without.
fn answer_as_asked<B>(request: &mut http::Request<B>) {
    let headers = request.headers_mut();
    let readable = headers.remove("grpc-accept-encoding");
    if let (Some(written), Some(readable)) = (headers.get("grpc-encoding").cloned(), readable)
        && readable.as_bytes().split(|&byte| byte == b',').any(|it| it.trim_ascii() == written.as_bytes())
    {
        headers.insert("grpc-accept-encoding", written);
    }
}

/// Says in the protocol's codes, and in one line, what the transport finds wrong with a message.
/// It goes by the texts of tonic, which `tests/service/hostile.rs` pins.
fn told(response: http::Response<Body>) -> http::Response<Body> {
    let Some(status) = Status::from_header_map(response.headers()) else { return response };
    let message = status.message();
    match (status.code(), message.strip_prefix("failed to decode Protobuf message: ")) {
        // A message over the limit; nothing else here has this code.
        (Code::OutOfRange, _) => Status::resource_exhausted(message.trim_start_matches("Error, ")).into_http(),
        (Code::Internal, Some(reason)) => {
            // The place comes first, one `Message.field: ` for each of up to 100 levels.
            let is_place = |part: &&str| part.contains('.') && !part.contains(' ');
            let reason: Vec<&str> = reason.split(": ").skip_while(is_place).collect();
            Status::invalid_argument(format!("the request is not a valid message: {}", reason.join(": "))).into_http()
        }
        _ => response,
    }
}

/// A gRPC service whose calls are observed.
#[derive(Clone, Debug)]
pub(super) struct Observed<S> {
    inner: S,
    calls: Arc<Calls>,
}

impl<S> Observed<S> {
    pub(super) const fn new(inner: S, calls: Arc<Calls>) -> Self {
        Self { inner, calls }
    }
}

impl<S: NamedService> NamedService for Observed<S> {
    const NAME: &'static str = S::NAME;
}

impl<S, B> Service<http::Request<B>> for Observed<S>
where
    S: Service<http::Request<B>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        answer_as_asked(&mut request);
        let id = self.calls.request_id(&request);
        let rpc = rpc_of(request.uri().path());
        let span = tracing::info_span!("call", rpc, request_id = id.to_str().unwrap_or_default());
        let mut call = Call::start(self.calls.clone(), rpc);
        let answer = span.in_scope(|| self.inner.call(request));
        let answer = async move {
            let Ok(mut response) = answer.await.map(told);
            call.answer(&response);
            response.headers_mut().insert(REQUEST_ID, id);
            Ok(response)
        };
        Box::pin(answer.instrument(span))
    }
}
