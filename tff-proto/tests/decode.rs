//! Decoding of good, damaged and hostile bytes, and of packed messages.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails the test")]

use std::error::Error;

use bytes::Bytes;
use prost::Message;
use tff_proto::google::protobuf::Any;
use tff_proto::tensorflow::{GraphDef, NodeDef};
use tff_proto::v0::{Array, Computation, Intrinsic, Lambda, computation};
use tff_proto::{DecodeError, Limits, MAX_DEPTH, decode};

/// `(x -> federated_map)`, of no type.
fn lambda() -> Computation {
    let intrinsic = computation::Computation::Intrinsic(Intrinsic { uri: "federated_map".to_owned() });
    let lambda = computation::Computation::Lambda(Box::new(Lambda {
        parameter_name: "x".to_owned(),
        result: Some(Box::new(Computation { r#type: None, computation: Some(intrinsic) })),
    }));
    Computation { r#type: None, computation: Some(lambda) }
}

/// A computation that holds a lambda, which holds a computation, and so on:
/// `depth` messages below the outermost one.
fn nested(depth: usize) -> Bytes {
    let mut bytes = Vec::new();
    for level in (0..depth).rev() {
        let tag = if level % 2 == 0 { 4 } else { 2 };
        let mut outer = vec![tag << 3 | 2];
        prost::encode_length_delimiter(bytes.len(), &mut outer).unwrap();
        outer.extend_from_slice(&bytes);
        bytes = outer;
    }
    bytes.into()
}

fn decode_comp(bytes: impl Into<Bytes>) -> Result<Computation, DecodeError> {
    decode(&bytes.into(), &Limits::default())
}

/// What decoding the bytes as a computation says, causes included.
#[track_caller]
fn error(bytes: impl Into<Bytes>) -> String {
    let error = decode_comp(bytes).unwrap_err();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[test]
fn encoded_message_comes_back() {
    assert_eq!(decode_comp(lambda().encode_to_vec()), Ok(lambda()));
    assert_eq!(decode_comp(""), Ok(Computation::default()));
}

#[test]
fn bytes_fields_share_the_buffer() {
    let array = Array { content: Some(Bytes::from_static(&[7; 100])), ..Array::default() };
    let bytes = Bytes::from(array.encode_to_vec());
    let decoded: Array = decode(&bytes, &Limits::default()).unwrap();
    let content = decoded.content.unwrap();
    assert!(bytes.as_ptr_range().contains(&content.as_ptr()));

    let any = Any::pack(&array);
    let content = any.unpack::<Array>().unwrap().content.unwrap();
    assert!(any.value.as_ptr_range().contains(&content.as_ptr()));
}

#[test]
fn size_is_limited() {
    let bytes = Bytes::from(lambda().encode_to_vec());
    let size = bytes.len();
    let limits = Limits { max_bytes: size };
    assert_eq!(decode(&bytes, &limits), Ok(lambda()));
    let limits = Limits { max_bytes: size - 1 };
    assert_eq!(
        decode::<Computation>(&bytes, &limits).unwrap_err().to_string(),
        "tensorflow_federated.v0.Computation of 24 bytes exceeds the limit of 23 bytes"
    );
}

#[test]
fn nesting_is_limited() {
    decode_comp(nested(MAX_DEPTH)).unwrap();
    let too_deep = |depth| {
        let error = decode_comp(nested(depth)).unwrap_err();
        assert!(matches!(error, DecodeError::TooDeep { .. }), "{error:?}");
        error.to_string()
    };
    assert_eq!(
        too_deep(MAX_DEPTH + 1),
        "tensorflow_federated.v0.Computation of 239 bytes nests more than 100 messages"
    );
    too_deep(10_000);
}

#[test]
fn prefix_is_cut_off_or_a_message() {
    let bytes = Bytes::from(lambda().encode_to_vec());
    for len in 1..bytes.len() {
        let error = decode_comp(bytes.slice(..len)).unwrap_err();
        assert!(matches!(error, DecodeError::Truncated { size, .. } if size == len), "{len}: {error:?}");
    }
}

#[test]
fn damage_is_named() {
    let cut_off = "tensorflow_federated.v0.Computation is cut off at byte";
    let invalid = "not a valid tensorflow_federated.v0.Computation";
    let cases: [(&[u8], &str, &str); 8] = [
        // The end of a field, of its length or of its key is missing.
        (b"\x22\x05", cut_off, "2, inside a field"),
        (b"\x22\x85", cut_off, "2, inside a field"),
        (b"\xa2", cut_off, "1, inside a field"),
        // So is the end of an inner field, though the outer one is whole.
        (b"\x22\x02\x0a\x05", invalid, "buffer underflow"),
        (b"\x22\x02\x0a\xff", invalid, "invalid varint"),
        // A number where a message must be.
        (b"\x20\x05", invalid, "invalid wire type: Varint (expected LengthDelimited)"),
        // A wire type that does not exist, and a number of eleven bytes.
        (b"\x27\x05", invalid, "invalid wire type value: 7"),
        (&[0xff; 11], invalid, "invalid varint"),
    ];
    for (bytes, start, end) in cases {
        let text = error(bytes);
        assert!(text.starts_with(start) && text.contains(end), "{text}");
    }
}

#[test]
fn other_files_are_no_computation() {
    for text in ["( -> 10)\n", "{\"type\": {}}", "#!/bin/sh\n", "\u{7f}ELF\u{2}\u{1}\u{1}"] {
        let error = error(text);
        assert!(error.starts_with("not a valid tensorflow_federated.v0.Computation ("), "{error}");
    }
}

#[test]
fn packed_message_is_unpacked() {
    let graph = GraphDef {
        node: vec![NodeDef { name: "a".to_owned(), op: "NoOp".to_owned(), ..NodeDef::default() }],
        ..GraphDef::default()
    };
    let mut any = Any::pack(&graph);
    assert_eq!(any.type_url, "type.googleapis.com/tensorflow.GraphDef");
    assert_eq!(any.unpack(), Ok(graph.clone()));
    // Who packed it may name another host.
    any.type_url = "example.org/types/tensorflow.GraphDef".to_owned();
    assert!(any.is::<GraphDef>());
    assert_eq!(any.unpack(), Ok(graph));
}

#[test]
fn other_message_is_not_unpacked() {
    let unpack = |type_url: &str| {
        let any = Any { type_url: type_url.to_owned(), value: Bytes::new() };
        any.unpack::<GraphDef>().unwrap_err().to_string()
    };
    assert_eq!(
        unpack("type.googleapis.com/tensorflow.TensorProto"),
        "expected a message of type tensorflow.GraphDef, \
         found \"type.googleapis.com/tensorflow.TensorProto\""
    );
    assert_eq!(unpack(""), "expected a message of type tensorflow.GraphDef, found \"\"");
    // A name without a host is no type URL.
    assert_eq!(
        unpack("tensorflow.GraphDef"),
        "expected a message of type tensorflow.GraphDef, found \"tensorflow.GraphDef\""
    );
    assert!(unpack(&"x".repeat(1_000_000)).len() < 300);
}

#[test]
fn damaged_packed_message_is_an_error() {
    let mut any = Any::pack(&GraphDef::default());
    any.value = Bytes::from_static(b"\x0a\x05");
    assert_eq!(
        any.unpack::<GraphDef>().unwrap_err().to_string(),
        "tensorflow.GraphDef is cut off at byte 2, inside a field"
    );
}
