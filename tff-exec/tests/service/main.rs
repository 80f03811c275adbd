//! The service over a real socket: what peers may rely on, and what they cannot break.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot reach its server must stop")]

mod computations;
mod hostile;
mod operations;
mod peer;
mod proxy;
mod remote;
mod tls;

use peer::{Peer, at_clients, computation, int, start, wire};
use tff_ir::{Array, Scalar};
use tff_proto::google::protobuf::Any;
use tff_proto::tensorflow as tf;
use tff_proto::v0 as pb;
use tff_proto::v0::value::Value as V;
use tff_types::Type;
use tonic::Code;

#[tokio::test]
async fn a_function_is_called_on_what_a_client_sends() {
    let mut peer = Peer::connect(start().await, 2).await;
    let id = peer.executor.as_ref().unwrap().id.clone();
    assert!(id.starts_with("clients=2/"), "{id}");
    let function = computation("(v:{int32}@CLIENTS -> federated_map(<(x:int32 -> <x,x>),v>))");
    let function = peer.value(function).await.unwrap();
    assert_eq!(function.id, "0");
    let argument = peer.value(at_clients(vec![int(1), int(2)])).await.unwrap();
    let call = peer.call(&function, Some(&argument)).await.unwrap();
    let result = peer.compute(&call).await.unwrap();
    let pair = |value| {
        let element = || pb::value::r#struct::Element { name: String::new(), value: Some(int(value)) };
        wire(V::Struct(pb::value::Struct { element: vec![element(), element()] }))
    };
    assert_eq!(result, at_clients(vec![pair(1), pair(2)]));
}

#[tokio::test]
async fn clients_with_equal_cardinalities_share_an_executor_and_not_their_values() {
    let port = start().await;
    let (mut first, mut second) = (Peer::connect(port, 3).await, Peer::connect(port, 3).await);
    assert_eq!(first.executor, second.executor);
    let (one, two) = (first.value(int(1)).await.unwrap(), second.value(int(2)).await.unwrap());
    assert_ne!(one, two);
    let executor = first.executor.clone();
    first.client.dispose_executor(pb::DisposeExecutorRequest { executor }).await.unwrap();
    assert_eq!(second.compute(&two).await.unwrap(), int(2));
    let executor = second.executor.clone();
    second.client.dispose_executor(pb::DisposeExecutorRequest { executor }).await.unwrap();
    assert_eq!(second.compute(&two).await.unwrap_err().code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn everything_is_disposed_also_behind_an_unknown_value() {
    let mut peer = Peer::connect(start().await, 0).await;
    let (first, second) = (peer.value(int(1)).await.unwrap(), peer.value(int(2)).await.unwrap());
    let unknown = pb::ValueRef { id: "77".to_owned() };
    let error = peer.dispose(&[&first, &unknown, &second]).await.unwrap_err();
    assert_eq!((error.code(), error.message()), (Code::NotFound, "value not found: 77, cannot dispose."));
    assert_eq!(peer.compute(&second).await.unwrap_err().code(), Code::NotFound);
}

#[tokio::test]
async fn a_lambda_may_be_called_without_its_argument_and_capture() {
    let mut peer = Peer::connect(start().await, 0).await;
    let constant = peer.value(computation("(x:int32 -> lit int32 5)")).await.unwrap();
    let call = peer.call(&constant, None).await.unwrap();
    let both = peer.compute(&call).await.unwrap();
    // Nothing told yet which dialect this client speaks: the answer is in both.
    assert!(both.tensor.is_some());
    assert_eq!(both.value, int(5).value);
    let adder = peer.value(computation("(x:int32 -> ( -> x))")).await.unwrap();
    let argument = peer.value(int(6)).await.unwrap();
    let inner = peer.call(&adder, Some(&argument)).await.unwrap();
    let call = peer.call(&inner, None).await.unwrap();
    assert_eq!(peer.compute(&call).await.unwrap(), int(6));
}

/// A sequence as clients of TFF 0.88 write it.
fn elements(values: &[i32]) -> pb::Value {
    let element = values.iter().map(|&value| {
        let array = Array::from_scalar(Scalar::Int32(value)).to_proto_value();
        pb::value::sequence::Element { flat_value: vec![array] }
    });
    let element_type = Some("int32".parse::<Type>().unwrap().to_proto().unwrap());
    wire(V::Sequence(pb::value::Sequence { value: None, element_type, element: element.collect() }))
}

#[tokio::test]
async fn who_sends_the_elements_of_sequences_receives_them() {
    let mut peer = Peer::connect(start().await, 2).await;
    let text = "(v:{int32*}@CLIENTS -> %federated_map(<(s:int32* -> %sequence_map(<(x:int32 -> <x,x>),s>)),v>))";
    let function = peer.value(computation(text)).await.unwrap();
    let argument = peer.value(at_clients(vec![elements(&[1, 2]), elements(&[])])).await.unwrap();
    let call = peer.call(&function, Some(&argument)).await.unwrap();
    let pairs = |values: &[i32]| {
        let wire = elements(values).value.unwrap();
        let V::Sequence(mut sequence) = wire else { panic!("{wire:?}") };
        sequence.element.iter_mut().for_each(|element| element.flat_value.extend(element.flat_value.clone()));
        sequence.element_type = Some("<int32,int32>".parse::<Type>().unwrap().to_proto().unwrap());
        pb::Value { tensor: None, value: Some(V::Sequence(sequence)) }
    };
    assert_eq!(peer.compute(&call).await.unwrap(), at_clients(vec![pairs(&[1, 2]), pairs(&[])]));
}

#[tokio::test]
async fn clients_of_several_versions_share_a_session() {
    let port = start().await;
    let (mut new, mut old) = (Peer::connect(port, 0).await, Peer::connect(port, 0).await);
    assert_eq!(new.executor, old.executor);
    new.value(elements(&[1])).await.unwrap();
    let seven = tf::TensorProto { dtype: 3, tensor_content: 7i32.to_le_bytes().to_vec().into(), ..Default::default() };
    let message = pb::Value { tensor: Some(Any::pack(&seven)), value: None };
    let tensor = old.value(message).await.unwrap();
    let identity = new.value(computation("(x:int32 -> x)")).await.unwrap();
    let call = new.call(&identity, Some(&tensor)).await.unwrap();
    let both = old.compute(&call).await.unwrap();
    assert_eq!(both.value, int(7).value);
    let tensor: tf::TensorProto = both.tensor.unwrap().unpack().unwrap();
    assert_eq!((tensor.dtype, tensor.tensor_content), (seven.dtype, seven.tensor_content));
}

/// A graph, of which it does not matter what it computes.
fn graph(layout_map: Option<pb::tensor_flow::LayoutMap>) -> pb::Value {
    let graph = pb::TensorFlow { layout_map, ..Default::default() };
    let ty = "( -> int32)".parse::<Type>().unwrap().to_proto().unwrap();
    let computation = Some(pb::computation::Computation::Tensorflow(graph));
    wire(V::Computation(pb::Computation { r#type: Some(ty), computation }))
}

#[tokio::test]
async fn graphs_tell_the_version_of_the_client() {
    let port = start().await;
    let cases = [(None, false, true), (Some(pb::tensor_flow::LayoutMap::default()), true, false)];
    for (n_clients, (layout_map, has_tensor_proto, has_array)) in (0..).zip(cases) {
        let mut peer = Peer::connect(port, n_clients).await;
        let five = peer.value(computation("( -> lit int32 5)")).await.unwrap();
        let five = peer.call(&five, None).await.unwrap();
        let answer = peer.compute(&five).await.unwrap();
        assert!(answer.tensor.is_some() && answer.value.is_some(), "nothing was heard");
        peer.value(graph(layout_map)).await.unwrap();
        let answer = peer.compute(&five).await.unwrap();
        assert_eq!((answer.tensor.is_some(), answer.value.is_some()), (has_tensor_proto, has_array));
    }
}
