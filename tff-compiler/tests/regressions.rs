//! Where rewriting computations easily goes wrong: names that capture or hide others, what is dropped or
//! left out silently, and errors that must not be lost.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use prost::Message;
use std::sync::Arc;
use tff_compiler::forms::{BroadcastForm, DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::graph::generic;
use tff_compiler::pass::{Pass, run_pass};
use tff_compiler::{BinaryOp, Fill};
use tff_compiler::{CompileError, CompileOptions, Problem, call_dominant, compile_to_native, passes};
use tff_ir::text::{Environment, parse};
use tff_ir::{Comp, CompiledComputation, Opaque, Scalar, TensorFlow, TensorFlowBinding, Xla, XlaBinding};
use tff_types::Type;

fn ty(text: &str) -> Type {
    text.parse().unwrap()
}

fn graph(comp: &Comp) -> &TensorFlow {
    let Some(CompiledComputation::TensorFlow(graph)) = comp.as_compiled() else { panic!("{comp} is no graph") };
    graph
}

fn with_graph(comp: &Comp, change: impl FnOnce(&mut TensorFlow)) -> Comp {
    let mut changed = graph(comp).clone();
    change(&mut changed);
    Comp::compiled(CompiledComputation::TensorFlow(Arc::new(changed)), comp.ty().clone()).unwrap()
}

/// `comp#add` adds two numbers, `comp#one` is one, `comp#broken` is no graph, `comp#gone` returns a
/// node that is not there, `comp#xla` is a module.
fn comp(text: &str) -> Comp {
    let hlo_module = Opaque { type_url: "type.googleapis.com/xla.HloModuleProto".into(), value: vec![1, 2, 3].into() };
    let xla = Xla { hlo_module, parameter: Some(XlaBinding::Tensor(0)), result: XlaBinding::Tensor(0) };
    let identity = generic::identity(&ty("int32")).unwrap();
    let bodies = [
        ("add", generic::binary_operator(BinaryOp::Add, &ty("<int32,int32>")).unwrap()),
        ("one", generic::constant(&Fill::Number(Scalar::Int32(1)), &ty("int32")).unwrap()),
        ("broken", with_graph(&identity, |graph| graph.graph.value = vec![255, 255].into())),
        ("gone", with_graph(&identity, |graph| graph.result = TensorFlowBinding::Tensor("gone:0".into()))),
        ("xla", Comp::compiled(CompiledComputation::Xla(Arc::new(xla)), ty("(int32 -> int32)")).unwrap()),
    ];
    let mut environment = Environment::default();
    for (label, comp) in bodies {
        environment.bodies.insert_comp(label, comp.to_proto().unwrap().encode_to_vec().into());
    }
    parse(text, &environment).unwrap_or_else(|error| panic!("{text}: {error}")).comp
}

#[track_caller]
fn after(pass: &dyn Pass, text: &str) -> String {
    run_pass(pass, &comp(text)).unwrap().comp.to_string()
}

#[test]
fn an_inner_binder_does_not_capture_what_is_put_below_it() {
    let dominant = |text| after(&passes::ToCallDominant, text);
    // What is returned is the parameter of the outermost function.
    insta::assert_snapshot!(dominant("(x:int32 -> (y:int32 -> (x:int32 -> <x,y>))(x)(lit int32 10))"), @"(x -> <10,x>)");
    insta::assert_snapshot!(dominant("(x:int32 -> (let f=(y:int32 -> <x,y>) in (x:int32 -> f(x))(lit int32 1)))"), @"(x -> <x,1>)");
    insta::assert_snapshot!(dominant("(x:int32 -> (let f=(y:int32 -> <x,y>) in (x:int32 -> f(x))))"), @"(x -> (_var1 -> <x,_var1>))");
    let shared = |text| after(&passes::EliminateCommonSubexpressions, text);
    insta::assert_snapshot!(shared("(x:(int32 -> int32) -> (let a=x(lit int32 1) in (x:(int32 -> int32) -> (let b=x(lit int32 1) in <a,b>))))"), @"(x -> (let a=x(1) in (x -> (let b=x(1) in <a,b>))))");
}

#[test]
fn a_local_that_is_hidden_after_its_use_is_not_unused() {
    let used = |text| after(&passes::RemoveUnusedBlockLocals, text);
    insta::assert_snapshot!(used("(let a=lit int32 1 in (let a=<a>,b=a in a))"), @"(let a=1 in (let a=<a> in a))");
    insta::assert_snapshot!(used("(let a=lit int32 1,a=<a> in a)"), @"(let a=1,a=<a> in a)");
    insta::assert_snapshot!(used("(let a=lit int32 1,b=(a:int32 -> a) in b)"), @"(let b=(a -> a) in b)");
}

#[test]
fn binders_are_told_apart_from_free_names() {
    let unique = |text| after(&passes::UniquifyReferenceNames, text);
    insta::assert_snapshot!(unique("<a:int32,(a:int32 -> a)>"), @"<a,(_var1 -> _var1)>");
    insta::assert_snapshot!(unique("<(let a=lit int32 1 in a),a:int32>"), @"<(let _var1=1 in _var1),a>");
    insta::assert_snapshot!(unique("(a:int32 -> (let a=a in (a:int32 -> a)))"), @"(a -> (let _var1=a in (_var2 -> _var2)))");
}

/// Everything that is zipped comes back, at all levels, in each form.
#[test]
fn no_element_of_a_state_is_lost() {
    let round = comp(
        "(a:<s=<n=int32@SERVER,<int32@SERVER,m=int32@SERVER>>,c=<{int32}@CLIENTS,d={int32}@CLIENTS>> -> \
         <<n=a.s.n,<%federated_sum(a.c.d),m=a.s[1].m>>,<%federated_sum(a.c[0]),o=a.s.n>>)",
    );
    let options = CompileOptions::default();
    let wholes = [
        MapReduceForm::from_comp(&round, &options).unwrap().to_comp().unwrap(),
        DistributeAggregateForm::from_comp(&round, &options).unwrap().to_comp().unwrap(),
        MergeableCompForm::from_comp(&round, &options).unwrap().to_comp().unwrap(),
    ];
    for whole in wholes {
        assert_eq!(whole.ty(), round.ty());
    }
}

/// A form is what its type promises, or is refused.
#[test]
fn parts_that_return_something_else_are_refused() {
    let round = "(a:<int32@SERVER,{int32}@CLIENTS> -> <a[0],<%federated_sum(a[1]),a[0]>>)";
    let form = MapReduceForm::from_comp(&comp(round), &CompileOptions::default()).unwrap();
    let refused = |text: &str| MapReduceForm::from_parts(ty(text), |role| part(&form.parts(), role)).unwrap_err();
    assert!(MapReduceForm::from_parts(form.ty().clone(), |role| part(&form.parts(), role)).is_ok());
    insta::assert_snapshot!(refused("(<int32@SERVER,{int32}@CLIENTS> -> <int32@SERVER,<int32@SERVER>>)"), @"what update returns: not assignable: expected length 1, found 2");
    insta::assert_snapshot!(refused("(<int32@SERVER,{int32}@CLIENTS> -> <bool@SERVER,<int32@SERVER,int32@SERVER>>)"), @"the state that update returns: not assignable: expected bool, found int32");
    insta::assert_snapshot!(refused("(<int32@SERVER,{int32}@CLIENTS> -> int32@SERVER)"), @"expected a function that returns two results, found (<int32@SERVER,{int32}@CLIENTS> -> int32@SERVER)");
    insta::assert_snapshot!(refused("(<int32@SERVER,{bool}@CLIENTS> -> <int32@SERVER,<int32@SERVER,int32@SERVER>>)"), @"the data for work: not assignable: expected int32, found bool");

    let send = "(a:<int32@SERVER,{int32}@CLIENTS> -> %federated_zip_at_clients(<a[1],%federated_broadcast(a[0])>))";
    let form = BroadcastForm::from_comp(&comp(send), &CompileOptions::default()).unwrap();
    let ty = ty("(<int32@SERVER,{int32}@CLIENTS> -> {<int32,bool>}@CLIENTS)");
    let refused = BroadcastForm::from_parts(ty, |role| part(&form.parts(), role)).unwrap_err();
    insta::assert_snapshot!(refused, @"what client_processing returns: not assignable: expected bool, found int32 at [1]");
}

/// The part of this role.
fn part(parts: &[(&'static str, &Comp)], role: &str) -> Result<Comp, Problem> {
    Ok(parts.iter().find(|(it, _)| *it == role).unwrap().1.clone())
}

#[test]
fn literals_keep_their_dtypes_in_graphs() {
    let literals = "(x:int32 -> (let a=comp#add(<x,x>) in <a,lit int64 5,lit uint8 3,lit float16 1.5,lit bool true>))";
    let compiled = run_pass(&passes::CompileLocalSubcomputations, &comp(literals)).unwrap().comp;
    assert!(compiled.as_compiled().is_some(), "{compiled}");
    insta::assert_snapshot!(compiled.ty(), @"(int32 -> <int32,int64,uint8,float16,bool>)");
}

/// Other processes make other hash maps and other addresses; what compiling gives is the same.
#[test]
fn ids_are_those_of_other_processes() {
    let compiled =
        compile_to_native(&comp("(v:{int32}@CLIENTS -> %federated_sum(v))"), &CompileOptions::default()).unwrap();
    let graphs = compiled.comp.preorder().filter(|it| it.as_compiled().is_some());
    let ids: Vec<_> = graphs.map(|it| format!("{:016x}", graph(it).cache_key)).collect();
    insta::assert_snapshot!(ids.join(" "), @"3bd5cd3ec66971ba bcfc38cc2989ab66 bcfc38cc2989ab66");
}

#[test]
fn parts_with_merged_graphs_have_ids() {
    let round = comp("(a:<int32@SERVER,{int32}@CLIENTS> -> <a[0],%federated_sum(a[1])>)");
    let send = comp("(a:<int32@SERVER,{int32}@CLIENTS> -> %federated_broadcast(a[0]))");
    let options = CompileOptions::default();
    let map_reduce = MapReduceForm::from_comp(&round, &options).unwrap();
    let mergeable = MergeableCompForm::from_comp(&round, &options).unwrap();
    let broadcast = BroadcastForm::from_comp(&send, &options).unwrap();
    let parts = map_reduce.parts().into_iter().chain(mergeable.parts()).chain(broadcast.parts());
    let mut graphs = 0;
    for (role, part) in parts {
        for body in part.preorder().filter(|it| it.as_compiled().is_some()) {
            assert_ne!(graph(body).cache_key, 0, "{role}");
            graphs += 1;
        }
    }
    assert!(graphs > 12, "{graphs}");
}

/// What an input is compiled to.
#[derive(Clone, Copy)]
enum Target {
    Native,
    MapReduce,
    DistributeAggregate,
    Mergeable,
    Broadcast,
}

fn error(target: Target, comp: &Comp) -> CompileError {
    let options = CompileOptions::default();
    match target {
        Target::Native => compile_to_native(comp, &options).map(drop).unwrap_err(),
        Target::MapReduce => MapReduceForm::from_comp(comp, &options).map(drop).unwrap_err(),
        Target::DistributeAggregate => DistributeAggregateForm::from_comp(comp, &options).map(drop).unwrap_err(),
        Target::Mergeable => MergeableCompForm::from_comp(comp, &options).map(drop).unwrap_err(),
        Target::Broadcast => BroadcastForm::from_comp(comp, &options).map(drop).unwrap_err(),
    }
}

/// Each is refused by a pass that says where and why.
#[test]
fn bad_inputs_are_refused_with_pass_path_and_reason() {
    const AFTER_AGGREGATE: &str = "(a:<int32@SERVER,{int32}@CLIENTS> -> <a[0],%federated_sum(%federated_map(<comp#add,\
         %federated_zip_at_clients(<a[1],%federated_broadcast(%federated_sum(a[1]))>)>))>)";
    let cases = [
        (Target::Native, "(v:{int32}@CLIENTS -> %federated_sun:({int32}@CLIENTS -> int32@SERVER)(v))"),
        (Target::Native, "(v:{int32}@CLIENTS -> %nothing_like_any:({int32}@CLIENTS -> int32@SERVER)(v))"),
        (Target::MapReduce, AFTER_AGGREGATE),
        (Target::DistributeAggregate, AFTER_AGGREGATE),
        (Target::Mergeable, AFTER_AGGREGATE),
        (Target::MapReduce, "(a:<int32@SERVER,{int32}@CLIENTS> -> a[0])"),
        (Target::MapReduce, "(a:<int32@SERVER,{int32}@CLIENTS> -> <a[0],a[1]>)"),
        (Target::DistributeAggregate, "(a:<int32@SERVER,{int32}@CLIENTS> -> <a[0],a[1]>)"),
        (Target::Mergeable, "(v:{int32}@CLIENTS -> %federated_secure_sum(<v,lit int32 9>))"),
        (Target::Broadcast, "(a:<int32@SERVER,{int32}@CLIENTS> -> %federated_broadcast(%federated_sum(a[1])))"),
        (Target::Native, "(x:int32 -> (let y=comp#gone(x) in comp#add(<y,y>)))"),
        (Target::Native, "(x:int32 -> (let y=comp#broken(x) in comp#add(<y,y>)))"),
    ];
    let said = cases.map(|(target, text)| {
        let error = error(target, &comp(text));
        assert!(matches!(error, CompileError::Pass { .. }), "{error:?}");
        error.to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @r"
    reduce_intrinsics at .lambda.result.call.function: no intrinsic is named `federated_sun`; did you mean `federated_sum`?
    reduce_intrinsics at .lambda.result.call.function: no intrinsic is named `nothing_like_any`
    map_reduce_form at .: broadcast dependent on aggregate: federated_broadcast (`_var3`) needs the result of federated_aggregate (`_var2`)
    distribute_aggregate_form at .: broadcast dependent on aggregate: federated_broadcast (`_var2`) needs the result of federated_sum (`_var1`)
    mergeable_comp_form at .: aggregate dependent on aggregate: federated_aggregate (`_var8`) needs the result of federated_aggregate (`_var2`)
    map_reduce_form at .: expected a computation that returns two results, found int32@SERVER
    map_reduce_form at .: expected values of the same placement to zip, found {int32}@CLIENTS
    distribute_aggregate_form at .: it contains the unbound reference `a part of <{int32}@CLIENTS> that clients do not aggregate`: it needs what is not available to it
    mergeable_comp_form at .: expected no aggregation in after_merge, found federated_secure_sum: (<{int32}@CLIENTS,int32> -> int32@SERVER)
    broadcast_form at .: expected no aggregations, found federated_aggregate
    compile_local_subcomputations at .lambda.result.block.local[0](_var1): `the binding of the result` refers to the node `gone`, which is not in the graph
    disable_call_rewriting at .lambda.result.block.local[0](y).call.function: the computation holds no graph
    ");
}

#[test]
fn a_graph_that_is_none_does_not_matter_where_no_graph_is_looked_into() {
    let broken = comp("(x:int32 -> (let y=comp#broken(x) in comp#add(<y,y>)))");
    let dominant = call_dominant(&broken, &CompileOptions::default()).unwrap().comp;
    assert_eq!(dominant.preorder().filter(|it| it.as_compiled().is_some()).count(), 2);
}
