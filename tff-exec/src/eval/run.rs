//! Running code: frames, closures, calls.

use super::code::Code;
use super::control::{Control, Progress};
use super::function::{Closure, Kind};
use super::host::{Elsewhere, Host};
use super::intrinsic::{native, unknown};
use crate::values::check_n_clients;
use crate::{ClientValues, ExecError, Function, Value};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use tff_ir::Intrinsic;

/// The most calls that may be active within one another. Well-typed computations end long before;
/// a computation without types may call itself for ever.
const MAX_CALL_DEPTH: usize = 1_000;

/// The least stack that a leaf is called with: native libraries take for granted that of an ordinary
/// thread, and a deep computation may have used up most of it.
const LEAF_STACK: usize = 1 << 20;

/// What a piece of code may know while it runs.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// What it runs on.
    pub(crate) host: &'a dyn Host,
    /// The number of clients, where it is known.
    pub(crate) n_clients: Option<usize>,
    /// Who does the clients' part, if that is not done here.
    elsewhere: Option<&'a dyn Elsewhere>,
    depth: usize,
    control: Control<'a>,
    /// The innermost intrinsic that is being computed.
    intrinsic: Option<&'a Intrinsic>,
}

/// The values that code refers to by position.
pub(crate) struct Frame<'a> {
    locals: Vec<Option<Value>>,
    captured: &'a [Value],
}

impl Frame<'_> {
    pub(crate) fn new(size: usize) -> Self {
        Self { locals: vec![None; size], captured: &[] }
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(host: &'a dyn Host, n_clients: Option<usize>, control: Control<'a>) -> Self {
        Self { host, n_clients, elsewhere: None, depth: 0, control, intrinsic: None }
    }

    /// The same, with the clients' part of it done elsewhere.
    pub(crate) const fn on(self, elsewhere: Option<&'a dyn Elsewhere>) -> Self {
        Self { elsewhere, ..self }
    }

    /// The number of clients.
    ///
    /// # Errors
    /// [`ExecError::UnknownCardinality`], [`ExecError::Limit`].
    pub(crate) fn n_clients(&self) -> Result<usize, ExecError> {
        check_n_clients(self.n_clients.ok_or(ExecError::UnknownCardinality)?)
    }

    pub(crate) fn eval(&self, code: &Code, frame: &mut Frame<'_>) -> Result<Value, ExecError> {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.eval_here(code, frame))
    }

    fn eval_here(&self, code: &Code, frame: &mut Frame<'_>) -> Result<Value, ExecError> {
        match code {
            Code::Constant(value) => Ok(value.clone()),
            Code::Local(slot) => frame.locals.get(*slot).cloned().flatten().ok_or_else(no_value),
            Code::Captured(position) => frame.captured.get(*position).cloned().ok_or_else(no_value),
            Code::Selection(source, index) => select(self.eval(source, frame)?, *index),
            Code::Struct(elements) => {
                let elements = elements.iter().map(|element| self.eval(element, frame));
                Value::Struct(elements.collect::<Result<_, _>>()?).bounded()
            }
            Code::Call(function, argument) => {
                let function = self.eval(function, frame)?;
                let argument = argument.as_ref().map(|argument| self.eval(argument, frame)).transpose()?;
                self.apply(&function, argument)
            }
            Code::Lambda(lambda) => {
                let captured = lambda.captures.iter().map(|capture| self.eval(capture, frame));
                let captured = captured.collect::<Result<_, _>>()?;
                Value::Function(Function::closure(lambda.clone(), captured)).bounded()
            }
            Code::Block(locals, result) => {
                for local in locals {
                    let value = self.eval(&local.value, frame);
                    let value = value.map_err(|error| error.at(format!("local `{}`", local.name)))?;
                    if let Some(slot) = frame.locals.get_mut(local.slot) {
                        *slot = Some(value);
                    }
                }
                self.eval(result, frame)
            }
        }
    }

    /// Calls a function value.
    pub(crate) fn apply(&self, function: &Value, argument: Option<Value>) -> Result<Value, ExecError> {
        let Value::Function(function) = function else {
            return Err(ExecError::mismatch("a function", function.describe()));
        };
        let kind = Kind::of(function)?;
        // Only calls make evaluation long, so that it suffices to look here.
        self.control.check()?;
        if self.depth >= MAX_CALL_DEPTH {
            return Err(ExecError::Limit { what: "the depth of calls", limit: MAX_CALL_DEPTH });
        }
        let inner = Self { depth: self.depth + 1, ..*self };
        match kind {
            Kind::Closure(Closure { lambda, captured }) => {
                let mut frame = Frame { locals: vec![None; lambda.frame_size], captured };
                if lambda.has_parameter
                    && let Some(slot) = frame.locals.first_mut()
                {
                    *slot = argument;
                }
                inner.eval(&lambda.result, &mut frame)
            }
            Kind::Intrinsic(intrinsic, ty) => {
                let native = native(intrinsic).ok_or_else(|| unknown(intrinsic))?;
                let argument = argument.ok_or_else(|| ExecError::MissingArgument(intrinsic.uri().to_owned()))?;
                // For what is computed inside, this is the intrinsic.
                let inner = Context { intrinsic: Some(intrinsic), ..inner };
                inner.report(|intrinsic| Progress::Started { intrinsic });
                let there = match self.elsewhere {
                    Some(elsewhere) => elsewhere.call(&inner, intrinsic, ty, &argument),
                    None => Ok(None),
                };
                let value = there.and_then(|value| value.map_or_else(|| native(&inner, ty, argument), Ok));
                inner.report(|intrinsic| Progress::Finished { intrinsic });
                value.map_err(|error| error.at(intrinsic.uri()))
            }
            Kind::Compiled(compiled) => stacker::maybe_grow(LEAF_STACK, 8 * LEAF_STACK, || {
                compiled.prepared(self.host)?.consume_until(argument, &self.control.until())
            }),
            Kind::Own(prepared, _) => stacker::maybe_grow(LEAF_STACK, 8 * LEAF_STACK, || {
                prepared.consume_until(argument, &self.control.until())
            }),
        }
    }

    /// Tells of the intrinsic that is being computed, if anyone listens.
    fn report(&self, event: impl FnOnce(&'a Intrinsic) -> Progress<'a>) {
        if let (Some(report), Some(intrinsic)) = (self.control.progress, self.intrinsic) {
            report(event(intrinsic));
        }
    }

    /// Tells that the part of a client is done.
    pub(super) fn report_client(&self, client_idx: usize) {
        self.report(|intrinsic| Progress::Client { intrinsic, client_idx });
    }

    /// Computes something for each client, in parallel on the runtime's pool, and gives the values
    /// in the clients' order, or the error of the first client that has one.
    pub(crate) fn each_client(
        &self,
        n_clients: usize,
        compute: impl Fn(usize) -> Result<Value, ExecError> + Sync,
    ) -> Result<ClientValues, ExecError> {
        let compute = |client_idx| {
            let value = compute(client_idx).map_err(|error| error.at(format!("client {client_idx}")))?;
            self.report_client(client_idx);
            Ok(value)
        };
        if n_clients <= 1 || self.host.threads() <= 1 {
            return (0..n_clients).map(compute).collect();
        }
        // After a failure only clients before the failed one are still worth computing: they
        // decide which error is the first.
        let failed = AtomicUsize::new(usize::MAX);
        let results: Vec<Option<Result<Value, ExecError>>> = self.host.pool()?.install(|| {
            let clients = (0..n_clients).into_par_iter();
            clients
                .map(|client_idx| {
                    if client_idx > failed.load(Ordering::Relaxed) {
                        return None;
                    }
                    let result = compute(client_idx);
                    if result.is_err() {
                        failed.fetch_min(client_idx, Ordering::Relaxed);
                    }
                    Some(result)
                })
                .collect()
        });
        // `None` stands only behind the first error, where collecting has already stopped.
        results.into_iter().flatten().collect()
    }
}

/// The element of a struct at this position.
pub(crate) fn select(source: Value, index: usize) -> Result<Value, ExecError> {
    let Value::Struct(elements) = source else {
        return Err(ExecError::mismatch("a struct to select from", source.describe()));
    };
    let len = elements.len();
    elements.get(index).cloned().ok_or(ExecError::IndexOutOfRange { index, len })
}

/// A parameter that was not given: a function without types may be called without its argument.
fn no_value() -> ExecError {
    ExecError::MissingArgument("a parameter that its result refers to".to_owned())
}
