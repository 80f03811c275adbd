//! Clients on workers, which are processes: what they compute together, and what is left of them.

mod process;

use process::{Outcome, Process, TFF, free_port, scrape};
use serde_json::Value as Json;
use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tff_compiler::compile_to_native;
use tff_exec::remote::{RemoteOptions, RemoteWorkers};
use tff_exec::{Clients, Executor, Options, Value, Workers};
use tff_ir::text::{Environment, parse};
use tff_ir::{Comp, Scalar};

/// Workers, and the addresses of their metrics.
struct Fleet {
    processes: Vec<Process>,
    ports: Vec<u16>,
    metrics: Vec<SocketAddr>,
}

impl Fleet {
    fn start(n: usize) -> Result<Self, Box<dyn Error>> {
        let mut fleet = Self { processes: Vec::new(), ports: Vec::new(), metrics: Vec::new() };
        for _ in 0..n {
            let metrics = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
            let (process, port) =
                Process::worker(&["--metrics-addr", &metrics.to_string(), "--allow-insecure-secure-sum"])?;
            fleet.processes.push(process);
            fleet.ports.push(port);
            fleet.metrics.push(metrics);
        }
        Ok(fleet)
    }

    fn addresses(&self) -> Vec<String> {
        self.ports.iter().map(|port| format!("localhost:{port}")).collect()
    }
}

fn executor(workers: Option<Arc<dyn Workers>>) -> Executor {
    let mut options = Options::default();
    let [(_, tensorflow), _] = tff_testing::native_libraries();
    options.tensorflow = tff_exec::leaf::tensorflow::Library::Path(tensorflow);
    options.compile = Some(Arc::new(|comp: &Comp| {
        let mut options = tff_compiler::CompileOptions::default();
        options.insecure_aggregation = true;
        Ok(compile_to_native(comp, &options)?.comp)
    }));
    options.workers = workers;
    Executor::new(options)
}

/// The numbers of a value, in order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Tensor(tensor) => {
            let number = |scalar| match scalar {
                Scalar::Int32(number) => f64::from(number),
                Scalar::Float32(number) => f64::from(number),
                _ => f64::NAN,
            };
            tensor.array().scalars().map(number).collect()
        }
        Value::Struct(elements) => elements.iter().flat_map(numbers).collect(),
        Value::Server(member) | Value::Clients(Clients::AllEqual(member)) => numbers(member),
        Value::Clients(Clients::Each(members)) => members.iter().flat_map(numbers).collect(),
        _ => vec![f64::NAN],
    }
}

/// What is computed of `{int32}@CLIENTS` and `{float32}@CLIENTS`; whether it is all integers.
const COMPUTATIONS: [(&str, bool); 9] = [
    ("(a:<{int32}@CLIENTS,{float32}@CLIENTS> -> %federated_sum(a[0]))", true),
    ("(a:<{int32}@CLIENTS,{float32}@CLIENTS> -> %federated_sum(a[1]))", false),
    ("(a:<{int32}@CLIENTS,{float32}@CLIENTS> -> %federated_mean(a[1]))", false),
    ("(a:<{int32}@CLIENTS,{float32}@CLIENTS> -> %federated_weighted_mean(<a[1],a[0]>))", false),
    ("(a:<{int32}@CLIENTS,{float32}@CLIENTS> -> <%federated_min(a[0]),%federated_max(a[1])>)", false),
    (
        "(a:<{int32}@CLIENTS,{float32}@CLIENTS> -> (let s=%federated_broadcast(%federated_sum(a[0])) in \
         %federated_map(<(p:<int32,int32> -> %generic_plus(p)),%federated_zip_at_clients(<a[0],s>)>)))",
        true,
    ),
    // A function that refers to what is around it.
    (
        "(a:<{int32}@CLIENTS,{float32}@CLIENTS> -> (let k=lit int32 5 in \
         %federated_map(<(x:int32 -> %generic_plus(<x,k>)),a[0]>)))",
        true,
    ),
    ("(a:<{int32}@CLIENTS,{float32}@CLIENTS> -> %generic_plus(<a[0],a[0]>))", true),
    ("(a:<{int32}@CLIENTS,{float32}@CLIENTS> -> %federated_secure_sum_bitwidth(<a[0],lit int32 8>))", true),
];

#[test]
fn reductions_on_workers_give_what_they_give_here_and_leave_nothing() -> Outcome {
    let fleet = Fleet::start(3)?;
    for n_workers in 1..=3 {
        let addresses = fleet.addresses();
        let workers = Arc::new(RemoteWorkers::new(&addresses[..n_workers], &RemoteOptions::default())?);
        let (here, there) = (executor(None), executor(Some(workers)));
        for (text, is_exact) in COMPUTATIONS {
            let comp = parse(text, &Environment::default()).map_err(|error| format!("{text}: {error}"))?.comp;
            let (here, there) = (here.prepare(&comp)?, there.prepare(&comp)?);
            for n_clients in [0, 1, 7] {
                let members =
                    |member: fn(i32) -> Scalar| Value::at_clients((1..=n_clients).map(member).map(Value::scalar));
                let argument =
                    Value::structure([members(Scalar::Int32), members(|it| Scalar::Float32(0.1 * it as f32))]);
                let call = |program: &tff_exec::Program| {
                    let result = program.call(Some(argument.clone()), None);
                    result
                        .map(|value| numbers(&value))
                        .map_err(|error| format!("{n_workers}, {n_clients}, {text}: {error}"))
                };
                let (expected, found, again) = (call(&here)?, call(&there)?, call(&there)?);
                let case = format!("{n_workers} workers, {n_clients} clients, {text}: {expected:?}, {found:?}");
                let bits = |numbers: &[f64]| numbers.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&found), bits(&again), "{case}");
                if is_exact || n_workers.min(n_clients as usize) <= 1 {
                    assert_eq!(bits(&found), bits(&expected), "{case}");
                }
                assert_eq!(found.len(), expected.len(), "{case}");
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * a.abs() || a.to_bits() == b.to_bits();
                assert!(found.iter().zip(&expected).all(near), "{case}");
            }
        }
    }
    for &address in &fleet.metrics {
        let metrics = scrape(address)?;
        for line in ["tff_executors 0", "tff_values 0", "tff_received_bytes 0"] {
            assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
        }
    }
    Ok(())
}

fn digits(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/digits").join(name)
}

fn tff(args: &[&str]) -> Command {
    let mut command = Command::new(TFF);
    command.args(args).env_remove("TFF_LOG");
    command
}

/// Compares lines such as `round 1 accuracy=0.5 loss=1.25` with what was recorded.
fn check_rounds(lines: &[String]) -> Outcome {
    let recorded: Json = serde_json::from_slice(&std::fs::read(digits("history.json"))?)?;
    for (index, line) in lines.iter().enumerate() {
        assert!(line.starts_with(&format!("round {} ", index + 1)), "{line}");
        for name in ["accuracy", "loss", "num_examples"] {
            let found = line.split(' ').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            let found: f64 = found.ok_or_else(|| format!("no {name} in {line}"))?.parse()?;
            let expected = recorded["rounds"][index][name].as_f64().ok_or("nothing recorded")?;
            assert!((found - expected).abs() < 1e-4, "{name}: expected {expected}, found {line}");
        }
    }
    Ok(())
}

fn rounds(stdout: &str) -> Vec<String> {
    stdout.lines().filter(|line| line.starts_with("round ")).map(ToOwned::to_owned).collect()
}

#[test]
fn a_model_trains_on_two_workers_as_recorded() -> Outcome {
    let fleet = Fleet::start(2)?;
    let config = digits("digits.toml");
    let config = config.to_str().ok_or("no UTF-8")?;
    let output = tff(&["simulate", config, "--rounds", "2", "--workers", &fleet.addresses().join(",")]).output()?;
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let rounds = rounds(&String::from_utf8(output.stdout)?);
    assert_eq!(rounds.len(), 2);
    check_rounds(&rounds)?;
    for &address in &fleet.metrics {
        let metrics = scrape(address)?;
        assert!(metrics.lines().any(|line| line == "tff_values 0"), "{metrics}");
        assert!(!metrics.contains("tff_call_seconds_count{rpc=\"GetExecutor\",code=\"OK\"} 0"), "{metrics}");
    }
    Ok(())
}

#[test]
fn a_model_trains_on_when_a_worker_is_killed() -> Outcome {
    let mut fleet = Fleet::start(2)?;
    let config = digits("digits.toml");
    let config = config.to_str().ok_or("no UTF-8")?;
    let args = ["simulate", config, "--rounds", "6", "--workers", &fleet.addresses().join(",")];
    let mut simulation = Process::start(&mut tff(&args))?;
    let mut stdout = BufReader::new(simulation.0.stdout.take().ok_or("no stdout")?);
    let mut text = String::new();
    while !text.contains("round 2 ") {
        assert_ne!(stdout.read_line(&mut text)?, 0, "{text}");
    }
    // Whatever it is doing for the third round.
    fleet.processes[0].0.kill()?;
    stdout.read_to_string(&mut text)?;
    let mut stderr = String::new();
    simulation.0.stderr.take().ok_or("no stderr")?.read_to_string(&mut stderr)?;
    assert_eq!(simulation.0.wait()?.code(), Some(0), "{stderr}");
    assert!(stderr.contains(&format!("worker localhost:{} is unavailable", fleet.ports[0])), "{stderr}");
    assert!(!stderr.contains(&format!("worker localhost:{}", fleet.ports[1])), "{stderr}");
    let rounds = rounds(&text);
    assert_eq!(rounds.len(), 6);
    check_rounds(&rounds)
}

#[test]
fn without_any_worker_the_error_names_the_last() -> Outcome {
    let port = free_port()?;
    let computation = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/temperatures/above.pb");
    let argument = r#"{"x": [68.5, 70, 71.25], "t": 69}"#;
    let run = |workers: &str| tff(&["run", computation, "--arg", argument, "--workers", workers]).output();
    let output = run(&format!("localhost:{port}"))?;
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(1), &b""[..]));
    let stderr = String::from_utf8(output.stderr)?;
    let last = stderr.lines().last().ok_or("no error")?;
    assert!(
        last.starts_with("error: ") && last.contains(&format!("worker localhost:{port} is unavailable: ")),
        "{stderr}"
    );
    // One that is there suffices.
    let (_worker, other) = Process::worker(&[])?;
    let output = run(&format!("localhost:{port},localhost:{other}"))?;
    assert_eq!((output.status.code(), String::from_utf8(output.stdout)?.as_str()), (Some(0), "0.6666667@SERVER\n"));
    assert!(String::from_utf8(output.stderr)?.contains(&port.to_string()));
    let output = run("nowhere")?;
    let stderr = String::from_utf8(output.stderr)?;
    assert_eq!(stderr, "error: --workers: worker nowhere is unavailable: expected an address, host:port\n");
    Ok(())
}
