//! Every pass keeps the values of recorded and of random computations.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

mod recorded;

use recorded::{compiling_executor, executor, records, same};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use tff_compiler::BinaryOp;
use tff_compiler::graph::generic;
use tff_compiler::pass::run_pass;
use tff_compiler::passes::{ALL, ReduceIntrinsics, ToCallDominant};
use tff_exec::{Executor, Refusal, Value, value_from_proto};
use tff_ir::{Array, Comp, Scalar};
use tff_proto::v0 as pb;
use tff_testing::{bytes, comp_of, comp_with, message};

fn argument(record: &Json, comp: &Comp) -> Option<Value> {
    let parameter = comp.ty().as_function()?.parameter.clone()?;
    Some(value_from_proto(&message::<pb::Value>(bytes(record, "args")), &parameter).unwrap())
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
        let comp = comp_of(&record, "proto");
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

/// What a name stands for, or a term is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Pair,
    Function,
}

/// Random terms of three names, which often hide one another.
struct Terms {
    state: u64,
    /// The names in scope, the innermost last.
    scope: Vec<(&'static str, Kind)>,
    /// Whether some numbers are data that nobody has.
    may_fail: bool,
}

impl Terms {
    fn pick(&mut self, below: usize) -> usize {
        // Knuth's MMIX generator; its upper bits are the random ones.
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.state >> 33).unwrap() % below
    }

    fn new_name(&mut self) -> &'static str {
        ["a", "b", "c"][self.pick(3)]
    }

    /// A name in scope that stands for something of this kind.
    fn name(&mut self, kind: Kind) -> Option<&'static str> {
        let name = self.new_name();
        let innermost = self.scope.iter().rev().find(|(it, _)| *it == name);
        innermost.filter(|(_, it)| *it == kind).map(|_| name)
    }

    fn below(&mut self, name: &'static str, kind: Kind, term: impl FnOnce(&mut Self) -> String) -> String {
        self.scope.push((name, kind));
        let text = term(self);
        self.scope.pop();
        text
    }

    /// `(let n=term in …)`.
    fn block(&mut self, depth: usize, result: Kind) -> String {
        let kind = [Kind::Int, Kind::Pair, Kind::Function][self.pick(3)];
        let (value, name) = (self.term(depth - 1, kind), self.new_name());
        let result = self.below(name, kind, |terms| terms.term(depth - 1, result));
        format!("(let {name}={value} in {result})")
    }

    fn function(&mut self, depth: usize) -> String {
        let name = self.new_name();
        let result = self.below(name, Kind::Int, |terms| terms.term(depth - 1, Kind::Int));
        format!("({name}:int32 -> {result})")
    }

    fn term(&mut self, depth: usize, kind: Kind) -> String {
        if let Some(name) = self.name(kind).filter(|_| depth == 0 || self.state.is_multiple_of(3)) {
            return name.to_owned();
        }
        if depth == 0 {
            return match kind {
                Kind::Int if self.may_fail && self.pick(3) == 0 => "data \"gone\":int32".to_owned(),
                Kind::Int => format!("lit int32 {}", self.pick(9)),
                Kind::Pair => "<lit int32 4,lit int32 7>".to_owned(),
                Kind::Function => "(a:int32 -> a)".to_owned(),
            };
        }
        match (kind, self.pick(4)) {
            (_, 0) => self.block(depth, kind),
            (Kind::Int, 1) => {
                let [left, right] = [(); 2].map(|()| self.term(depth - 1, Kind::Int));
                format!("comp#add(<{left},{right}>)")
            }
            (Kind::Int, 2) => {
                let (pair, index) = (self.term(depth - 1, Kind::Pair), self.pick(2));
                format!("(let p={pair} in p[{index}])")
            }
            (Kind::Int, _) => {
                let (function, argument) = (self.term(depth - 1, Kind::Function), self.term(depth - 1, Kind::Int));
                format!("{function}({argument})")
            }
            (Kind::Pair, _) => {
                let [left, right] = [(); 2].map(|()| self.term(depth - 1, Kind::Int));
                format!("<{left},{right}>")
            }
            (Kind::Function, _) => self.function(depth),
        }
    }
}

#[test]
fn passes_keep_values_of_random_computations() {
    let executor = executor();
    let add = generic::binary_operator(BinaryOp::Add, &"<int32,int32>".parse().unwrap()).unwrap();
    let bodies = [("add", add)];
    let mut changed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut terms = Terms { state: 1, scope: Vec::new(), may_fail: false };
    for number in 0..60 {
        let [left, right] = [(); 2].map(|()| terms.below("a", Kind::Int, |terms| terms.term(5, Kind::Int)));
        let (text, clients) = match number % 2 {
            0 => (format!("(a:int32 -> <{left},{right}>)"), None),
            _ => (format!("(v:{{int32}}@CLIENTS -> %federated_sum(%federated_map(<(a:int32 -> {left}),v>)))"), Some(3)),
        };
        let comp = comp_with(&text, &bodies);
        let reduced = run_pass(&ReduceIntrinsics::default(), &comp).unwrap().comp;
        let value = |number| Value::array(Array::from_scalar(Scalar::Int32(number)));
        let argument = match clients {
            None => value(3),
            Some(_) => Value::at_clients([3, 5, 8].map(value)),
        };
        let expected = run(&executor, &reduced, Some(argument.clone()), clients);
        let dominant = run_pass(&ToCallDominant, &reduced).unwrap().comp;
        for (pass, before) in ALL.iter().flat_map(|pass| [(pass, &reduced), (pass, &dominant)]) {
            // It takes only what is in call-dominant form.
            if pass.name() == "compile_local_subcomputations" && before.ptr_eq(&reduced) {
                continue;
            }
            let after = run_pass(*pass, before).unwrap_or_else(|error| panic!("{text}: {error}"));
            if after.changed {
                let found = run(&executor, &after.comp, Some(argument.clone()), clients);
                assert!(same(&found, &expected), "{} {text}: {expected:?}, {found:?}", pass.name());
                *changed.entry(pass.name()).or_default() += 1;
            }
        }
    }
    for pass in [
        "compile_local_subcomputations",
        "eliminate_common_subexpressions",
        "remove_unused_block_locals",
        "to_call_dominant",
        "uniquify_reference_names",
    ] {
        assert!(changed.get(pass).is_some_and(|count| *count > 2), "{changed:?}");
    }
}

#[test]
fn what_nobody_needs_fails_neither_compiled_nor_uncompiled() {
    let executor = executor();
    let add = generic::binary_operator(BinaryOp::Add, &"<int32,int32>".parse().unwrap()).unwrap();
    let bodies = [("add", add)];
    let mut terms = Terms { state: 7, scope: Vec::new(), may_fail: true };
    let (mut avoided, mut failed) = (0, 0);
    for _ in 0..300 {
        let term = terms.below("a", Kind::Int, |terms| terms.term(5, Kind::Int));
        let text = format!("(a:int32 -> {term})");
        let comp = comp_with(&text, &bodies);
        let compiled = tff_compiler::compile_to_native(&comp, &tff_compiler::CompileOptions::default()).unwrap().comp;
        let [here, there] = [&comp, &compiled].map(|comp| {
            let argument = Value::array(Array::from_scalar(Scalar::Int32(3)));
            let found = executor.prepare(comp).unwrap().call(Some(argument), None);
            found.map_err(|error| error.cause().to_string())
        });
        match (&here, &there) {
            (Ok(here), Ok(there)) => assert!(same(here, there), "{text}: {here:?}, {there:?}"),
            (Err(here), Err(there)) => assert_eq!(here, there, "{text}"),
            _ => panic!("{text}: uncompiled {here:?}, compiled {there:?}"),
        }
        failed += usize::from(here.is_err());
        avoided += usize::from(here.is_ok() && text.contains("gone"));
    }
    assert!(failed > 20 && avoided > 20, "{failed} failed, {avoided} did not need what fails");
}

#[test]
fn random_computations_without_refusals_run() {
    let executor = compiling_executor();
    let add = generic::binary_operator(BinaryOp::Add, &"<int32,int32>".parse().unwrap()).unwrap();
    let bodies = [("add", add)];
    let mut terms = Terms { state: 11, scope: Vec::new(), may_fail: true };
    let (mut silent, mut refused) = (0, 0);
    for number in 0..300 {
        let term = terms.below("a", Kind::Int, |terms| terms.term(4, Kind::Int));
        let mapped = format!("%federated_map(<(a:int32 -> {term}),v>)");
        let result = match number % 5 {
            0 | 1 => format!("%federated_sum({mapped})"),
            2 => format!("%federated_mean({mapped})"),
            3 => format!("%federated_secure_sum_bitwidth(<{mapped},lit int32 8>)"),
            _ => format!("%federated_sun:({{int32}}@CLIENTS -> int32@SERVER)({mapped})"),
        };
        let text = format!("(v:{{int32}}@CLIENTS -> {result})");
        let comp = comp_with(&text, &bodies);
        let argument = Value::at_clients([3, 5].map(|number| Value::scalar(Scalar::Int32(number))));
        let result = executor.prepare(&comp).and_then(|program| program.call(Some(argument), None));
        let refusals = executor.refusals(&comp);
        match result {
            Err(error) => {
                let cause = error.cause().to_string();
                let says = |refusal: &Refusal| refusal.error.cause().to_string() == cause;
                assert!(refusals.iter().any(says), "{text}: {error}, not in {refusals:?}");
                refused += 1;
            }
            Ok(_) => silent += usize::from(refusals.is_empty()),
        }
    }
    assert!(silent > 20 && refused > 180, "{silent} ran without refusals, {refused} failed");
}
