//! Which leaf the bodies of intrinsics are for: that of the values that intrinsics are applied to.

use crate::bodies::{bodies, comp};
use prost::Message;
use tff_compiler::graph::generic;
use tff_compiler::pass::run_pass;
use tff_compiler::passes::ReduceIntrinsics;
use tff_compiler::{BinaryOp, CompileOptions, compile_to_native, hlo};
use tff_ir::Comp;
use tff_types::Type;

/// The leaves of the functions that the bodies of intrinsics brought along, in order, repetitions
/// left out.
#[track_caller]
fn leaves(text: &str) -> String {
    let reduced = run_pass(&ReduceIntrinsics { insecure: true }, &comp(text)).unwrap().comp;
    let given: Vec<_> = bodies().into_iter().filter(|(label, _)| ["tf", "xla"].contains(label)).collect();
    let compiled = reduced.preorder().filter(|part| part.as_compiled().is_some());
    let brought = compiled.filter(|part| given.iter().all(|(_, body)| body != *part));
    let mut names: Vec<_> = brought.map(Comp::kind_name).collect();
    names.dedup();
    names.join(" ")
}

/// In a computation of both leaves: `xs` are clients' values from XLA, `ts` those from TensorFlow.
#[track_caller]
fn mixed(result: &str) -> String {
    leaves(&format!(
        "(v:{{int32}}@CLIENTS -> (let xs=%federated_map(<comp#xla,v>),ts=%federated_map(<comp#tf,v>) in {result}))"
    ))
}

#[test]
fn values_decide_in_a_computation_of_both_leaves() {
    assert_eq!(mixed("<%federated_sum(xs),%federated_sum(ts)>"), "xla tensorflow");
    assert_eq!(mixed("<%federated_max(ts),%federated_min(xs)>"), "tensorflow xla");
    // Nothing is known of the parameter.
    assert_eq!(mixed("%federated_sum(v)"), "tensorflow");
    assert_eq!(mixed("%federated_sum(%federated_value_at_clients(lit int32 1))"), "tensorflow");
    // Modules can add what comes from modules and from nowhere, not what comes from both leaves.
    assert_eq!(mixed("%generic_plus(<xs,v>)"), "xla");
    assert_eq!(mixed("%generic_plus(<xs,ts>)"), "tensorflow");
    assert_eq!(mixed("%generic_multiply(<%federated_sum(xs),%federated_sum(xs)>)"), "xla");
}

#[test]
fn values_are_followed() {
    // Through intrinsics that hand them on.
    assert_eq!(mixed("%federated_sum(%federated_broadcast(%federated_sum(xs)))"), "xla");
    assert_eq!(mixed("%federated_secure_modular_sum(<xs,lit int32 7>)"), "xla");
    assert_eq!(mixed("%federated_sum(%federated_zip_at_clients(<xs,v>))"), "xla");
    assert_eq!(mixed("%federated_sum(%federated_zip_at_clients(<xs,ts>))"), "tensorflow");
    // Through structs and selections.
    assert_eq!(
        mixed("(let both=<xs,b=<ts>> in <%federated_sum(both[0]),%federated_sum(both.b[0])>)"),
        "xla tensorflow"
    );
    assert_eq!(mixed("(both:<{int32}@CLIENTS,{int32}@CLIENTS> -> %federated_sum(both[0]))(<xs,ts>)"), "xla");
    // Through functions, known ones and arguments.
    assert_eq!(mixed("%federated_sum(%federated_map(<comp#xla,ts>))"), "xla");
    assert_eq!(mixed("%federated_sum(%federated_map(<(x:int32 -> comp#tf(x)),xs>))"), "tensorflow");
    assert_eq!(mixed("%federated_sum(%federated_map(<(x:int32 -> <x,comp#xla(x)>),xs>))"), "xla");
    assert_eq!(mixed("%federated_map(<(x:int32 -> %generic_plus(<x,x>)),xs>)"), "xla");
    assert_eq!(mixed("%federated_map(<(x:int32 -> %generic_plus(<x,x>)),ts>)"), "tensorflow");
    assert_eq!(mixed("(let f=comp#xla,g=(x:int32 -> f(x)) in %federated_sum(%federated_map(<g,v>)))"), "xla");
    assert_eq!(mixed("(f:(int32 -> int32) -> %generic_plus(<f(lit int32 1),f(lit int32 2)>))(comp#xla)"), "xla");
    let aggregate = "%federated_aggregate(<xs,lit int32 0,(a:<int32,int32> -> comp#xla(a[0])),(a:<int32,int32> -> %generic_plus(a)),(x:int32 -> %generic_plus(<x,x>))>)";
    assert_eq!(mixed(aggregate), "xla");
    // A name is what the innermost binder makes it.
    assert_eq!(mixed("(let xs=ts in %federated_sum(xs))"), "tensorflow");
    assert_eq!(mixed("<(let xs=ts in v),%federated_sum(xs)>"), "xla");
}

#[test]
fn a_function_has_one_body_for_all_its_calls() {
    let twice = |left: &str, right: &str| {
        mixed(&format!("(let f=(c:{{int32}}@CLIENTS -> %federated_sum(c)) in <f({left}),f({right})>)"))
    };
    assert_eq!(twice("xs", "xs"), "xla");
    assert_eq!(twice("xs", "ts"), "tensorflow");
    assert_eq!(twice("ts", "xs"), "tensorflow");
    // So has a node that occurs in several places.
    let of = |uri: &str| comp(&format!("%{uri}:({{int32}}@CLIENTS -> int32@SERVER)"));
    let sum = of("federated_sum");
    let call = |text: &str| Comp::call(sum.clone(), Some(comp(text))).unwrap();
    let (xs, ts) = ("%federated_map(<comp#xla,v:{int32}@CLIENTS>)", "%federated_map(<comp#tf,v:{int32}@CLIENTS>)");
    let both = Comp::tuple([call(xs), call(ts)]).unwrap();
    let reduced = run_pass(&ReduceIntrinsics { insecure: false }, &both).unwrap().comp;
    let add = hlo::binary_operator(BinaryOp::Add, &"<int32,int32>".parse().unwrap()).unwrap();
    assert!(reduced.preorder().all(|part| *part != add));
}

#[test]
fn the_computation_decides_where_nothing_is_known() {
    let xla = "(v:{int32}@CLIENTS -> <%federated_sum(v),%federated_map(<comp#xla,v>),%generic_zero:int32>)";
    assert_eq!(leaves(xla), "xla");
    assert_eq!(leaves(&xla.replace("#xla", "#tf")), "tensorflow");
    assert_eq!(leaves("(v:{int32}@CLIENTS -> %federated_sum(v))"), "tensorflow");
    assert_eq!(leaves("(v:int32* -> <%sequence_sum(v),comp#xla(lit int32 1)>)"), "xla");
}

#[test]
fn what_xla_does_not_have_is_a_graph() {
    let with = |result: &str| leaves(&format!("(v:int32 -> <comp#xla(v),{result}>)"));
    assert_eq!(with("(x:<int32[?],int32[?]> -> %generic_plus(x))"), "tensorflow");
    assert_eq!(with("(x:<{int32}@CLIENTS,int32> -> %federated_secure_sum(x))"), "tensorflow");
    let error = |text: &str| {
        let text = format!("(v:int32 -> <comp#xla(v),{text}>)");
        run_pass(&ReduceIntrinsics { insecure: false }, &comp(&text)).unwrap_err().to_string()
    };
    assert_eq!(
        error("%federated_max:({complex64}@CLIENTS -> complex64@SERVER)"),
        "reduce_intrinsics at .lambda.result.struct.element[1]: complex64 does not have a lowest number"
    );
    assert_eq!(
        error("(x:{int32[?]}@CLIENTS -> %federated_sum(x))"),
        "reduce_intrinsics at .lambda.result.struct.element[1].lambda.result.call.function: \
         a constant needs a fully defined shape, found int32[?]"
    );
}

#[test]
fn modules_are_left_alone_by_what_follows() {
    let text =
        "(v:{float32[3]}@CLIENTS -> <%federated_mean(v),%federated_map(<(x:float32[3] -> comp#xla(lit int32 1)),v>)>)";
    let compile = || compile_to_native(&comp(text), &CompileOptions::default()).unwrap().comp;
    let compiled = compile();
    assert!(compiled.preorder().all(|part| part.kind_name() != "tensorflow"), "{compiled}");
    assert!(!compiled.to_string().contains("federated_mean"), "{compiled}");
    let bytes = || compile().to_proto().unwrap().encode_to_vec();
    assert_eq!(bytes(), bytes());
}

#[test]
fn modules_have_the_types_of_graphs() {
    let ops = [BinaryOp::Add, BinaryOp::Divide, BinaryOp::Minimum, BinaryOp::FloorMod, BinaryOp::LessEqual];
    let cases = [
        ("<float32,float32>", true),
        ("<<a=int32[2,1],b=<float16>>,<a=int32[3],b=<float16>>>", true),
        ("<<int32,int8>,int32>", false),
        ("<float32[2],float32[3]>", false),
        ("<int32,float32>", false),
        ("<<a=int32>,<b=int32>>", false),
        ("<int32,<int32>>", false),
        ("<str,str>", false),
        ("<int32*,int32*>", false),
        ("<int32,int32,int32>", false),
        ("int32", false),
        ("<int32[?],int32[?]>", false),
    ];
    for (text, is_module) in cases {
        let ty: Type = text.parse().unwrap();
        for op in ops {
            let module = hlo::binary_operator(op, &ty);
            assert_eq!(module.is_some(), is_module && op != BinaryOp::LessEqual, "{op:?} {text}");
            if let Some(module) = module {
                assert_eq!(module.ty(), generic::binary_operator(op, &ty).unwrap().ty());
                assert_eq!(Some(module), hlo::binary_operator(op, &ty));
            }
        }
    }
    let upcast = |text: &str| hlo::binary_operator_with_upcast(BinaryOp::Multiply, &text.parse().unwrap());
    for text in
        ["<<float32[2,3],float32>,int32>", "<float32[2,3],int64[3]>", "<complex64,float64>", "<<a=int8>,<a=int8>>"]
    {
        let graph = generic::binary_operator_with_upcast(BinaryOp::Multiply, &text.parse().unwrap()).unwrap();
        assert_eq!(upcast(text).unwrap().ty(), graph.ty());
    }
    // Errors of graphs, and conversions that XLA does in its own way.
    for text in [
        "<<float32[2,3],int32>,int32[1]>",
        "<float32,<float32>>",
        "<float32,str>",
        "<int32,float32>",
        "<float32,complex64>",
    ] {
        assert!(upcast(text).is_none(), "{text}");
    }
}
