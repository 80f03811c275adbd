//! The library as programs use it: computations from files, forms in folders and in sub-rounds, simulations over a
//! source of the program's own. Nothing here needs a native library.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use prost::Message;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use tff_compiler::CompileOptions;
use tff_exec::{Executor, Options, Sequence, Value};
use tff_ir::text::{Environment, parse};
use tff_ir::{Array, Comp, Scalar};
use tff_sim::computation::{Encoded, TextOptions};
use tff_sim::data::{ClientId, DataError, InMemory, Source};
use tff_sim::forms::{Form, FormKind, SubRounds};
use tff_sim::json::{self, Members};
use tff_sim::simulation::{NamedComp, Process, RoundReport, Settings, Simulation, SimulationError};
use tff_sim::{FileProblem, read};
use tff_types::{DType, Type};

fn comp(text: &str) -> Comp {
    parse(text, &Environment::default()).unwrap_or_else(|error| panic!("{text}: {error}")).comp
}

fn executor() -> Executor {
    let mut options = Options::default();
    options.threads = Some(1);
    options.compile = Some(tff_sim::compiler(CompileOptions::default));
    Executor::new(options)
}

fn run_json(executor: &Executor, comp: &Comp, argument: &str) -> String {
    let function = comp.ty().as_function().unwrap();
    let argument = json::read(&json::parse(argument.as_bytes()).unwrap(), function.parameter.as_ref().unwrap());
    let result = executor.prepare(comp).unwrap().call(Some(argument.unwrap()), None).unwrap();
    json::write(&result, &function.result, &Members::of(executor, None)).unwrap()
}

const SUM: &str = "(x:{int32}@CLIENTS -> %federated_sum(x))";

#[test]
fn a_computation_is_read_from_a_message_a_text_or_a_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let sum = comp(SUM);
    fs::write(path("sum.pb"), sum.to_proto().unwrap().encode_to_vec()).unwrap();
    fs::write(path("sum.tff"), SUM).unwrap();
    fs::write(path("sum"), SUM).unwrap();
    for name in ["sum.pb", "sum.tff", "sum"] {
        assert_eq!(read(&path(name)).unwrap(), sum, "{name}");
    }
    let form = Form::from_comp(FormKind::Mergeable, &sum, &CompileOptions::default()).unwrap();
    form.write(sum.ty(), &path("form")).unwrap();
    assert_eq!(run_json(&executor(), &read(&path("form")).unwrap(), "[1, 2, 3]"), "6");
}

#[test]
fn bytes_without_a_file_say_themselves_what_they_are() {
    let read = |bytes: Vec<u8>| {
        Encoded::from_bytes("here", bytes.into(), &TextOptions::default()).and_then(|encoded| encoded.decode())
    };
    assert_eq!(read(SUM.into()).unwrap(), comp(SUM));
    assert_eq!(read(comp(SUM).to_proto().unwrap().encode_to_vec()).unwrap(), comp(SUM));
    assert_eq!(read(b"(x:int32 -> y)".to_vec()).unwrap_err().to_string().split(": ").next(), Some("here:1:13"));
    assert!(matches!(*read(Vec::new()).unwrap_err().problem, FileProblem::Empty));
    assert!(matches!(*read(vec![0xff; 9]).unwrap_err().problem, FileProblem::Message(_)));
}

#[test]
fn what_is_wrong_with_a_file_is_typed() {
    let folder = tempfile::tempdir().unwrap();
    let problem = |name: &str| read(&folder.path().join(name)).unwrap_err().problem;
    fs::write(folder.path().join("binary.tff"), [b'(', 0xff]).unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    assert!(matches!(*problem("nowhere.pb"), FileProblem::Io(_)));
    assert!(matches!(*problem("binary.tff"), FileProblem::NotText { at: 1 }));
    assert!(matches!(*problem("empty"), FileProblem::NoForm));
}

#[test]
fn names_that_are_no_identifiers_survive_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let comp = comp("(p:<s=<`a/b`=int32>@SERVER,c={int32}@CLIENTS> -> <p.s,%federated_sum(p.c)>)");
    for kind in [FormKind::MapReduce, FormKind::DistributeAggregate, FormKind::Mergeable] {
        let path = folder.path().join(kind.to_string());
        Form::from_comp(kind, &comp, &CompileOptions::default()).unwrap().write(comp.ty(), &path).unwrap();
        let form = Form::read(&path).unwrap();
        assert_eq!(form.kind(), kind);
        assert!(comp.ty().is_assignable_from(form.to_comp().unwrap().ty()));
    }
}

#[test]
fn a_form_runs_in_sub_rounds() {
    let executor = executor();
    let form = Form::from_comp(FormKind::Mergeable, &comp(SUM), &CompileOptions::default()).unwrap();
    let form = SubRounds::prepare(&form.to_mergeable(&CompileOptions::default()).unwrap(), &executor).unwrap();
    let clients = Value::at_clients((1..=5).map(number));
    for sub_rounds in 1..=6 {
        let sub_rounds = NonZeroUsize::new(sub_rounds).unwrap();
        let result = form.call(Some(clients.clone()), Some(5), sub_rounds).unwrap();
        let ty = "int32@SERVER".parse().unwrap();
        assert_eq!(json::write(&result, &ty, &Members::of(&executor, None)).unwrap(), "15");
    }
}

fn number(number: i32) -> Value {
    Value::array(Array::from_scalar(Scalar::Int32(number)))
}

/// A client for each list of rows.
fn source(clients: &[&[i32]]) -> InMemory {
    let sequence = |rows: &[i32]| {
        let rows: Vec<Value> = rows.iter().copied().map(number).collect();
        Value::Sequence(Sequence::from_elements(Type::scalar(DType::Int32), rows))
    };
    clients.iter().enumerate().map(|(index, rows)| (ClientId::Number(index), sequence(rows))).collect()
}

fn named(name: &str, text: &str) -> NamedComp {
    NamedComp { name: name.to_owned(), comp: comp(text) }
}

/// The state is the sum over the clients of the last round; the metrics are that and the state before.
fn process() -> Process {
    let next = "(x:<state=int32@SERVER,clients={int32*}@CLIENTS> ->
        (let total=%federated_sum(%federated_map(<(rows:int32* -> %sequence_sum(rows)),x.clients>)) in
          <state=total,metrics=%federated_zip_at_server(<before=x.state,total=total>)>))";
    Process::new(named("initialize", "( -> %federated_value_at_server(lit int32 0))"), named("next", next)).unwrap()
}

fn settings(rounds: u64, clients_per_round: usize) -> Settings {
    Settings { rounds, clients_per_round: NonZeroUsize::new(clients_per_round), ..Settings::default() }
}

fn metrics(report: &RoundReport) -> String {
    report.to_json().split("\"metrics\":").nth(1).unwrap().split(",\"seconds\"").next().unwrap().to_owned()
}

#[test]
fn rounds_come_as_they_are_asked_for() {
    let source = source(&[&[1, 2], &[], &[10]]);
    let simulation = Simulation::new(process(), Box::new(source), settings(3, 3)).unwrap();
    let executor = executor();
    let mut run = simulation.start(&executor).unwrap();
    let first = run.next().unwrap().unwrap();
    assert_eq!((first.round, metrics(&first).as_str()), (1, r#"{"before":0,"total":13}"#));
    assert_eq!(run.rounds_done(), 1);
    let rest: Vec<String> = run.by_ref().map(|report| metrics(&report.unwrap())).collect();
    assert_eq!(rest, [r#"{"before":13,"total":13}"#; 2]);
    assert!(run.evaluate().unwrap().is_none());
}

/// The state is the least square of a client's sum, which leaves out what is too large for a float.
fn least() -> Process {
    let next = "(x:<state=float32@SERVER,clients={float32*}@CLIENTS> ->
        (let squares=%federated_map(<
            (rows:float32* -> (let sum=%sequence_sum(rows) in %generic_multiply(<sum,sum>))),x.clients>),
          least=%federated_min(squares) in
          <state=least,metrics=%federated_zip_at_server(<least=least>)>))";
    Process::new(named("initialize", "( -> %federated_value_at_server(lit float32 0))"), named("next", next)).unwrap()
}

#[test]
fn a_client_that_is_not_finite_is_named_though_the_process_leaves_it_out() {
    let clients = |rows: [f32; 3]| -> InMemory {
        let sequence = |row| {
            let row = Value::array(Array::from_scalar(Scalar::Float32(row)));
            Value::Sequence(Sequence::from_elements(Type::scalar(DType::Float32), [row]))
        };
        ["a", "b", "c"].into_iter().zip(rows).map(|(id, row)| (ClientId::Name(id.to_owned()), sequence(row))).collect()
    };
    let executor = executor();
    let simulation = |rows| Simulation::new(least(), Box::new(clients(rows)), settings(1, 3)).unwrap();
    let trapped = |rows| {
        let simulation = simulation(rows).trapping_not_finite();
        let mut run = simulation.start(&executor).unwrap();
        let error = run.next().unwrap().map(|report| metrics(&report)).map_err(|error| error.to_string());
        // The state is that before the round.
        assert_eq!(run.rounds_done(), u64::from(error.is_ok()));
        error.unwrap_or_else(|error| error)
    };
    assert_eq!(trapped([3.0, 2.0, 4.0]), r#"{"least":4.0}"#);
    assert_eq!(trapped([3.0, 1e30, 2.0]), "round 1: not finite: what was computed for client \"b\"");
    let both = "round 1: not finite: the data of clients \"a\", \"c\", what was computed for clients \"a\", \"c\"";
    assert_eq!(trapped([f32::INFINITY, 2.0, f32::NEG_INFINITY]), both);
    // By itself it is no error.
    let reports: Vec<String> =
        simulation([3.0, 1e30, 2.0]).start(&executor).unwrap().map(|it| metrics(&it.unwrap())).collect();
    assert_eq!(reports, [r#"{"least":4.0}"#]);
}

#[test]
fn what_is_sampled_is_what_a_source_is_asked_for() {
    let simulation = |seed| {
        let source = source(&[&[1], &[10], &[100], &[1000], &[10_000]]);
        let settings = Settings { seed, ..settings(4, 2) };
        let simulation = Simulation::new(process(), Box::new(source), settings).unwrap();
        let executor = executor();
        let reports: Vec<RoundReport> = simulation.start(&executor).unwrap().map(Result::unwrap).collect();
        reports
    };
    let total = |report: &RoundReport| {
        let power = |id: &ClientId| if let ClientId::Number(index) = id { 10_i32.pow(*index as u32) } else { 0 };
        report.clients.iter().map(power).sum::<i32>()
    };
    let reports = simulation(7);
    for report in &reports {
        assert_eq!(report.clients.len(), 2);
        assert!(metrics(report).ends_with(&format!("\"total\":{}}}", total(report))), "{}", metrics(report));
    }
    let clients = |reports: &[RoundReport]| reports.iter().map(|it| it.clients.clone()).collect::<Vec<_>>();
    assert_eq!(clients(&reports), clients(&simulation(7)));
    assert_ne!(clients(&reports), clients(&simulation(8)));
}

/// Fails once, when it is asked for the first time.
#[derive(Debug)]
struct FailsOnce(InMemory, AtomicUsize);

impl Source for FailsOnce {
    fn clients(&self) -> &[ClientId] {
        self.0.clients()
    }

    fn data(&self, client_idx: usize) -> Result<Value, DataError> {
        if self.1.fetch_add(1, Ordering::Relaxed) == 1 {
            return Err(DataError::NoClient { client_idx, n_clients: 0 });
        }
        self.0.data(client_idx)
    }
}

#[test]
fn a_round_that_fails_can_be_asked_for_again() {
    let source = FailsOnce(source(&[&[1], &[2]]), AtomicUsize::new(0));
    let simulation = Simulation::new(process(), Box::new(source), settings(2, 2)).unwrap();
    let executor = executor();
    let mut run = simulation.start(&executor).unwrap();
    let error = run.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "round 1: there is no client 1 among 0");
    assert!(matches!(error, SimulationError::At { source, .. } if matches!(*source, SimulationError::Data(_))));
    assert_eq!(run.rounds_done(), 0);
    let totals: Vec<String> = run.map(|report| metrics(&report.unwrap())).collect();
    assert_eq!(totals, [r#"{"before":0,"total":3}"#, r#"{"before":3,"total":3}"#]);
}

#[test]
fn what_does_not_fit_is_found_before_the_first_round() {
    let initialize = || named("initialize", "( -> %federated_value_at_server(lit int32 0))");
    let message = |next: &str| Process::new(initialize(), named("next", next)).unwrap_err().to_string();
    assert_eq!(
        message("(x:int32 -> x)"),
        "next: expected (<S@SERVER,{D*}@CLIENTS> -> <state=S@SERVER,metrics=M@SERVER>), found (int32 -> int32)"
    );
    let floats = "(x:<float32@SERVER,{int32*}@CLIENTS> -> <state=x[0],metrics=x[0]>)";
    assert!(message(floats).starts_with("initialize: the state that it returns, for next: "), "{}", message(floats));
    let new = |settings| Simulation::new(process(), Box::new(source(&[&[1]])), settings).unwrap_err();
    assert!(matches!(new(settings(1, 2)), SimulationError::TooFewClients { n_clients: 1, found: 2 }));
    let unknown = Settings { metrics: vec!["loss".to_owned()], ..settings(1, 1) };
    assert!(matches!(new(unknown), SimulationError::UnknownMetric { path, .. } if path == "loss"));
}

#[test]
fn the_example_of_the_repository_is_a_configuration() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/digits/digits.toml");
    let config = tff_sim::simulation::Config::read(&path).unwrap();
    Simulation::from_config(&config).unwrap();
}
