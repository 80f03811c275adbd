//! Forms: of recorded computations, whose parts are of the recorded types and which are refused for the
//! recorded reasons, and of small ones.

use crate::bodies::comp;
use serde_json::Value as Json;
use std::collections::HashMap;
use tff_compiler::forms::{BroadcastForm, DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::{CompileError, CompileOptions, Problem, call_dominant};
use tff_ir::Comp;
use tff_testing::{comp_of, graph, records, ty};

type Parts = Vec<(String, Comp)>;

fn owned(parts: &[(&'static str, &Comp)]) -> Parts {
    parts.iter().map(|(role, part)| ((*role).to_owned(), (*part).clone())).collect()
}

/// The parts, and the computation they make up.
fn form(record: &Json) -> Result<(Parts, Comp), CompileError> {
    let (comp, options) = (comp_of(record, "proto"), CompileOptions::default());
    match record["kind"].as_str().unwrap() {
        "distribute_aggregate" => {
            let form = DistributeAggregateForm::from_comp(&comp, &options)?;
            Ok((owned(&form.parts()), form.to_comp()?))
        }
        _ => {
            let form = MapReduceForm::from_comp(&comp, &options)?;
            Ok((owned(&form.parts()), form.to_comp()?))
        }
    }
}

/// What the reference's reasons have in common with ours.
const REASONS: [(&str, &str); 4] = [
    ("same placement", "same placement"),
    ("unbound references", "unbound reference"),
    ("broadcast dependent on aggregate", "broadcast dependent on aggregate"),
    ("two arguments", "two arguments"),
];

/// A text with generated names numbered in the order in which they occur.
fn renamed(text: &str) -> String {
    let text = text.replace("<lambda>_arg", "_lambda_arg").replace("ignored_param", "_ignored");
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut result = String::new();
    let mut name = String::new();
    for char in text.chars().chain([' ']) {
        if char.is_alphanumeric() || char == '_' || char == '#' {
            name.push(char);
            continue;
        }
        if name.starts_with('_') {
            let next = names.len();
            result.push_str(&format!("n{}", names.entry(name.clone()).or_insert(next)));
        } else {
            result.push_str(&name);
        }
        name.clear();
        result.push(char);
    }
    // The reference selects from a block what ours has as its result.
    let result = result.trim_end().to_owned();
    match (result.find("in <intrinsic_args_from_before_comp="), result.strip_suffix(",intermediate_state=<>>)[0])")) {
        (Some(_), Some(start)) => start.replace("in <intrinsic_args_from_before_comp=", "in ") + "))",
        _ => result,
    }
}

#[test]
fn recorded_forms() {
    let mut problems = Vec::new();
    let records = records("testdata/golden/forms.jsonl");
    assert_eq!(records.len(), 36);
    for record in &records {
        let name = format!("{} as {}", record["name"], record["kind"]);
        match (form(record), record["error"].as_str()) {
            (Ok((parts, whole)), None) => {
                let types: HashMap<_, _> =
                    parts.iter().map(|(role, part)| (role.clone(), part.ty().to_string())).collect();
                let expected: HashMap<String, String> = serde_json::from_value(record["parts"].clone()).unwrap();
                for (role, expected) in &expected {
                    if Some(expected) != types.get(role) {
                        problems.push(format!("{name}: {role}: expected {expected}, found {:?}", types.get(role)));
                    }
                }
                for (role, part) in &parts {
                    let Some(expected) = record["parts_compact"][role].as_str() else { continue };
                    let found = part.to_string();
                    if renamed(expected) != renamed(&found) {
                        problems.push(format!("{name}: {role}:\nexpected {expected}\n   found {found}"));
                    }
                }
                if whole.ty() != comp_of(record, "proto").ty() {
                    problems.push(format!("{name}: of type {} again", whole.ty()));
                }
                if let Err(error) = call_dominant(&whole, &CompileOptions::default()) {
                    problems.push(format!("{name}: {error}"));
                }
            }
            (Err(found), Some(expected)) => {
                let reason = REASONS.iter().find(|(theirs, _)| expected.contains(theirs)).unwrap().1;
                if !found.to_string().contains(reason) {
                    problems.push(format!("{name}: expected {expected}, found {found}"));
                }
            }
            (found, expected) => {
                let found = found.map(|(parts, _)| parts).map_err(|error| error.to_string());
                problems.push(format!("{name}: expected {expected:?}, found {found:?}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn broadcast_form() {
    let form = |text: &str| BroadcastForm::from_comp(&comp(text), &CompileOptions::default());
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
    let other = BroadcastForm::from_parts(parts.ty().clone(), |role| -> Result<Comp, Problem> {
        Ok(if role == "client_processing" { parts.client_processing().clone() } else { comp("comp#one") })
    });
    insta::assert_snapshot!(other.unwrap_err(), @"what compute_server_context returns for client_processing: not assignable: expected <int32>, found int32 (struct and tensor)");
}

#[test]
fn mergeable_comp_form() {
    let form = |text: &str| MergeableCompForm::from_comp(&comp(text), &CompileOptions::default());
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
            assert!(graph(body).cache_key.is_some(), "{role}");
            graphs += 1;
        }
    }
    assert!(graphs > 12, "{graphs}");
}

/// What aggregations take from the server is computed before the broadcast; the result keeps its names.
#[test]
fn names_of_results_are_kept() {
    for aggregation in ["%federated_secure_sum_bitwidth(<p.c,lit int32 8>)", "%federated_sum(p.c)"] {
        let round = format!("(p:<s=int32@SERVER,c={{int32}}@CLIENTS> -> <state=p.s,metrics={aggregation}>)");
        let form = DistributeAggregateForm::from_comp(&comp(&round), &CompileOptions::default()).unwrap();
        let result = &form.server_result().ty().as_function().unwrap().result;
        assert_eq!(result.to_string(), "<state=int32@SERVER,metrics=int32@SERVER>", "{aggregation}");
        assert_eq!(form.to_comp().unwrap().ty(), form.ty());
    }
}

/// What aggregates nothing asks clients for nothing: their number need not be known.
#[test]
fn what_aggregates_nothing_needs_no_clients() {
    for text in ["( -> lit str \"Hello, World!\")", "(s:int32@SERVER -> %federated_apply(<comp#tf,s>))"] {
        let form = MergeableCompForm::from_comp(&comp(text), &CompileOptions::default()).unwrap();
        let up_to_merge = form.up_to_merge();
        assert!(up_to_merge.preorder().all(|part| !part.ty().to_string().contains("CLIENTS")), "{up_to_merge}");
        let uses_report = form.after_merge().preorder().filter(|part| part.as_compiled().is_some()).count();
        assert_eq!(uses_report, usize::from(text.contains("comp#tf")), "{}", form.after_merge());
    }
}
