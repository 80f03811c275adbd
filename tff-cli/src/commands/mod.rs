//! The commands, one a file.

mod print;
mod run;
mod simulate;
mod r#type;

use crate::log::LogArgs;
use crate::native;
use anyhow::Result;
use clap::Subcommand;
use tff_exec::{Executor, Options};

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Type(r#type::Args),
    Print(print::Args),
    Run(run::Args),
    Simulate(simulate::Args),
}

impl Command {
    pub(crate) fn run(self, log: &LogArgs) -> Result<()> {
        match self {
            Self::Type(args) => args.run(),
            Self::Print(args) => args.run(),
            Self::Run(args) => args.run(),
            Self::Simulate(args) => args.run(log),
        }
    }
}

/// How computations are executed.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Execution")]
struct ExecutorArgs {
    /// How many threads run the clients; by default one a core.
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
}

impl ExecutorArgs {
    fn executor(&self) -> Executor {
        let mut options = Options::default();
        options.threads = self.threads.map(Into::into);
        options.library_dir = native::tensorflow_dir();
        Executor::new(options)
    }
}
