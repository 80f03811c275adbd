//! The commands `tff`, which inspects, checks, converts, compiles, runs and simulates federated computations,
//! and `tff-worker`, which serves them to TFF's clients.
//!
//! This crate is not a library for other programs. The two binaries, and those of the Python package, share their parts here.
//!
//! Exit codes: 0 for success, 1 a bad input, a failed run or problems that a check found, 2 wrong
//! usage. Results go to stdout, everything else to stderr; an error is one line there.

mod args;
mod commands;
mod excerpt;
mod executor;
mod input;
mod log;
mod metrics;
mod named_data;
mod native;
mod output;
mod progress;
mod render;
mod server;
mod usage;
mod worker;
mod workers;

pub use native::quiet;
pub use worker::worker;

use args::Args;
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::process::ExitCode;
use usage::UsageError;

/// Runs the `tff` command with these arguments, the name of the program first.
#[must_use]
pub fn tff(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut definition = Args::command();
    let matches = definition.try_get_matches_from_mut(args).unwrap_or_else(|error| error.exit());
    let args = Args::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut definition).exit());
    let result = log::start(&args.log, args.command.log_kind()).and_then(|()| args.command.run(&args.log));
    let error = match result {
        Ok(code) => return code,
        Err(error) => error,
    };
    // Whoever reads the output has seen enough, as in `tff print FILE | head`.
    if output::is_closed_pipe(&error) {
        return ExitCode::SUCCESS;
    }
    if let Some(error) = error.downcast_ref::<UsageError>() {
        let command = matches.subcommand_name().and_then(|name| definition.find_subcommand_mut(name));
        error.show(command.unwrap_or(&mut Args::command()));
        return ExitCode::from(UsageError::CODE);
    }
    output::report(&error);
    ExitCode::FAILURE
}
