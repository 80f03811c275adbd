//! `tff type`: the type signature of a computation.

use crate::input::Source;
use crate::output;
use anyhow::Result;

const EXAMPLES: &str = "\
Examples:
  tff type next.pb                      (<state=int32@SERVER,x={int32}@CLIENTS> -> int32@SERVER)
  cat next.pb | tff type -";

/// Prints the type signature of a computation, on one line.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A computation, .pb or .tff; `-` for stdin.
    file: Source,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        output::line(self.file.read_comp()?.ty())
    }
}
