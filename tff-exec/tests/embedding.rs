//! What a program does that runs computations itself: it ends calls, follows them, brings functions and leaves along.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its input must stop")]

use prost::Message;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tff_exec::leaf::Prepared;
use tff_exec::{
    CallOptions, Cancel, Child, DataBackend, EvalError, ExecError, Executor, Function, Options, Program, Progress,
    Receive, Value, Workers,
};
use tff_ir::text::{Environment, parse};
use tff_ir::{Comp, DataContent};
use tff_proto::v0 as pb;
use tff_types::Type;

fn comp(text: &str) -> Comp {
    parse(text, &Environment::default()).unwrap_or_else(|error| panic!("{text}: {error}")).comp
}

fn prepare(options: Options, text: &str) -> Program {
    Executor::new(options).prepare(&comp(text)).unwrap()
}

/// One thread, so that things happen in an order.
fn alone() -> Options {
    let mut options = Options::default();
    options.threads = Some(1);
    options
}

/// A function of the test, which doubles a number.
struct Double<F>(F);

impl<F> fmt::Debug for Double<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("double")
    }
}

impl<F: Fn(i32) + Send + Sync> Prepared for Double<F> {
    fn call(&self, argument: Option<&Value>) -> Result<Value, ExecError> {
        let number = i32::try_from(argument.unwrap())?;
        (self.0)(number);
        Ok(Value::from(2 * number))
    }
}

fn double(seen: impl Fn(i32) + Send + Sync + 'static) -> Value {
    let ty: Type = "(int32 -> int32)".parse().unwrap();
    Value::Function(Function::from_prepared(Arc::new(Double(seen)), ty).unwrap())
}

const MAP: &str = "(a:<f=(int32 -> int32),v={int32}@CLIENTS> -> federated_map(<a.f,a.v>))";

fn argument(function: Value) -> Option<Value> {
    Some(Value::structure([function, Value::at_clients([1, 2, 3].map(Value::from))]))
}

#[test]
fn functions_of_the_program_are_arguments() {
    let program = prepare(Options::default(), MAP);
    let result = program.call(argument(double(|_| {})), None).unwrap();
    assert_eq!(result.to_string(), "{2,4,6}@CLIENTS");
    let lambda = Function::from_comp(&comp("(x:int32 -> lit int32 7)")).unwrap();
    let result = program.call(argument(Value::Function(lambda)), None).unwrap();
    assert_eq!(result.to_string(), "{7,7,7}@CLIENTS");
    let other = Function::from_comp(&comp("(x:str -> x)")).unwrap();
    let error = program.call(argument(Value::Function(other)), None).unwrap_err();
    assert_eq!(error.to_string(), "argument: .f: expected (int32 -> int32), found (str -> str)");
    let error = Function::from_comp(&comp("lit int32 7")).unwrap_err();
    assert_eq!(error.to_string(), "expected a function that needs no evaluation, found literal");
}

#[test]
fn a_call_that_is_cancelled_ends_before_the_next_function() {
    let (mut options, cancel) = (CallOptions::default(), Cancel::default());
    options.cancel = Some(cancel.clone());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let function = {
        let seen = seen.clone();
        double(move |number| {
            seen.lock().unwrap().push(number);
            if number == 2 {
                cancel.cancel();
            }
        })
    };
    let error = prepare(alone(), MAP).call_with(argument(function), None, &options).unwrap_err();
    assert!(matches!(error.cause(), ExecError::GivenUp), "{error}");
    assert_eq!(*seen.lock().unwrap(), [1, 2]);
}

#[test]
fn a_call_ends_at_its_deadline() {
    let mut options = CallOptions::default();
    let program = prepare(alone(), MAP);
    options.deadline = Some(Instant::now());
    let error = program.call_with(argument(double(|_| {})), None, &options).unwrap_err();
    assert!(matches!(error.cause(), ExecError::Deadline), "{error}");
    options.deadline = Some(Instant::now() + Duration::from_secs(3600));
    program.call_with(argument(double(|_| {})), None, &options).unwrap();
}

#[test]
fn who_follows_a_call_is_told_of_intrinsics_and_clients() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut options = CallOptions::default();
    options.progress = {
        let told = told.clone();
        Some(Arc::new(move |progress| {
            told.lock().unwrap().push(match progress {
                Progress::Started { intrinsic } => format!("{} starts", intrinsic.uri()),
                Progress::Client { intrinsic, client_idx } => format!("{} of client {client_idx}", intrinsic.uri()),
                Progress::Finished { intrinsic } => format!("{} ends", intrinsic.uri()),
                _ => String::new(),
            });
        }))
    };
    let text = "(v:{int32}@CLIENTS -> federated_aggregate(<v,lit int32 0,(p:<int32,int32> -> p[1]),\
        (p:<int32,int32> -> p[0]),(x:int32 -> x)>))";
    let argument = Value::at_clients([1, 2].map(Value::from));
    prepare(alone(), text).call_with(Some(argument), None, &options).unwrap();
    insta::assert_snapshot!(told.lock().unwrap().join("\n"), @r"
    federated_aggregate starts
    federated_aggregate of client 0
    federated_aggregate of client 1
    federated_aggregate ends
    ");
}

/// A worker that never answers.
#[derive(Debug, Default)]
struct Silent {
    name: Arc<str>,
    asked: Mutex<Vec<Pending>>,
}

struct Pending(#[expect(dead_code, reason = "kept, so that nobody hears that it is gone")] Receive);

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("pending")
    }
}

impl Child for Silent {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn n_clients(&self) -> usize {
        1
    }

    fn create_value(&self, _: pb::Value) -> u64 {
        0
    }

    fn create_call(&self, _: u64, _: Option<u64>) -> u64 {
        0
    }

    fn create_struct(&self, _: &[u64]) -> u64 {
        0
    }

    fn compute(&self, _: u64, receive: Receive) {
        self.asked.lock().unwrap().push(Pending(receive));
    }

    fn dispose(&self, _: u64) {}
}

#[derive(Debug)]
struct One(Arc<Silent>);

impl Workers for One {
    fn run(
        &self,
        _: usize,
        round: &mut dyn FnMut(Vec<Arc<dyn Child>>) -> Result<Value, ExecError>,
    ) -> Result<Value, ExecError> {
        round(vec![self.0.clone()])
    }
}

#[test]
fn a_call_that_waits_for_a_worker_ends_too() {
    let silent = Arc::new(Silent::default());
    let mut options = Options::default();
    options.workers = Some(Arc::new(One(silent.clone())));
    let program = prepare(options, "federated_eval_at_clients(( -> lit int32 1))");
    let mut call = CallOptions::default();
    call.deadline = Some(Instant::now() + Duration::from_millis(5));
    let error = program.call_with(None, Some(1), &call).unwrap_err();
    assert!(matches!(error.cause(), ExecError::Deadline), "{error}");
    let cancel = Cancel::default();
    call.deadline = None;
    call.cancel = Some(cancel.clone());
    std::thread::scope(|scope| {
        let called = scope.spawn(|| program.call_with(None, Some(1), &call));
        while silent.asked.lock().unwrap().len() < 2 {
            std::thread::yield_now();
        }
        cancel.cancel();
        let error = called.join().unwrap().unwrap_err();
        assert!(matches!(error.cause(), ExecError::GivenUp), "{error}");
    });
}

#[test]
fn a_leaf_of_the_program_comes_before_the_others() {
    let mut options = Options::default();
    options.leaf = Some(Arc::new(|_, _| Ok(Some(Arc::new(Double(|_| {}))))));
    let ty = "(int32 -> int32)".parse().unwrap();
    let hlo_module = tff_ir::Opaque { type_url: "mine".into(), value: b"mine".as_slice().into() };
    let own = tff_ir::Xla {
        hlo_module,
        parameter: Some(tff_ir::XlaBinding::Tensor(0)),
        result: tff_ir::XlaBinding::Tensor(0),
    };
    let comp = Comp::compiled(tff_ir::CompiledComputation::Xla(Arc::new(own)), ty).unwrap();
    let result = Executor::new(options).prepare(&comp).unwrap().call(Some(Value::from(4)), None).unwrap();
    assert_eq!(i32::try_from(&result).unwrap(), 8);
}

#[derive(Debug, thiserror::Error)]
#[error("no compiler today")]
struct NoCompiler;

#[test]
fn the_error_of_the_compile_function_is_kept() {
    let mut options = Options::default();
    options.compile = Some(Arc::new(|_| Err(NoCompiler.into())));
    let sum = comp("(v:{int32}@CLIENTS -> federated_sum(v))");
    let error = Executor::new(options).prepare(&sum).unwrap_err();
    assert_eq!(error.to_string(), "cannot compile the computation: no compiler today");
    let ExecError::Eval(EvalError::Compile(cause)) = error else { panic!("{error}") };
    let cause: &(dyn Error + 'static) = &*cause;
    assert!(cause.is::<NoCompiler>());
}

/// Knows functions and numbers by their uri.
struct Backend;

impl DataBackend for Backend {
    fn resolve(&self, data: &DataContent, _: &Type) -> Result<Value, ExecError> {
        match data {
            DataContent::Uri(uri) if **uri == *"double" => Ok(double(|_| {})),
            DataContent::Uri(uri) if **uri == *"seven" => Ok(Value::from(7)),
            other => Err(ExecError::Unsupported(format!("{other:?}"))),
        }
    }
}

#[test]
fn data_can_be_an_array_or_a_value_itself() {
    let executor = Executor::new(alone());
    let array = tff_ir::Array::from_scalar(tff_ir::Scalar::Int32(7)).to_proto_value();
    let sequence: Type = "int32*".parse().unwrap();
    let elements = tff_exec::Sequence::from_elements("int32".parse().unwrap(), [1, 2].map(Value::from));
    let value = tff_exec::value_to_proto(&Value::Sequence(elements), &sequence).unwrap();
    let run = |name: &str, message: Vec<u8>, ty: &Type| {
        let type_url = format!("type.googleapis.com/{name}").into();
        let content = DataContent::Any(tff_ir::Opaque { type_url, value: message.into() });
        executor.prepare(&Comp::data(content, ty.clone()))?.call(None, None)
    };
    let (int32, float32): (Type, Type) = ("int32".parse().unwrap(), "float32".parse().unwrap());
    for package in ["tensorflow_federated.v0", "federated_language"] {
        let found = run(&format!("{package}.Array"), array.encode_to_vec(), &int32).unwrap();
        assert_eq!(i32::try_from(&found).unwrap(), 7);
        let found = run(&format!("{package}.Value"), value.encode_to_vec(), &sequence).unwrap();
        assert_eq!(tff_exec::value_to_proto(&found, &sequence).unwrap(), value);
        let wrong = run(&format!("{package}.Array"), array.encode_to_vec(), &float32).unwrap_err();
        assert!(matches!(wrong.cause(), ExecError::Mismatch { .. }), "{wrong}");
        assert!(run(&format!("{package}.Array"), vec![0xff; 9], &int32).is_err());
    }
    let unknown = run("example.Table", Vec::new(), &int32).unwrap_err().to_string();
    assert_eq!(
        unknown,
        "data that the computation only names, a message type.googleapis.com/example.Table of type int32, is not supported"
    );
}

#[test]
fn data_is_what_a_backend_says() {
    let mut options = alone();
    options.data = Some(Arc::new(Backend));
    let executor = Executor::new(options);
    let run = |text: &str| executor.prepare(&comp(text))?.call(None, None);
    let found = run("(let f=data \"double\":(int32 -> int32),x=data \"seven\":int32 in f(x))").unwrap();
    assert_eq!(i32::try_from(&found).unwrap(), 14);
    let wrong = run("data \"seven\":float32").unwrap_err();
    assert!(matches!(wrong.cause(), ExecError::Mismatch { .. }), "{wrong}");
    assert!(run("data \"eight\":int32").is_err());
}
