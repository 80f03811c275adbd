//! The gRPC service `tensorflow_federated.v0.ExecutorGroup`, as a drop-in for TFF's own worker.
//!
//! An executor of the protocol is a [`crate::Session`]: one for each set of cardinalities. All clients that
//! ask for it share it, and their number is counted. Nothing here computes: requests are read, sessions record
//! and start work on the executor's pool, and `Compute` waits without a thread.

mod connections;
mod executors;
mod observe;
mod serve;
mod status;

pub use observe::describe_metrics;
pub use serve::{ServeError, ServerOptions, Tls, bind, serve};

use crate::ExecError;
use executors::{Executors, Lease};
use observe::Calls;
use prost::Message;
use std::sync::Arc;
use tff_proto::v0 as pb;
use tff_proto::v0::executor_group_server::ExecutorGroup;
use tff_types::Brief;
use tonic::{Request, Response, Status};

/// The service: sessions by executor id.
#[derive(Debug)]
struct Service {
    executors: Arc<Executors>,
    calls: Arc<Calls>,
    max_message_bytes: usize,
}

impl Service {
    fn session(&self, rpc: &str, id: Option<&pb::ExecutorId>) -> Result<Lease, Status> {
        let id = id.map_or("", |id| &id.id);
        self.executors.lease(id).ok_or_else(|| {
            Status::failed_precondition(format!("Error calling `{rpc}`. No executor found for ID: '{}'.", shown(id)))
        })
    }

    /// Refuses to send what the transport would break off.
    fn check_size(&self, response: &pb::ComputeResponse) -> Result<(), Status> {
        let (bytes, limit) = (response.encoded_len(), self.max_message_bytes);
        if bytes <= limit {
            return Ok(());
        }
        Err(Status::resource_exhausted(format!("the value is {bytes} bytes as a message, the limit is {limit} bytes")))
    }
}

/// The number of a value, as the protocol writes it.
fn parse_ref(value_ref: Option<&pb::ValueRef>) -> Result<u64, Status> {
    let id = value_ref.map_or("", |value_ref| &value_ref.id);
    id.parse()
        .map_err(|_| Status::invalid_argument(format!("Expected value ref to be an integer id, found {}", shown(id))))
}

/// The beginning of something a peer sent, for a message.
fn shown(text: &str) -> Brief {
    Brief::start(&text, 100)
}

fn value_ref(id: u64) -> Option<pb::ValueRef> {
    Some(pb::ValueRef { id: id.to_string() })
}

#[tonic::async_trait]
impl ExecutorGroup for Service {
    async fn get_executor(
        &self,
        request: Request<pb::GetExecutorRequest>,
    ) -> Result<Response<pb::GetExecutorResponse>, Status> {
        // The one code at which clients go elsewhere, or come again.
        if self.calls.is_draining() {
            return Err(Status::unavailable("the worker is shutting down"));
        }
        let id = self.executors.acquire(&request.get_ref().cardinalities)?;
        Ok(Response::new(pb::GetExecutorResponse { executor: Some(pb::ExecutorId { id }) }))
    }

    async fn create_value(
        &self,
        request: Request<pb::CreateValueRequest>,
    ) -> Result<Response<pb::CreateValueResponse>, Status> {
        let request = request.into_inner();
        let session = self.session("CreateValue", request.executor.as_ref())?;
        let id = session.create_value(request.value.unwrap_or_default()).map_err(status::of)?;
        Ok(Response::new(pb::CreateValueResponse { value_ref: value_ref(id) }))
    }

    async fn create_call(
        &self,
        request: Request<pb::CreateCallRequest>,
    ) -> Result<Response<pb::CreateCallResponse>, Status> {
        let request = request.get_ref();
        let session = self.session("CreateCall", request.executor.as_ref())?;
        let function = parse_ref(request.function_ref.as_ref())?;
        let argument = request.argument_ref.as_ref().map(|argument| parse_ref(Some(argument))).transpose()?;
        let id = session.create_call(function, argument).map_err(status::of)?;
        Ok(Response::new(pb::CreateCallResponse { value_ref: value_ref(id) }))
    }

    async fn create_struct(
        &self,
        request: Request<pb::CreateStructRequest>,
    ) -> Result<Response<pb::CreateStructResponse>, Status> {
        let request = request.get_ref();
        let session = self.session("CreateStruct", request.executor.as_ref())?;
        let elements = request.element.iter().map(|element| parse_ref(element.value_ref.as_ref()));
        let elements = elements.collect::<Result<Vec<_>, _>>()?;
        let id = session.create_struct(&elements).map_err(status::of)?;
        Ok(Response::new(pb::CreateStructResponse { value_ref: value_ref(id) }))
    }

    async fn create_selection(
        &self,
        request: Request<pb::CreateSelectionRequest>,
    ) -> Result<Response<pb::CreateSelectionResponse>, Status> {
        let request = request.get_ref();
        let session = self.session("CreateSelection", request.executor.as_ref())?;
        let source = parse_ref(request.source_ref.as_ref())?;
        // A negative index is as far out of range as the protocol's unsigned reading makes it.
        let id = session.create_selection(source, request.index.cast_unsigned()).map_err(status::of)?;
        Ok(Response::new(pb::CreateSelectionResponse { value_ref: value_ref(id) }))
    }

    async fn compute(&self, request: Request<pb::ComputeRequest>) -> Result<Response<pb::ComputeResponse>, Status> {
        let request = request.get_ref();
        let session = self.session("Compute", request.executor.as_ref())?;
        let id = parse_ref(request.value_ref.as_ref())?;
        let (sender, receiver) = tokio::sync::oneshot::channel();
        // A receiver that is gone means a client that hung up: nobody needs the value.
        let receive = move |outcome| drop(sender.send(outcome));
        // Kept until here is the answer, or the client has hung up and this future is dropped.
        let _waiting = session.compute(id, receive).map_err(status::of)?;
        let value = receiver.await.map_err(|_| status::of(ExecError::GivenUp))?.map_err(status::of)?;
        let response = pb::ComputeResponse { value: Some(value) };
        self.check_size(&response)?;
        Ok(Response::new(response))
    }

    async fn dispose(&self, request: Request<pb::DisposeRequest>) -> Result<Response<pb::DisposeResponse>, Status> {
        let request = request.get_ref();
        let id = request.executor.as_ref().map_or("", |id| &id.id);
        if let Some(session) = self.executors.lease(id) {
            let ids: Vec<u64> = request.value_ref.iter().filter_map(|value_ref| value_ref.id.parse().ok()).collect();
            session.dispose(&ids).map_err(|error| Status::not_found(format!("{error}, cannot dispose.")))?;
        }
        Ok(Response::new(pb::DisposeResponse {}))
    }

    async fn dispose_executor(
        &self,
        request: Request<pb::DisposeExecutorRequest>,
    ) -> Result<Response<pb::DisposeExecutorResponse>, Status> {
        self.executors.release(request.get_ref().executor.as_ref().map_or("", |id| &id.id));
        Ok(Response::new(pb::DisposeExecutorResponse {}))
    }
}
