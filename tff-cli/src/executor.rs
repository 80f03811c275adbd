//! The executor that commands share. It compiles computations before it runs them.

use crate::native;
use anyhow::anyhow;
use std::sync::Arc;
use tff_exec::{DataBackend, EvalError, ExecError, Executor, Options, Workers};

/// How computations are compiled before they run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CompilationArgs {
    /// Replace secure aggregations by ordinary ones WITHOUT any security, for tests and simulations.
    ///
    /// Without this flag, a secure aggregation is an error when it is reached, because this runtime
    /// cannot keep the promise that nobody sees a single client's value.
    #[arg(long)]
    pub(crate) allow_insecure_secure_sum: bool,
}

impl CompilationArgs {
    /// The compiler's options.
    pub(crate) fn options(&self) -> tff_compiler::CompileOptions<'static> {
        let mut options = tff_compiler::CompileOptions::default();
        options.insecure_aggregation = self.allow_insecure_secure_sum;
        options
    }
}

/// An executor with this many threads, or one a core, with its clients on workers if there are any, and with what finds
/// the values of `data`.
pub(crate) fn executor(
    threads: Option<usize>,
    args: &CompilationArgs,
    workers: Option<Arc<dyn Workers>>,
    data: Option<Arc<dyn DataBackend>>,
) -> Executor {
    let args = args.clone();
    let mut options = Options::default();
    options.threads = threads;
    options.workers = workers;
    options.data = data;
    options.tensorflow = native::tensorflow();
    options.xla = native::xla();
    options.compile = Some(tff_sim::compiler(move || args.options()));
    Executor::new(options)
}

/// The error of a run, with the option that helps.
pub(crate) fn with_option(error: ExecError) -> anyhow::Error {
    match error.cause() {
        ExecError::Eval(EvalError::SecureAggregation(_)) => anyhow!("{error}: --allow-insecure-secure-sum does that"),
        _ => error.into(),
    }
}
