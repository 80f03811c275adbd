//! `tff check`: every problem in a computation.

use crate::excerpt::Annotated;
use crate::executor::{CompilationArgs, executor, with_option};
use crate::input::{Source, TextArgs};
use crate::named_data::NamedDataArgs;
use crate::output;
use crate::usage::UsageError;
use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use tff_ir::text::{self, Parsed, TextError};
use tff_ir::{Code, Comp, CompPath, Diagnostic, Severity, validate, validate_proto};
use tff_sim::computation::{Encoded, Message, Text};
use tff_sim::forms::{Form, FormKind, read_encoded_parts};
use tff_sim::{FileError, Refusal, RefusalError, Target};
use tff_types::syntax::{Position, Span};

const EXAMPLES: &str = "\
Examples:
  tff check next.pb
  tff check next.tff
  tff check next.mrf                         each part of a form, and whether they fit together
  tff check next.tff --for map-reduce        whether `tff compile --to map-reduce` takes it
  tff check next.tff --json | jq -r '.[].code'";

const JSON: &str = "\
--json prints an array with an object for each problem:

  severity      \"error\" or \"warning\"
  code          the rule: \"unbound-reference\", \"ill-typed-call\", ...; \"malformed\" for what cannot
                be read
  path          where in the computation: \".lambda.result.call.argument\"; null where a text
                cannot be read
  part          of a form: the role of the part; absent where it is the form as a whole
  message       what was expected and what was found
  line, column  where in a text, counted from 1; null for a message";

/// Checks a computation, or the parts of a form, and prints every problem.
///
/// The exit code is 1 if there is an error, and 0 if there are only warnings or no problems. If a
/// text cannot be parsed, only that one problem is printed.
///
/// With --for, it also says what a run, a worker or a form would refuse, in its own words, if there is
/// no other error. The compiler stops at its first problem.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{JSON}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// A computation, .pb or .tff, or the folder of a form; `-` for stdin.
    file: Source,
    /// Print the problems as JSON, on one line.
    #[arg(long)]
    json: bool,
    /// What the computation is meant for: also say what that would refuse.
    #[arg(long = "for", value_enum, value_name = "TARGET")]
    target: Option<TargetArg>,
    #[command(flatten)]
    refusals: RefusalArgs,
    #[command(flatten)]
    text: TextArgs,
}

/// What a run may use that a target would refuse otherwise.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What the target may use")]
struct RefusalArgs {
    #[command(flatten)]
    compilation: CompilationArgs,
    #[command(flatten)]
    data: NamedDataArgs,
}

/// What computations are meant for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum TargetArg {
    /// `tff run`.
    Run,
    /// A worker: `tff serve` or `tff-worker`.
    Worker,
    /// `tff compile --to map-reduce`.
    MapReduce,
    /// `tff compile --to distribute-aggregate`.
    DistributeAggregate,
    /// `tff compile --to mergeable`.
    Mergeable,
    /// `tff compile --to broadcast`.
    Broadcast,
}

impl TargetArg {
    const fn target(self) -> Target {
        match self {
            Self::Run => Target::Run,
            Self::Worker => Target::Worker,
            Self::MapReduce => Target::Form(FormKind::MapReduce),
            Self::DistributeAggregate => Target::Form(FormKind::DistributeAggregate),
            Self::Mergeable => Target::Form(FormKind::Mergeable),
            Self::Broadcast => Target::Form(FormKind::Broadcast),
        }
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let RefusalArgs { compilation, data } = &self.refusals;
        if self.target.is_none() && (compilation.allow_insecure_secure_sum || data.is_given()) {
            return Err(UsageError::conflict("--allow-insecure-secure-sum, --data and --data-config need --for").into());
        }
        if let Some(folder) = self.file.folder() {
            let mut problems = of_form(folder)?;
            self.refused(&mut problems, || self.file.read_comp(), &|_| None)?;
            return self.show(&problems, None);
        }
        let encoded = self.file.read_encoded(&self.text.options())?;
        match &encoded {
            Encoded::Message(message) => {
                let mut problems = of_message(message);
                self.refused(&mut problems, || encoded.decode(), &|_| None)?;
                self.show(&problems, None)
            }
            Encoded::Text(text) => {
                let mut problems = Vec::new();
                match text::parse(&text.content, &text.environment) {
                    Ok(parsed) => {
                        let span = |path: &CompPath| nearest_span(&parsed, path);
                        problems.extend(validate(&parsed.comp).into_iter().map(|it| {
                            let span = span(&it.path);
                            Problem::of(it, span)
                        }));
                        self.refused(&mut problems, || Ok(parsed.comp.clone()), &span)?;
                    }
                    Err(error) => problems.push(Problem::of_parsing(&error)),
                }
                self.show(&problems, Some(text))
            }
        }
    }

    /// Adds what the target refuses of a computation without errors.
    fn refused(
        &self,
        problems: &mut Vec<Problem>,
        comp: impl FnOnce() -> Result<Comp, FileError>,
        span: &dyn Fn(&CompPath) -> Option<Span>,
    ) -> Result<()> {
        let Some(target) = self.target.filter(|_| !fails(problems)) else { return Ok(()) };
        let RefusalArgs { compilation, data } = &self.refusals;
        let executor = executor(None, compilation, None, data.sources()?);
        for Refusal { path, error } in target.target().refusals(&comp()?, &executor, &compilation.options()) {
            let message = match error {
                RefusalError::Run(error) => format!("{:#}", with_option(error)),
                error => output::one_line(&error),
            };
            let span = path.as_ref().and_then(span);
            problems.push(Problem { severity: Severity::Error, code: "refused", path, message, span, part: None });
        }
        Ok(())
    }

    /// Prints the problems, of a text with what is written there.
    fn show(&self, problems: &[Problem], text: Option<&Text>) -> Result<ExitCode> {
        if self.json {
            let problems: Vec<_> = problems.iter().map(|problem| problem.json(text)).collect();
            output::line(serde_json::to_string(&problems)?)?;
        } else {
            problems.iter().try_for_each(|problem| problem.print(&self.file, text))?;
        }
        Ok(if fails(problems) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Something wrong with a computation.
#[derive(Debug)]
struct Problem {
    severity: Severity,
    code: &'static str,
    /// Where in the computation, if there is one.
    path: Option<CompPath>,
    message: String,
    /// Where in the text, if there is one.
    span: Option<Span>,
    /// The part of the form, if it is in one.
    part: Option<&'static str>,
}

/// A [`Problem`] as JSON.
#[derive(Debug, Serialize)]
struct JsonProblem<'a> {
    severity: &'static str,
    code: &'static str,
    path: Option<String>,
    message: &'a str,
    line: Option<usize>,
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'static str>,
}

/// What is wrong with the parts of a form, each on its own; where nothing is, what is wrong with them
/// as a whole.
fn of_form(folder: &Path) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for (role, part) in read_encoded_parts(folder)? {
        problems.extend(of_message(&part).into_iter().map(|problem| Problem { part: Some(role), ..problem }));
    }
    if let Some(error) = Form::read(folder).err().filter(|_| !fails(&problems)) {
        problems.push(Problem::malformed(&error));
    }
    Ok(problems)
}

fn of_message(message: &Message) -> Vec<Problem> {
    match message.to_proto() {
        Ok(proto) => validate_proto(&proto).into_iter().map(|it| Problem::of(it, None)).collect(),
        Err(error) => vec![Problem::malformed(&error)],
    }
}

fn fails(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| problem.severity == Severity::Error)
}

/// Where the part at this path is written or, where that is not in the text, the innermost part
/// around it that is.
fn nearest_span(parsed: &Parsed, path: &CompPath) -> Option<Span> {
    let steps = path.steps();
    (0..=steps.len()).rev().find_map(|len| parsed.span_of(&CompPath::new(steps.get(..len)?)))
}

impl Problem {
    fn of(diagnostic: Diagnostic, span: Option<Span>) -> Self {
        let Diagnostic { severity, code, path, message } = diagnostic;
        Self { severity, code: code.name(), path: Some(path), message, span, part: None }
    }

    fn malformed(error: &(dyn Error + 'static)) -> Self {
        let (code, message) = (Code::Malformed.name(), output::one_line(error));
        Self { severity: Severity::Error, code, path: Some(CompPath::default()), message, span: None, part: None }
    }

    fn of_parsing(error: &TextError) -> Self {
        let code = error.problem.code().name();
        let message = output::flatten(&error.problem.to_string());
        Self { severity: Severity::Error, code, path: None, message, span: Some(error.span), part: None }
    }

    const fn severity_name(&self) -> &'static str {
        match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }

    fn json(&self, text: Option<&Text>) -> JsonProblem<'_> {
        let position = text.zip(self.span).map(|(text, span)| Position::of(&text.content, span.start));
        JsonProblem {
            severity: self.severity_name(),
            code: self.code,
            path: self.path.as_ref().map(ToString::to_string),
            message: &self.message,
            line: position.map(|it| it.line),
            column: position.map(|it| it.column),
            part: self.part,
        }
    }

    fn print(&self, source: &Source, text: Option<&Text>) -> Result<()> {
        let Self { severity, code, message, .. } = self;
        let mut name = source.name();
        if let Some((text, span)) = text.zip(self.span) {
            let annotated = Annotated { source: &text.content, name: &name, span, severity: *severity, code, message };
            return output::line(annotated.render());
        }
        if let Some(part) = self.part {
            name = format!("{name}/{part}.pb");
        }
        let path = self.path.clone().unwrap_or_default();
        output::line(format_args!("{name}: {}[{code}] at {path}: {message}", self.severity_name()))
    }
}
