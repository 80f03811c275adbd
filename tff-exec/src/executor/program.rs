//! Programs: computations that are ready to run.

use super::Executor;
use crate::composing::Children;
use crate::eval::{CallOptions, Compilation, Context, Elsewhere, Want};
use crate::values::{check, check_n_clients, conform, infer_cardinality};
use crate::{ExecError, Place, Value};
use std::sync::Arc;
use tff_types::{Placement, Type};

/// A computation that is ready to run. Cheap to clone; runs may overlap.
#[derive(Clone, Debug)]
pub struct Program {
    executor: Executor,
    ty: Type,
    compilation: Arc<Compilation>,
}

impl Program {
    pub(super) fn new(executor: Executor, ty: Type, compilation: Compilation) -> Self {
        Self { executor, ty, compilation: Arc::new(compilation) }
    }

    /// The type of the computation. A function type if it has to be called.
    #[must_use]
    pub const fn ty(&self) -> &Type {
        &self.ty
    }

    /// Runs the computation on `n_clients` clients. A function is called, with `argument` if it
    /// has a parameter; any other computation is evaluated.
    ///
    /// The number of clients follows from values of the argument that are not all-equal; where it
    /// is given too, it must agree.
    ///
    /// If there are [`Workers`](crate::Workers), the clients' part is done there. If one is lost, the program runs
    /// again on those that are left.
    ///
    /// # Errors
    /// [`ExecError::MissingArgument`], [`ExecError::UnexpectedArgument`]; [`ExecError::Mismatch`]
    /// and [`ExecError::Cardinality`] with the path inside the argument; whatever fails on the way.
    pub fn call(&self, argument: Option<Value>, n_clients: Option<usize>) -> Result<Value, ExecError> {
        self.call_with(argument, n_clients, &CallOptions::default())
    }

    /// The same as [`Self::call`], with a deadline, a way to cancel the call, or a listener for its progress.
    ///
    /// # Errors
    /// Those of [`Self::call`]; [`ExecError::Deadline`], [`ExecError::GivenUp`].
    pub fn call_with(
        &self,
        argument: Option<Value>,
        n_clients: Option<usize>,
        options: &CallOptions,
    ) -> Result<Value, ExecError> {
        let n_clients = cardinality(argument.as_ref(), n_clients)?;
        match (self.executor.runtime().workers(), n_clients) {
            (Some(workers), Some(n_clients @ 1..)) => workers.run(check_n_clients(n_clients)?, &mut |children| {
                let children = Children::new(children, options);
                self.call_on(Some(&children), argument.clone(), Some(n_clients), options)
            }),
            _ => self.call_on(None, argument, n_clients, options),
        }
    }

    fn call_on(
        &self,
        elsewhere: Option<&dyn Elsewhere>,
        argument: Option<Value>,
        n_clients: Option<usize>,
        options: &CallOptions,
    ) -> Result<Value, ExecError> {
        let ctx = Context::new(&**self.executor.runtime(), n_clients, options.into()).on(elsewhere);
        let value = ctx.run(&self.compilation.body, &Want::Whole).into_value()?;
        let Some(function) = self.ty.as_function() else {
            if argument.is_some() {
                return Err(ExecError::UnexpectedArgument);
            }
            return conform(value, &self.ty, n_clients);
        };
        match (&function.parameter, &argument) {
            (None, None) => {}
            (None, Some(_)) => return Err(ExecError::UnexpectedArgument),
            (Some(parameter), None) => return Err(ExecError::MissingArgument(parameter.to_string())),
            (Some(parameter), Some(argument)) => {
                check(argument, parameter, n_clients).map_err(|error| error.at(Place::Argument))?;
            }
        }
        conform(ctx.apply(&value, argument)?, &function.result, n_clients)
    }
}

/// The number of clients that the argument implies and the caller gives.
fn cardinality(argument: Option<&Value>, given: Option<usize>) -> Result<Option<usize>, ExecError> {
    let implied = argument.map(infer_cardinality).transpose().map_err(|error| error.at(Place::Argument))?.flatten();
    match (implied, given) {
        (Some(found), Some(expected)) if found != expected => {
            Err(ExecError::Cardinality { placement: Placement::Clients, expected, found }.at(Place::Argument))
        }
        (implied, given) => Ok(implied.or(given)),
    }
}
