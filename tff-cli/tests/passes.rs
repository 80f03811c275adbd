//! Every pass keeps the values of recorded computations.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

mod recorded;

use prost::Message;
use recorded::{decode, executor, records, same};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use tff_compiler::pass::run_pass;
use tff_compiler::passes::{ALL, ReduceIntrinsics};
use tff_exec::{Executor, Value, value_from_proto};
use tff_ir::Comp;
use tff_proto::v0 as pb;

fn argument(record: &Json, comp: &Comp) -> Option<Value> {
    let parameter = comp.ty().as_function()?.parameter.clone()?;
    let proto = pb::Value::decode(decode(record, "args").as_slice()).unwrap();
    Some(value_from_proto(&proto, &parameter).unwrap())
}

fn run(executor: &Executor, comp: &Comp, argument: Option<Value>, clients: Option<usize>) -> Value {
    executor.prepare(comp).unwrap().call(argument, clients).unwrap()
}

#[test]
fn passes_keep_values() {
    let executor = executor();
    let mut changed: BTreeMap<&str, usize> = BTreeMap::new();
    let records = ["comps.jsonl", "comps_random.jsonl"].into_iter().flat_map(records);
    for record in records.filter(|record| record["result"].is_object()) {
        let comp = Comp::from_proto(&pb::Computation::decode(decode(&record, "proto").as_slice()).unwrap()).unwrap();
        // Sequences as results are graphs, which differ where their values do not.
        if comp.ty().as_function().is_some_and(|ty| ty.result.contains_sequence()) {
            continue;
        }
        let reduced = run_pass(&ReduceIntrinsics::default(), &comp).unwrap().comp;
        let clients = record["clients"].as_u64().map(|clients| usize::try_from(clients).unwrap());
        let argument = argument(&record, &comp);
        let expected = run(&executor, &reduced, argument.clone(), clients);
        for pass in ALL {
            let after = run_pass(*pass, &reduced).unwrap();
            if after.changed {
                let found = run(&executor, &after.comp, argument.clone(), clients);
                assert!(same(&found, &expected), "{} {}: {expected:?}, {found:?}", pass.name(), record["name"]);
                *changed.entry(pass.name()).or_default() += 1;
            }
        }
    }
    for pass in [
        "add_cache_ids",
        "compile_local_subcomputations",
        "eliminate_common_subexpressions",
        "to_call_dominant",
        "uniquify_reference_names",
    ] {
        assert!(changed.get(pass).is_some_and(|count| *count > 10), "{changed:?}");
    }
}
