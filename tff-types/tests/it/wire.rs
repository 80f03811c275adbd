//! Encoding and decoding of types: fixed bytes, and everything a message can have wrong.

use prost::Message;
use tff_proto::v0 as pb;
use tff_proto::v0::r#type::Type as Kind;
use tff_types::{DType, Dim, MAX_DEPTH, Placement, PlacementSpec, Shape, Type};

fn scalar() -> Type {
    Type::scalar(DType::Int32)
}

fn tensor(dims: impl IntoIterator<Item = Dim>) -> Type {
    Type::tensor(DType::Int32, Shape::new(dims))
}

fn hex(ty: &Type) -> String {
    ty.to_proto().unwrap().encode_to_vec().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn bytes_are_those_of_the_reference() {
    let label = PlacementSpec::Label("p".into());
    let cases = [
        (scalar(), "22020803"),
        (tensor([Some(2), None]), "220f0803120b02ffffffffffffffffff01"),
        (Type::tensor(DType::Int32, Shape::unknown_rank()), "220408031801"),
        (Type::scalar(DType::String), "22020807"),
        (
            Type::structure([(Some("a"), scalar()), (None, scalar())]).unwrap(),
            "12130a090a01611204220208030a06120422020803",
        ),
        (Type::tuple([]).unwrap(), "1200"),
        (Type::function(None, scalar()).unwrap(), "0a06120422020803"),
        (Type::function(Some(scalar()), scalar()).unwrap(), "0a0c0a0422020803120422020803"),
        (Type::placement(), "3200"),
        (Type::at_clients(scalar()).unwrap(), "3a130a0b12090a07636c69656e74731a0422020803"),
        (Type::at_server(scalar()).unwrap(), "3a140a0a12080a0673657276657210011a0422020803"),
        (Type::sequence(scalar()).unwrap(), "1a060a0422020803"),
        // What the reference does not write, by the protocol's field numbers.
        (Type::abstract_type("T"), "2a030a0154"),
        (Type::labelled_placement("p"), "32050a030a0170"),
        (Type::federated(scalar(), label, true).unwrap(), "3a0f0a050a030a017010011a0422020803"),
    ];
    for (ty, expected) in cases {
        assert_eq!(hex(&ty), expected, "{ty}");
        let read = Type::from_proto(&ty.to_proto().unwrap()).unwrap();
        assert_eq!(read, ty);
        assert_eq!(hex(&read), expected, "{ty}");
    }
}

fn message(kind: Kind) -> pb::Type {
    pb::Type { r#type: Some(kind) }
}

fn tensor_message(dtype: i32, dims: &[i64], unknown_rank: bool) -> pb::Type {
    message(Kind::Tensor(pb::TensorType { dtype, dims: dims.to_vec(), unknown_rank }))
}

fn struct_message(elements: &[(&str, Option<pb::Type>)]) -> pb::Type {
    let element = |(name, value): &(&str, Option<pb::Type>)| pb::struct_type::Element {
        name: (*name).to_owned(),
        value: value.clone(),
    };
    message(Kind::Struct(pb::StructType { element: elements.iter().map(element).collect() }))
}

fn function_message(parameter: Option<pb::Type>, result: Option<pb::Type>) -> pb::Type {
    message(Kind::Function(Box::new(pb::FunctionType {
        parameter: parameter.map(Box::new),
        result: result.map(Box::new),
    })))
}

fn sequence_message(element: Option<pb::Type>) -> pb::Type {
    message(Kind::Sequence(Box::new(pb::SequenceType { element: element.map(Box::new) })))
}

fn federated_message(uri: Option<&str>, all_equal: bool, member: Option<pb::Type>) -> pb::Type {
    let value = |uri: &str| pb::placement_spec::Placement::Value(pb::Placement { uri: uri.to_owned() });
    message(Kind::Federated(Box::new(pb::FederatedType {
        placement: Some(pb::PlacementSpec { placement: uri.map(value) }),
        all_equal,
        member: member.map(Box::new),
    })))
}

#[test]
fn lenient_cases_are_read() {
    let int32 = || Some(tensor_message(3, &[], false));
    let cases = [
        (tensor_message(3, &[2], true), "'int32'(shape=None)"),
        (tensor_message(3, &[-5, -1, 0], false), "int32[?,?,0]"),
        (struct_message(&[("", int32())]), "<int32>"),
        (federated_message(Some("server"), false, int32()), "{int32}@SERVER"),
    ];
    for (proto, expected) in cases {
        assert_eq!(Type::from_proto(&proto).unwrap().to_string(), expected);
    }
}

#[test]
fn errors_say_what_and_where() {
    let int32 = || Some(tensor_message(3, &[], false));
    let empty = || Some(pb::Type::default());
    let no_kind = "expected one of function, struct, sequence, tensor, abstract, placement, federated; \
                   found a type of no known kind";
    let unset = pb::FederatedType { placement: None, all_equal: false, member: int32().map(Box::new) };
    let cases = [
        (pb::Type::default(), no_kind.to_owned()),
        (tensor_message(0, &[], false), "expected the number of a dtype, found 0".to_owned()),
        (
            struct_message(&[("a", int32()), ("b", Some(tensor_message(99, &[], false)))]),
            "expected the number of a dtype, found 99 at .b".to_owned(),
        ),
        (struct_message(&[("", None)]), "expected a type, found none at [0]".to_owned()),
        (
            struct_message(&[("a", int32()), ("b", int32()), ("a", int32()), ("b", int32())]),
            "duplicate struct element name `a` at positions 0 and 2, \
             duplicate struct element name `b` at positions 1 and 3"
                .to_owned(),
        ),
        (function_message(empty(), int32()), format!("{no_kind} at (parameter)")),
        (function_message(int32(), None), "expected a type, found none at (result)".to_owned()),
        (sequence_message(None), "expected a type, found none at []".to_owned()),
        (
            sequence_message(Some(sequence_message(int32()))),
            "a sequence type cannot contain the sequence type int32*".to_owned(),
        ),
        (federated_message(Some("clients"), false, None), "expected a type, found none at @".to_owned()),
        (
            function_message(None, Some(federated_message(Some("moon"), false, int32()))),
            "unknown placement `moon`, expected `clients` or `server` at (result)".to_owned(),
        ),
        (
            federated_message(None, false, int32()),
            "expected a placement or a placement label, found neither".to_owned(),
        ),
        (
            message(Kind::Federated(Box::new(unset))),
            "expected a placement or a placement label, found neither".to_owned(),
        ),
    ];
    for (proto, expected) in cases {
        assert_eq!(Type::from_proto(&proto).unwrap_err().to_string(), expected);
    }
}

#[test]
fn what_a_peer_could_not_read_is_not_written() {
    let mut ty = scalar();
    let mut written = 0;
    for _ in 1..MAX_DEPTH {
        ty = Type::tuple([ty]).unwrap();
        match ty.to_proto() {
            Ok(proto) => {
                written = ty.wire_depth();
                let bytes = proto.encode_to_vec();
                assert_eq!(Type::from_proto(&pb::Type::decode(bytes.as_slice()).unwrap()).unwrap(), ty);
            }
            Err(error) => {
                assert_eq!(
                    error.to_string(),
                    format!("the type nests {} messages, protobuf reads at most 100", ty.wire_depth())
                );
            }
        }
    }
    assert_eq!(written, 100);
}

/// The count is exact: one message more, and the decoder refuses.
#[test]
fn wire_depth_counts_messages() {
    let label = PlacementSpec::Label("p".into());
    let cases = [
        (scalar(), 1),
        (Type::labelled_placement("p"), 2),
        (Type::tuple([]).unwrap(), 1),
        (Type::tuple([scalar()]).unwrap(), 4),
        (Type::sequence(scalar()).unwrap(), 3),
        (Type::function(Some(Type::tuple([scalar()]).unwrap()), scalar()).unwrap(), 6),
        (Type::at_server(scalar()).unwrap(), 3),
        (Type::federated(Type::tuple([scalar()]).unwrap(), label, true).unwrap(), 6),
    ];
    for (ty, depth) in cases {
        assert_eq!(ty.wire_depth(), depth, "{ty}");
        // Function results take two messages each; fill up to exactly the limit, then go beyond.
        let (mut outer, mut levels) = (ty.to_proto().unwrap(), depth);
        while levels + 2 <= 100 {
            outer = function_message(None, Some(outer));
            levels += 2;
        }
        let read = pb::Type::decode(outer.encode_to_vec().as_slice());
        assert!(read.is_ok(), "{ty}");
        let beyond = function_message(None, Some(outer)).encode_to_vec();
        assert!(pb::Type::decode(beyond.as_slice()).is_err(), "{ty}");
    }
}

#[test]
fn messages_built_in_memory_are_limited_too() {
    let mut proto = tensor_message(3, &[], false);
    for _ in 0..5000 {
        proto = function_message(None, Some(proto));
    }
    let error = Type::from_proto(&proto).unwrap_err();
    assert!(error.to_string().starts_with("the type is nested deeper than 200 levels at (result)(result)"));
}

#[test]
fn parts_have_conversions_of_their_own() {
    for placement in Placement::ALL {
        assert_eq!(Placement::from_proto(&placement.to_proto()), Ok(placement));
    }
    for dtype in DType::ALL {
        assert_eq!(pb::DataType::from(dtype) as i32, dtype.number());
        assert_eq!(DType::from_number(dtype.number()), Some(dtype));
    }
    let ty = Type::at_clients(scalar()).unwrap();
    let proto = ty.as_federated().unwrap().to_proto().unwrap();
    assert_eq!(Type::from_federated_proto(&proto), Ok(ty));
}
