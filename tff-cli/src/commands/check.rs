//! `tff check`: everything that is wrong with a computation.

use crate::computation::{self, Encoded, Text, TextArgs};
use crate::excerpt::Annotated;
use crate::input::Source;
use crate::output;
use anyhow::Result;
use bytes::Bytes;
use serde::Serialize;
use std::process::ExitCode;
use tff_ir::text::{self, Parsed, TextError};
use tff_ir::{Code, CompPath, Diagnostic, Severity, validate, validate_proto};
use tff_types::syntax::{Position, Span};

const EXAMPLES: &str = "\
Examples:
  tff check next.pb
  tff check next.tff
  tff check next.tff --json | jq -r '.[].code'";

const JSON: &str = "\
--json prints an array with an object for each problem:

  severity      \"error\" or \"warning\"
  code          the rule: \"unbound-reference\", \"ill-typed-call\", ...; \"malformed\" for what cannot
                be read
  path          where in the computation: \".lambda.result.call.argument\"; null where a text
                cannot be read
  message       what was expected and what was found
  line, column  where in a text, counted from 1; null for a message";

/// Checks a computation and prints every problem.
///
/// The exit code is 1 if there is an error, 0 if there is none or there are only warnings. A text
/// that cannot be read is one problem, and what else is wrong with it is not known.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{JSON}\n\n{EXAMPLES}"))]
pub(crate) struct Args {
    /// A computation, .pb or .tff; `-` for stdin.
    file: Source,
    /// Print the problems as JSON, on one line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    text: TextArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let encoded = Encoded::read(&self.file, &self.text)?;
        let problems = match &encoded {
            Encoded::Message(bytes) => of_message(bytes),
            Encoded::Text(text) => of_text(text),
        };
        if self.json {
            let problems: Vec<_> = problems.iter().map(|problem| problem.json(&encoded)).collect();
            output::line(serde_json::to_string(&problems)?)?;
        } else {
            problems.iter().try_for_each(|problem| problem.print(&self.file.name(), &encoded))?;
        }
        let fails = problems.iter().any(|problem| problem.severity == Severity::Error);
        Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
}

fn of_message(bytes: &Bytes) -> Vec<Problem> {
    match computation::decode(bytes) {
        Ok(proto) => validate_proto(&proto).into_iter().map(|it| Problem::of(it, None)).collect(),
        Err(error) => vec![Problem {
            severity: Severity::Error,
            code: Code::Malformed.name(),
            path: Some(CompPath::default()),
            message: output::one_line(&error),
            span: None,
        }],
    }
}

fn of_text(text: &Text) -> Vec<Problem> {
    match text::parse(&text.content, &text.environment) {
        Ok(parsed) => {
            let problems = validate(&parsed.comp).into_iter();
            problems
                .map(|it| {
                    let span = nearest_span(&parsed, &it.path);
                    Problem::of(it, span)
                })
                .collect()
        }
        Err(error) => vec![Problem::of_parsing(&error)],
    }
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
        Self { severity, code: code.name(), path: Some(path), message, span }
    }

    fn of_parsing(error: &TextError) -> Self {
        let code = error.problem.code().name();
        let message = output::flatten(&error.problem.to_string());
        Self { severity: Severity::Error, code, path: None, message, span: Some(error.span) }
    }

    const fn severity_name(&self) -> &'static str {
        match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }

    fn json(&self, encoded: &Encoded) -> JsonProblem<'_> {
        let position = match (encoded, self.span) {
            (Encoded::Text(text), Some(span)) => Some(Position::of(&text.content, span.start)),
            _ => None,
        };
        JsonProblem {
            severity: self.severity_name(),
            code: self.code,
            path: self.path.as_ref().map(ToString::to_string),
            message: &self.message,
            line: position.map(|it| it.line),
            column: position.map(|it| it.column),
        }
    }

    fn print(&self, name: &str, encoded: &Encoded) -> Result<()> {
        let Self { severity, code, message, .. } = self;
        if let (Encoded::Text(text), Some(span)) = (encoded, self.span) {
            let annotated = Annotated { source: &text.content, name, span, severity: *severity, code, message };
            return output::line(annotated.render());
        }
        let path = self.path.clone().unwrap_or_default();
        output::line(format_args!("{name}: {}[{code}] at {path}: {message}", self.severity_name()))
    }
}
