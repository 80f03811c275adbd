//! Running code: frames, closures, calls.

use super::code::{Body, Code};
use super::control::{Control, Progress};
use super::function::{Closure, Kind};
use super::host::{Elsewhere, Host};
use super::intrinsic::{native, unknown};
use super::part::{Cell, Part, Want};
use crate::values::check_n_clients;
use crate::{ClientValues, ExecError, Function, Place, Value};
use rayon::prelude::*;
use std::cell::{self, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tff_ir::Intrinsic;

/// The most evaluations that may be active within one another. Well-typed computations end long before;
/// a computation without types may call itself for ever.
const MAX_EVAL_DEPTH: usize = 1_000;

/// From this depth on, what may turn out not to be needed is evaluated all the same, in order and not
/// within one another. What fails then still matters only where it is needed.
const EAGER_DEPTH: usize = 200;

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
    /// Does the clients' part, if that is not done here.
    elsewhere: Option<&'a dyn Elsewhere>,
    depth: usize,
    control: Control<'a>,
    /// The innermost intrinsic that is being computed.
    intrinsic: Option<&'a Intrinsic>,
}

/// What code refers to by position: locals and the argument, each evaluated when it is first needed.
struct Frame<'a> {
    body: &'a Body,
    argument: Option<Argument<'a>>,
    captured: &'a [Part],
    cells: RefCell<Vec<Cell>>,
    /// Before this position all locals are known.
    complete: cell::Cell<usize>,
}

/// What a function is called with.
#[derive(Clone, Copy)]
enum Argument<'a> {
    Known(&'a Part),
    /// Code in the frame of the caller.
    Code(&'a Code, &'a Frame<'a>),
}

impl<'a> Frame<'a> {
    fn new(body: &'a Body, argument: Option<Argument<'a>>, captured: &'a [Part]) -> Self {
        let cells = RefCell::new(vec![Cell::Unknown; body.locals.len()]);
        Self { body, argument, captured, cells, complete: cell::Cell::new(0) }
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

    /// Evaluates a whole computation.
    pub(crate) fn run(&self, body: &Body, want: &Want<'_>) -> Part {
        self.body(want, &Frame::new(body, None, &[]))
    }

    fn body(&self, want: &Want<'_>, frame: &Frame<'_>) -> Part {
        if !matches!(want, Want::Element(..)) {
            for &slot in &frame.body.needed {
                let part = self.local(slot, want, frame);
                if matches!((&part, want), (Part::Failed(_) | Part::Struct(_), Want::Whole)) {
                    return part;
                }
            }
        }
        self.eval(&frame.body.result, want, frame)
    }

    fn eval(&self, code: &Code, want: &Want<'_>, frame: &Frame<'_>) -> Part {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.eval_here(code, want, frame))
    }

    fn eval_here(&self, code: &Code, want: &Want<'_>, frame: &Frame<'_>) -> Part {
        match (code, want) {
            (Code::Constant(value), _) => Part::Value(value.clone()).get(want),
            (Code::Data(data), _) => Part::from(data.value(self.host).clone()).get(want),
            (Code::Local(slot), _) => self.local(*slot, want, frame),
            (Code::Captured(position), _) => {
                frame.captured.get(*position).map_or_else(|| no_value().into(), |part| part.get(want))
            }
            (Code::Selection(source, index), _) => self.eval(source, &Want::Element(*index, want), frame),
            (Code::Struct(elements), Want::Element(index, inner)) => match elements.get(*index) {
                Some(element) => self.eval(element, inner, frame),
                None => ExecError::IndexOutOfRange { index: *index, len: elements.len() }.into(),
            },
            (Code::Struct(elements), Want::Whole) => {
                let elements = elements.iter().map(|element| self.value(element, frame));
                elements.collect::<Result<_, _>>().and_then(|elements| Value::Struct(elements).bounded()).into()
            }
            (Code::Struct(elements), Want::Parts) => {
                Part::structure(elements.iter().map(|element| self.eval(element, want, frame)).collect())
            }
            (Code::Call(function, argument), _) => {
                let argument = argument.as_deref().map(|argument| Argument::Code(argument, frame));
                self.value(function, frame).map_or_else(Part::from, |it| self.call(&it, argument, want))
            }
            (Code::Lambda(lambda), _) => {
                let captured = lambda.captures.iter().map(|capture| self.eval(capture, &Want::Parts, frame)).collect();
                // After the call was given up, captures may be missing, so nothing is kept.
                let function = self.control.check().map(|()| Function::closure(lambda.clone(), captured));
                Part::from(function.and_then(|it| Value::Function(it).bounded())).get(want)
            }
        }
    }

    fn value(&self, code: &Code, frame: &Frame<'_>) -> Result<Value, ExecError> {
        self.eval(code, &Want::Whole, frame).into_value()
    }

    /// What is wanted of a local or of the parameter.
    fn local(&self, slot: usize, want: &Want<'_>, frame: &Frame<'_>) -> Part {
        let known = frame.cells.borrow().get(slot).and_then(|cell| cell.get(want));
        if let Some(part) = known {
            return part;
        }
        if self.depth >= EAGER_DEPTH {
            let earlier = frame.complete.replace(slot.max(frame.complete.get()))..slot;
            earlier.for_each(|earlier| drop(self.pending(earlier, &Want::Parts, frame)));
        }
        self.pending(slot, want, frame)
    }

    fn pending(&self, slot: usize, want: &Want<'_>, frame: &Frame<'_>) -> Part {
        let inner = match self.deeper() {
            Ok(inner) => inner,
            Err(error) => return error.into(),
        };
        let (code, around) = match (frame.body.locals.get(slot), frame.argument) {
            (Some(Some(local)), _) => (&local.code, frame),
            (Some(None), Some(Argument::Code(code, around))) => (code, around),
            (Some(None), Some(Argument::Known(part))) => return part.get(want),
            _ => return no_value().into(),
        };
        // Code refers only to locals before it, so nobody looks for this cell while it is filled.
        let taken = frame.cells.borrow_mut().get_mut(slot).map(|cell| std::mem::replace(cell, Cell::Unknown));
        let mut cell = taken.unwrap_or(Cell::Unknown);
        let name = frame.body.locals.get(slot).and_then(Option::as_ref).map(|local| &local.name);
        let part = inner.fill(&mut cell, code, want, around, name);
        if let Some(it) = frame.cells.borrow_mut().get_mut(slot) {
            *it = cell;
        }
        part
    }

    /// Evaluates what is wanted of `code` and not in the cell yet, and keeps it there.
    fn fill(&self, cell: &mut Cell, code: &Code, want: &Want<'_>, frame: &Frame<'_>, name: Option<&Arc<str>>) -> Part {
        if let Some(part) = cell.get(want) {
            return part;
        }
        let part = match (code, want) {
            (Code::Struct(elements), Want::Element(index, inner)) => {
                return match (elements.get(*index), cell.elements(elements.len()).get_mut(*index)) {
                    (Some(element), Some(cell)) => self.fill(cell, element, inner, frame, name),
                    _ => ExecError::IndexOutOfRange { index: *index, len: elements.len() }.into(),
                };
            }
            (Code::Struct(elements), _) => {
                let cells = cell.elements(elements.len()).iter_mut().zip(elements);
                let parts = cells.map(|(cell, element)| self.fill(cell, element, &Want::Parts, frame, name));
                Part::structure(parts.collect())
            }
            (code, Want::Element(..)) if code.is_view() => return self.eval(code, want, frame),
            _ => match (self.eval(code, &Want::Parts, frame), name) {
                (Part::Failed(error), Some(name)) => error.at_local(name).into(),
                (part, _) => part,
            },
        };
        let wanted = part.get(want);
        *cell = Cell::Known(part);
        wanted
    }

    /// The context of an evaluation within this one.
    fn deeper(&self) -> Result<Self, ExecError> {
        if self.depth >= MAX_EVAL_DEPTH {
            return Err(ExecError::Limit { what: "the depth of calls", limit: MAX_EVAL_DEPTH });
        }
        Ok(Self { depth: self.depth + 1, ..*self })
    }

    /// Calls a function value.
    pub(crate) fn apply(&self, function: &Value, argument: Option<Value>) -> Result<Value, ExecError> {
        match Self::closure(function) {
            Some(closure) => {
                let argument = argument.map(Part::Value);
                self.call_closure(closure, argument.as_ref().map(Argument::Known), &Want::Whole).into_value()
            }
            // The only owner of an argument may change it: it is handed on.
            None => self.call_whole(function, argument),
        }
    }

    /// The same, for an argument some parts of which may have failed.
    pub(crate) fn apply_part(&self, function: &Value, argument: Option<Part>, want: &Want<'_>) -> Part {
        match Self::closure(function) {
            Some(closure) => self.call_closure(closure, argument.as_ref().map(Argument::Known), want),
            None => {
                let argument = argument.map(Part::into_value).transpose();
                Part::from(argument.and_then(|argument| self.call_whole(function, argument))).get(want)
            }
        }
    }

    /// A left fold by one run of a leaf, where the function is one that a leaf can so fold.
    pub(super) fn fold(&self, function: &Value, zero: &Value, elements: &[Value]) -> Option<Result<Value, ExecError>> {
        let prepared = match function {
            Value::Function(function) => match Kind::of(function).ok()? {
                Kind::Closure(closure) => return self.fold(closure.only_calls()?, zero, elements),
                // What cannot be prepared fails when it is called.
                Kind::Compiled(compiled) => compiled.prepared(self.host).ok()?,
                Kind::Own(prepared, _) => prepared,
                Kind::Intrinsic(..) => return None,
            },
            _ => return None,
        };
        let fold = || prepared.fold(zero, elements, &self.control.until());
        stacker::maybe_grow(LEAF_STACK, 8 * LEAF_STACK, fold)
    }

    fn closure(function: &Value) -> Option<&Closure> {
        match function {
            Value::Function(function) => match Kind::of(function) {
                Ok(Kind::Closure(closure)) => Some(closure),
                _ => None,
            },
            _ => None,
        }
    }

    fn call(&self, function: &Value, argument: Option<Argument<'_>>, want: &Want<'_>) -> Part {
        if let Some(closure) = Self::closure(function) {
            return self.call_closure(closure, argument, want);
        }
        let argument = match argument {
            Some(Argument::Code(code, frame)) => self.value(code, frame).map(Some),
            Some(Argument::Known(part)) => part.clone().into_value().map(Some),
            None => Ok(None),
        };
        Part::from(argument.and_then(|argument| self.call_whole(function, argument))).get(want)
    }

    fn call_closure(&self, closure: &Closure, argument: Option<Argument<'_>>, want: &Want<'_>) -> Part {
        let known = match argument {
            Some(Argument::Code(code, frame)) if self.depth >= EAGER_DEPTH => {
                Some(self.eval(code, &Want::Parts, frame))
            }
            _ => None,
        };
        let argument = known.as_ref().map(Argument::Known).or(argument);
        // Only calls make evaluation long, so that it suffices to look here.
        match self.control.check().and_then(|()| self.deeper()) {
            Ok(inner) => inner.body(want, &Frame::new(&closure.lambda.body, argument, &closure.captured)),
            Err(error) => error.into(),
        }
    }

    /// Calls a function that is not a closure.
    fn call_whole(&self, function: &Value, argument: Option<Value>) -> Result<Value, ExecError> {
        let Value::Function(function) = function else {
            return Err(ExecError::mismatch("a function", function.describe()));
        };
        let kind = Kind::of(function)?;
        self.control.check()?;
        let inner = self.deeper()?;
        match kind {
            Kind::Closure(_) => Err(ExecError::Internal("a closure that is called as a whole")),
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
                value.map_err(|error| error.at(Place::Intrinsic(intrinsic.clone())))
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
            let value = compute(client_idx).map_err(|error| error.at(Place::Client(client_idx)))?;
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

/// A parameter that was not given: a function without types may be called without its argument.
fn no_value() -> ExecError {
    ExecError::MissingArgument("a parameter that its result refers to".to_owned())
}
