//! Running a form gives what running the computation gives: on recorded and on random computations,
//! with no, one and several clients, and with clients split into sub-rounds.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

mod recorded;

use prost::Message;
use recorded::{executor, records, same};
use tff_compiler::BinaryOp;
use tff_compiler::forms::{DistributeAggregateForm, MapReduceForm, MergeableCompForm};
use tff_compiler::graph::generic;
use tff_compiler::{CompileOptions, compile_to_native};
use tff_exec::{Clients, Executor, Sequence, Value};
use tff_ir::text::{Environment, parse};
use tff_ir::{Array, Comp, Scalar};
use tff_testing::comp_of;
use tff_types::{DType, Placement, PlacementSpec, Type, TypeKind};

/// Small whole numbers, so that sums are exact in any order; another one each time.
struct Values {
    next: i32,
    clients: usize,
}

impl Values {
    fn of(&mut self, ty: &Type) -> Value {
        match ty.kind() {
            TypeKind::Tensor(tensor) => {
                let dims: Vec<u64> = tensor.shape.dims().unwrap().iter().map(|dim| dim.unwrap_or(2)).collect();
                let len = usize::try_from(dims.iter().product::<u64>()).unwrap();
                let scalars: Vec<_> = (0..len).map(|_| self.scalar(tensor.dtype)).collect();
                Value::array(Array::from_scalars(tensor.dtype, dims, &scalars).unwrap())
            }
            TypeKind::Struct(structure) => {
                Value::structure(structure.elements().iter().map(|element| self.of(&element.ty)).collect::<Vec<_>>())
            }
            TypeKind::Sequence(sequence) => {
                let elements: Vec<_> = (0..3).map(|_| self.of(&sequence.element)).collect();
                Value::Sequence(Sequence::from_elements(sequence.element.clone(), elements))
            }
            TypeKind::Federated(federated) => match (&federated.placement, federated.all_equal) {
                (PlacementSpec::Value(Placement::Server), _) => Value::at_server(self.of(&federated.member)),
                (_, true) => Value::at_clients_all_equal(self.of(&federated.member)),
                (_, false) => {
                    Value::at_clients((0..self.clients).map(|_| self.of(&federated.member)).collect::<Vec<_>>())
                }
            },
            _ => panic!("no values of {ty}"),
        }
    }

    fn scalar(&mut self, dtype: DType) -> Scalar {
        self.next = (self.next * 7 + 3) % 17;
        match dtype {
            DType::Int32 => Scalar::Int32(self.next),
            #[expect(clippy::cast_precision_loss, reason = "they are small")]
            DType::Float32 => Scalar::Float32(self.next as f32),
            _ => panic!("no values of {dtype}"),
        }
    }
}

fn options() -> CompileOptions<'static> {
    let mut options = CompileOptions::default();
    options.insecure_aggregation = true;
    options
}

fn run(executor: &Executor, comp: &Comp, argument: Option<Value>, clients: usize) -> Value {
    let compiled = compile_to_native(comp, &options()).unwrap().comp;
    executor.prepare(&compiled).unwrap().call(argument, Some(clients)).unwrap()
}

fn recorded_rounds() -> Vec<(String, Comp)> {
    let records = records("forms.jsonl").into_iter().filter(|record| record["kind"] == "map_reduce");
    records.map(|record| (record["name"].as_str().unwrap().to_owned(), comp_of(&record, "proto"))).collect()
}

#[test]
fn forms_compute_what_computations_compute() {
    let executor = executor();
    let mut runs = 0;
    for (name, comp) in recorded_rounds() {
        let map_reduce =
            MapReduceForm::from_comp(&comp, &CompileOptions::default()).ok().map(|form| form.to_comp().unwrap());
        let distribute = DistributeAggregateForm::from_comp(&comp, &CompileOptions::default()).ok();
        let distribute = distribute.map(|form| form.to_comp().unwrap());
        let mergeable = MergeableCompForm::from_comp(&comp, &options()).ok().map(|form| form.to_comp().unwrap());
        for clients in [0, 1, 7] {
            let parameter = comp.ty().as_function().unwrap().parameter.clone().unwrap();
            let argument = Values { next: 1, clients }.of(&parameter);
            let expected = run(&executor, &comp, Some(argument.clone()), clients);
            for (form, whole) in [("map reduce", &map_reduce), ("distribute", &distribute), ("mergeable", &mergeable)] {
                let Some(whole) = whole else { continue };
                let found = run(&executor, whole, Some(argument.clone()), clients);
                assert!(same(&found, &expected), "{name} as {form}, {clients} clients: {expected:?}, {found:?}");
                runs += 1;
            }
        }
    }
    assert!(runs >= 75, "only {runs} runs");
}

/// The values of some of the clients.
fn slice(value: &Value, from: usize, to: usize) -> Value {
    match value {
        Value::Struct(elements) => Value::structure(elements.iter().map(|it| slice(it, from, to)).collect::<Vec<_>>()),
        Value::Clients(Clients::Each(members)) => Value::at_clients(members[from..to].to_vec()),
        other => other.clone(),
    }
}

fn at_server(value: &Value) -> Value {
    let Value::Server(member) = value else { panic!("{value:?} is not at the server") };
    member.as_ref().clone()
}

/// What the clients give in sub-rounds, merged from left to right, and what comes after.
fn run_merged(executor: &Executor, form: &MergeableCompForm, argument: &Value, bounds: &[usize]) -> Value {
    let partial = bounds.windows(2).map(|it| {
        let part = slice(argument, it[0], it[1]);
        at_server(&run(executor, form.up_to_merge(), Some(part), it[1] - it[0]))
    });
    let merged = partial.reduce(|left, right| run(executor, form.merge(), Some(Value::structure([left, right])), 0));
    let given = Value::structure([argument.clone(), Value::at_server(merged.unwrap())]);
    run(executor, form.after_merge(), Some(given), bounds[bounds.len() - 1])
}

#[test]
fn merged_sub_rounds_compute_what_one_round_computes() {
    let executor = executor();
    let mut runs = 0;
    for (name, comp) in recorded_rounds() {
        // What is returned to clients would have to be put together again.
        let at_clients = |ty: &Type| ty.contains(|part| part.as_federated().is_some_and(|it| !it.all_equal));
        if at_clients(&comp.ty().as_function().unwrap().result) {
            continue;
        }
        let Ok(form) = MergeableCompForm::from_comp(&comp, &options()) else { continue };
        let parameter = comp.ty().as_function().unwrap().parameter.clone().unwrap();
        let argument = Values { next: 5, clients: 7 }.of(&parameter);
        let expected = run(&executor, &comp, Some(argument.clone()), 7);
        for bounds in [&[0, 7][..], &[0, 4, 7], &[0, 3, 5, 7], &[0, 0, 7]] {
            let found = run_merged(&executor, &form, &argument, bounds);
            assert!(same(&found, &expected), "{name} at {bounds:?}: {expected:?}, {found:?}");
            runs += 1;
        }
    }
    assert!(runs >= 30, "only {runs} runs");
}

/// Random rounds of the type `(<s=int32@SERVER,c={int32}@CLIENTS> -> <int32@SERVER,int32@SERVER>)`,
/// as text.
struct Rounds(u64);

impl Rounds {
    fn pick(&mut self, below: u64) -> u64 {
        // Knuth's MMIX generator; its upper bits are the random ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn next(&mut self) -> String {
        let [state, output] = [(); 2].map(|()| self.after(3));
        format!("(a:<s=int32@SERVER,c={{int32}}@CLIENTS> -> <{state},{output}>)")
    }

    /// At the server, before anything is aggregated.
    fn before(&mut self, depth: u32) -> String {
        match self.pick(3) {
            0 if depth > 0 => {
                let [left, right] = [(); 2].map(|()| self.before(depth - 1));
                format!("%federated_apply(<comp#add,%federated_zip_at_server(<{left},{right}>)>)")
            }
            1 => "%federated_value_at_server(lit int32 5)".to_owned(),
            _ => "a.s".to_owned(),
        }
    }

    fn at_clients(&mut self, depth: u32) -> String {
        match self.pick(4) {
            0 | 1 if depth > 0 => {
                let left = self.at_clients(depth - 1);
                let right = match self.pick(2) {
                    0 => self.at_clients(depth - 1),
                    _ => format!("%federated_broadcast({})", self.before(depth - 1)),
                };
                format!("%federated_map(<comp#add,%federated_zip_at_clients(<{left},{right}>)>)")
            }
            2 if depth > 0 => {
                let value = self.at_clients(depth - 1);
                format!("(let v={value} in %federated_map(<comp#add,%federated_zip_at_clients(<v,v>)>))")
            }
            _ => "a.c".to_owned(),
        }
    }

    fn after(&mut self, depth: u32) -> String {
        match self.pick(6) {
            0 | 1 if depth > 0 => {
                let [left, right] = [(); 2].map(|()| self.after(depth - 1));
                format!("%federated_apply(<comp#add,%federated_zip_at_server(<{left},{right}>)>)")
            }
            2 => self.before(depth),
            3 => format!("%federated_max({})", self.at_clients(depth)),
            4 => format!("%federated_secure_sum_bitwidth(<{},lit int32 20>)", self.at_clients(depth)),
            _ => format!("%federated_sum({})", self.at_clients(depth)),
        }
    }
}

#[test]
fn forms_of_random_rounds_compute_what_these_compute() {
    let executor = executor();
    let pair: Type = "<int32,int32>".parse().unwrap();
    let add = generic::binary_operator(BinaryOp::Add, &pair).unwrap();
    let mut environment = Environment::default();
    environment.bodies.insert_comp("add", add.to_proto().unwrap().encode_to_vec().into());
    let mut rounds = Rounds(1);
    for _ in 0..20 {
        let text = rounds.next();
        let comp = parse(&text, &environment).unwrap_or_else(|error| panic!("{text}: {error}")).comp;
        let mergeable = MergeableCompForm::from_comp(&comp, &options()).unwrap();
        let wholes = [
            MapReduceForm::from_comp(&comp, &CompileOptions::default()).unwrap().to_comp().unwrap(),
            DistributeAggregateForm::from_comp(&comp, &CompileOptions::default()).unwrap().to_comp().unwrap(),
            mergeable.to_comp().unwrap(),
        ];
        for (clients, splits) in [(0, &[&[0, 0][..]][..]), (1, &[&[0, 1]]), (7, &[&[0, 4, 7], &[0, 3, 5, 7]])] {
            let parameter = comp.ty().as_function().unwrap().parameter.clone().unwrap();
            let argument = Values { next: 2, clients }.of(&parameter);
            let expected = run(&executor, &comp, Some(argument.clone()), clients);
            let wholes = wholes.iter().map(|whole| run(&executor, whole, Some(argument.clone()), clients));
            let merged = splits.iter().map(|bounds| run_merged(&executor, &mergeable, &argument, bounds));
            for (index, found) in wholes.chain(merged).enumerate() {
                assert!(same(&found, &expected), "{text} ({index}), {clients} clients: {expected:?}, {found:?}");
            }
        }
    }
}
