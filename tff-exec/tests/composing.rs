//! Children that record what they are asked for, and answer what a test says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its input must stop")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tff_exec::{Child, ExecError, Executor, Options, Receive, Value, WorkerError, Workers};
use tff_ir::text::{Environment, parse};
use tff_ir::{Array, Scalar};
use tff_proto::v0 as pb;
use tff_proto::v0::value::Value as V;

/// A worker that computes nothing.
#[derive(Debug)]
struct Scripted {
    name: Arc<str>,
    n_clients: usize,
    /// What every value is.
    answer: Result<pb::Value, ExecError>,
    next: AtomicU64,
    log: Mutex<Vec<String>>,
}

impl Scripted {
    fn new(name: &str, n_clients: usize, answer: Result<pb::Value, ExecError>) -> Arc<Self> {
        Arc::new(Self { name: Arc::from(name), n_clients, answer, next: AtomicU64::new(0), log: Mutex::default() })
    }

    fn note(&self, what: String) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.log.lock().unwrap().push(format!("{id}={what}"));
        id
    }
}

impl Child for Scripted {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn n_clients(&self) -> usize {
        self.n_clients
    }

    fn create_value(&self, value: pb::Value) -> u64 {
        self.note(match value.value.unwrap() {
            V::Federated(value) => {
                let ty = value.r#type.unwrap();
                let pb::placement_spec::Placement::Value(placement) = ty.placement.unwrap().placement.unwrap() else {
                    panic!("a label");
                };
                format!("{} at {}{}", value.value.len(), placement.uri, if ty.all_equal { ", all equal" } else { "" })
            }
            V::Computation(comp) => match comp.computation.unwrap() {
                pb::computation::Computation::Intrinsic(intrinsic) => intrinsic.uri,
                pb::computation::Computation::Lambda(_) => "lambda".to_owned(),
                other => panic!("{other:?}"),
            },
            V::Array(_) => "array".to_owned(),
            other => panic!("{other:?}"),
        })
    }

    fn create_call(&self, function: u64, argument: Option<u64>) -> u64 {
        self.note(format!("{function}({})", argument.unwrap()))
    }

    fn create_struct(&self, elements: &[u64]) -> u64 {
        self.note(format!("{elements:?}"))
    }

    fn compute(&self, id: u64, receive: Receive) {
        self.log.lock().unwrap().push(format!("compute {id}"));
        receive(self.answer.clone());
    }

    fn dispose(&self, id: u64) {
        self.log.lock().unwrap().push(format!("dispose {id}"));
    }
}

/// The same children each time.
#[derive(Debug)]
struct Fixed(Vec<Arc<Scripted>>);

impl Workers for Fixed {
    fn run(
        &self,
        n_clients: usize,
        round: &mut dyn FnMut(Vec<Arc<dyn Child>>) -> Result<Value, ExecError>,
    ) -> Result<Value, ExecError> {
        assert_eq!(self.0.iter().map(|child| child.n_clients).sum::<usize>(), n_clients);
        round(self.0.iter().map(|child| child.clone() as Arc<dyn Child>).collect())
    }
}

fn run(text: &str, children: &[Arc<Scripted>], argument: Option<Value>) -> Result<Value, ExecError> {
    let comp = parse(text, &Environment::default()).unwrap_or_else(|error| panic!("{text}: {error}")).comp;
    let mut options = Options::default();
    options.workers = Some(Arc::new(Fixed(children.to_vec())));
    let n_clients = children.iter().map(|child| child.n_clients).sum();
    Executor::new(options).prepare(&comp).unwrap().call(argument, Some(n_clients))
}

fn int(value: i32) -> Value {
    Value::scalar(Scalar::Int32(value))
}

fn array(scalar: Scalar) -> pb::Value {
    pb::Value { tensor: None, value: Some(V::Array(Array::from_scalar(scalar).to_proto_value())) }
}

fn placed(uri: &str, all_equal: bool, value: Vec<pb::Value>) -> pb::Value {
    let placement = pb::placement_spec::Placement::Value(pb::Placement { uri: uri.to_owned() });
    let spec = pb::PlacementSpec { placement: Some(placement) };
    let r#type = Some(pb::FederatedType { placement: Some(spec), all_equal, member: None });
    pb::Value { tensor: None, value: Some(V::Federated(pb::value::Federated { r#type, value })) }
}

#[test]
fn a_child_is_sent_what_it_needs_once() {
    let child = Scripted::new("one", 2, Ok(placed("clients", true, vec![array(Scalar::Int32(5))])));
    // The model goes into three intrinsics, the function into two, and another value into none.
    let text = "(a:<v={int32}@CLIENTS,m=int32@SERVER> -> (let \
        m=federated_broadcast(a.m),unused=federated_value_at_clients(lit int32 3),f=(x:<int32,int32> -> x[1]),\
        first=federated_map(<f,federated_zip_at_clients(<a.v,m>)>),\
        second=federated_map(<f,federated_zip_at_clients(<first,m>)>) in second))";
    let argument = Value::structure([Value::at_clients([int(1), int(2)]), Value::at_server(int(3))]);
    let result = run(text, std::slice::from_ref(&child), Some(argument)).unwrap();
    assert_eq!(result.describe(), "2 values at CLIENTS");
    let log = child.log.lock().unwrap();
    let (created, disposed): (Vec<String>, Vec<String>) =
        log.iter().cloned().partition(|line| !line.starts_with("dispose"));
    insta::assert_snapshot!(created.join("\n"), @r"
    0=federated_zip_at_clients
    1=2 at clients
    2=1 at clients, all equal
    3=[1, 2]
    4=0(3)
    5=federated_map
    6=lambda
    7=[6, 4]
    8=5(7)
    9=federated_zip_at_clients
    10=[8, 2]
    11=9(10)
    12=federated_map
    13=[6, 11]
    14=12(13)
    compute 14
    ");
    // Whatever it is asked for is its own again.
    let n_values = created.iter().filter(|line| line.contains('=')).count();
    assert_eq!(disposed.len(), n_values);
}

#[test]
fn what_children_answer_is_checked() {
    let map = "(v:{int32}@CLIENTS -> federated_map(<(x:int32 -> x),v>))";
    let sum = "(v:{int32}@CLIENTS -> federated_aggregate(<v,lit int32 0,(p:<int32,int32> -> p[0]),\
        (p:<int32,int32> -> p[0]),(x:int32 -> x)>))";
    let (one, wrong) = (|| array(Scalar::Int32(1)), || array(Scalar::Float32(1.0)));
    let error = |text: &str, answer: pb::Value| {
        let children =
            [Scripted::new("one", 1, Ok(placed("clients", true, vec![one()]))), Scripted::new("two", 2, Ok(answer))];
        let children = if text == sum { &children[1..] } else { &children[..] };
        let n_clients = children.iter().map(|child| child.n_clients as i32).sum();
        let argument = Value::at_clients((0..n_clients).map(int));
        run(text, children, Some(argument)).map_or_else(|error| error.to_string(), |value| panic!("{value:?}"))
    };
    let errors = [
        error(map, one()),
        error(map, placed("server", true, vec![one()])),
        error(map, placed("clients", false, vec![one()])),
        error(map, placed("clients", true, vec![one(), one()])),
        error(map, placed("clients", false, vec![])),
        error(map, placed("clients", false, vec![one(), wrong()])),
        error(map, pb::Value::default()),
        error(sum, one()),
        error(sum, placed("clients", false, vec![one(), one()])),
        error(sum, placed("server", true, vec![])),
        error(sum, placed("server", true, vec![wrong()])),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r"
    worker two: expected a value at CLIENTS, found one without placement
    worker two: expected a value at CLIENTS, found one placed elsewhere
    worker two: expected 2 values at CLIENTS, found 1
    worker two: expected 1 values at CLIENTS, found 2
    worker two: expected 2 values at CLIENTS, found 0
    worker two: [1]: expected int32, found float32
    worker two: expected a value at CLIENTS, found one without placement
    federated_aggregate: worker two: expected a value at SERVER, found one without placement
    federated_aggregate: worker two: expected a value at SERVER, found one placed elsewhere
    federated_aggregate: worker two: expected one value at SERVER, found 0 values
    federated_aggregate: worker two: expected int32, found float32
    ");
}

#[test]
fn there_may_be_so_many_clients_as_there_is_memory_for() {
    let answer = placed("clients", true, vec![array(Scalar::Int32(1))]);
    let children = [Scripted::new("one", 2_000_000_000, Ok(answer))];
    let error = run("federated_eval_at_clients(( -> lit int32 1))", &children, None).unwrap_err();
    assert!(matches!(error, ExecError::Limit { what: "the number of clients", .. }), "{error}");
}

#[test]
fn who_is_lost_counts_before_who_fails_and_else_the_first_in_order() {
    let failed = |name: &str| {
        let (worker, message) = (Arc::from(name), "it failed".to_owned());
        Scripted::new(name, 1, Err(WorkerError::Failed { worker, status: "INTERNAL", message }.into()))
    };
    let lost = |name: &str| {
        let (worker, reason) = (Arc::from(name), "it is gone".to_owned());
        Scripted::new(name, 1, Err(WorkerError::Unavailable { worker, reason }.into()))
    };
    let error = |children: &[Arc<Scripted>]| {
        run("federated_eval_at_clients(( -> lit int32 1))", children, None).unwrap_err().to_string()
    };
    assert_eq!(error(&[failed("one"), failed("two")]), "worker one: it failed (INTERNAL)");
    assert_eq!(error(&[lost("one"), failed("two")]), "worker one is unavailable: it is gone");
}
