//! The pipelines: on recorded computations, on small ones, and in another order.

use crate::bodies::comp;
use std::collections::BTreeSet;
use std::sync::Arc;
use tff_compiler::forms::{BroadcastForm, DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::{CompileError, CompileOptions, call_dominant, compile_to_native};
use tff_ir::{Comp, CompiledComputation};
use tff_testing::{comp_of, graph, module, records, ty};
use tff_types::Type;

fn check(file: &str, least: usize) {
    let mut cases = 0;
    let mut problems = Vec::new();
    for record in records(&format!("testdata/golden/{file}")) {
        if !record["proto"].is_string() || !record["call_dominant_proto"].is_string() {
            continue;
        }
        let (comp, expected) = (comp_of(&record, "proto"), comp_of(&record, "call_dominant_proto"));
        cases += 1;
        let found = call_dominant(&comp, &CompileOptions::default()).unwrap().comp;
        if !found.is_alpha_equivalent_to(&expected) {
            problems.push(format!("{}:\nexpected {expected}\n   found {found}", record["name"]));
        }
        let native = compile_to_native(&comp, &CompileOptions::default()).unwrap().comp;
        if native.ty() != comp_of(&record, "native_proto").ty() {
            problems.push(format!("{}: expected {}, found {}", record["name"], expected.ty(), native.ty()));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(cases >= least, "only {cases} cases");
}

#[test]
fn call_dominant_form_of_recorded_computations() {
    check("comps.jsonl", 52);
}

#[test]
fn call_dominant_form_of_random_computations() {
    check("comps_random.jsonl", 48);
}

fn native(text: &str) -> Result<Comp, CompileError> {
    compile_to_native(&comp(text), &CompileOptions::default()).map(|compiled| compiled.comp)
}

#[test]
fn modules_of_other_systems_are_compiled_around() {
    let compiled =
        native("(v:{int32}@CLIENTS -> %federated_sum(%federated_map(<(x:int32 -> comp#xla(x)),v>)))").unwrap();
    assert!(compiled.preorder().any(|part| *part == module()));
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
    assert!(graphs.iter().all(|graph| graph.cache_key.is_some()));
    let distinct: BTreeSet<_> = graphs.iter().map(|graph| (graph.cache_key, Arc::as_ptr(graph).addr())).collect();
    // Zero, the sum and what is mapped; both sums are one.
    assert_eq!(distinct.len(), 3, "{compiled}");
    assert_eq!(compiled.to_string().matches("federated_aggregate").count(), 1, "{compiled}");
}

/// Other processes make other hash maps and other addresses; what compiling gives is the same.
#[test]
fn ids_are_those_of_other_processes() {
    let compiled =
        compile_to_native(&comp("(v:{int32}@CLIENTS -> %federated_sum(v))"), &CompileOptions::default()).unwrap();
    let graphs = compiled.comp.preorder().filter(|it| it.as_compiled().is_some());
    let ids: Vec<_> = graphs.map(|it| format!("{:016x}", graph(it).cache_key.unwrap_or(0))).collect();
    insta::assert_snapshot!(ids.join(" "), @"3bd5cd3ec66971ba bcfc38cc2989ab66 bcfc38cc2989ab66");
}

#[test]
fn graphs_that_are_none_are_named() {
    let error = native("(x:int32 -> (let y=x in comp#broken(y)))").unwrap_err();
    insta::assert_snapshot!(error, @"disable_call_rewriting at .lambda.result.block.result.call.function: the computation holds no graph");
}

#[test]
fn a_graph_that_is_none_does_not_matter_where_no_graph_is_looked_into() {
    let broken = comp("(x:int32 -> (let y=comp#broken(x) in comp#add(<y,y>)))");
    let dominant = call_dominant(&broken, &CompileOptions::default()).unwrap().comp;
    assert_eq!(dominant.preorder().filter(|it| it.as_compiled().is_some()).count(), 2);
}

#[test]
fn ops_are_checked() {
    let mut options = CompileOptions::default();
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
    insta::assert_snapshot!(native("(x:int32 -> y:int32)").unwrap_err(), @"the computation is not valid: error[unbound-reference] at .lambda.result: the name `y` is used here and defined nowhere around it");
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

/// Names are chosen by whoever sends the computation.
#[test]
fn messages_are_one_line_of_limited_length() {
    let name = format!("\u{1b}[31m\n{}", "x".repeat(1 << 20));
    let int = || ty("int32");
    let free = Comp::reference(name.clone(), int()).unwrap();
    let clients = Type::structure([(Some("a"), Type::structure([(Some(name.as_str()), int())]).unwrap())]).unwrap();
    let clients = Type::at_clients(clients).unwrap();
    let unknown = Type::function(Some(clients.clone()), Type::at_server(int()).unwrap()).unwrap();
    let unknown = Comp::intrinsic(name.as_str(), unknown).unwrap();
    let call = Comp::call(unknown.clone(), Some(Comp::reference("v", clients.clone()).unwrap())).unwrap();
    let comps = [
        unknown,
        free.clone(),
        Comp::lambda(Some((name.as_str(), clients.clone())), free).unwrap(),
        Comp::lambda(Some(("v", clients.clone())), call).unwrap(),
        Comp::lambda(Some(("v", clients)), comp("comp#broken")).unwrap(),
    ];
    let targets =
        [Target::Native, Target::MapReduce, Target::DistributeAggregate, Target::Mergeable, Target::Broadcast];
    let mut said = 0;
    for (comp, target) in comps.iter().flat_map(|comp| targets.map(|target| (comp, target))) {
        let message = error(target, comp).to_string();
        assert!(message.len() < 3000 && !message.contains(char::is_control), "{} bytes: {message:?}", message.len());
        said += 1;
    }
    assert_eq!(said, 25);
}
