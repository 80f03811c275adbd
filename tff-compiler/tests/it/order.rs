//! The order of passes: each reason for it in `pipelines.rs` is shown on a computation that comes out wrong
//! when two passes change places.

use crate::bodies::comp;
use std::collections::BTreeSet;
use std::sync::Arc;
use tff_compiler::graph::cache_id;
use tff_compiler::pass::run_pass;
use tff_compiler::passes::ALL;
use tff_compiler::{CompileError, CompileOptions, compile_to_native};
use tff_ir::{Comp, CompiledComputation, TensorFlow};

type Compiled = Result<Comp, CompileError>;

/// One reason: with a pass before another one, what comes of the text is right, as `is_right` says.
struct Reason {
    first: &'static str,
    then: &'static str,
    text: &'static str,
    is_right: fn(&Compiled) -> bool,
}

const REASONS: &[Reason] = &[
    Reason {
        first: "reduce_intrinsics",
        then: "to_call_dominant",
        text: "(v:{int32}@CLIENTS -> %federated_sum(v))",
        is_right: |compiled| calls(compiled).iter().all(|function| function.as_lambda().is_none()),
    },
    Reason {
        first: "to_call_dominant",
        then: "remove_unused_block_locals",
        text: "(v:int32 -> <comp#xla(v),v>[1])",
        is_right: |compiled| calls(compiled).is_empty(),
    },
    Reason {
        first: "to_call_dominant",
        then: "eliminate_common_subexpressions",
        text: "(v:{int32}@CLIENTS -> <%federated_broadcast(%federated_sum(v)),%federated_sum(v)>)",
        is_right: |compiled| calls(compiled).iter().filter(|it| it.to_string() == "federated_aggregate").count() == 1,
    },
    Reason {
        first: "to_call_dominant",
        then: "compile_local_subcomputations",
        text: "(x:int32 -> (let f=(y:int32 -> comp#add(<y,y>)) in f(f(x))))",
        is_right: is_graph,
    },
    Reason {
        first: "remove_unused_block_locals",
        then: "compile_local_subcomputations",
        text: "(x:int32 -> (let a=comp#xla(x) in comp#add(<x,x>)))",
        is_right: is_graph,
    },
    Reason {
        first: "compile_local_subcomputations",
        then: "share_equal_bodies",
        text: "<(x:int32 -> comp#add(<comp#add(<x,x>),x>)),(y:int32 -> comp#add(<comp#add(<y,y>),y>))>",
        is_right: |compiled| {
            let addresses: BTreeSet<_> = graphs(compiled).iter().map(|(graph, _)| Arc::as_ptr(graph).addr()).collect();
            addresses.len() == 1
        },
    },
    Reason {
        first: "compile_local_subcomputations",
        then: "add_cache_ids",
        text: "(x:int32 -> comp#add(<comp#add(<x,x>),x>))",
        is_right: has_ids,
    },
    Reason {
        first: "disable_call_rewriting",
        then: "add_cache_ids",
        text: "(v:{int32}@CLIENTS -> %federated_map(<comp#calling,v>))",
        is_right: has_ids,
    },
    Reason {
        first: "disable_call_rewriting",
        then: "to_call_dominant",
        text: "(x:int32 -> (let y=x in comp#broken(y)))",
        is_right: |compiled| {
            let error = compiled.as_ref().unwrap_err();
            error.path().is_some_and(|path| path.to_string() == ".lambda.result.block.result.call.function")
        },
    },
];

/// The functions that are called, in order.
fn calls(compiled: &Compiled) -> Vec<Comp> {
    let comp = compiled.as_ref().unwrap();
    comp.preorder().filter_map(Comp::as_call).map(|call| call.function.clone()).collect()
}

fn is_graph(compiled: &Compiled) -> bool {
    compiled.as_ref().is_ok_and(|comp| comp.as_compiled().is_some())
}

/// The graphs with their types.
fn graphs(compiled: &Compiled) -> Vec<(Arc<TensorFlow>, tff_types::Type)> {
    let graph = |part: &Comp| match part.as_compiled() {
        Some(CompiledComputation::TensorFlow(graph)) => Some((graph.clone(), part.ty().clone())),
        _ => None,
    };
    compiled.as_ref().unwrap().preorder().filter_map(graph).collect()
}

fn has_ids(compiled: &Compiled) -> bool {
    graphs(compiled).iter().all(|(graph, ty)| graph.cache_key == Some(cache_id(graph, ty)))
}

/// The names of the passes of the pipeline to what runtimes compute, in order.
fn pipeline() -> Vec<&'static str> {
    let compiled = compile_to_native(&comp("lit int32 1"), &CompileOptions::default()).unwrap();
    compiled.stats.iter().map(|stats| stats.pass).collect()
}

/// Runs these passes in this order.
fn run(passes: &[&str], text: &str) -> Compiled {
    passes.iter().try_fold(comp(text), |comp, name| {
        let pass = ALL.iter().find(|pass| pass.name() == *name).unwrap();
        run_pass(*pass, &comp).map(|transformed| transformed.comp)
    })
}

#[test]
fn the_order_of_the_pipeline_is_right() {
    for Reason { first, then, text, is_right } in REASONS {
        let compiled = compile_to_native(&comp(text), &CompileOptions::default()).map(|compiled| compiled.comp);
        assert!(is_right(&compiled), "{first} before {then}: {compiled:?}");
        assert!(is_right(&run(&pipeline(), text)), "{first} before {then}");
    }
}

#[test]
fn another_order_is_wrong() {
    for Reason { first, then, text, is_right } in REASONS {
        let mut passes = pipeline();
        // The last one of a name: what comes after it makes no difference any more.
        let [at_first, at_then] = [first, then].map(|name| passes.iter().rposition(|pass| pass == name).unwrap());
        assert!(at_first < at_then, "{first} before {then}, found {passes:?}");
        passes.swap(at_first, at_then);
        assert!(!is_right(&run(&passes, text)), "{first} after {then} makes no difference");
    }
}

/// What the options ask for does not depend on the order: it is said where the graph was written.
#[test]
fn ops_are_checked_where_they_were_written() {
    let mut options = CompileOptions::default();
    options.disallowed_ops = ["AddV2".to_owned()].into();
    let error = compile_to_native(&comp("(x:int32 -> (let y=x in comp#add(<y,y>)))"), &options).unwrap_err();
    assert_eq!(error.path().unwrap().to_string(), ".lambda.result.block.result.call.function");
}
