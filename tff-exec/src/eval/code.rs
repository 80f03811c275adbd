//! Turns a computation into code: names become indexes, compiled computations become slots that are prepared once.

use super::data::resolve;
use super::function::Kind;
use super::host::Host;
use super::intrinsic::native;
use crate::{EvalError, ExecError, Function, Place, Value};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use tff_ir::{Binder, Comp, CompKind, DataContent, Walk};
use tff_types::Type;

/// The most levels a computation may be nested. The wire carries fewer than a hundred; this
/// bounds what is built in memory.
pub(crate) const MAX_NESTING: usize = 1_000;

/// A computation in which no name has to be looked up. Blocks are gone: their locals belong to the
/// [`Body`] around them.
#[derive(Debug)]
pub(crate) enum Code {
    /// A position in the frame of the innermost lambda.
    Local(usize),
    /// A position among the values that the innermost lambda captured.
    Captured(usize),
    /// A value known without running anything.
    Constant(Value),
    Data(Box<DataCode>),
    Selection(Box<Code>, usize),
    Struct(Box<[Code]>),
    Call(Box<Code>, Option<Box<Code>>),
    Lambda(Arc<LambdaCode>),
}

impl Code {
    /// Whether reading a part of it again costs nothing.
    pub(super) fn is_view(&self) -> bool {
        match self {
            Self::Local(_) | Self::Captured(_) | Self::Constant(_) | Self::Data(_) => true,
            Self::Selection(source, _) => source.is_view(),
            Self::Struct(_) | Self::Call(..) | Self::Lambda(_) => false,
        }
    }
}

/// Data that the backend is asked for once, when it is first needed.
#[derive(Debug)]
pub(crate) struct DataCode {
    content: DataContent,
    ty: Type,
    value: OnceLock<Result<Value, ExecError>>,
}

impl DataCode {
    pub(crate) fn value(&self, host: &dyn Host) -> &Result<Value, ExecError> {
        self.value.get_or_init(|| resolve(&self.content, &self.ty, host.data()))
    }
}

/// A lambda: how to make its closure, and what to do when that is called.
#[derive(Debug)]
pub(crate) struct LambdaCode {
    /// What the closure captures, as seen by the code around the lambda.
    pub(crate) captures: Box<[Code]>,
    pub(crate) body: Body,
    /// The lambda itself, as others are sent it.
    pub(crate) comp: Comp,
    /// The name of each captured value in the lambda.
    pub(crate) capture_names: Box<[Arc<str>]>,
}

/// What one frame is for: the result of a lambda, or a whole computation.
#[derive(Debug)]
pub(crate) struct Body {
    /// The locals by their positions; `None` stands for the parameter.
    pub(super) locals: Box<[Option<LocalCode>]>,
    /// The positions that the whole result is certain to need, in order. These are evaluated one after
    /// the other and not within one another, however long a chain they are.
    pub(super) needed: Box<[usize]>,
    pub(super) result: Code,
}

impl Body {
    fn new(locals: Vec<Option<LocalCode>>, result: Code) -> Self {
        let mut needs = Needs { locals: &locals, needed: vec![false; locals.len()] };
        needs.whole(&result);
        // Code refers only to positions before its own.
        for (slot, local) in locals.iter().enumerate().rev() {
            if let (Some(local), Some(true)) = (local, needs.needed.get(slot)) {
                needs.whole(&local.code);
            }
        }
        let needed = needs.needed.iter().enumerate().filter(|&(_, &needed)| needed).map(|(slot, _)| slot).collect();
        Self { needed, locals: locals.into(), result }
    }

    /// What a name stands for: the code of a local, also through others that only name it.
    pub(super) fn named<'a>(&'a self, mut code: &'a Code) -> &'a Code {
        // Code refers only to positions before its own, so that this ends.
        while let Code::Local(slot) = code
            && let Some(Some(local)) = self.locals.get(*slot)
        {
            code = &local.code;
        }
        code
    }

    /// Whether a whole result is certain to need the whole argument.
    fn needs_argument(&self) -> bool {
        matches!(self.locals.first(), Some(None)) && self.needed.first() == Some(&0)
    }
}

#[derive(Debug)]
pub(crate) struct LocalCode {
    pub(super) name: Arc<str>,
    pub(super) code: Code,
}

/// Finds out which positions some code is certain to need.
struct Needs<'a> {
    locals: &'a [Option<LocalCode>],
    needed: Vec<bool>,
}

impl Needs<'_> {
    /// All of what `code` gives is needed.
    fn whole(&mut self, code: &Code) {
        match code {
            Code::Local(slot) => self.slot(*slot),
            Code::Selection(source, _) => self.part(source),
            Code::Struct(elements) => elements.iter().for_each(|element| self.whole(element)),
            Code::Call(function, argument) => {
                self.whole(function);
                if let Some(argument) = argument.as_ref().filter(|_| self.needs_argument(function)) {
                    self.whole(argument);
                }
            }
            // What a closure captures may be needed when it is called.
            Code::Captured(_) | Code::Constant(_) | Code::Data(_) | Code::Lambda(_) => {}
        }
    }

    /// A part of what `code` gives is needed. If it comes in one piece, all of it is.
    fn part(&mut self, code: &Code) {
        match code {
            Code::Local(slot) => {
                if let Some(Code::Call(function, _)) = self.local(*slot)
                    && self.gives_one_piece(function)
                {
                    self.slot(*slot);
                }
            }
            Code::Selection(source, _) => self.part(source),
            Code::Call(function, _) if self.gives_one_piece(function) => self.whole(code),
            _ => {}
        }
    }

    fn slot(&mut self, slot: usize) {
        if let Some(needed) = self.needed.get_mut(slot) {
            *needed = true;
        }
    }

    fn local(&self, slot: usize) -> Option<&Code> {
        self.locals.get(slot)?.as_ref().map(|local| &local.code)
    }

    /// The function that `code` is known to give.
    fn function<'c>(&'c self, code: &'c Code) -> Option<&'c Kind> {
        match code {
            Code::Constant(Value::Function(function)) => Kind::of(function).ok(),
            Code::Local(slot) => match self.local(*slot)? {
                Code::Constant(Value::Function(function)) => Kind::of(function).ok(),
                _ => None,
            },
            _ => None,
        }
    }

    fn needs_argument(&self, function: &Code) -> bool {
        match self.function(function) {
            Some(Kind::Closure(closure)) => closure.lambda.body.needs_argument(),
            Some(_) => true,
            None => false,
        }
    }

    fn gives_one_piece(&self, function: &Code) -> bool {
        self.function(function).is_some_and(|function| !matches!(function, Kind::Closure(_)))
    }
}

/// A whole computation, ready to be evaluated.
#[derive(Debug)]
pub(crate) struct Compilation {
    pub(crate) body: Body,
    /// Whether the evaluator implements every intrinsic in it.
    pub(crate) is_native: bool,
}

impl Compilation {
    /// What it gives, if nothing has to be run to know that.
    pub(crate) fn known(&self, host: &dyn Host) -> Option<Result<Value, ExecError>> {
        match &self.body.result {
            Code::Constant(value) => Some(Ok(value.clone())),
            Code::Data(data) => Some(data.value(host).clone()),
            _ => None,
        }
    }
}

/// The code of a whole computation.
///
/// # Errors
/// [`EvalError::UnboundReference`], [`ExecError::Limit`].
pub(crate) fn compile(comp: &Comp) -> Result<Compilation, ExecError> {
    let scopes = vec![Scope::default()];
    let mut compiler = Compiler { scopes, slots: Vec::new(), nesting: 0, is_native: true };
    let code = compiler.walk(comp)?;
    let locals = std::mem::take(&mut compiler.scope().locals);
    Ok(Compilation { body: Body::new(locals, code), is_native: compiler.is_native })
}

/// The names of one lambda: its parameter and the locals of the blocks directly in it.
#[derive(Default)]
struct Scope {
    /// For each name the positions of its bindings, innermost last.
    bound: HashMap<Arc<str>, Vec<usize>>,
    /// One for each binding; those of blocks are written when the block is complete.
    locals: Vec<Option<LocalCode>>,
    /// Names that an enclosing lambda binds, with their position among the captures.
    captured: HashMap<Arc<str>, usize>,
    captures: Vec<Code>,
    capture_names: Vec<Arc<str>>,
}

impl Scope {
    fn bind(&mut self, name: &Arc<str>) -> usize {
        let slot = self.locals.len();
        self.locals.push(None);
        self.bound.entry(name.clone()).or_default().push(slot);
        slot
    }

    fn unbind(&mut self, name: &str) {
        if let Some(slots) = self.bound.get_mut(name) {
            slots.pop();
        }
    }
}

struct Compiler {
    /// One for each lambda around the current point, never empty.
    scopes: Vec<Scope>,
    /// The positions of the locals of the blocks around, in order.
    slots: Vec<usize>,
    nesting: usize,
    is_native: bool,
}

impl<'c> Walk<'c> for Compiler {
    type Value = Code;
    type Error = ExecError;

    fn bind(&mut self, binder: Binder<'c>, value: Option<&Code>) {
        let slot = self.scope().bind(binder.name());
        // That of a parameter is known.
        self.slots.extend(value.map(|_| slot));
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope().unbind(binder.name());
    }

    fn comp(&mut self, comp: &'c Comp) -> Result<Code, ExecError> {
        if self.nesting >= MAX_NESTING {
            return Err(ExecError::Limit { what: "the nesting of the computation", limit: MAX_NESTING });
        }
        self.nesting += 1;
        let code = self.kind(comp);
        self.nesting -= 1;
        code
    }
}

impl Compiler {
    fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    fn kind(&mut self, comp: &Comp) -> Result<Code, ExecError> {
        match comp.kind() {
            CompKind::Reference(reference) => {
                let innermost = self.scopes.len() - 1;
                self.reference(&reference.name, innermost)
                    .ok_or_else(|| EvalError::UnboundReference(reference.name.clone()).into())
            }
            CompKind::Selection(selection) => {
                Ok(Code::Selection(Box::new(self.walk(&selection.source)?), selection.index))
            }
            CompKind::Struct(structure) => {
                let elements = structure.elements.iter().enumerate();
                let elements = elements.map(|(index, element)| {
                    self.walk(&element.value).map_err(|it| it.at(Place::Element(index, element.name.clone())))
                });
                Ok(Code::Struct(elements.collect::<Result<_, _>>()?))
            }
            CompKind::Call(call) => {
                let function = Box::new(self.walk(&call.function)?);
                let argument = call.argument.as_ref().map(|argument| self.walk(argument).map(Box::new)).transpose()?;
                Ok(Code::Call(function, argument))
            }
            CompKind::Lambda(_) => self.lambda(comp),
            CompKind::Block(block) => self.block(comp, block),
            CompKind::Intrinsic(intrinsic) => {
                self.is_native &= native(intrinsic).is_some();
                Ok(Code::Constant(Value::Function(Function::intrinsic(intrinsic, comp.ty()))))
            }
            CompKind::Data(data) => {
                let (content, ty) = (data.content.clone(), comp.ty().clone());
                Ok(Code::Data(Box::new(DataCode { content, ty, value: OnceLock::new() })))
            }
            CompKind::Placement(placement) => Ok(Code::Constant(Value::Placement(*placement))),
            CompKind::Literal(literal) => Ok(Code::Constant(Value::array(literal.array.clone()))),
            CompKind::CompiledComputation(compiled) => {
                Ok(Code::Constant(Value::Function(Function::compiled(compiled.clone(), comp.ty())?)))
            }
        }
    }

    /// Where the value of `name` is for code in the scope at this position, captured through all
    /// the lambdas in between.
    fn reference(&mut self, name: &Arc<str>, position: usize) -> Option<Code> {
        let scope = self.scopes.get(position)?;
        if let Some(&slot) = scope.bound.get(name).and_then(|slots| slots.last()) {
            return Some(Code::Local(slot));
        }
        if let Some(&capture) = scope.captured.get(name) {
            return Some(Code::Captured(capture));
        }
        let outer = self.reference(name, position.checked_sub(1)?)?;
        let scope = self.scopes.get_mut(position)?;
        let capture = scope.captures.len();
        scope.captures.push(outer);
        scope.capture_names.push(name.clone());
        scope.captured.insert(name.clone(), capture);
        Some(Code::Captured(capture))
    }

    fn lambda(&mut self, comp: &Comp) -> Result<Code, ExecError> {
        self.scopes.push(Scope::default());
        let result = self.last(comp);
        let scope = self.scopes.pop().unwrap_or_default();
        let result = result?.ok_or(ExecError::Internal("a lambda without a result"))?;
        let lambda = Arc::new(LambdaCode {
            captures: scope.captures.into(),
            body: Body::new(scope.locals, result),
            comp: comp.clone(),
            capture_names: scope.capture_names.into(),
        });
        // A closed lambda is the same function each time.
        Ok(if lambda.captures.is_empty() {
            Code::Constant(Value::Function(Function::closure(lambda, Box::new([]))))
        } else {
            Code::Lambda(lambda)
        })
    }

    /// The result of a block; its locals become those of the scope.
    fn block(&mut self, comp: &Comp, block: &tff_ir::Block) -> Result<Code, ExecError> {
        let (mut parts, first) = (Vec::with_capacity(block.locals.len() + 1), self.slots.len());
        self.parts(comp, |part| parts.push(part)).map_err(|error| match block.locals.get(parts.len()) {
            Some(local) => error.at(Place::Local(local.name.clone())),
            None => error,
        })?;
        let result = parts.pop().ok_or(ExecError::Internal("a block without a result"))?;
        let slots: Vec<usize> = self.slots.drain(first..).collect();
        let locals = &mut self.scope().locals;
        for ((local, slot), code) in block.locals.iter().zip(slots).zip(parts) {
            if let Some(it) = locals.get_mut(slot) {
                *it = Some(LocalCode { name: local.name.clone(), code });
            }
        }
        Ok(result)
    }
}
