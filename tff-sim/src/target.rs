//! What computations are meant for, and what each of these refuses, found without running anything.

use crate::forms::{Form, FormKind};
use std::error::Error;
use tff_compiler::{CompileError, CompileOptions};
use tff_exec::{EvalError, ExecError, Executor};
use tff_ir::{Comp, CompBytesError, CompEncodeError, CompPath};

/// What a computation is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To run in this process.
    Run,
    /// To be sent to a worker and run there.
    Worker,
    /// To be split into a form.
    Form(FormKind),
}

/// Something that a target refuses.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Where in the computation; `None` where it is about the whole, or the error itself says where.
    pub path: Option<CompPath>,
    /// The error that the target answers with.
    pub error: RefusalError,
}

/// Why a target refuses a computation.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RefusalError {
    /// A run fails.
    #[error(transparent)]
    Run(#[from] ExecError),
    /// A form cannot be made of it.
    #[error(transparent)]
    Form(#[from] CompileError),
    /// It cannot be written as a message.
    #[error(transparent)]
    Encode(#[from] CompEncodeError),
    /// Who receives the message cannot read it.
    #[error(transparent)]
    Decode(#[from] CompBytesError),
}

impl Target {
    /// What this target refuses of a valid computation, with the errors and the rules of the target itself. Nothing is
    /// computed.
    ///
    /// `executor` stands for the one that runs the computation, here or as a worker; see [`Executor::refusals`]. `options`
    /// are those with which a form is made. Compiling and splitting stop at their first problem.
    #[must_use]
    pub fn refusals(self, comp: &Comp, executor: &Executor, options: &CompileOptions<'_>) -> Vec<Refusal> {
        let whole = |error: RefusalError| vec![Refusal { path: None, error }];
        match self {
            Self::Run => run(comp, executor),
            Self::Worker => match sent(comp) {
                Ok(received) => run(&received, executor),
                Err(error) => whole(error),
            },
            Self::Form(kind) => match Form::from_comp(kind, comp, options) {
                Ok(_) => Vec::new(),
                Err(error) => whole(error.into()),
            },
        }
    }
}

fn run(comp: &Comp, executor: &Executor) -> Vec<Refusal> {
    let refusals = executor.refusals(comp).into_iter();
    let placed = refusals.map(|tff_exec::Refusal { path, error }| {
        let path = path.or_else(|| compiled_path(&error).filter(|path| comp.at(path).is_some()));
        Refusal { path, error: error.into() }
    });
    placed.collect()
}

/// The computation as a worker receives it.
fn sent(comp: &Comp) -> Result<Comp, RefusalError> {
    Ok(Comp::from_bytes(comp.to_bytes()?)?)
}

/// Where the first pass of the compiler found the problem: only that pass is given the computation itself.
fn compiled_path(error: &ExecError) -> Option<CompPath> {
    let ExecError::Eval(EvalError::Compile(error)) = error.cause() else { return None };
    let error: &(dyn Error + 'static) = &**error;
    match error.downcast_ref::<CompileError>()? {
        CompileError::Pass { pass, path, .. } if *pass == tff_compiler::pass::Pass::name(&FIRST) => Some(path.clone()),
        _ => None,
    }
}

const FIRST: tff_compiler::passes::ReduceIntrinsics = tff_compiler::passes::ReduceIntrinsics { insecure: false };
