//! How the service is operated: health, limits, and clients that vanish.

use crate::peer::{Peer, Server, at_clients, computation, endless, int, start, wire};
use std::time::Duration;
use tff_exec::service::ServerOptions;
use tff_ir::Array;
use tff_proto::v0 as pb;
use tff_proto::v0::value::Value as V;
use tff_types::DType;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tonic::Code;
use tonic::codec::CompressionEncoding;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

const GROUP: &str = "tensorflow_federated.v0.ExecutorGroup";

/// Longer than anything here takes, on a machine that is busy with other things too.
const PATIENCE: Duration = Duration::from_secs(60);

async fn channel(port: u16) -> Channel {
    Channel::from_shared(format!("http://localhost:{port}")).unwrap().connect().await.unwrap()
}

async fn health(port: u16, service: &str) -> ServingStatus {
    let request = HealthCheckRequest { service: service.to_owned() };
    HealthClient::new(channel(port).await).check(request).await.unwrap().into_inner().status()
}

/// A client that waits for an endless call.
async fn wait_for_ever(port: u16, n_clients: i32) -> (Peer, pb::ValueRef) {
    let mut peer = Peer::connect(port, n_clients).await;
    let function = peer.value(endless()).await.unwrap();
    let call = peer.call(&function, None).await.unwrap();
    (peer, call)
}

/// A tensor of this many bytes.
fn bytes(len: usize) -> pb::Value {
    let array = Array::dense(DType::UInt8, [len as u64], vec![7; len].into()).unwrap();
    wire(V::Array(array.to_proto_value()))
}

#[tokio::test]
async fn while_it_drains_it_is_not_serving_and_finishes_what_is_under_way() {
    let server = Server::start(&ServerOptions::default()).await;
    assert_eq!(health(server.port, "").await, ServingStatus::Serving);
    assert_eq!(health(server.port, GROUP).await, ServingStatus::Serving);
    let mut watcher = HealthClient::new(channel(server.port).await);
    let mut seen = watcher.watch(HealthCheckRequest { service: GROUP.to_owned() }).await.unwrap().into_inner();
    assert_eq!(seen.next().await.unwrap().unwrap().status(), ServingStatus::Serving);

    let (mut peer, call) = wait_for_ever(server.port, 1).await;
    let mut twin = peer.client.clone();
    let mut other = Peer::connect(server.port, 2).await;
    let value = other.value(int(3)).await.unwrap();
    let (give_up, given_up) = oneshot::channel::<()>();
    let waiting = tokio::spawn(async move {
        tokio::select! {
            result = peer.compute(&call) => panic!("not endless: {result:?}"),
            _ = given_up => {}
        }
    });
    // The endless call is under way once one that is sent after it on the same connection is answered.
    tokio::task::yield_now().await;
    twin.dispose(pb::DisposeRequest::default()).await.unwrap();
    server.shutdown.send(()).unwrap();
    assert_eq!(seen.next().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    assert_eq!(health(server.port, "").await, ServingStatus::NotServing);
    // What has begun goes on, nothing new begins.
    assert_eq!(other.compute(&value).await.unwrap(), int(3));
    let refused = other.client.get_executor(pb::GetExecutorRequest::default()).await.unwrap_err();
    assert_eq!((refused.code(), refused.message()), (Code::Unavailable, "the worker is shutting down"));
    assert!(!server.served.is_finished());
    give_up.send(()).unwrap();
    waiting.await.unwrap();
    timeout(PATIENCE, server.served).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn reflection_tells_the_services_and_their_messages() {
    let server = Server::start(&ServerOptions::default()).await;
    let mut client = ServerReflectionClient::new(channel(server.port).await);
    let ask = |request| ServerReflectionRequest { host: String::new(), message_request: Some(request) };
    let requests = tokio_stream::iter([
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol("tensorflow_federated.v0.CreateValueRequest".to_owned())),
    ]);
    let mut answers = client.server_reflection_info(requests).await.unwrap().into_inner();
    let mut answer = async || answers.next().await.unwrap().unwrap().message_response.unwrap();
    let MessageResponse::ListServicesResponse(services) = answer().await else { panic!("no services") };
    let services: Vec<_> = services.service.into_iter().map(|service| service.name).collect();
    assert!(services.iter().any(|name| name == GROUP), "{services:?}");
    assert!(services.iter().any(|name| name == "grpc.health.v1.Health"), "{services:?}");
    let MessageResponse::FileDescriptorResponse(file) = answer().await else { panic!("no file") };
    assert!(!file.file_descriptor_proto.is_empty());
}

#[tokio::test]
async fn messages_over_the_limit_are_refused_in_both_directions() {
    let mut options = ServerOptions::default();
    options.max_message_bytes = 10_000;
    let server = Server::start(&options).await;
    let mut peer = Peer::connect(server.port, 3).await;
    let refused = peer.value(bytes(20_000)).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().ends_with("bytes, the limit is: 10000 bytes"), "{}", refused.message());
    // Each may be sent, but not three of them.
    let wrap = computation("(x:uint8[5000] -> <x>)");
    let (wrap, value) = (peer.value(wrap).await.unwrap(), peer.value(bytes(5000)).await.unwrap());
    let pair = pb::create_struct_request::Element { name: String::new(), value_ref: Some(value.clone()) };
    let request = pb::CreateStructRequest { executor: peer.executor.clone(), element: vec![pair; 3] };
    let three = peer.client.create_struct(request).await.unwrap().into_inner().value_ref.unwrap();
    let refused = peer.compute(&three).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.message().ends_with("bytes as a message, the limit is 10000 bytes"), "{}", refused.message());
    // And the next call works.
    let call = peer.call(&wrap, Some(&value)).await.unwrap();
    peer.compute(&call).await.unwrap();
}

#[tokio::test]
async fn live_bytes_are_those_that_values_still_share() {
    let mut options = ServerOptions::default();
    options.max_live_bytes = 10_000;
    let server = Server::start(&options).await;
    let mut peer = Peer::connect(server.port, 1).await;
    let identity = peer.value(computation("(x:uint8[8000] -> <x,x>)")).await.unwrap();
    let argument = peer.value(bytes(8000)).await.unwrap();
    let call = peer.call(&identity, Some(&argument)).await.unwrap();
    peer.compute(&call).await.unwrap();
    let refused = peer.value(bytes(4000)).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(
        refused.message().starts_with("a value of 40") && refused.message().contains("the limit of 10000 live bytes"),
        "{}",
        refused.message()
    );
    // The result is a view of what was sent: it keeps it alive.
    peer.dispose(&[&argument]).await.unwrap();
    assert_eq!(peer.value(bytes(4000)).await.unwrap_err().code(), Code::ResourceExhausted);
    peer.dispose(&[&call]).await.unwrap();
    let value = peer.value(bytes(4000)).await.unwrap();
    assert_eq!(peer.compute(&value).await.unwrap(), bytes(4000));
    // Disposing of an executor frees whatever it held.
    let executor = peer.executor.clone();
    peer.client.dispose_executor(pb::DisposeExecutorRequest { executor }).await.unwrap();
    let mut peer = Peer::connect(server.port, 1).await;
    peer.value(bytes(9000)).await.unwrap();
}

#[tokio::test]
async fn what_clients_leave_behind_is_forgotten_after_a_while() {
    let mut options = ServerOptions::default();
    options.max_live_bytes = 40_000;
    options.session_ttl = Some(Duration::from_millis(400));
    let server = Server::start(&options).await;
    let mut vanished = Peer::connect(server.port, 1).await;
    vanished.value(bytes(16_000)).await.unwrap();
    // One dies while it waits for a call.
    let (mut killed, endless) = wait_for_ever(server.port, 4).await;
    assert!(timeout(Duration::from_millis(100), killed.compute(&endless)).await.is_err());
    drop(killed);
    // A call that is under way is a use, however long it takes.
    let (mut patient, endless) = wait_for_ever(server.port, 2).await;
    let waiting = timeout(Duration::from_secs(2), patient.compute(&endless)).await;
    assert!(waiting.is_err(), "{waiting:?}");
    let mut other = Peer::connect(server.port, 3).await;
    other.value(bytes(30_000)).await.unwrap();
    let gone = vanished.value(int(1)).await.unwrap_err();
    assert_eq!(gone.code(), Code::FailedPrecondition);
    assert!(gone.message().starts_with("Error calling `CreateValue`. No executor found for ID: 'clients=1/"));
}

/// Checks that the only thread, which computes for ever, is free again after `stop`.
async fn check_freed(server: &Server, n_clients: i32, stop: impl AsyncFnOnce(Peer, pb::ValueRef)) {
    let (peer, call) = wait_for_ever(server.port, n_clients).await;
    let mut other = Peer::connect(server.port, 99).await;
    let function = other.value(computation("(x:int32 -> <x,x>)")).await.unwrap();
    let argument = other.value(int(1)).await.unwrap();
    let behind = other.call(&function, Some(&argument)).await.unwrap();
    stop(peer, call).await;
    timeout(PATIENCE, other.compute(&behind)).await.unwrap().unwrap();
}

#[tokio::test]
async fn work_ends_when_nobody_needs_it() {
    let server = Server::start(&ServerOptions::default()).await;
    for round in 0..3 {
        // The client hangs up.
        let hang_up = async |mut peer: Peer, call: pb::ValueRef| {
            assert!(timeout(Duration::from_millis(100), peer.compute(&call)).await.is_err());
        };
        check_freed(&server, 1, hang_up).await;
        // The value is disposed of.
        let dispose = async |mut peer: Peer, call: pb::ValueRef| peer.dispose(&[&call]).await.unwrap();
        check_freed(&server, 2, dispose).await;
        // The executor is disposed of.
        let close = async |mut peer: Peer, _| {
            let executor = peer.executor.clone();
            peer.client.dispose_executor(pb::DisposeExecutorRequest { executor }).await.unwrap();
        };
        check_freed(&server, 10 + round, close).await;
    }
}

#[tokio::test]
async fn work_goes_on_for_others_that_need_it() {
    let server = Server::start(&ServerOptions::default()).await;
    let (mut first, call) = wait_for_ever(server.port, 1).await;
    let mut second = Peer::connect(server.port, 1).await;
    let (wanted, for_second) = (call.clone(), async { second.compute(&call).await });
    tokio::pin!(for_second);
    assert!(timeout(Duration::from_millis(100), &mut for_second).await.is_err());
    assert!(timeout(Duration::from_millis(100), first.compute(&wanted)).await.is_err());
    // The first has hung up; the second gets no answer, and so waits on.
    assert!(timeout(Duration::from_millis(300), &mut for_second).await.is_err());
    // Once the executor is disposed of by all, only who waits needs the value.
    let executor = first.executor.clone();
    for _ in 0..2 {
        first.client.dispose_executor(pb::DisposeExecutorRequest { executor: executor.clone() }).await.unwrap();
    }
    assert!(timeout(Duration::from_millis(300), &mut for_second).await.is_err());
}

#[tokio::test]
async fn a_value_that_was_given_up_says_so() {
    let server = Server::start(&ServerOptions::default()).await;
    let (mut peer, call) = wait_for_ever(server.port, 1).await;
    let function = peer.value(computation("(x:int32 -> <x,x>)")).await.unwrap();
    assert!(timeout(Duration::from_millis(100), peer.compute(&call)).await.is_err());
    let given_up = timeout(PATIENCE, peer.compute(&call)).await.unwrap().unwrap_err();
    assert_eq!(
        (given_up.code(), given_up.message()),
        (Code::Cancelled, "the value was given up: nobody waited for it any more")
    );
    // And the next call works.
    let argument = peer.value(at_clients(vec![int(1)])).await.unwrap();
    let call = peer.call(&function, Some(&argument)).await.unwrap();
    peer.compute(&call).await.unwrap();
}

#[tokio::test]
async fn a_silent_connection_does_not_hold_the_end() {
    let server = Server::start(&ServerOptions::default()).await;
    let mut silent = tokio::net::TcpStream::connect(("localhost", server.port)).await.unwrap();
    let mut peer = Peer::connect(server.port, 1).await;
    peer.value(int(1)).await.unwrap();
    server.shutdown.send(()).unwrap();
    // Less than a silent connection is waited for otherwise.
    timeout(Duration::from_secs(8), server.served).await.unwrap().unwrap().unwrap();
    // What the server said before is followed by the end.
    let said = timeout(PATIENCE, tokio::io::AsyncReadExt::read_to_end(&mut silent, &mut Vec::new())).await;
    assert!(said.is_ok(), "{said:?}");
}

#[tokio::test]
async fn messages_are_compressed_as_asked() {
    let mut peer = Peer::connect(start().await, 1).await;
    let plain = peer.client.clone();
    let encodings = [CompressionEncoding::Gzip, CompressionEncoding::Deflate, CompressionEncoding::Zstd];
    for (encoding, name) in encodings.into_iter().zip(["gzip", "deflate", "zstd"]) {
        peer.client = plain.clone().send_compressed(encoding).accept_compressed(encoding);
        let value_ref = Some(peer.value(bytes(100_000)).await.unwrap());
        let request = pb::ComputeRequest { executor: peer.executor.clone(), value_ref: value_ref.clone() };
        let answer = peer.client.compute(request.clone()).await.unwrap();
        assert_eq!(answer.metadata().get("grpc-encoding").map(|it| it.as_bytes()), Some(name.as_bytes()));
        assert_eq!(answer.into_inner().value, Some(bytes(100_000)));
        // Who could read it and does not write so is answered as it writes.
        let answer = plain.clone().accept_compressed(encoding).compute(request).await.unwrap();
        assert_eq!(answer.metadata().get("grpc-encoding"), None);
    }
}

#[tokio::test]
async fn what_is_small_only_while_compressed_is_refused() {
    let mut options = ServerOptions::default();
    options.max_message_bytes = 10_000;
    let mut peer = Peer::connect(Server::start(&options).await.port, 1).await;
    for encoding in [CompressionEncoding::Gzip, CompressionEncoding::Deflate, CompressionEncoding::Zstd] {
        peer.client = peer.client.clone().send_compressed(encoding);
        assert!(peer.value(bytes(10_000_000)).await.is_err());
        peer.value(bytes(1_000)).await.unwrap();
    }
}
