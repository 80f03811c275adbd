//! Turns a computation into code: names become indexes, compiled computations become slots that are prepared once.

use super::data::resolve;
use super::host::DataBackend;
use super::intrinsic::native;
use crate::{ExecError, Function, StructValue, Value};
use std::collections::HashMap;
use std::sync::Arc;
use tff_ir::{Binder, Comp, CompKind, Walk};

/// The most levels a computation may be nested. The wire carries fewer than a hundred; this
/// bounds what is built in memory.
pub(crate) const MAX_NESTING: usize = 1_000;

/// A computation in which no name has to be looked up.
#[derive(Debug)]
pub(crate) enum Code {
    /// A position in the frame of the innermost lambda.
    Local(usize),
    /// A position among the values that the innermost lambda captured.
    Captured(usize),
    /// A value known without running anything.
    Constant(Value),
    Selection(Box<Code>, usize),
    Struct(Box<[Code]>),
    Call(Box<Code>, Option<Box<Code>>),
    Lambda(Arc<LambdaCode>),
    Block(Box<[LocalCode]>, Box<Code>),
}

impl Code {
    /// The value, if nothing has to be run to know it.
    pub(crate) const fn constant(&self) -> Option<&Value> {
        if let Self::Constant(value) = self { Some(value) } else { None }
    }
}

/// A lambda: how to make its closure, and what to do when that is called.
#[derive(Debug)]
pub(crate) struct LambdaCode {
    /// What the closure captures, as seen by the code around the lambda.
    pub(crate) captures: Box<[Code]>,
    /// The frame of a call: the parameter, if there is one, at position 0.
    pub(crate) frame_size: usize,
    pub(crate) has_parameter: bool,
    pub(crate) result: Code,
    /// The lambda itself, as others are sent it.
    pub(crate) comp: Comp,
    /// The names that it refers to for what it captures, one for each.
    pub(crate) capture_names: Box<[Arc<str>]>,
}

#[derive(Debug)]
pub(crate) struct LocalCode {
    pub(crate) name: Arc<str>,
    pub(crate) slot: usize,
    pub(crate) value: Code,
}

/// A whole computation, ready to be evaluated.
#[derive(Debug)]
pub(crate) struct Compilation {
    pub(crate) code: Code,
    /// The size of the frame that the code runs in.
    pub(crate) frame_size: usize,
    /// Whether every intrinsic in it is run as it stands.
    pub(crate) is_native: bool,
}

/// The code of a whole computation.
///
/// # Errors
/// [`ExecError::UnboundReference`], [`ExecError::Limit`]; [`ExecError::Unsupported`] for data without
/// a backend, and what that fails with.
pub(crate) fn compile(comp: &Comp, data: Option<&dyn DataBackend>) -> Result<Compilation, ExecError> {
    let scopes = vec![Scope::default()];
    let mut compiler = Compiler { scopes, slots: Vec::new(), nesting: 0, is_native: true, data };
    let code = compiler.walk(comp)?;
    Ok(Compilation { code, frame_size: compiler.scope().frame_size, is_native: compiler.is_native })
}

/// The names of one lambda: its parameter and the locals of the blocks directly in it.
#[derive(Default)]
struct Scope {
    /// For each name the positions of its bindings, innermost last.
    bound: HashMap<Arc<str>, Vec<usize>>,
    frame_size: usize,
    /// Names that an enclosing lambda binds, with their position among the captures.
    captured: HashMap<Arc<str>, usize>,
    captures: Vec<Code>,
    capture_names: Vec<Arc<str>>,
}

impl Scope {
    fn bind(&mut self, name: &Arc<str>) -> usize {
        let slot = self.frame_size;
        self.frame_size += 1;
        self.bound.entry(name.clone()).or_default().push(slot);
        slot
    }

    fn unbind(&mut self, name: &str) {
        if let Some(slots) = self.bound.get_mut(name) {
            slots.pop();
        }
    }
}

struct Compiler<'a> {
    /// One for each lambda around the current point, never empty.
    scopes: Vec<Scope>,
    /// The positions of the locals of the blocks around, in order.
    slots: Vec<usize>,
    nesting: usize,
    is_native: bool,
    data: Option<&'a dyn DataBackend>,
}

impl<'c> Walk<'c> for Compiler<'_> {
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

impl Compiler<'_> {
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
                    .ok_or_else(|| ExecError::UnboundReference(reference.name.clone()))
            }
            CompKind::Selection(selection) => {
                Ok(Code::Selection(Box::new(self.walk(&selection.source)?), selection.index))
            }
            CompKind::Struct(structure) => {
                let elements = structure.elements.iter().enumerate();
                let elements = elements.map(|(index, element)| {
                    self.walk(&element.value).map_err(|error| match &element.name {
                        Some(name) => error.at(format!("element `{name}`")),
                        None => error.at(format!("element {index}")),
                    })
                });
                Ok(Code::Struct(elements.collect::<Result<_, _>>()?))
            }
            CompKind::Call(call) => {
                let function = Box::new(self.walk(&call.function)?);
                let argument = call.argument.as_ref().map(|argument| self.walk(argument).map(Box::new)).transpose()?;
                Ok(Code::Call(function, argument))
            }
            CompKind::Lambda(lambda) => self.lambda(lambda, comp),
            CompKind::Block(block) => self.block(comp, block),
            CompKind::Intrinsic(intrinsic) => {
                self.is_native &= native(intrinsic).is_some();
                Ok(Code::Constant(Value::Function(Function::intrinsic(intrinsic, comp.ty()))))
            }
            CompKind::Data(data) => Ok(Code::Constant(resolve(&data.content, comp.ty(), self.data)?)),
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

    fn lambda(&mut self, lambda: &tff_ir::Lambda, comp: &Comp) -> Result<Code, ExecError> {
        self.scopes.push(Scope::default());
        let result = self.last(comp);
        let scope = self.scopes.pop().unwrap_or_default();
        let lambda = Arc::new(LambdaCode {
            captures: scope.captures.into(),
            frame_size: scope.frame_size,
            has_parameter: lambda.parameter.is_some(),
            result: result?.ok_or(ExecError::Internal("a lambda without a result"))?,
            comp: comp.clone(),
            capture_names: scope.capture_names.into(),
        });
        // A closed lambda is the same function each time.
        Ok(if lambda.captures.is_empty() {
            Code::Constant(Value::Function(Function::closure(lambda, StructValue::from_iter([]))))
        } else {
            Code::Lambda(lambda)
        })
    }

    fn block(&mut self, comp: &Comp, block: &tff_ir::Block) -> Result<Code, ExecError> {
        let (mut parts, first) = (Vec::with_capacity(block.locals.len() + 1), self.slots.len());
        self.parts(comp, |part| parts.push(part)).map_err(|error| match block.locals.get(parts.len()) {
            Some(local) => error.at(format!("local `{}`", local.name)),
            None => error,
        })?;
        let result = parts.pop().ok_or(ExecError::Internal("a block without a result"))?;
        let slots = self.slots.drain(first..);
        let locals = block.locals.iter().zip(slots).zip(parts);
        let locals = locals.map(|((local, slot), value)| LocalCode { name: local.name.clone(), slot, value });
        Ok(Code::Block(locals.collect(), Box::new(result)))
    }
}
