//! What breaks other workers, or only their users: each is answered with a status that says what is
//! wrong, and the next call works.

use crate::peer::{Peer, at_clients, computation, int, start, wire};
use prost::Message;
use tff_proto::tensorflow as tf;
use tff_proto::v0 as pb;
use tff_proto::v0::value::Value as V;
use tonic::{Code, Status};

const INT32: i32 = 3;

/// A value that is wrong in itself: refused when it is sent, or at its first use.
async fn refusal(peer: &mut Peer, value: pb::Value) -> (Code, String) {
    let used = async {
        let value = peer.value(value).await?;
        let identity = peer.value(computation("(x:int32 -> <x>)")).await?;
        let call = peer.call(&identity, Some(&value)).await?;
        peer.compute(&call).await
    };
    said(used.await)
}

/// What a call of this function says, with this argument.
async fn call(peer: &mut Peer, function: pb::Value, argument: pb::Value) -> (Code, String) {
    let used = async {
        let (function, argument) = (peer.value(function).await?, peer.value(argument).await?);
        let call = peer.call(&function, Some(&argument)).await?;
        peer.compute(&call).await
    };
    said(used.await)
}

fn said(outcome: Result<pb::Value, Status>) -> (Code, String) {
    match outcome {
        Ok(value) => panic!("a value: {value:?}"),
        Err(status) => (status.code(), status.message().to_owned()),
    }
}

async fn still_works(peer: &mut Peer) {
    let value = peer.value(int(3)).await.unwrap();
    assert_eq!(peer.compute(&value).await.unwrap().value, int(3).value);
}

fn array(dtype: i32, dim: &[i64], elements: usize) -> pb::Array {
    pb::Array {
        dtype,
        shape: Some(pb::ArrayShape { dim: dim.to_vec(), unknown_rank: false }),
        content: None,
        kind: Some(pb::array::Kind::Int32List(pb::array::IntList { value: vec![7; elements] })),
    }
}

fn structure(elements: Vec<pb::Value>) -> pb::Value {
    let element = |value| pb::value::r#struct::Element { name: String::new(), value: Some(value) };
    wire(V::Struct(pb::value::Struct { element: elements.into_iter().map(element).collect() }))
}

fn tensor(dims: &[i64], content: &'static [u8]) -> tf::TensorProto {
    let dim = dims.iter().map(|&size| tf::tensor_shape_proto::Dim { size, ..Default::default() }).collect();
    let tensor_shape = Some(tf::TensorShapeProto { dim, unknown_rank: false });
    tf::TensorProto { dtype: INT32, tensor_shape, tensor_content: content.into(), ..Default::default() }
}

fn any(type_url: &str, value: Vec<u8>) -> pb::Value {
    let type_url = type_url.to_owned();
    let tensor = Some(tff_proto::google::protobuf::Any { type_url, value: value.into() });
    pb::Value { tensor, value: None }
}

const TENSOR: &str = "type.googleapis.com/tensorflow.TensorProto";

#[tokio::test]
async fn values_that_are_none_are_refused_with_the_place() {
    let content = |dims: &[i64], content: &'static [u8]| {
        let array = pb::Array { content: Some(content.into()), kind: None, ..array(INT32, dims, 0) };
        wire(V::Array(array))
    };
    let list = |dims: &[i64], elements| wire(V::Array(array(INT32, dims, elements)));
    let cases = [
        ("longer than its shape", list(&[], 1000)),
        ("shorter than its shape", list(&[5], 2)),
        ("content of another size", content(&[3], &[0; 11])),
        ("a negative dimension", list(&[-2, -3], 6)),
        ("far more than there is memory", list(&[1 << 40, 1 << 20], 1)),
        ("more than can be counted", list(&[i64::MAX, i64::MAX], 1)),
        ("an unknown dtype", wire(V::Array(array(999, &[], 1)))),
        ("a list of another dtype", wire(V::Array(array(1, &[], 1)))),
        ("without a shape to go by", {
            let shape = Some(pb::ArrayShape { dim: Vec::new(), unknown_rank: true });
            wire(V::Array(pb::Array { shape, ..array(INT32, &[], 1) }))
        }),
        ("deep inside", structure(vec![int(1), structure(vec![list(&[5], 2)])])),
        ("at one client", at_clients(vec![int(1), structure(vec![int(1), list(&[5], 2)])])),
        ("too many clients", at_clients(vec![int(1), int(2), int(3)])),
        ("at no placement", wire(V::Federated(pb::value::Federated { r#type: None, value: vec![int(1)] }))),
        ("an empty element", structure(vec![int(1), pb::Value::default()])),
        ("another message as tensor", any("type.googleapis.com/tensorflow.GraphDef", Vec::new())),
        ("no message as tensor", any(TENSOR, vec![0xff; 20])),
        ("a tensor's claim of 8 GB", any(TENSOR, tensor(&[1 << 31], b"").encode_to_vec())),
        ("a tensor's content of another size", any(TENSOR, tensor(&[3], b"12345").encode_to_vec())),
        // A length of 2 GB in front of nothing.
        ("a buffer that is not there", any(TENSOR, vec![0x22, 0xff, 0xff, 0xff, 0xff, 0x07])),
    ];
    let mut peer = Peer::connect(start().await, 2).await;
    let mut answers = String::new();
    for (what, value) in cases {
        let (code, message) = refusal(&mut peer, value).await;
        answers += &format!("{what}: {code:?}: {message}\n");
    }
    still_works(&mut peer).await;
    insta::assert_snapshot!(answers, @r#"
    longer than its shape: InvalidArgument: expected 1 elements of int32 for shape [], found 1000
    shorter than its shape: InvalidArgument: expected 5 elements of int32 for shape [5], found 2
    content of another size: InvalidArgument: expected 12 bytes for int32[3], found 11
    a negative dimension: InvalidArgument: an array needs a known size in every dimension, found -2
    far more than there is memory: InvalidArgument: expected 1152921504606846976 elements of int32 for shape [1099511627776, 1048576], found 1
    more than can be counted: InvalidArgument: an array of shape [9223372036854775807, 9223372036854775807] is too large
    an unknown dtype: InvalidArgument: unknown dtype number 999
    a list of another dtype: InvalidArgument: expected elements of float32, found a list of int32
    without a shape to go by: InvalidArgument: an array needs a shape of known rank
    deep inside: InvalidArgument: [1][0]: expected 5 elements of int32 for shape [5], found 2
    at one client: InvalidArgument: [1][1]: expected 5 elements of int32 for shape [5], found 2
    too many clients: InvalidArgument: expected 2 values at CLIENTS, found 3
    at no placement: Unknown: unknown placement ``, expected `clients` or `server`
    an empty element: Unimplemented: [1]: an empty message: expected a value or a computation
    another message as tensor: InvalidArgument: expected a message of type tensorflow.TensorProto, found "type.googleapis.com/tensorflow.GraphDef"
    no message as tensor: InvalidArgument: not a valid tensorflow.TensorProto (20 bytes)
    a tensor's claim of 8 GB: ResourceExhausted: the number of elements a tensor leaves out exceeds the limit of 16777216
    a tensor's content of another size: InvalidArgument: expected 12 bytes for int32[3], found 5
    a buffer that is not there: InvalidArgument: tensorflow.TensorProto is cut off at byte 6, inside a field
    "#);
}

#[tokio::test]
async fn calls_that_cannot_be_made_say_why() {
    let two = || at_clients(vec![int(1), int(2)]);
    let sum = "(x:<int32,int32> -> x[0])";
    let aggregate =
        |zero: &str| format!("(v:{{int32}}@CLIENTS -> federated_aggregate(<v,{zero},{sum},{sum},(x:int32 -> x)>))");
    let cases = [
        ("an aggregation of what is at no client", computation(&aggregate("lit int32 0")), int(1)),
        ("a map of what is nowhere", computation("(v:{int32}@CLIENTS -> federated_map(<(x:int32 -> <x>),v>))"), int(1)),
        ("a broadcast from clients", computation("(v:int32@SERVER -> federated_broadcast(v))"), two()),
        ("a selection from a number", computation("(x:<int32,int32> -> x[1])"), int(1)),
        ("a selection behind the end", computation("(x:<int32,int32> -> x[1])"), structure(vec![int(1)])),
        ("a call of a number", computation("(f:(int32 -> int32) -> f(lit int32 1))"), int(1)),
        ("a number as function", int(1), int(1)),
    ];
    let mut peer = Peer::connect(start().await, 2).await;
    let mut answers = String::new();
    for (what, function, argument) in cases {
        let (code, message) = call(&mut peer, function, argument).await;
        answers += &format!("{what}: {code:?}: {message}\n");
    }
    still_works(&mut peer).await;
    insta::assert_snapshot!(answers, @"
    an aggregation of what is at no client: InvalidArgument: federated_aggregate: expected a value at CLIENTS, found int32
    a map of what is nowhere: InvalidArgument: federated_map: expected a value at CLIENTS or SERVER, found int32
    a broadcast from clients: InvalidArgument: federated_broadcast: expected a value at SERVER, found 2 values at CLIENTS
    a selection from a number: InvalidArgument: expected a struct to select from, found int32
    a selection behind the end: NotFound: index 1 is out of range for a struct of 1 elements
    a call of a number: InvalidArgument: expected a function, found int32
    a number as function: InvalidArgument: expected a function, found int32
    ");
}

/// `(<a=int32,b=int32> -> int32)` as an XLA module, with one thing changed.
fn xla_add(change: impl FnOnce(&mut pb::Xla)) -> pb::Value {
    use pb::computation::Computation::Xla;
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/xla/add_i32.pb");
    let mut comp = pb::Computation::decode(&*std::fs::read(path).unwrap()).unwrap();
    match &mut comp.computation {
        Some(Xla(xla)) => change(xla),
        other => panic!("{other:?}"),
    }
    wire(V::Computation(comp))
}

#[tokio::test]
async fn modules_and_bindings_are_checked_before_xla_sees_them() {
    let tensor = |index| pb::xla::Binding {
        binding: Some(pb::xla::binding::Binding::Tensor(pb::xla::TensorBinding {
            binding: Some(pb::xla::tensor_binding::Binding::Index(index)),
        })),
    };
    let pair = |indices: [i32; 2]| {
        let element = indices.map(tensor).to_vec();
        let binding = pb::xla::binding::Binding::Struct(pb::xla::StructBinding { element });
        Some(pb::xla::Binding { binding: Some(binding) })
    };
    let module = |type_url: &str, value: &'static [u8]| {
        Some(tff_proto::google::protobuf::Any { type_url: type_url.to_owned(), value: value.into() })
    };
    const HLO: &str = "type.googleapis.com/xla.HloModuleProto";
    let cases = [
        ("an argument behind the end", xla_add(|xla| xla.parameter = pair([0, 1 << 30]))),
        ("a negative argument", xla_add(|xla| xla.parameter = pair([-1, 1]))),
        ("an argument twice", xla_add(|xla| xla.parameter = pair([1, 1]))),
        ("a result behind the end", xla_add(|xla| xla.result = Some(tensor(7)))),
        ("a binding of one part", xla_add(|xla| xla.parameter = Some(tensor(0)))),
        ("another message", xla_add(|xla| xla.hlo_module = module(TENSOR, b""))),
        ("garbage", xla_add(|xla| xla.hlo_module = module(HLO, b"\xff\xff\xff\xff"))),
        ("nothing", xla_add(|xla| xla.hlo_module = module(HLO, b""))),
    ];
    let mut peer = Peer::connect(start().await, 0).await;
    let mut answers = String::new();
    for (what, function) in cases {
        let (code, message) = call(&mut peer, function, structure(vec![int(1), int(2)])).await;
        answers += &format!("{what}: {code:?}: {message}\n");
    }
    still_works(&mut peer).await;
    insta::assert_snapshot!(answers, @r#"
    an argument behind the end: InvalidArgument: module `xla_computation_add`: parameter.y: XLA refuses the computation: parameter 1073741824 of the module is out of range: it has 2
    a negative argument: InvalidArgument: module `xla_computation_add`: parameter.x: XLA refuses the computation: parameter -1 of the module is out of range: it has 2
    an argument twice: InvalidArgument: module `xla_computation_add`: parameter: XLA refuses the computation: 0 parts are bound to parameter 0 of the module, not one
    a result behind the end: InvalidArgument: module `xla_computation_add`: result: XLA refuses the computation: result 7 of the module is out of range: it has 1
    a binding of one part: InvalidArgument: module `xla_computation_add`: parameter: XLA refuses the computation: a binding of a tensor for the type <x=int32,y=int32>
    another message: InvalidArgument: XLA refuses the computation: expected a message of type xla.HloModuleProto, found "type.googleapis.com/tensorflow.TensorProto"
    garbage: InvalidArgument: XLA refuses the computation: xla.HloModuleProto is cut off at byte 4, inside a field: failed to decode Protobuf message: invalid varint
    nothing: InvalidArgument: module ``: XLA refuses the computation: the module does not say what it gives
    "#);
}

#[tokio::test]
async fn more_clients_than_there_is_memory_for_are_refused() {
    let mut peer = Peer::connect(start().await, i32::MAX).await;
    let mut answers = String::new();
    let functions = [
        "(x:int32 -> federated_value_at_clients(x))",
        "(x:int32 -> federated_map(<(y:int32 -> <y>),federated_value_at_clients(x)>))",
        "(x:int32 -> federated_eval_at_clients(( -> x)))",
    ];
    for function in functions {
        let (code, message) = call(&mut peer, computation(function), int(1)).await;
        answers += &format!("{code:?}: {message}\n");
    }
    still_works(&mut peer).await;
    insta::assert_snapshot!(answers, @"
    ResourceExhausted: the number of clients exceeds the limit of 1000000
    ResourceExhausted: federated_map: the number of clients exceeds the limit of 1000000
    ResourceExhausted: federated_eval_at_clients: the number of clients exceeds the limit of 1000000
    ");
}

/// A lambda without types that calls itself for ever.
fn self_application() -> pb::Value {
    use pb::computation::Computation as C;
    let comp = |computation| pb::Computation { r#type: None, computation: Some(computation) };
    let x = || Some(Box::new(comp(C::Reference(pb::Reference { name: "x".to_owned() }))));
    let call = comp(C::Call(Box::new(pb::Call { function: x(), argument: x() })));
    let lambda = pb::Lambda { parameter_name: "x".to_owned(), result: Some(Box::new(call)) };
    wire(V::Computation(comp(C::Lambda(Box::new(lambda)))))
}

#[tokio::test]
async fn depth_is_limited_in_every_direction() {
    let mut peer = Peer::connect(start().await, 1).await;
    let mut answers = String::new();
    let (code, message) = call(&mut peer, self_application(), self_application()).await;
    answers += &format!("a function that calls itself: {code:?}: {message}\n");
    let deep = (0..200).fold(int(1), |value, _| structure(vec![value]));
    let (code, message) = refusal(&mut peer, deep).await;
    answers += &format!("a deep message: {code:?}: {message}\n");
    // Step by step it can be made deeper than any message.
    let mut value = peer.value(int(1)).await.unwrap();
    for _ in 0..600 {
        let element = vec![pb::create_struct_request::Element { name: String::new(), value_ref: Some(value) }];
        let request = pb::CreateStructRequest { executor: peer.executor.clone(), element };
        value = peer.client.create_struct(request).await.unwrap().into_inner().value_ref.unwrap();
    }
    let (code, message) = said(peer.compute(&value).await);
    answers += &format!("a value made deep: {code:?}: {message}\n");
    still_works(&mut peer).await;
    insta::assert_snapshot!(answers, @"
    a function that calls itself: ResourceExhausted: the depth of calls exceeds the limit of 1000
    a deep message: InvalidArgument: the request is not a valid message: recursion limit reached
    a value made deep: ResourceExhausted: the nesting of a value exceeds the limit of 500
    ");
}

#[tokio::test]
async fn the_zero_of_a_reduction_may_be_used_again_and_names_keep_their_order() {
    // Both give wrong answers, or end the process, elsewhere.
    let mut peer = Peer::connect(start().await, 0).await;
    let reduce = "(s:<b=int32,a=int32>* -> (let z=<b=lit int32 1,a=lit int32 2>,\
                  r=sequence_reduce(<s,z,(p:<<b=int32,a=int32>,<b=int32,a=int32>> -> <b=p[1].b,a=p[0].a>)>) in <z,r,z>))";
    let function = peer.value(computation(reduce)).await.unwrap();
    let int32 =
        || pb::Type { r#type: Some(pb::r#type::Type::Tensor(pb::TensorType { dtype: INT32, ..Default::default() })) };
    let named = |name: &str| pb::struct_type::Element { name: name.to_owned(), value: Some(int32()) };
    let element =
        pb::Type { r#type: Some(pb::r#type::Type::Struct(pb::StructType { element: vec![named("b"), named("a")] })) };
    let flat = |b, a| pb::value::sequence::Element { flat_value: vec![array_of(b), array_of(a)] };
    let sequence =
        pb::value::Sequence { element_type: Some(element), element: vec![flat(10, 20), flat(30, 40)], value: None };
    let argument = peer.value(wire(V::Sequence(sequence))).await.unwrap();
    let call = peer.call(&function, Some(&argument)).await.unwrap();
    let zero = structure(vec![int(1), int(2)]);
    let expected = structure(vec![zero.clone(), structure(vec![int(30), int(2)]), zero]);
    assert_eq!(peer.compute(&call).await.unwrap(), expected);
}

fn array_of(value: i32) -> pb::Array {
    let Some(V::Array(array)) = int(value).value else { panic!("not an array") };
    array
}

/// A reference to this name, which nothing binds.
fn reference(name: &str) -> pb::Computation {
    let reference = pb::Reference { name: name.to_owned() };
    pb::Computation { r#type: None, computation: Some(pb::computation::Computation::Reference(reference)) }
}

#[tokio::test]
async fn names_of_any_length_give_short_messages_of_one_line() {
    let mut peer = Peer::connect(start().await, 1).await;
    let name = "a name\nof two lines ".repeat(500_000);
    let comp = |comp| pb::Computation { r#type: None, computation: Some(comp) };
    let value = |comp| wire(V::Computation(comp));
    let local = pb::block::Local { name: name.clone(), value: Some(reference("unbound")) };
    let block = pb::Block { local: vec![local], result: Some(Box::new(reference("unbound"))) };
    let intrinsic = pb::Intrinsic { uri: name.clone() };
    let called = pb::Call {
        function: Some(Box::new(comp(pb::computation::Computation::Intrinsic(intrinsic)))),
        argument: Some(Box::new(reference("unbound"))),
    };
    let placement = pb::placement_spec::Placement::Value(pb::Placement { uri: name.clone() });
    let placed = pb::value::Federated {
        r#type: Some(pb::FederatedType {
            placement: Some(pb::PlacementSpec { placement: Some(placement) }),
            all_equal: true,
            member: None,
        }),
        value: vec![int(1)],
    };
    let cases = [
        ("a reference", value(reference(&name))),
        ("a local", value(comp(pb::computation::Computation::Block(Box::new(block))))),
        ("an intrinsic", value(comp(pb::computation::Computation::Call(Box::new(called))))),
        ("a placement", wire(V::Federated(placed))),
        ("a type url", any(&name, Vec::new())),
    ];
    for (what, value) in cases {
        let (code, message) = refusal(&mut peer, value).await;
        assert!(matches!(code, Code::NotFound | Code::InvalidArgument | Code::Unknown), "{what}: {code:?}: {message}");
        assert!(message.chars().count() <= 1000 && !message.contains(char::is_control), "{what}: {message}");
    }
    let executor = pb::ExecutorId { id: name.clone() };
    let request = pb::CreateValueRequest { executor: Some(executor), value: Some(int(1)) };
    let status = peer.client.create_value(request).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(status.message().len() < 1000 && !status.message().contains(char::is_control), "{status}");
    still_works(&mut peer).await;
}

/// `service/observe.rs` turns what tonic says of messages into the protocol's codes, by tonic's texts: a release of tonic that
/// says it in other words fails here.
#[tokio::test]
async fn what_tonic_says_of_messages_is_known_by_its_texts() {
    let mut options = tff_exec::service::ServerOptions::default();
    options.max_message_bytes = 10_000;
    let server = crate::peer::Server::start(&options).await;
    let mut peer = Peer::connect(server.port, 1).await;
    let large = peer.value(at_clients(vec![int(1); 1000])).await.unwrap_err();
    let deep = (0..200).fold(int(1), |value, _| structure(vec![value]));
    let deep = peer.value(deep).await.unwrap_err();
    assert_eq!(large.code(), Code::ResourceExhausted);
    let message = large.message();
    assert!(message.starts_with("decoded message length too large: found "), "{message}");
    assert!(message.ends_with(" bytes, the limit is: 10000 bytes"), "{message}");
    assert_eq!(deep.code(), Code::InvalidArgument);
    assert_eq!(deep.message(), "the request is not a valid message: recursion limit reached");
}
