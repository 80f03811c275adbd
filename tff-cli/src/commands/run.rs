//! `tff run`: runs a computation on an argument.

use super::ExecutorArgs;
use crate::input::{ArgumentSource, Source};
use crate::usage::UsageError;
use crate::workers::WorkersArgs;
use crate::{output, render};
use anyhow::{Context, Result, anyhow, bail};
use prost::Message;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tff_exec::{CallOptions, Clients, EvalError, ExecError, Executor, NotFinite, NotFiniteClients, Value};
use tff_ir::{Comp, Intrinsic};
use tff_sim::files::{check_folder, write_bytes};
use tff_sim::forms::{Form, NotMergeable, SubRounds};
use tff_sim::json::{self, Members, WriteError};
use tff_types::{Path, Type};

const EXAMPLES: &str = "\
Examples:
  tff run add.pb --arg '{\"x\": 2, \"y\": 3}'       a struct of two scalars
  tff run sum.pb --arg '[1, 2, 3]'              {int32}@CLIENTS: one item a client
  tff run mean.pb --arg values.pb --json        a serialized Value; the result as JSON
  tff run constant.pb --clients 3               no argument; three clients
  tff run next.pb --arg state.json -o out.pb    the result as a serialized Value
  tff run next.mrf --arg a.json --sub-rounds 3   a form, its clients in three parts
  tff run sum.pb --arg '[1, 2, 3]' --workers a:8000,b:8000    its clients on two machines";

const JSON: &str = "\
JSON follows the type of the argument:

  tensor               a number, true or false, a string; nested arrays for dimensions
  nan, infinities      the strings \"nan\", \"inf\", \"-inf\"
  complex              [re, im]
  string, not UTF-8    {\"base64\": \"...\"}
  struct               an object if all elements have names (or an array), otherwise an array
  sequence             an array of its elements
  {T}@CLIENTS          an array, one item for each client
  T@CLIENTS, T@SERVER  the member itself
  placement            \"clients\" or \"server\"

--json prints the same, so that a result can be an argument again.

Without --json, long results are shortened: a tensor of more than 200 elements, more than 20
clients, and a sequence of more than 20 elements are printed with their ends only.";

/// Runs a computation and prints its result.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{JSON}"))]
pub(crate) struct Args {
    /// A computation, .pb or .tff, or the folder of a form; `-` for stdin.
    file: Source,
    /// The argument: a file .pb (a serialized Value) or .json, JSON text, or `-` for stdin.
    ///
    /// The form of the JSON is described at the end of `tff run --help`.
    #[arg(long, allow_hyphen_values = true)]
    arg: Option<ArgumentSource>,
    /// The number of clients; by default what the argument implies.
    #[arg(long, value_name = "N")]
    clients: Option<usize>,
    /// Split the clients into up to N sub-rounds, and merge their aggregates in order.
    ///
    /// FILE must be the folder of a form map-reduce or mergeable, as `tff compile` writes it.
    #[arg(long, value_name = "N")]
    sub_rounds: Option<NonZeroUsize>,
    /// Print the result as JSON, complete and on one line.
    #[arg(long)]
    json: bool,
    /// Write the result to a file: as JSON if its name ends in .json, otherwise as a serialized
    /// Value. The result is then printed only with --json.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Fail where the result has nan or inf, instead of printing it with a warning.
    #[arg(long)]
    trap_nan: bool,
    #[command(flatten)]
    executor: ExecutorArgs,
    #[command(flatten)]
    workers: WorkersArgs,
}

impl Args {
    pub(crate) fn run(self) -> Result<()> {
        if self.file == Source::Stdin && self.arg == Some(ArgumentSource::Stdin) {
            return Err(UsageError::conflict("FILE and --arg cannot both be read from stdin").into());
        }
        let name = self.file.name();
        let form = self.file.folder().map(Form::read).transpose()?;
        let comp = match &form {
            Some(form) => form.to_comp().with_context(|| name.clone())?,
            None => self.file.read_comp()?,
        };
        let executor = self.executor.executor_on(&self.workers)?;
        let argument = self.argument(comp.ty(), &executor)?;
        let n_clients = self.n_clients(argument.as_ref(), comp.ty())?;
        if let Some(path) = &self.output {
            check_folder(path)?;
        }
        let (given, computed) = (argument.clone(), NotFiniteClients::default());
        let result = match self.sub_rounds {
            None => {
                let mut options = CallOptions::default();
                options.not_finite = Some(computed.clone());
                let program = executor.prepare(&comp);
                program.and_then(|program| program.call_with(argument, n_clients, &options)).map_err(with_option)
            }
            Some(sub_rounds) => self.run_sub_rounds(form.as_ref(), &executor, argument, n_clients, sub_rounds),
        };
        let result = result.with_context(|| name.clone())?;
        let has_mean = contains_mean(&comp) || n_clients == Some(0);
        if let Some(found) = NotFinite::find(&result, given.as_ref(), &computed, has_mean) {
            if self.trap_nan {
                bail!("{name}: {found}");
            }
            tracing::warn!("{name}: {found}");
        }
        self.show(&executor, comp.ty(), &result, n_clients)
    }

    fn run_sub_rounds(
        &self,
        form: Option<&Form>,
        executor: &Executor,
        argument: Option<Value>,
        n_clients: Option<usize>,
        sub_rounds: NonZeroUsize,
    ) -> Result<Value> {
        let form = form.context("expected the folder of a form for --sub-rounds, found a computation")?;
        let form = form.to_mergeable(&self.executor.compilation.options()).map_err(|error| match error {
            NotMergeable::Secure => {
                anyhow!("expected --allow-insecure-secure-sum with --sub-rounds, as the form sums securely")
            }
            NotMergeable::Kind(kind) => {
                anyhow!("expected a form map-reduce or mergeable for --sub-rounds, found {kind}")
            }
            NotMergeable::Compile(error) => error.into(),
        })?;
        Ok(SubRounds::prepare(&form, executor)?.call(argument, n_clients, sub_rounds)?)
    }

    /// The argument, read as its type says.
    fn argument(&self, ty: &Type, executor: &Executor) -> Result<Option<Value>> {
        let parameter = ty.as_function().and_then(|function| function.parameter.as_ref());
        match (&self.arg, parameter) {
            (Some(source), Some(parameter)) => source.read(parameter, executor, self.clients).map(Some),
            (None, None) => Ok(None),
            (None, Some(parameter)) => bail!("{}: expected an argument (--arg) of type {parameter}", self.file.name()),
            (Some(_), None) => bail!("{}: expected no argument, as the type is {ty}, found --arg", self.file.name()),
        }
    }

    /// The number of clients: the given one, or the one that the argument implies.
    fn n_clients(&self, argument: Option<&Value>, ty: &Type) -> Result<Option<usize>> {
        let parameter = ty.as_function().and_then(|function| function.parameter.as_ref());
        let (Some(argument), Some(parameter), Some(source)) = (argument, parameter, &self.arg) else {
            return Ok(self.clients);
        };
        let mut found = Vec::new();
        client_counts(argument, parameter, &mut Path::root(), &mut found);
        let first = found.first().map(|(_, count)| *count);
        let expected = self.clients.or(first);
        match found.iter().find(|(_, count)| Some(*count) != expected) {
            Some((path, count)) => {
                let path = if path.steps().is_empty() { String::new() } else { format!(" {path}:") };
                let reason = if self.clients.is_some() { "as --clients says" } else { "as before" };
                let expected = expected.unwrap_or(0);
                bail!("{}:{path} expected {expected} values at CLIENTS, {reason}, found {count}", source.name())
            }
            None => Ok(expected),
        }
    }

    fn show(&self, executor: &Executor, ty: &Type, result: &Value, n_clients: Option<usize>) -> Result<()> {
        let ty = ty.as_function().map_or(ty, |function| &function.result);
        let members = Members::of(executor, n_clients);
        let name = || format!("{}: the result", self.file.name());
        if self.json {
            output::line(json::write(result, ty, &members).map_err(explain).with_context(name)?)?;
        } else if self.output.is_none() {
            output::line(render::render(result, ty, &members).map_err(explain).with_context(name)?)?;
        }
        let Some(path) = &self.output else { return Ok(()) };
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = json::write(result, ty, &members).map_err(explain).with_context(name)?;
            return Ok(write_bytes(path, format!("{text}\n").as_bytes())?);
        }
        let proto = tff_exec::value_to_proto(result, ty).with_context(name)?;
        Ok(write_bytes(path, &proto.encode_to_vec())?)
    }
}

/// The error of a run, with the option that helps.
fn with_option(error: ExecError) -> anyhow::Error {
    match error.cause() {
        ExecError::Eval(EvalError::SecureAggregation(_)) => anyhow!("{error}: --allow-insecure-secure-sum does that"),
        _ => error.into(),
    }
}

/// The error, with the option that helps.
fn explain(error: WriteError) -> anyhow::Error {
    match error {
        WriteError::UnknownClients => anyhow!("{error}: give --clients"),
        _ => error.into(),
    }
}

/// Finds every value that has a member for each client, and how many these are.
fn client_counts(value: &Value, ty: &Type, path: &mut Path, found: &mut Vec<(Path, usize)>) {
    match value {
        Value::Clients(Clients::Each(members)) => found.push((path.clone(), members.n_clients())),
        Value::Struct(elements) => {
            for (element, (step, ty)) in elements.iter().zip(ty.children()) {
                path.push(step);
                client_counts(element, ty, path, found);
                path.pop();
            }
        }
        Value::Tensor(_)
        | Value::Sequence(_)
        | Value::Server(_)
        | Value::Clients(Clients::AllEqual(_))
        | Value::Function(_)
        | Value::Placement(_) => {}
    }
}

/// Whether a mean is computed anywhere. In a form, a mean is a quotient, which is not recognized.
fn contains_mean(comp: &Comp) -> bool {
    let is_mean = |it: &Intrinsic| matches!(it, Intrinsic::FederatedMean | Intrinsic::FederatedWeightedMean);
    comp.preorder().filter_map(Comp::as_intrinsic).any(is_mean)
}
