//! Splits a computation into a form, keeps it in a folder and runs it in parts: `cargo run -p tff-sim --example form`.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::num::NonZeroUsize;
use tff_compiler::CompileOptions;
use tff_exec::{Executor, Options, Value};
use tff_ir::text::{Environment, parse};
use tff_sim::forms::{Form, FormKind, SubRounds};

fn main() -> Result<(), Box<dyn Error>> {
    let compile = CompileOptions::default();
    let sum = parse("(x:{int32}@CLIENTS -> %federated_sum(x))", &Environment::default())?.comp;
    let form = Form::from_comp(FormKind::Mergeable, &sum, &compile)?;
    for (role, part) in form.parts() {
        println!("{role}: {}", part.ty());
    }

    let folder = tempfile::tempdir()?;
    let folder = folder.path().join("sum");
    form.write(sum.ty(), &folder)?;
    let form = Form::read(&folder)?.to_mergeable(&compile)?;

    let mut options = Options::default();
    options.compile = Some(tff_sim::compiler(CompileOptions::default));
    let prepared = SubRounds::prepare(&form, &Executor::new(options))?;

    // Five clients, two or three at a time.
    let clients = Value::at_clients((1..=5).map(Value::from));
    let sub_rounds = NonZeroUsize::new(2).ok_or("at least one")?;
    let result = prepared.call(Some(clients), Some(5), sub_rounds)?;
    println!("{result}");
    assert_eq!(result.as_server().map(i32::try_from).transpose()?, Some(15));

    // What cannot be such a form is refused: here clients need a sum before they go on.
    let text = "(x:{int32}@CLIENTS -> %federated_sum(%federated_map(<(y:<int32,int32> -> y[0]),
        %federated_zip_at_clients(<x,%federated_broadcast(%federated_sum(x))>)>)))";
    let twice = parse(text, &Environment::default())?.comp;
    let Err(error) = Form::from_comp(FormKind::Mergeable, &twice, &compile) else { return Err("a mistake".into()) };
    println!("{error}");
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
