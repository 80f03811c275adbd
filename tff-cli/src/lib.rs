//! The commands `tff`, which inspects, checks, converts, compiles, runs and simulates federated computations,
//! and `tff-worker`, which serves them to TFF's clients.
//!
//! This is no library: it is where the two binaries, and those of the Python package, share their parts.
//!
//! Exit codes: 0 all is well, 1 a bad input, a failed run or problems that a check found, 2 wrong
//! usage. Results go to stdout, everything else to stderr; an error is one line there.

mod args;
mod commands;
mod excerpt;
mod executor;
mod input;
mod log;
mod metrics;
mod native;
mod output;
mod progress;
mod render;
mod server;
mod worker;
mod workers;

pub use native::quiet;
pub use worker::worker;

use args::Args;
use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the `tff` command with these arguments, the name of the program first.
#[must_use]
pub fn tff(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = Args::parse_from(args);
    let result = log::start(&args.log, args.command.log_kind()).and_then(|()| args.command.run(&args.log));
    match result {
        Ok(code) => code,
        // Whoever reads the output has seen enough, as in `tff print FILE | head`.
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::report(&error);
            ExitCode::FAILURE
        }
    }
}
