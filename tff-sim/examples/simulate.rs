//! Simulates an iterative process over clients of the program's own: `cargo run -p tff-sim --example simulate`.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::num::NonZeroUsize;
use tff_compiler::CompileOptions;
use tff_exec::{Executor, Options, Sequence, Value};
use tff_ir::text::{Environment, parse};
use tff_sim::data::{ClientId, DataError, Source};
use tff_sim::simulation::{NamedComp, Process, Settings, Simulation};
use tff_types::{DType, Type};

/// A client for each weekday, with so many steps in each hour.
#[derive(Debug)]
struct Steps(Vec<ClientId>);

impl Source for Steps {
    fn clients(&self) -> &[ClientId] {
        &self.0
    }

    fn data(&self, client_idx: usize) -> Result<Value, DataError> {
        let hours = (0..24).map(|hour| Value::from(100 * client_idx as i32 + hour));
        Ok(Value::Sequence(Sequence::from_elements(Type::scalar(DType::Int32), hours.collect::<Vec<_>>())))
    }
}

const INITIALIZE: &str = "( -> %federated_value_at_server(lit int32 0))";

/// The state is the sum of this round; the metrics are that and the state before.
const NEXT: &str = "(x:<state=int32@SERVER,clients={int32*}@CLIENTS> ->
    (let total=%federated_sum(%federated_map(<(hours:int32* -> %sequence_sum(hours)),x.clients>)) in
      <state=total,metrics=%federated_zip_at_server(<before=x.state,total=total>)>))";

fn main() -> Result<(), Box<dyn Error>> {
    // They usually come from files: `NamedComp::read`.
    let named = |name: &str, text| -> Result<NamedComp, Box<dyn Error>> {
        Ok(NamedComp { name: name.to_owned(), comp: parse(text, &Environment::default())?.comp })
    };
    let process = Process::new(named("initialize", INITIALIZE)?, named("next", NEXT)?)?;

    let days = ["Mon", "Tue", "Wed", "Thu", "Fri"].map(|day| ClientId::Name(day.to_owned()));
    let settings = Settings { rounds: 3, clients_per_round: NonZeroUsize::new(2), seed: 7, ..Settings::default() };
    let simulation = Simulation::new(process, Box::new(Steps(days.into())), settings)?;

    let mut options = Options::default();
    options.compile = Some(tff_sim::compiler(CompileOptions::default));
    let executor = Executor::new(options);

    let mut run = simulation.start(&executor)?;
    for report in run.by_ref() {
        let report = report?;
        for reading in &report.metrics {
            println!("round {}: {} {}", report.round, reading.name, reading.number());
        }
    }
    assert_eq!(run.rounds_done(), 3);
    Ok(())
}

#[test]
fn it_runs() -> Result<(), Box<dyn Error>> {
    main()
}
