//! Runs a computation from bytes on values of Rust's own types: `cargo run -p tff-exec --example run`.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use tff_exec::{Clients, Executor, Options, Value};
use tff_ir::Comp;
use tff_ir::text::{Environment, parse};

fn main() -> Result<(), Box<dyn Error>> {
    let program = Executor::new(Options::default()).prepare(&Comp::from_bytes(serialized()?)?)?;
    println!("{}", program.ty());

    let argument = |second: Value| {
        let readings = Value::at_clients([Value::from(20.5_f32), second]);
        Value::structure([Value::at_server(Value::from(21.0_f32)), readings])
    };
    let result = program.call(Some(argument(Value::from(22.25_f32))), None)?;
    println!("{result}");

    // The same, as numbers.
    let Some(Clients::Each(members)) = result.as_clients() else { return Err("one value for each client".into()) };
    for (client_idx, member) in members.iter().enumerate() {
        let elements = member.as_struct().ok_or("a pair")?.iter().map(f32::try_from);
        println!("client {client_idx}: {:?}", elements.collect::<Result<Vec<f32>, _>>()?);
    }

    // What does not fit is refused, with the place.
    let Err(error) = program.call(Some(argument(Value::from("warm"))), None) else { return Err("a mistake".into()) };
    println!("{error}");
    assert_eq!(error.path().to_string(), ".readings[1]");
    Ok(())
}

/// A computation as TensorFlow Federated serializes it. Usually it comes from a file.
fn serialized() -> Result<Vec<u8>, Box<dyn Error>> {
    let text = "(a:<limit=float32@SERVER,readings={float32}@CLIENTS> ->
        federated_zip_at_clients(<federated_broadcast(a.limit),a.readings>))";
    Ok(parse(text, &Environment::default())?.comp.to_bytes()?)
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
