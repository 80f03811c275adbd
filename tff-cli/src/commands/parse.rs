//! `tff parse`: makes a message from a computation as text.

use crate::input::{Source, TextArgs};
use crate::output;
use anyhow::{Context, Result, bail};
use prost::Message;
use std::io::{self, IsTerminal};
use tff_sim::files::{check_folder, write_bytes};

const EXAMPLES: &str = "\
Examples:
  tff parse next.tff -o next.pb
  tff print next.pb | tff parse - | tff type -
  echo '(x:int32 -> <x,x>)' | tff parse - -o pair.pb
  tff parse compact.txt --parameter '<int32,int32>' --name 'f=(int32 -> bool)' -o out.pb";

/// Reads a computation as text, in the form that GRAMMAR.md describes, and serializes it.
///
/// It also reads what the reference implementation prints, if the types that are left out can be
/// inferred; --parameter and --name give types that cannot.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A computation as text; `-` for stdin.
    file: Source,
    /// The output file; `-` for stdout.
    #[arg(short, long, value_name = "OUT.pb", default_value = "-")]
    output: Source,
    #[command(flatten)]
    text: TextArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        if let Source::File(path) = &self.output {
            check_folder(path)?;
        }
        let comp = self.file.read_text(&self.text.options())?.parse()?.comp;
        let bytes = comp.to_proto().with_context(|| self.file.name())?.encode_to_vec();
        match &self.output {
            Source::File(path) => Ok(write_bytes(path, &bytes)?),
            Source::Stdin if io::stdout().is_terminal() => {
                bail!("expected -o OUT.pb: a terminal does not show a message")
            }
            Source::Stdin => output::bytes(&bytes),
        }
    }
}
