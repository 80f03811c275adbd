//! `tff print`: a computation in one of its written forms.

use crate::input::{self, Source};
use crate::output;
use anyhow::Result;
use clap::ValueEnum;
use tff_ir::Comp;

const EXAMPLES: &str = "\
Examples:
  tff print next.pb
  tff print --form compact next.pb | head -c 1000";

/// Prints a computation.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A serialized computation; `-` for stdin.
    file: Source,
    /// How it is written.
    #[arg(long, value_enum, default_value_t)]
    form: Form,
}

/// A written form of computations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// On one line, without the types.
    #[default]
    Compact,
}

impl Form {
    fn print(self, comp: &Comp) -> Result<()> {
        match self {
            Self::Compact => output::line(comp),
        }
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        self.form.print(&input::computation(&self.file)?)
    }
}
