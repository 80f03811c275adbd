//! The recorded computations of `testdata/golden`, run by `tff run`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]
#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test uses its part of it")]

use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use tff_exec::{Clients, Executor, Value};
use tff_ir::{Array, Scalar};

pub fn records(file: &str) -> Vec<Json> {
    tff_testing::records(&format!("testdata/golden/{file}"))
}

/// Results of the computations that the recording runtime refused, by the mathematics of what they
/// say.
pub fn right_value(name: &str) -> Option<Json> {
    match name {
        "seq_map" => Some(json!([2, 3, 4])),
        "seq_sum" => Some(json!(6)),
        "seq_empty" => Some(json!(0)),
        "fed_broadcast" => Some(json!(2.0)),
        _ => None,
    }
}

/// The recorded form of a value, as `tff run --json` prints it.
fn expected(recorded: &Json) -> Json {
    if let Some(elements) = recorded.get("list") {
        return elements.as_array().unwrap().iter().map(expected).collect();
    }
    if let Some(elements) = recorded.get("struct") {
        let elements = elements.as_array().unwrap().iter();
        return elements.map(|pair| (pair[0].as_str().unwrap().to_owned(), expected(&pair[1]))).collect();
    }
    let shape: Vec<usize> = recorded["shape"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dim| usize::try_from(dim.as_u64().unwrap()).unwrap())
        .collect();
    nest(recorded["array"].as_array().unwrap(), &shape)
}

fn nest(flat: &[Json], shape: &[usize]) -> Json {
    let [dim, inner @ ..] = shape else { return flat[0].clone() };
    let size: usize = inner.iter().product();
    (0..*dim).map(|index| nest(&flat[index * size..(index + 1) * size], inner)).collect()
}

/// Equal: integers, truth values and strings exactly, other numbers within 1e-5 of their size.
fn equal(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| equal(left, right)))
        }
        (Json::Number(left), Json::Number(right)) if left.is_f64() || right.is_f64() => {
            let (left, right) = (left.as_f64().unwrap(), right.as_f64().unwrap());
            (left - right).abs() <= 1e-5 * right.abs().max(left.abs())
        }
        (left, right) => left == right,
    }
}

/// The bytes of a field.
pub fn decode(record: &Json, field: &str) -> Vec<u8> {
    tff_testing::bytes(record, field).to_vec()
}

/// Makes the serialized computation to run of a record, or says what is wrong.
pub type Source = fn(&Json) -> Result<Vec<u8>, String>;

/// Runs one record; says what is wrong.
fn run(record: &Json, source: Source, directory: &Path) -> Result<(), String> {
    let name = record["name"].as_str().unwrap();
    let expected = right_value(name).unwrap_or_else(|| expected(&record["result"]));
    let comp = directory.join(format!("{name}.pb"));
    std::fs::write(&comp, source(record).map_err(|error| format!("{name}: {error}"))?).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tff"));
    command.arg("run").arg(&comp).arg("--json").envs(tff_testing::native_libraries());
    if let Some(clients) = record.get("clients").and_then(Json::as_u64) {
        command.arg("--clients").arg(clients.to_string());
    }
    if !record["args"].is_null() {
        let argument = directory.join(format!("{name}.arg.pb"));
        std::fs::write(&argument, decode(record, "args")).unwrap();
        command.arg("--arg").arg(argument);
    }
    let output = command.output().unwrap();
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let found: Json = serde_json::from_slice(&output.stdout).map_err(|error| format!("{name}: {error}"))?;
    if equal(&found, &expected) { Ok(()) } else { Err(format!("{name}: expected {expected}, found {found}")) }
}

/// Runs every record of a file that has a result and is not one of `except`: what `source` makes of it, with the recorded
/// arguments and number of clients, must give the recorded result.
pub fn check(file: &str, source: Source, except: &[&str], least: usize) {
    let records: Vec<Json> = records(file)
        .into_iter()
        .filter(|record| !except.contains(&record["name"].as_str().unwrap()))
        .filter(|record| record.get("result").is_some() || right_value(record["name"].as_str().unwrap()).is_some())
        .collect();
    assert!(records.len() >= least, "only {} records in {file}", records.len());
    let directory = tempfile::tempdir().unwrap();
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let problems: Vec<String> = std::thread::scope(|scope| {
        let work = || {
            let take = || records.get(next.fetch_add(1, Ordering::Relaxed));
            std::iter::from_fn(take)
                .filter_map(|record| run(record, source, directory.path()).err())
                .collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// An executor in this process, which runs what is compiled, every graph in TensorFlow.
pub fn executor() -> Executor {
    Executor::new(options())
}

/// An executor as the commands have it, which compiles what it runs.
pub fn compiling_executor() -> Executor {
    let mut options = options();
    options.compile = Some(tff_sim::compiler(tff_compiler::CompileOptions::default));
    Executor::new(options)
}

fn options() -> tff_exec::Options {
    let [(_, tensorflow), (_, plugin)] = tff_testing::native_libraries();
    let mut options = tff_exec::Options::default();
    options.tensorflow = tff_exec::leaf::tensorflow::Library::Path(tensorflow);
    options.xla = tff_exec::leaf::xla::Library::Plugin(tff_exec::leaf::xla::Plugin::new(vec![plugin]));
    options.without_kernels = true;
    options
}

/// The tensors of a value, each with where it is.
fn leaves(value: &Value, at: &str, found: &mut Vec<(String, Array)>) {
    match value {
        Value::Tensor(tensor) => found.push((at.to_owned(), tensor.array().clone())),
        Value::Struct(elements) => {
            elements.iter().enumerate().for_each(|(index, element)| leaves(element, &format!("{at}.{index}"), found));
        }
        Value::Server(member) => leaves(member, &format!("{at}@SERVER"), found),
        Value::Clients(Clients::AllEqual(member)) => leaves(member, &format!("{at}@CLIENTS"), found),
        Value::Clients(Clients::Each(members)) => {
            members.iter().enumerate().for_each(|(index, member)| leaves(member, &format!("{at}@{index}"), found));
        }
        other => panic!("no leaves of {other:?}"),
    }
}

/// Equal but for the last bit of a quotient: TensorFlow multiplies by the reciprocal.
pub fn near(left: &Value, right: &Value) -> bool {
    let numbers = |value: &Value| {
        let mut found = Vec::new();
        leaves(value, "", &mut found);
        found.into_iter().flat_map(|(_, array)| array.scalars().map(number).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let (left, right) = (numbers(left), numbers(right));
    let is_near = |(bits, left): &(i32, [f64; 2]), (_, right): &(i32, [f64; 2])| {
        let slack = left[0].hypot(left[1]) * 0.5f64.powi(*bits);
        let is_near = |left: f64, right: f64| left == right || (left - right).abs() <= slack;
        left.iter().zip(right).all(|(&left, &right)| is_near(left, right) || left.is_nan() && right.is_nan())
    };
    left.len() == right.len() && left.iter().zip(&right).all(|(left, right)| is_near(left, right))
}

/// How many bits of a number are certain, and its real and imaginary part.
fn number(scalar: Scalar) -> (i32, [f64; 2]) {
    match scalar {
        Scalar::Float16(number) => (10, [number.into(), 0.0]),
        Scalar::BFloat16(number) => (7, [number.into(), 0.0]),
        Scalar::Float32(number) => (23, [number.into(), 0.0]),
        Scalar::Float64(number) => (52, [number, 0.0]),
        Scalar::Complex64(re, im) => (22, [re.into(), im.into()]),
        other => panic!("no float: {other:?}"),
    }
}

/// Equal, NaN to NaN.
pub fn same(left: &Value, right: &Value) -> bool {
    let [mut ours, mut theirs] = [Vec::new(), Vec::new()];
    leaves(left, "", &mut ours);
    leaves(right, "", &mut theirs);
    format!("{ours:?}") == format!("{theirs:?}")
}
