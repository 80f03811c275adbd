//! The `tff` command: inspects, runs and simulates federated computations.
//!
//! Exit codes: 0 all is well, 1 a bad input or a failed run, 2 wrong usage. Results go to stdout,
//! everything else to stderr; an error is one line there.

mod args;
mod commands;
mod data;
mod input;
mod json;
mod log;
mod members;
mod native;
mod output;
mod progress;
mod render;
mod simulation;

use args::Args;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = log::start(&args.log).and_then(|()| args.command.run(&args.log));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has seen enough, as in `tff print FILE | head`.
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::report(&error);
            ExitCode::FAILURE
        }
    }
}
