//! The table of intrinsics, and which types are instances of their signatures.

use tff_ir::{BuildError, Comp, Intrinsic};
use tff_testing::ty;

#[test]
fn every_signature_is_a_type_that_prints_as_written() {
    for intrinsic in Intrinsic::ALL {
        let def = intrinsic.def().expect("in the table");
        assert_eq!(def.template().to_string(), def.signature, "{}", def.uri);
        assert_eq!(intrinsic.uri(), def.uri);
        assert_eq!(&Intrinsic::from(def.uri), intrinsic);
        assert!(def.doc.ends_with('.') && !def.doc.starts_with(' '), "{:?}", def.doc);
    }
    assert!(Intrinsic::from("federated_collect").def().is_none());
}

#[test]
fn instances_are_built() {
    for (uri, instance) in [
        ("federated_sum", "({<a=int32,float32>}@CLIENTS -> <a=int32,float32>@SERVER)"),
        ("federated_map", "(<(int32 -> <x=bool>),{int32}@CLIENTS> -> {<x=bool>}@CLIENTS)"),
        (
            "federated_aggregate",
            "(<{int32}@CLIENTS,float32,(<float32,int32> -> float32),(<float32,float32> -> float32),(float32 -> bool)> -> bool@SERVER)",
        ),
        ("federated_broadcast", "(int32@SERVER -> int32@CLIENTS)"),
        ("federated_zip_at_clients", "(<a={int32}@CLIENTS,{bool}@CLIENTS> -> {<a=int32,bool>}@CLIENTS)"),
        ("federated_eval_at_server", "(( -> int32) -> int32@SERVER)"),
        ("federated_select", "(<{int32[3]}@CLIENTS,int32@SERVER,str@SERVER,(<str,int32> -> bool)> -> {bool*}@CLIENTS)"),
        ("federated_secure_sum", "(<{<int32,int32>}@CLIENTS,int32> -> <int32,int32>@SERVER)"),
        ("sequence_reduce", "(<int32*,bool,(<bool,int32> -> bool)> -> bool)"),
        ("generic_zero", "<int32,bool>"),
        ("of_a_runtime", "int32"),
    ] {
        let comp = Comp::intrinsic(uri, ty(instance)).unwrap_or_else(|error| panic!("{uri}: {error}"));
        assert_eq!(comp.ty(), &ty(instance));
    }
}

#[test]
fn other_types_are_refused() {
    for (uri, other) in [
        ("federated_sum", "(int32@CLIENTS -> int32@SERVER)"),
        ("federated_sum", "({int32}@CLIENTS -> float32@SERVER)"),
        ("federated_sum", "( -> int32@SERVER)"),
        ("federated_map", "(<f=(int32 -> bool),x={int32}@CLIENTS> -> {bool}@CLIENTS)"),
        ("federated_map", "(<(int32 -> bool),{float32}@CLIENTS> -> {bool}@CLIENTS)"),
        ("federated_broadcast", "(int32@SERVER -> {int32}@CLIENTS)"),
        ("sequence_sum", "int32"),
    ] {
        let refused = Comp::intrinsic(uri, ty(other));
        assert!(matches!(refused, Err(BuildError::NotAnInstance(_))), "{uri} {other}: {refused:?}");
    }
}
