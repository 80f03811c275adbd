//! A client of the service, and servers for it.

use tff_exec::service::{ServeError, ServerOptions, bind, serve};
use tff_exec::{Executor, Options};
use tff_ir::text::{Environment, parse};
use tff_ir::{Array, Scalar};
use tff_proto::v0 as pb;
use tff_proto::v0::executor_group_client::ExecutorGroupClient;
use tff_proto::v0::value::Value as V;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::transport::Channel;

/// A client and the executor it works in.
pub(crate) struct Peer {
    pub(crate) client: ExecutorGroupClient<Channel>,
    pub(crate) executor: Option<pb::ExecutorId>,
}

/// Starts a server on a free port.
pub(crate) async fn start() -> u16 {
    Server::start(&ServerOptions::default()).await.port
}

/// A server on a free port.
pub(crate) struct Server {
    pub(crate) port: u16,
    /// Shuts the server down when it is sent.
    pub(crate) shutdown: oneshot::Sender<()>,
    pub(crate) served: JoinHandle<Result<(), ServeError>>,
}

impl Server {
    pub(crate) async fn start(options: &ServerOptions) -> Self {
        Self::listen(options, 0).await
    }

    /// A server on this port.
    pub(crate) async fn start_at(port: u16) -> Self {
        Self::listen(&ServerOptions::default(), port).await
    }

    async fn listen(options: &ServerOptions, port: u16) -> Self {
        let listeners = bind(&[], port).await.unwrap();
        let port = listeners[0].local_addr().unwrap().port();
        let (shutdown, stopped) = oneshot::channel();
        let mut exec = Options::default();
        // Work that is not given up would keep all others from starting.
        exec.threads = Some(1);
        let (executor, options) = (Executor::new(exec), options.clone());
        let stopped = async {
            if stopped.await.is_err() {
                // The test does not care.
                std::future::pending().await
            }
        };
        let served = tokio::spawn(async move { serve(executor, &options, listeners, stopped).await });
        Self { port, shutdown, served }
    }
}

pub(crate) fn cardinality(uri: &str, cardinality: i32) -> pb::Cardinality {
    pb::Cardinality { placement: Some(pb::Placement { uri: uri.to_owned() }), cardinality }
}

pub(crate) fn wire(kind: V) -> pb::Value {
    pb::Value { tensor: None, value: Some(kind) }
}

pub(crate) fn int(value: i32) -> pb::Value {
    wire(V::Array(Array::from_scalar(Scalar::Int32(value)).to_proto_value()))
}

pub(crate) fn computation(text: &str) -> pb::Value {
    let comp = parse(text, &Environment::default()).unwrap().comp;
    wire(V::Computation(comp.to_proto().unwrap()))
}

pub(crate) fn at_clients(values: Vec<pb::Value>) -> pb::Value {
    let placement = pb::placement_spec::Placement::Value(pb::Placement { uri: "clients".to_owned() });
    let spec = pb::PlacementSpec { placement: Some(placement) };
    let r#type = Some(pb::FederatedType { placement: Some(spec), all_equal: false, member: None });
    wire(V::Federated(pb::value::Federated { r#type, value: values }))
}

impl Peer {
    pub(crate) async fn connect(port: u16, n_clients: i32) -> Self {
        let mut client = ExecutorGroupClient::connect(format!("http://localhost:{port}")).await.unwrap();
        let cardinalities = vec![cardinality("clients", n_clients)];
        let response = client.get_executor(pb::GetExecutorRequest { cardinalities }).await.unwrap();
        Self { client, executor: response.into_inner().executor }
    }

    pub(crate) async fn value(&mut self, value: pb::Value) -> Result<pb::ValueRef, Status> {
        let request = pb::CreateValueRequest { value: Some(value), executor: self.executor.clone() };
        Ok(self.client.create_value(request).await?.into_inner().value_ref.unwrap())
    }

    pub(crate) async fn call(
        &mut self,
        function: &pb::ValueRef,
        argument: Option<&pb::ValueRef>,
    ) -> Result<pb::ValueRef, Status> {
        let request = pb::CreateCallRequest {
            executor: self.executor.clone(),
            function_ref: Some(function.clone()),
            argument_ref: argument.cloned(),
        };
        Ok(self.client.create_call(request).await?.into_inner().value_ref.unwrap())
    }

    pub(crate) async fn compute(&mut self, value: &pb::ValueRef) -> Result<pb::Value, Status> {
        let request = pb::ComputeRequest { executor: self.executor.clone(), value_ref: Some(value.clone()) };
        Ok(self.client.compute(request).await?.into_inner().value.unwrap())
    }

    pub(crate) async fn dispose(&mut self, values: &[&pb::ValueRef]) -> Result<(), Status> {
        let value_ref = values.iter().map(|&value| value.clone()).collect();
        self.client.dispose(pb::DisposeRequest { executor: self.executor.clone(), value_ref }).await.map(|_| ())
    }
}

/// A call that takes for ever, in many small steps: a function is called 2⁶⁰ times.
pub(crate) fn endless() -> pb::Value {
    let doubled: String = (1..=60).map(|n| format!(",f{n}=(x:int32 -> f{0}(f{0}(x)))", n - 1)).collect();
    computation(&format!("( -> (let f0=(x:int32 -> x){doubled} in f60(lit int32 1)))"))
}
