//! Programs whose clients are on workers: they give what they give here, and survive a worker.

use crate::peer::{Peer, Server};
use crate::proxy::{End, Proxy};
use prost::Message;
use std::net::TcpListener;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tff_exec::remote::{Compression, RemoteOptions, RemoteWorkers};
use tff_exec::service::ServerOptions;
use tff_exec::{Child, ExecError, Executor, Options, Program, Sequence, SessionError, Value, WorkerError, Workers};
use tff_ir::text::{Environment, parse};
use tff_ir::{Array, Scalar};
use tff_proto::v0 as pb;
use tff_types::{DType, Type};

/// Servers with a runtime of their own.
struct Servers {
    runtime: tokio::runtime::Runtime,
    ports: Vec<u16>,
    _servers: Vec<Server>,
}

impl Servers {
    fn start(n: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let servers: Vec<Server> = (0..n).map(|_| runtime.block_on(Server::start(&ServerOptions::default()))).collect();
        Self { ports: servers.iter().map(|server| server.port).collect(), runtime, _servers: servers }
    }
}

fn workers(ports: &[u16], options: &RemoteOptions) -> Arc<RemoteWorkers> {
    let addresses: Vec<String> = ports.iter().map(|port| format!("localhost:{port}")).collect();
    Arc::new(RemoteWorkers::new(&addresses, options).unwrap())
}

fn prepare(text: &str, workers: Option<Arc<dyn Workers>>) -> Program {
    let comp = parse(text, &Environment::default()).unwrap_or_else(|error| panic!("{text}: {error}")).comp;
    let mut options = Options::default();
    options.workers = workers;
    Executor::new(options).prepare(&comp).unwrap()
}

fn int(value: i32) -> Value {
    Value::scalar(Scalar::Int32(value))
}

fn ints(values: &[i32]) -> Value {
    let scalars: Vec<_> = values.iter().copied().map(Scalar::Int32).collect();
    Value::array(Array::from_scalars(DType::Int32, [values.len() as u64], &scalars).unwrap())
}

fn numbered(n_clients: usize, member: impl Fn(i32) -> Value) -> Value {
    Value::at_clients((0..n_clients as i32).map(member))
}

fn bytes(program: &Program, value: &Value) -> Vec<u8> {
    let ty = program.ty().as_function().map_or(program.ty(), |function| &function.result);
    tff_exec::value_to_proto(value, ty).unwrap().encode_to_vec()
}

/// Every intrinsic, alone and with others, and its argument for a number of clients.
type Case = (&'static str, fn(usize) -> Option<Value>);

const CASES: [Case; 13] = [
    ("(v:{int32}@CLIENTS -> federated_map(<(x:int32 -> <x,x>),v>))", |n| Some(numbered(n, int))),
    ("(v:{int32}@CLIENTS -> federated_map(<(p:<int32,int32> -> p[1]),federated_map(<(x:int32 -> <x,x>),v>)>))", |n| {
        Some(numbered(n, int))
    }),
    (
        "(v:{int32}@CLIENTS -> (let k=<lit int32 9,(x:int32 -> x)> in federated_map(<(x:int32 -> <k[1](x),k[0]>),v>)))",
        |n| Some(numbered(n, int)),
    ),
    ("(v:int32@CLIENTS -> federated_map_all_equal(<(x:int32 -> <x,x>),v>))", |_| {
        Some(Value::at_clients_all_equal(int(3)))
    }),
    ("(v:int32@SERVER -> federated_map(<(x:int32 -> <x,x>),federated_broadcast(v)>))", |_| {
        Some(Value::at_server(int(3)))
    }),
    ("federated_eval_at_clients(( -> lit int32 4))", |_| None),
    ("federated_value_at_clients(<lit int32 4,<>>)", |_| None),
    (
        "(a:<v={int32}@CLIENTS,w=int32@CLIENTS,s=int32@SERVER> -> \
         federated_zip_at_clients(<a.v,<a.w,b=federated_broadcast(a.s)>>))",
        |n| Some(Value::structure([numbered(n, int), Value::at_clients_all_equal(int(7)), Value::at_server(int(8))])),
    ),
    (
        "(a:<k={int32[?]}@CLIENTS,m=int32@SERVER,s=<x=int32>@SERVER> -> \
         federated_select(<a.k,a.m,a.s,(p:<<x=int32>,int32> -> <p[0].x,p[1]>)>))",
        |n| {
            let keys = numbered(n, |client| ints(&[client, 0, client][..(client as usize) % 4]));
            Some(Value::structure([keys, Value::at_server(int(9)), Value::at_server(Value::structure([int(5)]))]))
        },
    ),
    // What is folded and merged in another order gives something else.
    (
        "(v:{int32}@CLIENTS -> federated_aggregate(<v,lit int32 -1,(p:<int32,int32> -> p[1]),\
         (p:<int32,int32> -> p[1]),(x:int32 -> <x>)>))",
        |n| Some(numbered(n, int)),
    ),
    ("(v:{int32*}@CLIENTS -> federated_map(<(s:int32* -> <s,s>),v>))", |n| {
        Some(numbered(n, |client| {
            let elements: Arc<[Value]> = (0..client).map(int).collect();
            Value::Sequence(Sequence::from_elements(Type::scalar(DType::Int32), elements))
        }))
    }),
    (
        "(a:<v={<string,bool[2]>}@CLIENTS,s=int32@SERVER> -> <a.s,<z=a.v>,federated_apply(<(x:int32 -> <x>),a.s>)>)",
        |n| {
            let text = |client: i32| Value::array(Array::strings([], vec![format!("ß{client}").into()]).unwrap());
            let flags = |client| {
                Value::array(
                    Array::from_scalars(DType::Bool, [2], &[Scalar::Bool(client > 1), Scalar::Bool(true)]).unwrap(),
                )
            };
            let member = |client| Value::structure([text(client), flags(client)]);
            Some(Value::structure([numbered(n, member), Value::at_server(int(1))]))
        },
    ),
    ("(v:{int32}@CLIENTS -> <federated_map(<(x:int32 -> <x>),v>),federated_map(<(x:int32 -> <>),v>)>)", |n| {
        Some(numbered(n, int))
    }),
];

#[test]
fn every_intrinsic_gives_on_workers_what_it_gives_here() {
    let servers = Servers::start(3);
    for n_workers in 1..=3 {
        let workers = workers(&servers.ports[..n_workers], &RemoteOptions::default());
        for (text, argument) in CASES {
            let (here, there) = (prepare(text, None), prepare(text, Some(workers.clone())));
            for n_clients in [0, 1, 7] {
                let expected = here.call(argument(n_clients), Some(n_clients)).unwrap();
                let found = there.call(argument(n_clients), Some(n_clients));
                let found =
                    found.unwrap_or_else(|error| panic!("{n_workers} workers, {n_clients} clients, {text}: {error}"));
                assert_eq!(
                    bytes(&there, &found),
                    bytes(&here, &expected),
                    "{n_workers} workers, {n_clients} clients, {text}"
                );
            }
        }
    }
}

#[test]
fn parts_are_merged_in_the_order_of_the_clients() {
    let servers = Servers::start(3);
    let text = |merge: &str| {
        format!(
            "(v:{{int32}}@CLIENTS -> federated_aggregate(<v,lit int32 -1,(p:<int32,int32> -> p[1]),{merge},(x:int32 -> x)>))"
        )
    };
    let workers = workers(&servers.ports, &RemoteOptions::default());
    // 7 clients over 3 workers are 3, 2 and 2; each part is the last client's value.
    let first = prepare(&text("(p:<int32,int32> -> p[0])"), Some(workers.clone()));
    let last = prepare(&text("(p:<int32,int32> -> p[1])"), Some(workers));
    for _ in 0..20 {
        let call = |program: &Program| format!("{:?}", program.call(Some(numbered(7, int)), None).unwrap());
        assert_eq!(call(&first), format!("{:?}", Value::at_server(int(2))));
        assert_eq!(call(&last), format!("{:?}", Value::at_server(int(6))));
    }
}

fn message(error: &ExecError, port: u16) -> String {
    error.to_string().replace(&port.to_string(), "PORT")
}

/// The error of a program on one worker.
fn refused(text: &str, argument: Option<Value>) -> String {
    let servers = Servers::start(1);
    let program = prepare(text, Some(workers(&servers.ports, &RemoteOptions::default())));
    message(&program.call(argument, Some(2)).unwrap_err(), servers.ports[0])
}

#[test]
fn what_workers_refuse_and_fail_at_names_them() {
    let text = "(v:{int32}@CLIENTS -> federated_map(<(x:int32 -> federated_sum(x)),v>))";
    let text = text.replace("federated_sum(x)", "generic_plus(<x,x>)");
    insta::assert_snapshot!(refused(&text, Some(numbered(2, int))), @"worker localhost:PORT: federated_map: client 0: the intrinsic `generic_plus` runs only in a compiled computation: compile this one first (INVALID_ARGUMENT)");
    let text = "(a:<v={int32}@CLIENTS,s=int32*> -> (let s=a.s in federated_map(<(x:int32 -> <x,s>),a.v>)))";
    let sequence = Value::Sequence(Sequence::from_elements(Type::scalar(DType::Int32), []));
    insta::assert_snapshot!(refused(text, Some(Value::structure([numbered(2, int), sequence]))), @"federated_map: to send a function that refers to a sequence around it is not supported");
}

/// A worker that is gone in the middle of what it is sent.
#[track_caller]
fn check_lost_midway(end: End, options: &RemoteOptions, reason: &str) {
    let servers = Servers::start(2);
    let text = "(v:{uint8[?]}@CLIENTS -> federated_map(<(x:uint8[?] -> <x,x>),v>))";
    let member = |client: i32| {
        let content = vec![client as u8; 300_000];
        Value::array(Array::dense(DType::UInt8, [300_000], content.into()).unwrap())
    };
    let expected = prepare(text, None).call(Some(numbered(5, member)), None).unwrap();

    let mut without_retries = options.clone();
    without_retries.max_retries = 0;
    let proxy = Proxy::start(servers.ports[1], 400_000, end);
    let program = prepare(text, Some(workers(&[servers.ports[0], proxy.port], &without_retries)));
    let error = program.call(Some(numbered(5, member)), None).unwrap_err();
    assert!(matches!(error.cause(), ExecError::Worker(WorkerError::Unavailable { .. })), "{error}");
    let named = format!("worker localhost:{} is unavailable: {reason}", proxy.port);
    assert!(error.to_string().contains(&named), "{error}");

    let proxy = Proxy::start(servers.ports[1], 400_000, end);
    let workers = workers(&[proxy.port, servers.ports[0]], options);
    let program = prepare(text, Some(workers.clone()));
    for _ in 0..2 {
        let found = program.call(Some(numbered(5, member)), None).unwrap();
        assert_eq!(bytes(&program, &found), bytes(&program, &expected));
        assert_eq!(workers.available(), [Arc::from(format!("localhost:{}", servers.ports[0]))]);
    }
}

#[test]
fn a_worker_that_dies_midway_is_named_and_done_without() {
    check_lost_midway(End::Closes, &RemoteOptions::default(), "CreateValue: ");
}

#[test]
fn a_worker_that_hangs_midway_is_named_and_done_without() {
    let mut options = RemoteOptions::default();
    options.deadline = Duration::from_secs(4);
    check_lost_midway(End::FallsSilent, &options, "no answer to CreateValue within 4s");
}

#[test]
fn a_worker_lost_while_it_computes_is_named() {
    let (servers, other) = (Servers::start(1), Servers::start(1));
    let doubled: String = (1..=60).map(|n| format!(",f{n}=(x:int32 -> f{0}(f{0}(x)))", n - 1)).collect();
    let text =
        format!("(v:{{int32}}@CLIENTS -> federated_map(<(x:int32 -> (let f0=(x:int32 -> x){doubled} in f60(x))),v>))");
    let mut options = RemoteOptions::default();
    options.max_retries = 0;
    let ports = [servers.ports[0], other.ports[0]];
    let workers = workers(&ports, &options);
    // After this both have an executor, and neither is asked for one again.
    workers.executors(2).unwrap();
    let running = std::thread::spawn(move || prepare(&text, Some(workers)).call(Some(numbered(2, int)), None));
    other.runtime.shutdown_background();
    let error = running.join().unwrap().unwrap_err();
    assert!(
        matches!(error.cause(), ExecError::Worker(WorkerError::Unavailable { worker, .. }) if worker.ends_with(&ports[1].to_string())),
        "{error}"
    );
}

#[test]
fn a_worker_that_does_not_answer_is_given_up() {
    let servers = Servers::start(1);
    // Connections are taken by the system, and nobody reads from them.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let ports = [silent.local_addr().unwrap().port(), servers.ports[0]];
    let mut options = RemoteOptions::default();
    options.connect_timeout = Duration::from_secs(2);
    let alone = workers(&ports[..1], &options);
    let start = Instant::now();
    let error = alone.executors(3).unwrap_err();
    assert!(start.elapsed() >= options.connect_timeout);
    insta::assert_snapshot!(message(&error, ports[0]), @"worker localhost:PORT is unavailable: no answer to GetExecutor within 2s");
    let both = workers(&ports, &options);
    assert_eq!(both.executors(3).unwrap().iter().map(|it| it.n_clients()).collect::<Vec<_>>(), [3]);
    assert_eq!(both.available().len(), 1);
}

#[test]
fn a_value_that_takes_too_long_is_given_up() {
    let servers = Servers::start(1);
    let mut options = RemoteOptions::default();
    (options.deadline, options.max_retries) = (Duration::from_secs(2), 0);
    let doubled: String = (1..=60).map(|n| format!(",f{n}=(x:int32 -> f{0}(f{0}(x)))", n - 1)).collect();
    let text = format!("federated_eval_at_clients(( -> (let f0=(x:int32 -> x){doubled} in f60(lit int32 1))))");
    let error = prepare(&text, Some(workers(&servers.ports, &options))).call(None, Some(1)).unwrap_err();
    insta::assert_snapshot!(message(&error, servers.ports[0]), @"worker localhost:PORT is unavailable: no answer to Compute within 2s");
}

#[test]
fn who_forgot_its_executor_is_given_another() {
    let servers = Servers::start(1);
    let workers = workers(&servers.ports, &RemoteOptions::default());
    let program = prepare(CASES[0].0, Some(workers.clone()));
    let expected = program.call(Some(numbered(2, int)), None).unwrap();
    servers.runtime.block_on(async {
        // Both users of the executor take their leave.
        let mut peer = Peer::connect(servers.ports[0], 2).await;
        for _ in 0..2 {
            let executor = peer.executor.clone();
            peer.client.dispose_executor(pb::DisposeExecutorRequest { executor }).await.unwrap();
        }
    });
    let found = program.call(Some(numbered(2, int)), None).unwrap();
    assert_eq!(bytes(&program, &found), bytes(&program, &expected));
    assert_eq!(workers.available().len(), 1);
}

#[test]
fn an_executor_makes_values_step_by_step() {
    let servers = Servers::start(1);
    let workers = workers(&servers.ports, &RemoteOptions::default());
    let executors = workers.executors(2).unwrap();
    let executor = &executors[0];
    let compute = |id| {
        let (sender, receiver) = mpsc::channel();
        executor.compute(id, Box::new(move |outcome| sender.send(outcome).unwrap()));
        receiver.recv().unwrap()
    };
    let pair = executor.create_value(crate::computation("(x:int32 -> <x,<x>>)"));
    let argument = executor.create_value(crate::int(5));
    let call = executor.create_call(pair, Some(argument));
    let both = executor.create_struct(&[argument, call]);
    let inner = executor.create_value(crate::computation("(x:<int32,<int32,<int32>>> -> x[1][1][0])"));
    let five = executor.create_call(inner, Some(both));
    assert_eq!(compute(five).unwrap(), crate::int(5));
    let wrong = executor.create_struct(&[both, executor.create_call(argument, None)]);
    let error = compute(wrong).unwrap_err();
    insta::assert_snapshot!(message(&error, servers.ports[0]), @"worker localhost:PORT: expected a function, found int32 (INVALID_ARGUMENT)");
    executor.dispose(five);
    executor.dispose(five);
    assert!(matches!(compute(five), Err(ExecError::Session(SessionError::UnknownValue(id))) if id == five));
    assert!(
        matches!(compute(executor.create_call(five, None)), Err(ExecError::Session(SessionError::UnknownValue(id))) if id == five)
    );
}

#[test]
fn programs_run_at_the_same_time() {
    let servers = Servers::start(2);
    let program = prepare(CASES[1].0, Some(workers(&servers.ports, &RemoteOptions::default())));
    std::thread::scope(|scope| {
        for n_clients in 1..=12 {
            let program = &program;
            scope.spawn(move || {
                for _ in 0..10 {
                    let found = program.call(Some(numbered(n_clients, int)), None).unwrap();
                    assert_eq!(format!("{found:?}"), format!("{:?}", numbered(n_clients, int)));
                }
            });
        }
    });
}

#[test]
fn addresses_are_checked() {
    let refused = |address: &str| RemoteWorkers::new(&[address], &RemoteOptions::default()).unwrap_err().to_string();
    for address in ["", "localhost", ":8000", "localhost:port", "http://localhost:8000", "user@host:1", "a b:1"] {
        assert_eq!(refused(address), format!("worker {address} is unavailable: expected an address, host:port"));
    }
    let none: [&str; 0] = [];
    assert!(RemoteWorkers::new(&none, &RemoteOptions::default()).is_err());
}

#[test]
fn compressed_messages_give_the_same() {
    let servers = Servers::start(2);
    let expected = prepare(CASES[0].0, None).call(Some(numbered(5, int)), None).unwrap();
    for compression in [Compression::Gzip, Compression::Zstd] {
        let mut options = RemoteOptions::default();
        options.compression = Some(compression);
        let program = prepare(CASES[0].0, Some(workers(&servers.ports, &options)));
        let found = program.call(Some(numbered(5, int)), None).unwrap();
        assert_eq!(bytes(&program, &found), bytes(&program, &expected));
    }
}

#[test]
fn a_worker_that_is_back_is_asked_again() {
    let servers = Servers::start(1);
    // Nobody listens here yet.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut options = RemoteOptions::default();
    options.connect_timeout = Duration::from_millis(200);
    let workers = workers(&[servers.ports[0], port], &options);
    let program = prepare(CASES[0].0, Some(workers.clone()));
    let expected = program.call(Some(numbered(4, int)), None).unwrap();
    assert_eq!(workers.available().len(), 1);
    let there = servers.runtime.block_on(Server::start_at(port));
    let start = Instant::now();
    while workers.available().len() < 2 {
        let found = program.call(Some(numbered(4, int)), None).unwrap();
        assert_eq!(bytes(&program, &found), bytes(&program, &expected));
        assert!(start.elapsed() < Duration::from_secs(60), "it is not asked again");
    }
    drop(there);
}
