//! `tff print`: a computation in one of its written forms.

use crate::input::Source;
use crate::output;
use crate::usage::UsageError;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use tff_ir::Comp;
use tff_ir::text::{self, PrintOptions};
use tff_sim::files::write_bytes;

const EXAMPLES: &str = "\
Examples:
  tff print next.pb > next.tff                           all of it, to be read again
  tff print next.pb --bodies next.bodies > next.tff      the same, in two files
  tff print next.pb --bodies labels                      without graphs, for the eye
  tff print next.pb --form formatted                     as the reference implementation prints it";

/// How high a computation may be, times how long on one line, for a drawing of it to be made.
const MAX_DRAWING: u64 = 1 << 24;

/// Prints a computation.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A computation, .pb or .tff; `-` for stdin.
    file: Source,
    /// The form to print.
    #[arg(long, value_enum, default_value_t)]
    form: Form,
    /// Where to write graphs, modules and data: `inline` (in the text), `labels` (omit them, print
    /// only their labels), or a FILE. Commands find the file if it is NAME.bodies beside NAME.tff.
    #[arg(long, value_name = "WHERE")]
    bodies: Option<Where>,
}

/// A written form of computations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Lossless, as GRAMMAR.md describes it: what `tff parse` reads.
    #[default]
    Text,
    /// On one line, without the types.
    Compact,
    /// As compact, on several lines.
    Formatted,
    /// A drawing of the tree, for small computations.
    Structural,
}

/// Where encoded graphs, modules and data are printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Where {
    #[default]
    Inline,
    Nowhere,
    File(PathBuf),
}

impl FromStr for Where {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "inline" => Self::Inline,
            "labels" => Self::Nowhere,
            path => Self::File(path.into()),
        })
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        if self.bodies.is_some() && self.form != Form::Text {
            return Err(UsageError::conflict("--bodies is for --form text").into());
        }
        let comp = self.file.read_comp()?;
        match self.form {
            Form::Text => self.print_text(&comp),
            Form::Compact => output::line(comp),
            Form::Formatted => output::line(comp.formatted()),
            Form::Structural => self.draw(&comp),
        }
    }

    fn draw(&self, comp: &Comp) -> Result<()> {
        let (height, width) = (u64::from(comp.height()), comp.to_string().len() as u64);
        if height.saturating_mul(width) > MAX_DRAWING {
            bail!("{}: too large to draw: {height} levels, {width} characters on one line", self.file.name());
        }
        output::line(comp.structural())
    }

    fn print_text(self, comp: &Comp) -> Result<()> {
        let bodies = self.bodies.unwrap_or_default();
        let options = PrintOptions { bodies_aside: bodies != Where::Inline, ..PrintOptions::default() };
        let printed = text::print(comp, &options).with_context(|| self.file.name())?;
        if let Where::File(path) = bodies {
            write_bytes(&path, printed.bodies.to_string().as_bytes())?;
        }
        output::bytes(printed.text.as_bytes())
    }
}
