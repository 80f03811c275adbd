//! Passes, extractions and forms on small computations in text form.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use prost::Message;
use std::collections::BTreeSet;
use std::sync::Arc;
use tff_compiler::extract::{
    AllowedPaths, DivisiveSplit, divisive_force_align_and_split_by_intrinsics, force_align_and_split_by_intrinsics,
    normalize_call_dominant_lambda, replace_selections, strip_placement,
};
use tff_compiler::forms::{BroadcastForm, MergeableCompForm};
use tff_compiler::graph::{BinaryOp, Fill, generic};
use tff_compiler::pass::{Pass, run_pass};
use tff_compiler::{CompileError, Options, compile_to_native, passes};
use tff_ir::text::{Environment, parse};
use tff_ir::{Comp, CompiledComputation, Intrinsic, Opaque, Scalar, TensorFlow, Xla, XlaBinding};
use tff_proto::tensorflow as tf;
use tff_types::Type;

fn xla() -> Comp {
    let hlo_module = Opaque { type_url: "type.googleapis.com/xla.HloModuleProto".into(), value: vec![1, 2, 3].into() };
    let xla = Xla { hlo_module, parameter: Some(XlaBinding::Tensor(0)), result: XlaBinding::Tensor(0) };
    Comp::compiled(CompiledComputation::Xla(Arc::new(xla)), "(int32 -> int32)".parse().unwrap()).unwrap()
}

fn with_graph(comp: &Comp, change: impl FnOnce(&mut TensorFlow)) -> Comp {
    let Some(CompiledComputation::TensorFlow(graph)) = comp.as_compiled() else { panic!("{comp} is no graph") };
    let mut graph = graph.as_ref().clone();
    change(&mut graph);
    Comp::compiled(CompiledComputation::TensorFlow(Arc::new(graph)), comp.ty().clone()).unwrap()
}

/// `comp#add` adds two numbers, `comp#one` and `comp#uno` are one, `comp#random` does what no one
/// knows, `comp#broken` is no graph, `comp#xla` is a module.
fn bodies() -> [(&'static str, Comp); 6] {
    let pair: Type = "<int32,int32>".parse().unwrap();
    let int: Type = "int32".parse().unwrap();
    let add = generic::binary_operator(BinaryOp::Add, &pair).unwrap();
    let one = generic::constant(&Fill::Number(Scalar::Int32(1)), &int).unwrap();
    let identity = generic::identity(&int).unwrap();
    let random = with_graph(&identity, |graph| {
        let bytes = graph.graph.value.to_vec();
        let text = bytes.windows(8).position(|it| it == b"Identity").unwrap();
        let op = text + bytes[text..].windows(8).rposition(|it| it == b"Identity").unwrap();
        let changed = [&bytes[..op], b"RandomXY", &bytes[op + 8..]].concat();
        graph.graph.value = changed.into();
    });
    let broken = with_graph(&identity, |graph| graph.graph.value = vec![255, 255].into());
    [("add", add), ("one", one.clone()), ("uno", one), ("random", random), ("broken", broken), ("xla", xla())]
}

fn comp(text: &str) -> Comp {
    let mut environment = Environment::default();
    for (label, comp) in bodies() {
        environment.bodies.insert_comp(label, comp.to_proto().unwrap().encode_to_vec().into());
    }
    parse(text, &environment).unwrap_or_else(|error| panic!("{error}")).comp
}

/// The compact text, with the bodies named as they are here.
fn shown(comp: &Comp) -> String {
    let mut text = comp.to_string();
    for (label, body) in bodies() {
        text = text.replace(&body.to_string(), &format!("comp#{label}"));
    }
    text.replace("comp#uno", "comp#one")
}

#[track_caller]
fn check(pass: &dyn Pass, text: &str) -> String {
    run_pass(pass, &comp(text)).map_or_else(|error| error.to_string(), |transformed| shown(&transformed.comp))
}

fn native(text: &str) -> Result<Comp, CompileError> {
    compile_to_native(&comp(text), &Options::default()).map(|compiled| compiled.comp)
}

#[test]
fn what_calls_nothing_is_inlined() {
    let check = |text: &str| check(&passes::InlineBlockLocals, text);
    insta::assert_snapshot!(check("(x:<int32,int32> -> (let a=x[0],b=comp#add(<a,a>) in <b,b,a>))"), @"(x -> (let a=x[0],b=comp#add(<x[0],x[0]>) in <b,b,x[0]>))");
    insta::assert_snapshot!(check("(let a=<lit int32 1,lit int32 2> in <a,a>)"), @"(let a=<1,2> in <a,a>)");
    insta::assert_snapshot!(check("(x:int32 -> (let y=x in (x:int32 -> <x,y>)))"), @"(x -> (let y=x in (_var1 -> <_var1,x>)))");
}

#[test]
fn equal_calls_are_one() {
    let check = |text: &str| check(&passes::EliminateCommonSubexpressions, text);
    insta::assert_snapshot!(check("(x:int32 -> (let a=comp#add(<x,x>),b=comp#add(<x,x>),c=comp#add(<a,b>) in <a,b,c>))"), @"(x -> (let a=comp#add(<x,x>),c=comp#add(<a,a>) in <a,a,c>))");
    // Not what may differ from call to call.
    insta::assert_snapshot!(check("(x:int32 -> (let a=comp#random(x),b=comp#random(x) in <a,b>))"), @"(x -> (let a=comp#random(x),b=comp#random(x) in <a,b>))");
    insta::assert_snapshot!(check("(f:( -> int32) -> (let a=f(),b=f() in <a,b>))"), @"(f -> (let a=f(),b=f() in <a,b>))");
    // Not what is no longer in scope.
    insta::assert_snapshot!(check("<(let a=comp#one() in a),(let b=comp#one() in b)>"), @"<(let a=comp#one() in a),(let b=comp#one() in b)>");
}

#[test]
fn functions_of_graphs_become_graphs() {
    let check = |text: &str| check(&passes::CompileLocalSubcomputations, text);
    // What only calls one is that one, what calls several is a new one, what calls none stays.
    insta::assert_snapshot!(check("(x:<int32,int32> -> comp#add(x))"), @"comp#add");
    let compiled = run_pass(
        &passes::CompileLocalSubcomputations,
        &comp("(x:int32 -> (let a=comp#one(),b=comp#add(<x,a>) in <b,y=x>))"),
    );
    let compiled = compiled.unwrap().comp;
    assert!(compiled.as_compiled().is_some(), "{compiled}");
    insta::assert_snapshot!(compiled.ty(), @"(int32 -> <int32,y=int32>)");
    insta::assert_snapshot!(check("(x:<int32,int32> -> <x[1],x[0]>)"), @"(x -> <x[1],x[0]>)");
    insta::assert_snapshot!(check("(x:int32 -> (y:int32 -> comp#add(<x,y>)))"), @"(x -> (y -> comp#add(<x,y>)))");
    insta::assert_snapshot!(check("(x:int32 -> (let a=comp#xla(x),b=comp#add(<a,a>) in b))"), @"(x -> (let a=comp#xla(x),b=comp#add(<a,a>) in b))");
    insta::assert_snapshot!(check("(x:int32 -> (let a=comp#broken(x),b=comp#add(<a,a>) in b))"), @"compile_local_subcomputations at .lambda.result.block.local[0](a): the computation holds no graph");
}

#[test]
fn modules_of_other_systems_are_compiled_around() {
    let compiled =
        native("(v:{int32}@CLIENTS -> %federated_sum(%federated_map(<(x:int32 -> comp#xla(x)),v>)))").unwrap();
    assert!(compiled.preorder().any(|part| *part == xla()));
    assert!(!compiled.to_string().contains("federated_sum"), "{compiled}");
}

#[test]
fn ids_and_bodies_are_shared() {
    let compiled =
        native("(v:{int32}@CLIENTS -> <%federated_sum(v),%federated_sum(v),%federated_map(<comp#random,v>)>)").unwrap();
    let graphs: Vec<_> = compiled
        .preorder()
        .filter_map(|part| match part.as_compiled() {
            Some(CompiledComputation::TensorFlow(graph)) => Some(graph.clone()),
            _ => None,
        })
        .collect();
    assert!(graphs.iter().all(|graph| graph.cache_key != 0));
    let distinct: BTreeSet<_> = graphs.iter().map(|graph| (graph.cache_key, Arc::as_ptr(graph).addr())).collect();
    // Zero, the sum and what is mapped; both sums are one.
    assert_eq!(distinct.len(), 3, "{compiled}");
    assert_eq!(compiled.to_string().matches("federated_aggregate").count(), 1, "{compiled}");
}

/// The graphs of a computation, in order.
fn graphs(comp: &Comp) -> Vec<Arc<TensorFlow>> {
    let graph = |part: &Comp| match part.as_compiled() {
        Some(CompiledComputation::TensorFlow(graph)) => Some(graph.clone()),
        _ => None,
    };
    comp.preorder().filter_map(graph).collect()
}

#[test]
fn equal_bodies_become_one_in_memory() {
    let before = comp("<comp#one(),comp#uno(),comp#random(comp#one())>");
    let addresses = |comp: &Comp| graphs(comp).iter().map(|graph| Arc::as_ptr(graph).addr()).collect::<BTreeSet<_>>();
    assert_eq!((graphs(&before).len(), addresses(&before).len()), (4, 3));
    let after = run_pass(&passes::ShareEqualBodies, &before).unwrap();
    assert!(after.changed && after.comp == before);
    assert_eq!(addresses(&after.comp).len(), 2);
    assert!(!run_pass(&passes::ShareEqualBodies, &after.comp).unwrap().changed);
}

#[test]
fn ids_are_of_the_content() {
    let before = comp("<comp#one(),comp#uno(),comp#add(<comp#one(),comp#one()>),comp#random(lit int32 1)>");
    assert!(graphs(&before).iter().all(|graph| graph.cache_key == 0));
    let after = run_pass(&passes::AddCacheIds, &before).unwrap();
    let ids: Vec<String> = graphs(&after.comp).iter().map(|graph| format!("{:016x}", graph.cache_key)).collect();
    insta::assert_snapshot!(ids.join("\n"), @r"
    a12d208210194f11
    a12d208210194f11
    bcfc38cc2989ab66
    a12d208210194f11
    a12d208210194f11
    75a5a482dc53c25a
    ");
    assert!(after.changed && !run_pass(&passes::AddCacheIds, &after.comp).unwrap().changed);
}

#[test]
fn calls_of_functions_are_not_rewritten_at_run_time() {
    // `(int32 -> int32)` by a call of a function; the graph is one for messages only.
    let calling = with_graph(&comp("comp#random"), |graph| {
        let node = |name: &str, op: &str, input: &[&str]| tf::NodeDef {
            name: name.to_owned(),
            op: op.to_owned(),
            input: input.iter().map(|&name| name.to_owned()).collect(),
            ..Default::default()
        };
        let node = vec![node("x", "Placeholder", &[]), node("y", "PartitionedCall", &["x"])];
        graph.graph.value = tf::GraphDef { node, ..Default::default() }.encode_to_vec().into();
    });
    let after = run_pass(&passes::DisableCallRewriting, &calling).unwrap();
    let graph = tf::GraphDef::decode(&*graphs(&after.comp)[0].graph.value).unwrap();
    assert!(graph.node[0].attr.is_empty());
    let Some(tf::attr_value::Value::S(config)) = &graph.node[1].attr["config_proto"].value else { panic!("{graph:?}") };
    let config = tf::ConfigProto::decode(&**config).unwrap();
    assert!(config.graph_options.unwrap().rewrite_options.unwrap().disable_meta_optimizer);
    assert!(!run_pass(&passes::DisableCallRewriting, &after.comp).unwrap().changed);
    assert!(!run_pass(&passes::DisableCallRewriting, &comp("(x:<int32,int32> -> comp#add(x))")).unwrap().changed);
}

#[test]
fn a_function_is_split_into_three() {
    let split = |text: &str, before: &[Vec<usize>]| {
        let is_sum = |intrinsic: &Intrinsic| *intrinsic == Intrinsic::FederatedSum;
        let paths = AllowedPaths { before, intrinsic: &[], after: &[vec![0]] };
        match divisive_force_align_and_split_by_intrinsics(&comp(text), &is_sum, paths) {
            Ok(DivisiveSplit { before, intrinsic, after }) => {
                [before, intrinsic, after].map(|part| format!("{}\n{}", shown(&part), part.ty())).join("\n")
            }
            Err(error) => error.to_string(),
        }
    };
    let text = "(x:<int32@SERVER,{int32}@CLIENTS> -> <%federated_sum(%federated_map(<comp#random,x[1]>)),x[0],%federated_sum(x[1])>)";
    insta::assert_snapshot!(split(text, &[vec![1]]), @r"
    (_var_1_1 -> (let _var1=federated_map(<comp#random,_var_1_1[0]>) in <intrinsic_args_from_before_comp=<_var1,_var_1_1[0]>,intermediate_state=<>>))
    (<{int32}@CLIENTS> -> <intrinsic_args_from_before_comp=<{int32}@CLIENTS,{int32}@CLIENTS>,intermediate_state=<>>)
    (_var_1_1 -> (let _var2=federated_sum(_var_1_1[0][0]),_var3=federated_sum(_var_1_1[0][1]) in <_var2,_var3>))
    (<intrinsic_args_from_before_comp=<{int32}@CLIENTS,{int32}@CLIENTS>> -> <int32@SERVER,int32@SERVER>)
    (_var_1_2 -> (let  in <_var_1_2[1][0],_var_1_2[0],_var_1_2[1][1]>))
    (<int32@SERVER,intrinsic_results=<int32@SERVER,int32@SERVER>,intermediate_state=<>> -> <int32@SERVER,int32@SERVER,int32@SERVER>)
    ");
    insta::assert_snapshot!(split(text, &[vec![0]]), @"divisive_force_align_and_split_by_intrinsics at .: it contains the unbound reference `x`: it needs what is not available to it");
}

#[test]
fn graphs_that_are_none_are_named() {
    let error = native("(x:int32 -> (let y=x in comp#broken(y)))").unwrap_err();
    insta::assert_snapshot!(error, @"disable_call_rewriting at .lambda.result.block.result.call.function: the computation holds no graph");
}

#[test]
fn ops_are_checked() {
    let mut options = Options::default();
    options.disallowed_ops = ["AddV2".to_owned()].into();
    let error = compile_to_native(&comp("(x:int32 -> comp#add(<x,x>))"), &options).unwrap_err();
    insta::assert_snapshot!(error, @"check_ops at .lambda.result.call.function: the graph uses ops that are not allowed: AddV2");
    options.disallowed_ops.clear();
    options.allowed_ops = Some(["Placeholder".to_owned(), "AddV2".to_owned()].into());
    assert!(compile_to_native(&comp("(x:int32 -> comp#add(<x,x>))"), &options).is_ok());
    insta::assert_snapshot!(compile_to_native(&comp("comp#one()"), &options).unwrap_err(), @"check_ops at .call.function: the graph uses ops that are not allowed: Const");
}

#[test]
fn invalid_computations_are_refused() {
    insta::assert_snapshot!(native("(x:int32 -> y:int32)").unwrap_err(), @"the computation is not valid: error[unbound-reference] at .lambda.result: nothing binds the name `y`");
}

#[test]
fn reductions() {
    let check = |text: &str| check(&passes::ReduceIntrinsics { insecure: false }, text);
    let ty = |text: &str| {
        run_pass(&passes::ReduceIntrinsics { insecure: true }, &comp(text))
            .map_or_else(|error| error.to_string(), |it| it.comp.ty().to_string())
    };
    insta::assert_snapshot!(check("%federated_sum:({int32}@CLIENTS -> int32@SERVER)"), @"(arg -> federated_aggregate(<arg,comp#91a2201a(),comp#add,comp#add,(x -> x)>))");
    insta::assert_snapshot!(check("%generic_plus:(<int32,int32> -> int32)"), @"comp#add");
    insta::assert_snapshot!(check("%federated_secure_sum:(<{int32}@CLIENTS,int32> -> int32@SERVER)"), @"federated_secure_sum");
    for (uri, of) in [
        ("federated_mean", "({<float32[2],b=float64>}@CLIENTS -> <float32[2],b=float64>@SERVER)"),
        ("federated_weighted_mean", "(<{<float32[2]>}@CLIENTS,{int32}@CLIENTS> -> <float32[2]>@SERVER)"),
        ("federated_min", "({<int8,float16>}@CLIENTS -> <int8,float16>@SERVER)"),
        ("federated_max", "({bfloat16}@CLIENTS -> bfloat16@SERVER)"),
        ("generic_divide", "(<int32@SERVER,int32@SERVER> -> float64@SERVER)"),
        (
            "generic_multiply",
            "(<<a={int32}@CLIENTS,b=float32>,<a={int32}@CLIENTS,b=float32>> -> <a={int32}@CLIENTS,b=float32>)",
        ),
        ("generic_zero", "<a=int32@SERVER,b=<float32,int64>>"),
        ("sequence_sum", "(<int32,a=float32>* -> <int32,a=float32>)"),
        ("federated_secure_sum", "(<{<int32,int64>}@CLIENTS,<int32,int64>> -> <int32,int64>@SERVER)"),
        ("federated_secure_sum_bitwidth", "(<{<int32,int64[2]>}@CLIENTS,int8> -> <int32,int64[2]>@SERVER)"),
        ("federated_secure_modular_sum", "(<{<int32,int32>}@CLIENTS,int32> -> <int32,int32>@SERVER)"),
        (
            "federated_secure_select",
            "(<{int32[2]}@CLIENTS,int32@SERVER,int32@SERVER,(<int32,int32> -> int32)> -> {int32*}@CLIENTS)",
        ),
    ] {
        assert_eq!(ty(&format!("%{uri}:{of}")), of, "{uri}");
    }
    insta::assert_snapshot!(ty("%federated_mean:({int32}@CLIENTS -> int32@SERVER)"), @"reduce_intrinsics at .: federated_mean cannot be computed as ({int32}@CLIENTS -> int32@SERVER): only floating and complex numbers have a mean of their type");
    insta::assert_snapshot!(ty("(v:{int32[?]}@CLIENTS -> %federated_sum(v))"), @"reduce_intrinsics at .lambda.result.call.function: a constant needs a fully defined shape, found int32[?]");
    insta::assert_snapshot!(ty("%federated_max:({complex64}@CLIENTS -> complex64@SERVER)"), @"reduce_intrinsics at .: complex64 has no lowest number");
}

#[test]
fn functions_are_normalized() {
    let check = |text: &str, keep_bits| {
        normalize_call_dominant_lambda(&comp(text), keep_bits).map_or_else(|error| error.to_string(), |it| shown(&it))
    };
    insta::assert_snapshot!(check("(v:int32 -> v)", false), @"(v -> (let  in v))");
    insta::assert_snapshot!(check("(let a=comp#one() in (x:int32 -> comp#add(<a,x>)))", false), @"(_var1 -> (let _var_1_1=comp#one(),_var_1_2=comp#add(<_var_1_1,_var1>) in _var_1_2))");
    insta::assert_snapshot!(check("comp#add", false), @"(_var1 -> (let _var_1_1=comp#add(_var1) in _var_1_1))");
    insta::assert_snapshot!(check("lit int32 1", false), @"normalize_call_dominant_lambda at .: expected a function, found int32");
    insta::assert_snapshot!(check("(x:int32 -> y:int32)", false), @"normalize_call_dominant_lambda at .: it contains the unbound reference `y`: it needs what is not available to it");
    let bits = |keep| normalize_call_dominant_lambda(&comp("(x:int32@CLIENTS -> x)"), keep).unwrap().ty().to_string();
    insta::assert_snapshot!(bits(true), @"(int32@CLIENTS -> int32@CLIENTS)");
    insta::assert_snapshot!(bits(false), @"({int32}@CLIENTS -> {int32}@CLIENTS)");
}

#[test]
fn parts_of_a_name_are_replaced() {
    let y = Comp::reference("y", "int32".parse().unwrap()).unwrap();
    let check = |text: &str, path: &[usize]| {
        replace_selections(&comp(text), "x", &[(path.to_vec(), y.clone())]).unwrap().to_string()
    };
    insta::assert_snapshot!(check("<x:<int32,<int32>>[0],x:<int32,<int32>>>", &[0]), @"<y,x>");
    insta::assert_snapshot!(check("<x:<int32,<int32>>[0],x:<int32,<int32>>[1][0]>", &[1, 0]), @"<x[0],y>");
    // Not where the name is another one, or the type.
    insta::assert_snapshot!(check("(x:<int32> -> x[0])", &[0]), @"(x -> x[0])");
    insta::assert_snapshot!(check("x:<float32>[0]", &[0]), @"x[0]");
}

#[test]
fn placements_that_are_in_the_way() {
    let check =
        |text: &str| strip_placement(&comp(text)).map_or_else(|error| error.problem.to_string(), |it| shown(&it));
    insta::assert_snapshot!(check("(v:{int32}@CLIENTS -> %federated_sum(v))"), @"expected values of the same placement, found SERVER and CLIENTS");
    insta::assert_snapshot!(check("<v:{int32}@CLIENTS,s:int32@SERVER>"), @"expected values of the same placement, found CLIENTS and SERVER");
    insta::assert_snapshot!(check("data\"d\":{int32}@CLIENTS"), @"expected no data that are federated, found {int32}@CLIENTS");
    insta::assert_snapshot!(check("(a:<(int32 -> int32),{int32}@CLIENTS> -> %federated_map(a))"), @"(a -> (_var1 -> _var1[0](_var1[1]))(a))");
}

#[test]
fn calls_are_aligned_and_split_along() {
    let split = |text: &str| {
        let default = comp("%federated_sum(%federated_value_at_clients(lit int32 0))");
        match force_align_and_split_by_intrinsics(&comp(text), &[default]) {
            Ok((before, after)) => format!("{before}\n{}\n{after}\n{}", before.ty(), after.ty()),
            Err(error) => error.to_string(),
        }
    };
    insta::assert_snapshot!(split("(v:<{int32}@CLIENTS,{float32}@CLIENTS> -> <%federated_sum(v[0]),%federated_sum(v[1])>)"), @"
    (v -> (let _var_1_1=federated_zip_at_clients(<v[0],v[1]>) in <federated_sum_param=_var_1_1>))
    (<{int32}@CLIENTS,{float32}@CLIENTS> -> <federated_sum_param={<int32,float32>}@CLIENTS>)
    (_var_1_2 -> (let _var1=federated_apply(<(_var_1_3 -> _var_1_3[0]),_var_1_2[1][0]>),_var2=federated_apply(<(_var_1_4 -> _var_1_4[1]),_var_1_2[1][0]>) in <_var1,_var2>))
    (<original_arg=<{int32}@CLIENTS,{float32}@CLIENTS>,intrinsic_results=<federated_sum_result=<int32,float32>@SERVER>> -> <int32@SERVER,float32@SERVER>)
    ");
    insta::assert_snapshot!(split("(v:{int32}@CLIENTS -> v)"), @"
    (v -> (let  in <federated_sum_param=federated_value_at_clients(0)>))
    ({int32}@CLIENTS -> <federated_sum_param=int32@CLIENTS>)
    (_var1 -> (let  in _var1[0]))
    (<original_arg={int32}@CLIENTS,intrinsic_results=<federated_sum_result=int32@SERVER>> -> {int32}@CLIENTS)
    ");
    insta::assert_snapshot!(split("(v:{int32}@CLIENTS -> %federated_sum(%federated_map(<comp#add,%federated_zip_at_clients(<v,%federated_broadcast(%federated_sum(v))>)>)))"), @"force_align_and_split_by_intrinsics at .: an intrinsic to split along dependent on another one: federated_sum (`_var5`) needs the result of federated_sum (`_var1`)");
}

#[test]
fn broadcast_form() {
    let form = |text: &str| BroadcastForm::from_comp(&comp(text), &Options::default());
    let round = "(a:<s=int32@SERVER,c={int32}@CLIENTS> -> %federated_map(<comp#add,%federated_zip_at_clients(<a.c,%federated_broadcast(a.s)>)>))";
    let parts = form(round).unwrap();
    let types: Vec<_> = parts.parts().iter().map(|(role, part)| format!("{role}: {}", part.ty())).collect();
    insta::assert_snapshot!(types.join("\n"), @"
    compute_server_context: (int32 -> <int32>)
    client_processing: (<<int32>,int32> -> int32)
    ");
    assert_eq!(parts.to_comp().unwrap().ty(), comp(round).ty());
    insta::assert_snapshot!(form("(a:<int32@SERVER,{int32}@CLIENTS> -> a[0])").unwrap_err(), @"broadcast_form at .: expected a computation that takes two arguments, at the server and at clients, and returns a result at clients, found (<int32@SERVER,{int32}@CLIENTS> -> int32@SERVER)");
    insta::assert_snapshot!(form("(a:<int32@SERVER,{int32}@CLIENTS> -> %federated_broadcast(%federated_sum(a[1])))").unwrap_err(), @"broadcast_form at .: expected no aggregations, found federated_aggregate");
    let mut other = form(round).unwrap();
    other.compute_server_context = comp("comp#one");
    insta::assert_snapshot!(BroadcastForm::new(other).unwrap_err(), @"what compute_server_context returns for client_processing: not assignable: expected <int32>, found int32 (struct and tensor)");
}

#[test]
fn mergeable_comp_form() {
    let form = |text: &str| MergeableCompForm::from_comp(&comp(text), &Options::default());
    let types = |form: MergeableCompForm| {
        form.parts().iter().map(|(role, part)| format!("{role}: {}", part.ty())).collect::<Vec<_>>().join("\n")
    };
    let round = form("(a:<v={int32}@CLIENTS,s=int32@SERVER> -> <%federated_sum(a.v),a.s>)").unwrap();
    insta::assert_snapshot!(types(round), @"
    up_to_merge: (<v={int32}@CLIENTS,s=int32@SERVER> -> <int32>@SERVER)
    merge: (<<int32>,<int32>> -> <int32>)
    after_merge: (<top_level_arg=<v={int32}@CLIENTS,s=int32@SERVER>,merge_result=<int32>@SERVER> -> <int32@SERVER,int32@SERVER>)
    ");
    insta::assert_snapshot!(types(form("( -> %federated_sum(%federated_value_at_clients(lit int32 1)))").unwrap()), @"
    up_to_merge: ( -> <int32>@SERVER)
    merge: (<<int32>,<int32>> -> <int32>)
    after_merge: (<int32>@SERVER -> int32@SERVER)
    ");
    let twice = "(v:{int32}@CLIENTS -> %federated_sum(%federated_map(<comp#add,%federated_zip_at_clients(<v,%federated_broadcast(%federated_sum(v))>)>)))";
    insta::assert_snapshot!(form(twice).unwrap_err(), @"mergeable_comp_form at .: aggregate dependent on aggregate: federated_aggregate (`_var8`) needs the result of federated_aggregate (`_var2`)");
    insta::assert_snapshot!(form("(v:{int32}@CLIENTS -> %federated_secure_sum(<v,lit int32 9>))").unwrap_err(), @"mergeable_comp_form at .: expected no aggregation in after_merge, found federated_secure_sum: (<{int32}@CLIENTS,int32> -> int32@SERVER)");
}
