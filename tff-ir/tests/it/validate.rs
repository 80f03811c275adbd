//! What the validator and the decoder say about computations that are wrong.

use std::sync::Arc;
use tff_ir::{
    Array, Comp, CompiledComputation, Opaque, Severity, TensorFlow, TensorFlowBinding, Xla, XlaBinding, validate,
    validate_proto,
};
use tff_proto::v0 as pb;
use tff_proto::v0::computation::Computation as Kind;
use tff_testing::{comp, ty};

fn int(value: i32) -> Comp {
    Comp::literal(Array::from(value))
}

fn reference(name: &str, text: &str) -> Comp {
    Comp::reference(name, ty(text)).expect("a reference")
}

fn lambda(name: &str, text: &str, result: Comp) -> Comp {
    Comp::lambda(Some((name, ty(text))), result).expect("a lambda")
}

/// The diagnostics, one a line.
fn said(comp: &Comp) -> String {
    validate(comp).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn said_of_proto(proto: &pb::Computation) -> String {
    let said = validate_proto(proto).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let refused = Comp::from_proto(proto).map_err(|error| error.to_string());
    // Decoding alone stops at what is reported first.
    if let Err(error) = refused {
        let first = said.lines().next().expect("a diagnostic");
        assert!(first.ends_with(&error), "{first}\n{error}");
    }
    said
}

fn tensorflow(parameter: Option<TensorFlowBinding>, result: TensorFlowBinding) -> CompiledComputation {
    CompiledComputation::TensorFlow(Arc::new(TensorFlow {
        graph: Opaque::default(),
        parameter,
        result,
        initialize_op: "".into(),
        session_token: "".into(),
        cache_key: None,
        layout_map: None,
    }))
}

fn proto(text: &str, kind: Kind) -> pb::Computation {
    pb::Computation { r#type: Some(ty(text).to_proto().expect("a type")), computation: Some(kind) }
}

#[test]
fn names_must_be_bound_to_what_references_say() {
    let comp = lambda("x", "int32", Comp::tuple([reference("x", "int32"), reference("y", "bool")]).expect("a struct"));
    insta::assert_snapshot!(said(&comp), @"error[unbound-reference] at .lambda.result.struct.element[1]: the name `y` is used here and defined nowhere around it");
    let comp = lambda("x", "<a=int32>", reference("x", "<a=float32>"));
    insta::assert_snapshot!(said(&comp), @"error[reference-type] at .lambda.result: the reference is of another type than `x` is bound to: not equivalent: expected int32, found float32 at .a");
    // A local does not see itself, and hides nothing after its block.
    let block = Comp::block([("x", reference("x", "int32"))], reference("x", "int32")).expect("a block");
    let comp = Comp::tuple([block, reference("x", "int32")]).expect("a struct");
    insta::assert_snapshot!(said(&comp), @r"
    error[unbound-reference] at .struct.element[0].block.local[0](x): the name `x` is used here and defined nowhere around it
    error[unbound-reference] at .struct.element[1]: the name `x` is used here and defined nowhere around it
    ");
}

#[test]
fn locals_must_differ_and_should_exist() {
    let comp = Comp::block([("a", int(1)), ("b", int(2)), ("a", int(3))], int(4)).expect("a block");
    insta::assert_snapshot!(said(&comp), @"error[duplicate-local] at .block.local[2](a): an earlier local of the block is named `a`, too");
    let comp = Comp::block([] as [(&str, Comp); 0], int(4)).expect("a block");
    insta::assert_snapshot!(said(&comp), @"warning[empty-block] at .: a block without locals");
}

#[test]
fn intrinsics_should_be_known() {
    let comp = Comp::intrinsic("federated_shuffle", ty("(int32 -> int32)")).expect("an intrinsic");
    insta::assert_snapshot!(said(&comp), @"warning[unknown-intrinsic] at .: no known intrinsic is named `federated_shuffle`; did you mean `federated_sum`?");
    let sum =
        proto("({int32}@CLIENTS -> float32@SERVER)", Kind::Intrinsic(pb::Intrinsic { uri: "federated_sum".into() }));
    insta::assert_snapshot!(said_of_proto(&sum), @"error[intrinsic-type] at .: expected an instance of ({T}@CLIENTS -> T@SERVER) for federated_sum: T is int32 at (parameter)@, which is not assignable to float32 at (result)@");
}

#[test]
fn graphs_must_be_local_functions_whose_bindings_parallel_their_type() {
    use TensorFlowBinding::{Struct, Tensor};
    let tensor = || Tensor("x:0".into());
    for (text, compiled, expected) in [
        ("int32", tensorflow(None, tensor()), "expected a function type for a graph or module, found int32"),
        (
            "(<int32,{int32}@CLIENTS> -> int32)",
            tensorflow(Some(Struct(vec![tensor(), tensor()])), tensor()),
            "a graph computes with tensors, structs and sequences, found {int32}@CLIENTS at (parameter)[1]",
        ),
        ("(int32 -> int32)", tensorflow(None, tensor()), "expected a binding for int32 at (parameter), found none"),
        ("( -> int32)", tensorflow(Some(tensor()), tensor()), "the function has no parameter, found a binding for it"),
        (
            "( -> <a=<int32,int32>>)",
            tensorflow(None, Struct(vec![Struct(vec![tensor()])])),
            "expected bindings for 2 elements at (result).a, found 1",
        ),
        (
            "(int32* -> int32)",
            tensorflow(Some(tensor()), tensor()),
            "expected a binding for int32* at (parameter), found one for a tensor",
        ),
    ] {
        let error = Comp::compiled(compiled, ty(text)).expect_err(text).to_string();
        assert_eq!(error, expected, "{text}");
    }
    let xla =
        Xla { hlo_module: Opaque::default(), parameter: Some(XlaBinding::Tensor(0)), result: XlaBinding::Tensor(0) };
    let error =
        Comp::compiled(CompiledComputation::Xla(Arc::new(xla)), ty("(int32* -> int32)")).expect_err("a sequence");
    assert_eq!(error.to_string(), "a module computes with tensors and structs, found int32* at (parameter)");
}

#[test]
fn everything_wrong_with_a_message_is_reported() {
    let one = int(1).to_proto().expect("a literal");
    let reference = |text: &str, name: &str| proto(text, Kind::Reference(pb::Reference { name: name.into() }));
    let element = |value| pb::r#struct::Element { name: String::new(), value };
    let call = proto(
        "bool",
        Kind::Call(Box::new(pb::Call {
            function: Some(Box::new(reference("(float32 -> bool)", "f"))),
            argument: Some(Box::new(one.clone())),
        })),
    );
    let selection = |source: pb::Computation, index| {
        proto("int32", Kind::Selection(Box::new(pb::Selection { source: Some(Box::new(source)), index })))
    };
    let whole = proto(
        "<int32,bool,int32,int32,int32,int32,int32,int32>",
        Kind::Struct(pb::Struct {
            element: vec![
                element(Some(pb::Computation { r#type: None, computation: one.computation.clone() })),
                element(Some(call)),
                element(Some(selection(reference("<int32>", "s"), 1))),
                element(Some(selection(reference("<int32>", "s"), -1))),
                element(Some(selection(reference("int32", "s"), 0))),
                element(Some(proto("float32", one.computation.clone().expect("a literal")))),
                element(Some(pb::Computation { computation: None, ..one.clone() })),
                element(Some(reference("int32", ""))),
            ],
        }),
    );
    let lambda = proto(
        "( -> <int32,bool,int32,int32,int32,int32,int32,int32>)",
        Kind::Lambda(Box::new(pb::Lambda { parameter_name: String::new(), result: Some(Box::new(whole)) })),
    );
    insta::assert_snapshot!(said_of_proto(&lambda), @r"
    error[missing-type] at .lambda.result.struct.element[0]: expected a type, found none
    error[ill-typed-call] at .lambda.result.struct.element[1]: in the argument: not assignable: expected float32, found int32
    error[bad-selection] at .lambda.result.struct.element[2]: index 1 is out of range for a struct of 1 elements
    error[bad-selection] at .lambda.result.struct.element[3]: expected an index of an element, found -1
    error[bad-selection] at .lambda.result.struct.element[4]: expected a struct to select from, found a value of type int32
    error[bad-literal] at .lambda.result.struct.element[5]: expected a literal of type float32, found int32
    error[malformed] at .lambda.result.struct.element[6]: expected a computation, found one of no known kind
    error[empty-name] at .lambda.result.struct.element[7]: empty name of a reference
    error[other-type] at .lambda.result: the struct states another type than its parts have: not equivalent: expected int32, found ? (tensor and abstract) at [0]
    error[unbound-reference] at .lambda.result.struct.element[1].call.function: the name `f` is used here and defined nowhere around it
    error[unbound-reference] at .lambda.result.struct.element[2].selection.source: the name `s` is used here and defined nowhere around it
    error[unbound-reference] at .lambda.result.struct.element[4].selection.source: the name `s` is used here and defined nowhere around it
    error[unbound-reference] at .lambda.result.struct.element[7]: the name `` is used here and defined nowhere around it
    ");
}

#[test]
fn lambdas_and_their_types_must_agree() {
    let one = int(1).to_proto().expect("a literal");
    let lambda = |text: &str, name: &str| {
        proto(
            text,
            Kind::Lambda(Box::new(pb::Lambda { parameter_name: name.into(), result: Some(Box::new(one.clone())) })),
        )
    };
    let said: Vec<String> = [("int32", "x"), ("( -> int32)", "x"), ("(bool -> int32)", ""), ("(bool -> bool)", "x")]
        .map(|(text, name)| said_of_proto(&lambda(text, name)))
        .into();
    insta::assert_snapshot!(said.join("\n"), @r"
    error[other-type] at .: expected a function type for a lambda, found int32
    error[other-type] at .: the lambda names its parameter `x`, but its type ( -> int32) has none
    error[other-type] at .: expected a parameter name for a lambda of type (bool -> int32), found none
    error[other-type] at .: the lambda states another type than its parts have: not equivalent: expected bool, found int32 at (result)
    ");
}

#[test]
fn types_left_out_are_found_where_they_follow() {
    let bare = |kind| pb::Computation { r#type: None, computation: Some(kind) };
    let reference = |name: &str| bare(Kind::Reference(pb::Reference { name: name.into() }));
    let call = |function, argument: pb::Computation| {
        bare(Kind::Call(Box::new(pb::Call { function: Some(Box::new(function)), argument: Some(Box::new(argument)) })))
    };
    let map = bare(Kind::Intrinsic(pb::Intrinsic { uri: "federated_map".into() }));
    let select =
        |source, index| bare(Kind::Selection(Box::new(pb::Selection { source: Some(Box::new(source)), index })));
    let inner = bare(Kind::Lambda(Box::new(pb::Lambda {
        parameter_name: "m".into(),
        result: Some(Box::new(select(reference("m"), 0))),
    })));
    let pair = |left, right| {
        let element = |value| pb::r#struct::Element { name: String::new(), value: Some(value) };
        bare(Kind::Struct(pb::Struct { element: vec![element(left), element(right)] }))
    };
    let result = pair(call(map, pair(inner, reference("x"))), select(pair(reference("x"), reference("free")), 0));
    let whole = proto(
        "({<int32>}@CLIENTS -> <{int32}@CLIENTS,{<int32>}@CLIENTS>)",
        Kind::Lambda(Box::new(pb::Lambda { parameter_name: "x".into(), result: Some(Box::new(result)) })),
    );
    let strict = Comp::from_proto(&whole).expect_err("types are missing");
    assert_eq!(strict.to_string(), ".lambda.result: expected a type, found none");
    let comp = Comp::from_proto_lenient(&whole).expect("a computation");
    assert_eq!(comp.to_string(), "(x -> <federated_map(<(m -> m[0]),x>),<x,free>[0]>)");
    let types: Vec<_> = comp.preorder().map(|it| format!("{it}: {}", it.ty())).collect();
    insta::assert_snapshot!(types.join("\n"), @r"
    (x -> <federated_map(<(m -> m[0]),x>),<x,free>[0]>): ({<int32>}@CLIENTS -> <{int32}@CLIENTS,{<int32>}@CLIENTS>)
    <federated_map(<(m -> m[0]),x>),<x,free>[0]>: <?,{<int32>}@CLIENTS>
    federated_map(<(m -> m[0]),x>): ?
    federated_map: ?
    <(m -> m[0]),x>: <(? -> ?),{<int32>}@CLIENTS>
    (m -> m[0]): (? -> ?)
    m[0]: ?
    m: ?
    x: {<int32>}@CLIENTS
    <x,free>[0]: {<int32>}@CLIENTS
    <x,free>: <{<int32>}@CLIENTS,?>
    x: {<int32>}@CLIENTS
    free: ?
    ");
    // What is left out stays out.
    let written = comp.to_proto().expect("not too deep");
    let again = Comp::from_proto_lenient(&written).expect("a computation");
    assert_eq!((again.ty(), again.to_string()), (comp.ty(), comp.to_string()));
    assert!(validate(&comp).iter().any(|it| it.code == tff_ir::Code::MissingType));
}

#[test]
fn intrinsics_are_of_what_they_can_compute_with() {
    for (text, expected) in [
        (
            "%federated_sum:({<a=int32,b=str>}@CLIENTS -> <a=int32,b=str>@SERVER)",
            "federated_sum: cannot sum: str is not numeric at @.b",
        ),
        ("%federated_sum:({int32}@CLIENTS -> int32@SERVER)", ""),
        ("%sequence_sum:(bool* -> bool)", "sequence_sum: cannot sum: bool is not numeric"),
        (
            "%federated_mean:({int32}@CLIENTS -> int32@SERVER)",
            "federated_mean takes floating-point or complex numbers, found {int32}@CLIENTS",
        ),
        ("%federated_mean:({float32[?]}@CLIENTS -> float32[?]@SERVER)", ""),
        (
            "%federated_weighted_mean:(<{float32}@CLIENTS,{str}@CLIENTS> -> float32@SERVER)",
            "federated_weighted_mean: cannot sum: str is not numeric at @",
        ),
        ("%federated_weighted_mean:(<{float32}@CLIENTS,{int32}@CLIENTS> -> float32@SERVER)", ""),
        (
            "%federated_min:({str}@CLIENTS -> str@SERVER)",
            "federated_min takes integers or floating-point numbers, found {str}@CLIENTS",
        ),
        (
            "%federated_max:({complex64}@CLIENTS -> complex64@SERVER)",
            "federated_max takes integers or floating-point numbers, found {complex64}@CLIENTS",
        ),
        (
            "%federated_secure_sum:(<{float32}@CLIENTS,float32> -> float32@SERVER)",
            "federated_secure_sum takes integers, found float32",
        ),
        (
            "%federated_secure_sum:(<{<int32,int32>}@CLIENTS,<int32>> -> <int32,int32>@SERVER)",
            "federated_secure_sum takes one integer as bound, or one for each tensor, found <int32>",
        ),
        ("%federated_secure_sum_bitwidth:(<{<int32,int32>}@CLIENTS,<int32,int8>> -> <int32,int32>@SERVER)", ""),
        ("%federated_secure_modular_sum:(<{<int32,int32>}@CLIENTS,int32> -> <int32,int32>@SERVER)", ""),
        (
            "%federated_select:(<{str[2]}@CLIENTS,int32@SERVER,str@SERVER,(<str,int32> -> str)> -> {str*}@CLIENTS)",
            "federated_select takes a vector of int32 keys, found str[2]",
        ),
        ("%federated_select:(<{int32[2]}@CLIENTS,int32@SERVER,str@SERVER,(<str,int32> -> str)> -> {str*}@CLIENTS)", ""),
    ] {
        let expected =
            if expected.is_empty() { String::new() } else { format!("warning[doubtful-operand] at .: {expected}") };
        assert_eq!(said(&comp(text)), expected, "{text}");
    }
}

#[test]
fn labels_are_those_of_a_parameter() {
    assert_eq!(said(&comp("(x:T@p -> x)")), "");
    insta::assert_snapshot!(said(&comp("data \"u\":T@p")), @"warning[unbound-label] at .: the placement label p is not bound, the abstract type T at @ is not bound");
    insta::assert_snapshot!(said(&comp("(x:int32 -> data \"u\":<a=int,b=int32>)")), @"warning[unbound-label] at .: the abstract type int at (result).a is not bound");
}

#[test]
fn many_warnings_hide_no_error() {
    let doubtful = Comp::intrinsic("of_a_runtime", ty("(int32 -> int32)")).expect("an intrinsic");
    let warned = Comp::tuple(vec![doubtful; 1500]).expect("a struct");
    let severities = |comp: &Comp| {
        let diagnostics = validate(comp);
        let errors = diagnostics.iter().filter(|it| it.severity == Severity::Error).count();
        let last = diagnostics.iter().rfind(|it| it.severity == Severity::Warning).map(ToString::to_string);
        (diagnostics.len() - errors, errors, last.unwrap_or_default())
    };
    let last = "warning[too-many-problems] at .struct.element[999]: more problems than are reported";
    assert_eq!(severities(&warned), (1000, 0, last.to_owned()));
    let wrong = Comp::tuple([warned, reference("x", "int32")]).expect("a struct");
    let last = "warning[too-many-problems] at .struct.element[0].struct.element[999]: more problems than are reported";
    assert_eq!(severities(&wrong), (1000, 1, last.to_owned()));
    let unbound = Comp::tuple(vec![reference("x", "int32"); 1500]).expect("a struct");
    assert_eq!(severities(&unbound), (0, 1000, String::new()));
}
