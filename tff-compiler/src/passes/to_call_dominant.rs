//! Brings a computation into call-dominant form: every call is a local of a block, in the order of
//! evaluation. The rest only selects, packs and makes functions.
//!
//! The computation is evaluated symbolically. A name stands for a value: a computation without
//! calls, a struct, or a function together with what the names in it stand for. Calling a function
//! evaluates its result anew; only calls of unknown functions (intrinsics, graphs, parameters)
//! remain. A function that is still needed as a value is written out where it is needed, with a
//! parameter of a name of its own, so nothing is ever captured.

use crate::error::{PassError, Problem};
use crate::free_names::FreeNames;
use crate::pass::Pass;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use tff_ir::{Binder, BuildError, Comp, CompKind, Lambda, NodeMap, Scope, Transformed, UniqueNames, Walk, with_stack};
use tff_types::Type;

/// Rewrites into call-dominant form: `g(g(1))` becomes `(let _var1=g(1),_var2=g(_var1) in _var2)`.
///
/// Every call is a local of the block of the innermost function around it; no function that is
/// known is called; nothing is selected from a struct that is written out; blocks stand only at the
/// root and as results of functions; names are unique. Calls whose result is not needed remain.
#[derive(Clone, Copy, Debug)]
pub struct ToCallDominant;

impl Pass for ToCallDominant {
    fn name(&self) -> &'static str {
        "to_call_dominant"
    }

    fn description(&self) -> &'static str {
        "makes every call a local, calls known functions, selects from known structs"
    }

    fn run(&self, comp: &Comp) -> Result<Transformed, PassError> {
        let free_names = FreeNames::new(comp);
        let mut build = Build {
            fresh: UniqueNames::new(comp),
            taken: free_names.of_root.into_iter().collect(),
            free_names: free_names.of_lambdas,
            left: MAX_PARTS,
            scope: Scope::new(),
            scopes: Vec::new(),
            bindings: Vec::new(),
        };
        let value = build.walk(comp)?;
        let result = build.reify(&value)?;
        let comp = if build.bindings.is_empty() { result } else { Comp::block(build.bindings, result)? };
        // Whether anything changed is not worth a comparison.
        Ok(Transformed::yes(comp))
    }
}

/// How many parts the result may have, and how many steps it may take: calling functions can make
/// a small computation as large as one likes.
const MAX_PARTS: usize = 1 << 22;

/// What a name or a part of the computation stands for.
#[derive(Clone)]
enum Value {
    /// A computation in which nothing is left to do, without calls.
    Comp(Comp),
    /// A struct with functions in it.
    Struct(Rc<[(Option<Arc<str>>, Value)]>),
    Function(Rc<Function>),
}

/// A function that can be called here.
struct Function {
    /// The lambda.
    lambda: Comp,
    /// What its free names stand for, as far as they are bound.
    bound: Vec<(Arc<str>, Value)>,
}

struct Build {
    fresh: UniqueNames,
    /// The names that no binder of the result may have any more.
    taken: HashSet<Arc<str>>,
    /// The free names of lambdas.
    free_names: NodeMap<Rc<[Arc<str>]>>,
    left: usize,
    /// What the names in scope stand for.
    scope: Scope<Value>,
    /// Scopes without names, to be used again.
    scopes: Vec<Scope<Value>>,
    /// The locals of the innermost block in the making.
    bindings: Vec<(Arc<str>, Comp)>,
}

impl<'c> Walk<'c> for Build {
    type Value = Value;
    type Error = PassError;

    fn comp(&mut self, comp: &'c Comp) -> Result<Value, PassError> {
        self.step(1)?;
        match comp.kind() {
            CompKind::Reference(reference) => {
                Ok(self.scope.get(&reference.name).cloned().unwrap_or_else(|| Value::Comp(comp.clone())))
            }
            CompKind::Selection(selection) => {
                let source = self.walk(&selection.source)?;
                source.element(selection.index).map_err(|error| PassError::at(comp, error))
            }
            CompKind::Struct(structure) => {
                let elements = structure.elements.iter().map(|it| self.walk(&it.value));
                let elements = elements.collect::<Result<Vec<_>, PassError>>()?;
                if elements.iter().all(Value::is_comp) {
                    let comps = elements.into_iter().filter_map(Value::into_comp).collect();
                    return Ok(Value::Comp(comp.with_children(comps)?));
                }
                let names = structure.elements.iter().map(|it| it.name.clone());
                Ok(Value::Struct(names.zip(elements).collect()))
            }
            CompKind::Lambda(_) => self.function(comp),
            CompKind::Block(block) => {
                let result = self.last(comp)?;
                Ok(result.unwrap_or_else(|| Value::Comp(block.result.clone())))
            }
            CompKind::Call(call) => {
                let function = self.walk(&call.function)?;
                let argument = call.argument.as_ref().map(|argument| self.walk(argument)).transpose()?;
                self.call(&function, argument).map_err(|error| error.or_at(comp))
            }
            CompKind::Intrinsic(_)
            | CompKind::Data(_)
            | CompKind::Placement(_)
            | CompKind::Literal(_)
            | CompKind::CompiledComputation(_) => Ok(Value::Comp(comp.clone())),
        }
    }

    fn bind(&mut self, binder: Binder<'c>, value: Option<&Value>) {
        // Only blocks are walked, and each of their locals has a value.
        value.into_iter().for_each(|value| self.scope.bind(binder.name().clone(), value.clone()));
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope.unbind(binder.name());
    }
}

impl Build {
    fn step(&mut self, parts: usize) -> Result<(), PassError> {
        self.left = self.left.checked_sub(parts).ok_or(Problem::TooLarge { limit: MAX_PARTS })?;
        Ok(())
    }

    fn function(&mut self, comp: &Comp) -> Result<Value, PassError> {
        let names = self.free_names.get(comp).cloned().unwrap_or_default();
        self.step(names.len())?;
        let bound = names.iter().filter_map(|name| Some((name.clone(), self.scope.get(name)?.clone())));
        Ok(Value::Function(Rc::new(Function { lambda: comp.clone(), bound: bound.collect() })))
    }

    fn call(&mut self, function: &Value, argument: Option<Value>) -> Result<Value, PassError> {
        match function {
            Value::Function(function) => {
                let Some(lambda) = function.lambda.as_lambda() else { return Ok(Value::Comp(function.lambda.clone())) };
                let parameter = match (&lambda.parameter, argument) {
                    (Some(parameter), Some(argument)) => {
                        Some((parameter.name.clone(), argument.with_names_of(&parameter.ty)?))
                    }
                    _ => None,
                };
                self.eval_result(function, lambda, parameter)
            }
            Value::Comp(function) => {
                let argument = argument.map(|argument| self.reify(&argument)).transpose()?;
                self.step(1 + argument.as_ref().map_or(0, |argument| argument.size() as usize))?;
                let call = Comp::call(function.clone(), argument)?;
                let name = self.fresh.next_name();
                let reference = Comp::reference(name.clone(), call.ty().clone())?;
                self.bindings.push((name, call));
                Ok(Value::Comp(reference))
            }
            Value::Struct(_) => Err(BuildError::NotAFunction { found: self.reify(function)?.ty().clone() }.into()),
        }
    }

    /// The result of a function, with what its parameter stands for.
    fn eval_result(
        &mut self,
        function: &Function,
        lambda: &Lambda,
        parameter: Option<(Arc<str>, Value)>,
    ) -> Result<Value, PassError> {
        // What is in scope where it is called is not in scope in it.
        let outer = std::mem::replace(&mut self.scope, self.scopes.pop().unwrap_or_default());
        let bound = function.bound.iter().chain(&parameter);
        bound.clone().for_each(|(name, value)| self.scope.bind(name.clone(), value.clone()));
        let result = self.walk(&lambda.result)?;
        bound.for_each(|(name, _)| drop(self.scope.unbind(name)));
        self.scopes.push(std::mem::replace(&mut self.scope, outer));
        Ok(result)
    }

    /// The value as a computation; functions are written out.
    fn reify(&mut self, value: &Value) -> Result<Comp, PassError> {
        self.step(1)?;
        with_stack(|| match value {
            Value::Comp(comp) => Ok(comp.clone()),
            Value::Struct(elements) => {
                let elements = elements.iter().map(|(name, value)| Ok((name.clone(), self.reify(value)?)));
                Ok(Comp::structure(elements.collect::<Result<Vec<_>, PassError>>()?)?)
            }
            Value::Function(function) => {
                let outer = std::mem::take(&mut self.bindings);
                let lambda = self.write_out(function);
                self.bindings = outer;
                lambda
            }
        })
    }

    fn write_out(&mut self, function: &Function) -> Result<Comp, PassError> {
        let Some(lambda) = function.lambda.as_lambda() else { return Ok(function.lambda.clone()) };
        let parameter = &lambda.parameter;
        let parameter = parameter.as_ref().map(|parameter| {
            let is_new = self.taken.insert(parameter.name.clone());
            (parameter, if is_new { parameter.name.clone() } else { self.fresh.next_name() })
        });
        let argument = match &parameter {
            Some((parameter, name)) => {
                let reference = Comp::reference(name.clone(), parameter.ty.clone())?;
                Some((parameter.name.clone(), Value::Comp(reference)))
            }
            None => None,
        };
        let result = self.eval_result(function, lambda, argument)?;
        let result = self.reify(&result)?;
        let bindings = std::mem::take(&mut self.bindings);
        let result = if bindings.is_empty() { result } else { Comp::block(bindings, result)? };
        Ok(Comp::lambda(parameter.map(|(parameter, name)| (name, parameter.ty.clone())), result)?)
    }
}

impl Value {
    fn structure(elements: Vec<(Option<Arc<str>>, Self)>) -> Result<Self, PassError> {
        if !elements.iter().all(|(_, value)| value.is_comp()) {
            return Ok(Self::Struct(elements.into()));
        }
        let comps = elements.into_iter().filter_map(|(name, value)| Some((name, value.into_comp()?)));
        Ok(Self::Comp(Comp::structure(comps)?))
    }

    fn is_comp(&self) -> bool {
        matches!(self, Self::Comp(_))
    }

    fn into_comp(self) -> Option<Comp> {
        if let Self::Comp(comp) = self { Some(comp) } else { None }
    }

    fn element(&self, index: usize) -> Result<Self, BuildError> {
        match self {
            Self::Comp(comp) => match comp.as_struct().and_then(|structure| structure.elements.get(index)) {
                Some(element) => Ok(Self::Comp(element.value.clone())),
                None => Ok(Self::Comp(Comp::selection(comp.clone(), index)?)),
            },
            Self::Struct(elements) => {
                let element = elements.get(index).map(|(_, value)| value.clone());
                element.ok_or(BuildError::IndexOutOfRange { index, len: elements.len() })
            }
            Self::Function(function) => Err(BuildError::NotAStruct { found: function.lambda.ty().clone() }),
        }
    }

    /// The value where one of another type is expected, which may name elements that have no name
    /// here: the names are part of what the computation returns.
    fn with_names_of(self, ty: &Type) -> Result<Self, PassError> {
        let Some(structure) = ty.as_struct() else { return Ok(self) };
        if !structure.elements().iter().any(|element| has_names(&element.ty) || element.name.is_some()) {
            return Ok(self);
        }
        if let Self::Comp(comp) = &self
            && (comp.ty() == ty || same_names(comp.ty(), ty))
        {
            return Ok(self);
        }
        let elements = structure.elements().iter().enumerate();
        let elements = elements
            .map(|(index, element)| Ok((element.name.clone(), self.element(index)?.with_names_of(&element.ty)?)));
        Self::structure(elements.collect::<Result<_, PassError>>()?)
    }
}

fn has_names(ty: &Type) -> bool {
    let Some(structure) = ty.as_struct() else { return false };
    structure.elements().iter().any(|element| element.name.is_some() || has_names(&element.ty))
}

/// Whether two structs name their elements alike, at all levels.
fn same_names(left: &Type, right: &Type) -> bool {
    let (Some(left), Some(right)) = (left.as_struct(), right.as_struct()) else { return true };
    left.len() == right.len()
        && left
            .elements()
            .iter()
            .zip(right.elements())
            .all(|(left, right)| left.name == right.name && same_names(&left.ty, &right.ty))
}
