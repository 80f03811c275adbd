//! Starts a worker, and computes on it step by step and as a part of a program:
//! `cargo run -p tff-exec --features service --example worker_client`.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::{Arc, mpsc};
use tff_exec::remote::{RemoteOptions, RemoteWorkers};
use tff_exec::service::{ServerOptions, bind, serve};
use tff_exec::{Child, Executor, Options, Value, value_from_proto, value_to_proto};
use tff_ir::text::{Environment, parse};
use tff_proto::v0 as pb;
use tokio::runtime::Runtime;

fn main() -> Result<(), Box<dyn Error>> {
    // The worker. Usually it is another process: `tff-worker`.
    let network = Runtime::new()?;
    let listeners = network.block_on(bind(&[], 0))?;
    let address = listeners.first().ok_or("no address")?.local_addr()?.to_string();
    let executor = Executor::new(Options::default());
    network.spawn(async move { serve(executor, &ServerOptions::default(), listeners, std::future::pending()).await });

    // A client of it. This code is as without a network: the client has threads of its own.
    let workers = RemoteWorkers::new(&[address], &RemoteOptions::default())?;
    let text = "(v:{int32}@CLIENTS -> federated_map(<(x:int32 -> <x,x>),v>))";
    let comp = parse(text, &Environment::default())?.comp;
    let clients = || Value::at_clients([1, 2].map(Value::from));
    let ty = comp.ty().as_function().ok_or("a function")?;

    // Step by step, on one worker: each value has a number, and only `compute` waits.
    let executors = workers.executors(2)?;
    let worker = executors.first().ok_or("a worker")?;
    let function = pb::value::Value::Computation(comp.to_proto()?);
    let function = worker.create_value(pb::Value { value: Some(function), tensor: None });
    let argument = value_to_proto(&clients(), ty.parameter.as_ref().ok_or("a parameter")?)?;
    let argument = worker.create_value(argument);
    let call = worker.create_call(function, Some(argument));
    let (sender, receiver) = mpsc::channel();
    worker.compute(call, Box::new(move |outcome| drop(sender.send(outcome))));
    let result = value_from_proto(&receiver.recv()??, &ty.result)?;
    println!("{result}");

    // As a program, whose clients are spread over all workers.
    let mut options = Options::default();
    options.workers = Some(Arc::new(workers));
    let program = Executor::new(options).prepare(&comp)?;
    let result_of_program = program.call(Some(clients()), None)?;
    assert_eq!(result_of_program.to_string(), result.to_string());
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
