//! `tff passes`: the passes of the compiler.

use crate::output;
use anyhow::Result;
use tff_compiler::passes::ALL;

const EXAMPLES: &str = "\
Examples:
  tff passes
  tff compile next.pb -o native.pb --print-after to_call_dominant";

/// Lists the passes of the compiler, with what each does.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

impl Args {
    #[expect(clippy::unused_self, reason = "as every command")]
    pub(crate) fn run(self) -> Result<()> {
        let width = ALL.iter().map(|pass| pass.name().len()).max().unwrap_or(0);
        ALL.iter().try_for_each(|pass| output::line(format_args!("{:width$}  {}", pass.name(), pass.description())))
    }
}
