//! The commands, one a file.

mod check;
mod compile;
mod data;
mod fmt;
mod intrinsics;
mod parse;
mod passes;
mod plot;
mod print;
mod run;
mod serve;
mod simulate;
mod r#type;

use crate::executor::{CompilationArgs, executor};
use crate::log::{Kind, LogArgs};
use crate::named_data::NamedDataArgs;
use crate::workers::WorkersArgs;
use anyhow::Result;
use clap::Subcommand;
use std::process::ExitCode;
use tff_exec::Executor;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Type(r#type::Args),
    Print(print::Args),
    Parse(parse::Args),
    Check(check::Args),
    Fmt(fmt::Args),
    Compile(compile::Args),
    Passes(passes::Args),
    Intrinsics(intrinsics::Args),
    Run(run::Args),
    Data(data::Args),
    Simulate(simulate::Args),
    Serve(serve::Args),
}

impl Command {
    /// What its logs are of.
    pub(crate) const fn log_kind(&self) -> Kind {
        if matches!(self, Self::Serve(_)) { Kind::Server } else { Kind::Command }
    }

    /// Runs the command. It fails without an error where what it found is its result.
    pub(crate) fn run(self, log: &LogArgs) -> Result<ExitCode> {
        match self {
            Self::Type(args) => args.run(),
            Self::Print(args) => args.run(),
            Self::Parse(args) => args.run(),
            Self::Check(args) => return args.run(),
            Self::Fmt(args) => return args.run(),
            Self::Compile(args) => args.run(),
            Self::Passes(args) => args.run(),
            Self::Intrinsics(args) => args.run(),
            Self::Run(args) => args.run(),
            Self::Data(args) => args.run(),
            Self::Simulate(args) => args.run(log),
            Self::Serve(args) => args.run(),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}

/// How computations are executed.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Execution")]
struct ExecutorArgs {
    /// How many threads compute; by default one for each core.
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
    #[command(flatten)]
    compilation: CompilationArgs,
    #[command(flatten)]
    data: NamedDataArgs,
}

impl ExecutorArgs {
    /// An executor that computes everything here.
    fn executor(&self) -> Result<Executor> {
        Ok(executor(self.threads.map(Into::into), &self.compilation, None, self.data.sources()?))
    }

    /// An executor with its clients on the workers, if there are any.
    fn executor_on(&self, workers: &WorkersArgs) -> Result<Executor> {
        Ok(executor(self.threads.map(Into::into), &self.compilation, workers.connect()?, self.data.sources()?))
    }
}
