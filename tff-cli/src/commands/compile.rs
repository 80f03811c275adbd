//! `tff compile`: rewrites a computation so that a runtime can run it, or splits it into a form.

use crate::executor::CompilationArgs;
use crate::input::Source;
use crate::output;
use crate::usage::UsageError;
use anyhow::{Context, Result};
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use prost::Message;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tff_compiler::pass::PassStats;
use tff_compiler::passes::ALL;
use tff_compiler::{call_dominant, compile_to_native};
use tff_ir::Comp;
use tff_ir::text::{self, PrintOptions};
use tff_sim::files::{check_folder, write_bytes};
use tff_sim::forms::{Form, FormKind, check_new_folder};

const EXAMPLES: &str = "\
Examples:
  tff compile next.pb -o native.pb                         what `tff run` makes of it itself
  tff compile next.pb --to call-dominant -o next.tff       with every call a local, as text
  tff compile next.pb --to map-reduce -o next.mrf          ten parts in a folder
  tff run next.mrf --arg argument.json --sub-rounds 3      run from these parts
  tff compile next.pb -o native.pb --stats                 what each pass did, and how long it took
  tff compile next.pb -o native.pb --print-after all       the computation after each pass";

const FORMS: &str = "\
A form is written to a folder, which must be new or empty. The part of each role is in ROLE.pb, a
serialized computation; index.toml says which form it is, the type of the computation, and the
roles with the type of each part:

  form = \"mergeable\"
  type = \"({int32}@CLIENTS -> int32@SERVER)\"

  [[parts]]
  role = \"up_to_merge\"
  type = \"({int32}@CLIENTS -> <int32>@SERVER)\"

Every command that takes a computation takes such a folder too.";

/// Compiles a computation.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{FORMS}"))]
pub(crate) struct Args {
    /// A computation, .pb or .tff; `-` for stdin.
    file: Source,
    /// What to make of it.
    #[arg(long, value_enum, default_value_t)]
    to: Target,
    /// The output: a file whose name ends in .pb or .tff; for a form, a new or empty folder.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Print the computation after this pass, or after `all`; with labels instead of graphs.
    ///
    /// For a form, that is the whole computation before the split, and the parts after it. `tff passes`
    /// lists the passes.
    #[arg(long, value_name = "PASS", value_parser = pass_names(), hide_possible_values = true)]
    print_after: Option<String>,
    /// Print what each pass did and how long it took, and for a form the types of its parts.
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    compilation: CompilationArgs,
}

/// What computations are compiled to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Target {
    /// A computation as `tff run` runs it: few intrinsics, one graph for each local function.
    #[default]
    Native,
    /// Every call is a local; intrinsics are not replaced.
    CallDominant,
    /// `MapReduceForm`: ten graphs, for a round between a server and clients.
    MapReduce,
    /// `DistributeAggregateForm`: five computations, for a round between a server and clients.
    DistributeAggregate,
    /// `MergeableCompForm`: three computations, for clients that are split into sub-rounds.
    Mergeable,
    /// `BroadcastForm`: two graphs, for what the server sends to clients.
    Broadcast,
}

impl Target {
    const fn form(self) -> Option<FormKind> {
        match self {
            Self::Native | Self::CallDominant => None,
            Self::MapReduce => Some(FormKind::MapReduce),
            Self::DistributeAggregate => Some(FormKind::DistributeAggregate),
            Self::Mergeable => Some(FormKind::Mergeable),
            Self::Broadcast => Some(FormKind::Broadcast),
        }
    }
}

fn pass_names() -> PossibleValuesParser {
    PossibleValuesParser::new(ALL.iter().map(|pass| pass.name()).chain(["all"]))
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        let printer = Printer { pass: self.print_after.as_deref(), failed: RefCell::default() };
        let passes = RefCell::new(Vec::new());
        let observer = |stats: &PassStats, comp: &Comp| {
            passes.borrow_mut().push(*stats);
            printer.see(stats.pass, comp);
        };
        let mut options = self.compilation.options();
        options.observer = Some(&observer);
        let name = || self.file.name();
        match self.to.form() {
            Some(kind) => {
                check_new_folder(&self.output)?;
                if matches!(self.output.extension().and_then(|it| it.to_str()), Some("pb" | "tff")) {
                    return Err(UsageError::value("-o must be a folder, as a form has several parts").into());
                }
                let comp = self.file.read_comp()?;
                let start = Instant::now();
                let form = Form::from_comp(kind, &comp, &options).with_context(name)?;
                let seconds = start.elapsed().as_secs_f64();
                printer.finish()?;
                form.write(comp.ty(), &self.output)?;
                if self.stats { show_form(&passes.borrow(), &form, seconds) } else { Ok(()) }
            }
            None => {
                let is_text = self.is_text()?;
                check_folder(&self.output)?;
                let comp = self.file.read_comp()?;
                let compile = if self.to == Target::Native { compile_to_native } else { call_dominant };
                let compiled = compile(&comp, &options).with_context(name)?;
                printer.finish()?;
                write_comp(&compiled.comp, is_text, &self.output)?;
                if !self.stats {
                    return Ok(());
                }
                show_passes(&compiled.stats)?;
                let seconds: f64 = compiled.stats.iter().map(|stats| stats.duration.as_secs_f64()).sum();
                output::line(format_args!("all  {:.3} ms", seconds * 1e3))
            }
        }
    }

    /// Whether the output is text, by the end of its name; any other name is wrong usage.
    fn is_text(&self) -> Result<bool, UsageError> {
        match self.output.extension().and_then(|extension| extension.to_str()) {
            Some("pb") => Ok(false),
            Some("tff") => Ok(true),
            _ => Err(UsageError::value("-o must end in .pb or .tff, unless --to is a form")),
        }
    }
}

/// Prints the computation after the passes that the user asks for.
struct Printer<'a> {
    pass: Option<&'a str>,
    /// The first error, as passes do not expect one.
    failed: RefCell<Option<anyhow::Error>>,
}

impl Printer<'_> {
    fn see(&self, pass: &str, comp: &Comp) {
        if self.pass.is_some_and(|wanted| wanted == "all" || wanted == pass) && self.failed.borrow().is_none() {
            self.failed.replace(print(pass, comp).err());
        }
    }

    fn finish(&self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

fn print(pass: &str, comp: &Comp) -> Result<()> {
    let options = PrintOptions { bodies_aside: true, ..PrintOptions::default() };
    let text = text::print(comp, &options).with_context(|| pass.to_owned())?.text;
    output::bytes(format!("// after {pass}\n{text}").as_bytes())
}

fn write_comp(comp: &Comp, is_text: bool, path: &Path) -> Result<()> {
    let name = || path.display().to_string();
    if is_text {
        let text = text::print(comp, &PrintOptions::default()).with_context(name)?.text;
        write_bytes(path, text.as_bytes())?;
        return Ok(());
    }
    Ok(write_bytes(path, &comp.to_proto().with_context(name)?.encode_to_vec())?)
}

fn show_passes(stats: &[PassStats]) -> Result<()> {
    let width = stats.iter().map(|stats| stats.pass.len()).max().unwrap_or(0);
    output::line(format_args!("{:width$}  {:>10}  {:>8}  changed", "pass", "ms", "nodes"))?;
    stats.iter().try_for_each(|stats| {
        let (ms, changed) = (stats.duration.as_secs_f64() * 1e3, if stats.changed { "yes" } else { "no" });
        output::line(format_args!("{:width$}  {ms:>10.3}  {:>8}  {changed}", stats.pass, stats.nodes))
    })
}

/// The passes that the whole and the parts went through, and the parts; splitting is in the time for
/// all.
fn show_form(stats: &[PassStats], form: &Form, seconds: f64) -> Result<()> {
    show_passes(stats)?;
    let parts = form.parts();
    let width = parts.iter().map(|(role, _)| role.len()).max().unwrap_or(0);
    output::line(format_args!("{:width$}  {:>8}  type", "part", "nodes"))?;
    for (role, part) in &parts {
        output::line(format_args!("{role:width$}  {:>8}  {}", part.size(), part.ty()))?;
    }
    output::line(format_args!("all  {:.3} ms", seconds * 1e3))
}
