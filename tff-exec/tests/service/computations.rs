//! Values whose members are computations: they are evaluated, wherever they stand in the message.

use crate::peer::{Peer, at_clients, computation, int, start, wire};
use tff_proto::v0 as pb;
use tff_proto::v0::value::Value as V;
use tonic::Code;

fn structure(elements: Vec<pb::Value>) -> pb::Value {
    let element = |value| pb::value::r#struct::Element { name: String::new(), value: Some(value) };
    wire(V::Struct(pb::value::Struct { element: elements.into_iter().map(element).collect() }))
}

/// A client that has shown that it writes arrays.
async fn peer(n_clients: i32) -> Peer {
    let mut peer = Peer::connect(start().await, n_clients).await;
    peer.value(int(0)).await.unwrap();
    peer
}

#[tokio::test]
async fn members_that_are_calls_and_literals_are_values() {
    let mut peer = peer(3).await;
    let members = vec![
        computation("lit int32 4"),
        computation("(x:int32 -> x)(lit int32 5)"),
        computation("(let a=lit int32 6 in a)"),
    ];
    let argument = peer.value(at_clients(members)).await.unwrap();
    assert_eq!(peer.compute(&argument).await.unwrap(), at_clients(vec![int(4), int(5), int(6)]));
    let map = peer.value(computation("(v:{int32}@CLIENTS -> %federated_map(<(x:int32 -> x),v>))")).await.unwrap();
    let call = peer.call(&map, Some(&argument)).await.unwrap();
    assert_eq!(peer.compute(&call).await.unwrap(), at_clients(vec![int(4), int(5), int(6)]));
}

#[tokio::test]
async fn a_function_in_a_struct_is_called() {
    let mut peer = peer(0).await;
    let apply = peer.value(computation("(p:<(int32 -> <int32,int32>),int32> -> p[0](p[1]))")).await.unwrap();
    let argument = structure(vec![computation("(x:int32 -> <x,lit int32 1>)"), computation("lit int32 3")]);
    let argument = peer.value(argument).await.unwrap();
    let call = peer.call(&apply, Some(&argument)).await.unwrap();
    assert_eq!(peer.compute(&call).await.unwrap(), structure(vec![int(3), int(1)]));
}

#[tokio::test]
async fn what_is_wrong_with_a_member_is_told() {
    let mut peer = Peer::connect(start().await, 2).await;
    let refused = peer.value(at_clients(vec![computation("lit int32 4")])).await.unwrap_err();
    assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, "expected 2 values at CLIENTS, found 1"));
    let member = computation("%federated_sun:(int32 -> int32)(lit int32 1)");
    let value = peer.value(structure(vec![int(1), member])).await.unwrap();
    let refused = peer.compute(&value).await.unwrap_err();
    assert!(refused.message().starts_with("[1]: the intrinsic `federated_sun`"), "{}", refused.message());
}

/// Random values with computations inside, each with what it is when these are evaluated.
struct Values(u64);

impl Values {
    fn pick(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn value(&mut self, depth: u32) -> (pb::Value, pb::Value) {
        let number = i32::try_from(self.pick(100)).unwrap();
        match self.pick(if depth == 0 { 4 } else { 6 }) {
            0 => (int(number), int(number)),
            1 => (computation(&format!("lit int32 {number}")), int(number)),
            2 => (computation(&format!("(x:int32 -> x)(lit int32 {number})")), int(number)),
            3 => {
                let (left, right) = (int(number), int(7));
                (computation(&format!("(let a=lit int32 {number} in <a,lit int32 7>)")), structure(vec![left, right]))
            }
            _ => {
                let len = self.pick(4);
                let (sent, expected) = (0..len).map(|_| self.value(depth - 1)).unzip();
                (structure(sent), structure(expected))
            }
        }
    }
}

#[tokio::test]
async fn random_values_are_what_their_computations_give() {
    let mut values = Values(5);
    let mut peer = peer(3).await;
    for round in 0..100 {
        let (sent, expected): (Vec<_>, Vec<_>) = (0..3).map(|_| values.value(3)).unzip();
        let (sent, expected) = match round % 2 {
            0 => (at_clients(sent), at_clients(expected)),
            _ => (structure(sent), structure(expected)),
        };
        let value = peer.value(sent).await.unwrap();
        assert_eq!(peer.compute(&value).await.unwrap().value, expected.value);
    }
}

#[tokio::test]
async fn a_label_is_no_placement() {
    let mut peer = peer(1).await;
    let mut value = at_clients(vec![int(1)]);
    if let Some(V::Federated(federated)) = &mut value.value {
        let label = pb::placement_spec::Placement::Label(pb::PlacementLabel { label: "clients".to_owned() });
        let spec = pb::PlacementSpec { placement: Some(label) };
        federated.r#type = Some(pb::FederatedType { placement: Some(spec), all_equal: false, member: None });
    }
    assert!(peer.value(value).await.is_err());
}
