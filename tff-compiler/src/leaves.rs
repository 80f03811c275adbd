//! Which leaf the values come from that intrinsics are applied to.
//!
//! One walk writes down which value flows where; then the values of each leaf are followed. A place
//! is what values flow through. The parameter of a function is one place for all calls of it, so
//! that each function is looked into once, and so that what follows holds for every call.

use crate::reductions::Leaf;
use std::collections::HashMap;
use std::rc::Rc;
use tff_ir::{Call, Comp, CompKind, CompiledComputation, Scope, with_stack};

/// For each intrinsic of a computation the leaf that its body is for.
#[derive(Debug)]
pub(crate) struct Leaves {
    /// That of the computation as a whole.
    own: Leaf,
    /// Those of intrinsics that are called, by address.
    of_called: HashMap<usize, Leaf>,
}

impl Leaves {
    pub(crate) fn new(comp: &Comp) -> Self {
        let (mut has_xla, mut has_tensorflow) = (false, false);
        for compiled in comp.preorder().filter_map(Comp::as_compiled) {
            match compiled {
                CompiledComputation::Xla(_) => has_xla = true,
                CompiledComputation::TensorFlow(_) => has_tensorflow = true,
            }
        }
        let own = if has_xla && !has_tensorflow { Leaf::Xla } else { Leaf::TensorFlow };
        let is_mixed = has_xla && has_tensorflow;
        Self { own, of_called: if is_mixed { Flow::new(comp).of_called() } else { HashMap::new() } }
    }

    /// The leaf of the values that the intrinsic is applied to: XLA where all that are known to be
    /// from a leaf are from XLA; that of the computation as a whole where none is known.
    pub(crate) fn of(&self, intrinsic: &Comp) -> Leaf {
        self.of_called.get(&intrinsic.address()).copied().unwrap_or(self.own)
    }
}

/// A position in [`Flow::next`].
type Place = usize;

/// Where values come from that no leaf made. Nothing flows there.
const UNKNOWN: Place = 0;
/// Where the results of modules come from.
const XLA: Place = 1;
/// Where the results of graphs come from.
const TENSORFLOW: Place = 2;
/// Where the arguments of modules and graphs go. Nothing flows on from there.
const NOWHERE: Place = 3;

/// What a part of the computation stands for.
#[derive(Clone)]
enum Value {
    /// What has flowed to a place.
    At(Place),
    /// A struct: its elements, and the place that all of them flow to.
    Struct(Rc<[Value]>, Place),
    /// A function: where its argument flows to, and its result.
    Function(Place, Rc<Value>),
}

impl Value {
    /// The place of all that it is made of; of a function, that of its result.
    fn place(&self) -> Place {
        let mut value = self;
        loop {
            match value {
                Self::At(place) | Self::Struct(_, place) => return *place,
                Self::Function(_, result) => value = result,
            }
        }
    }
}

/// Which value flows where.
struct Flow {
    /// The places that each place flows to.
    next: Vec<Vec<Place>>,
    /// The intrinsics that are functions, by address, each with the place of its arguments.
    intrinsics: Vec<(usize, Place)>,
}

impl Flow {
    fn new(comp: &Comp) -> Self {
        let mut flow = Self { next: vec![Vec::new(); NOWHERE + 1], intrinsics: Vec::new() };
        flow.eval(comp, &mut Scope::new());
        flow
    }

    fn of_called(&self) -> HashMap<usize, Leaf> {
        let (from_xla, from_tensorflow) = (self.reached_from(XLA), self.reached_from(TENSORFLOW));
        let is_in = |reached: &[bool], place: Place| reached.get(place).copied().unwrap_or_default();
        let mut leaves = HashMap::new();
        for &(intrinsic, place) in &self.intrinsics {
            // A node that occurs repeatedly has one body.
            if is_in(&from_tensorflow, place) {
                leaves.insert(intrinsic, Leaf::TensorFlow);
            } else if is_in(&from_xla, place) {
                leaves.entry(intrinsic).or_insert(Leaf::Xla);
            }
        }
        leaves
    }

    fn reached_from(&self, place: Place) -> Vec<bool> {
        let mut reached = vec![false; self.next.len()];
        let mut pending = vec![place];
        while let Some(place) = pending.pop() {
            if let Some(seen) = reached.get_mut(place).filter(|seen| !**seen) {
                *seen = true;
                pending.extend(self.next.get(place).into_iter().flatten());
            }
        }
        reached
    }

    /// A new place, to which these flow.
    fn place(&mut self, from: impl IntoIterator<Item = Place>) -> Place {
        let place = self.next.len();
        self.next.push(Vec::new());
        from.into_iter().for_each(|from| self.connect(from, place));
        place
    }

    fn connect(&mut self, from: Place, to: Place) {
        if let Some(next) = self.next.get_mut(from).filter(|_| from != UNKNOWN && to != NOWHERE) {
            next.push(to);
        }
    }

    fn eval(&mut self, comp: &Comp, scope: &mut Scope<Value>) -> Value {
        with_stack(|| match comp.kind() {
            CompKind::Reference(reference) => scope.get(&reference.name).cloned().unwrap_or(Value::At(UNKNOWN)),
            CompKind::Selection(selection) => match self.eval(&selection.source, scope) {
                Value::Struct(elements, place) => elements.get(selection.index).cloned().unwrap_or(Value::At(place)),
                value => value,
            },
            CompKind::Struct(structure) => {
                let elements: Rc<[_]> = structure.elements.iter().map(|it| self.eval(&it.value, scope)).collect();
                let place = self.place(elements.iter().map(Value::place));
                Value::Struct(elements, place)
            }
            CompKind::Call(call) => self.eval_call(call, scope),
            CompKind::Lambda(lambda) => {
                let place = self.place([]);
                if let Some(parameter) = &lambda.parameter {
                    scope.bind(parameter.name.clone(), Value::At(place));
                }
                let result = self.eval(&lambda.result, scope);
                lambda.parameter.iter().for_each(|parameter| drop(scope.unbind(&parameter.name)));
                Value::Function(place, Rc::new(result))
            }
            CompKind::Block(block) => {
                for local in block.locals.iter() {
                    let value = self.eval(&local.value, scope);
                    scope.bind(local.name.clone(), value);
                }
                let result = self.eval(&block.result, scope);
                block.locals.iter().for_each(|local| drop(scope.unbind(&local.name)));
                result
            }
            CompKind::Intrinsic(_) if comp.ty().as_function().is_some() => {
                let place = self.place([]);
                self.intrinsics.push((comp.address(), place));
                Value::Function(place, Rc::new(Value::At(place)))
            }
            CompKind::CompiledComputation(compiled) => {
                let made = if matches!(compiled, CompiledComputation::Xla(_)) { XLA } else { TENSORFLOW };
                Value::Function(NOWHERE, Rc::new(Value::At(made)))
            }
            CompKind::Intrinsic(_) | CompKind::Data(_) | CompKind::Placement(_) | CompKind::Literal(_) => {
                Value::At(UNKNOWN)
            }
        })
    }

    fn eval_call(&mut self, call: &Call, scope: &mut Scope<Value>) -> Value {
        let argument = call.argument.as_ref().map(|argument| self.eval(argument, scope));
        // Nobody else calls a function that is written where it is called.
        if let (Some(lambda), Some(argument)) = (call.function.as_lambda(), &argument)
            && let Some(parameter) = &lambda.parameter
        {
            scope.bind(parameter.name.clone(), argument.clone());
            let result = self.eval(&lambda.result, scope);
            scope.unbind(&parameter.name);
            return result;
        }
        let function = self.eval(&call.function, scope);
        let argument = argument.unwrap_or(Value::At(UNKNOWN));
        match function {
            Value::Function(parameter, result) => {
                self.connect(argument.place(), parameter);
                let applied = call.function.as_intrinsic().and_then(|_| self.apply_functions(&argument));
                applied.unwrap_or_else(|| result.as_ref().clone())
            }
            Value::At(place) | Value::Struct(_, place) => Value::At(self.place([place, argument.place()])),
        }
    }

    /// What an intrinsic gives that is applied to functions: what the last of them returns. They
    /// are applied, in order, to the other arguments and to what those before them return.
    fn apply_functions(&mut self, argument: &Value) -> Option<Value> {
        let arguments = match argument {
            Value::Struct(elements, _) => elements.as_ref(),
            value => std::slice::from_ref(value),
        };
        let is_function = |value: &&Value| matches!(value, Value::Function(..));
        let mut given = self.place(arguments.iter().filter(|value| !is_function(value)).map(Value::place));
        let mut last = None;
        for value in arguments {
            if let Value::Function(parameter, result) = value {
                self.connect(given, *parameter);
                given = self.place([given, result.place()]);
                last = Some(result.as_ref().clone());
            }
        }
        last
    }
}
