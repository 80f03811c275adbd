//! Finds the leaf from which the arguments of each intrinsic come.
//!
//! One walk records which value flows where; then the values of each leaf are followed. Values flow
//! through places. The parameter of a function is one place for all its calls. So each function is
//! looked at once, and the answer holds for every call.

use crate::reductions::Leaf;
use std::convert::Infallible;
use std::rc::Rc;
use tff_ir::{Binder, Call, Comp, CompKind, CompiledComputation, NodeMap, Scope, Walk};

/// For each intrinsic of a computation the leaf that its body is for.
#[derive(Debug)]
pub(crate) struct Leaves {
    /// That of the computation as a whole.
    own: Leaf,
    /// Those of intrinsics that are called.
    of_called: NodeMap<Leaf>,
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
        Self { own, of_called: if is_mixed { Flow::new(comp).of_called() } else { NodeMap::default() } }
    }

    /// The leaf of the values that the intrinsic is applied to: XLA where all that are known to be
    /// from a leaf are from XLA; that of the computation as a whole where none is known.
    pub(crate) fn of(&self, intrinsic: &Comp) -> Leaf {
        self.of_called.get(intrinsic).copied().unwrap_or(self.own)
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
struct Flow<'c> {
    /// What the names in scope stand for.
    scope: Scope<Value, &'c str>,
    /// What the parameter of the lambda that is entered stands for.
    entered: Value,
    /// The places that each place flows to.
    next: Vec<Vec<Place>>,
    /// The intrinsics that are functions, each with the place of its arguments.
    intrinsics: Vec<(&'c Comp, Place)>,
}

impl<'c> Walk<'c> for Flow<'c> {
    type Value = Value;
    type Error = Infallible;

    fn comp(&mut self, comp: &'c Comp) -> Result<Value, Infallible> {
        Ok(match comp.kind() {
            CompKind::Reference(reference) => self.scope.get(&reference.name).cloned().unwrap_or(Value::At(UNKNOWN)),
            CompKind::Selection(selection) => match self.walk(&selection.source)? {
                Value::Struct(elements, place) => elements.get(selection.index).cloned().unwrap_or(Value::At(place)),
                value => value,
            },
            CompKind::Struct(_) => {
                let mut elements = Vec::new();
                self.parts(comp, |element| elements.push(element))?;
                let place = self.place(elements.iter().map(Value::place));
                Value::Struct(elements.into(), place)
            }
            CompKind::Call(call) => self.call(call)?,
            CompKind::Lambda(_) => {
                let place = self.place([]);
                self.entered = Value::At(place);
                Value::Function(place, Rc::new(self.result(comp)?))
            }
            CompKind::Block(_) => self.result(comp)?,
            CompKind::Intrinsic(_) if comp.ty().as_function().is_some() => {
                let place = self.place([]);
                self.intrinsics.push((comp, place));
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

    fn bind(&mut self, binder: Binder<'c>, value: Option<&Value>) {
        self.scope.bind(&**binder.name(), value.unwrap_or(&self.entered).clone());
    }

    fn unbind(&mut self, binder: Binder<'c>) {
        self.scope.unbind(binder.name());
    }
}

impl<'c> Flow<'c> {
    fn new(comp: &'c Comp) -> Self {
        let (next, entered) = (vec![Vec::new(); NOWHERE + 1], Value::At(UNKNOWN));
        let mut flow = Self { scope: Scope::default(), entered, next, intrinsics: Vec::new() };
        let Ok(_) = flow.walk(comp);
        flow
    }

    /// What the result of a lambda or block stands for.
    fn result(&mut self, comp: &'c Comp) -> Result<Value, Infallible> {
        Ok(self.last(comp)?.unwrap_or(Value::At(UNKNOWN)))
    }

    fn of_called(&self) -> NodeMap<Leaf> {
        let (from_xla, from_tensorflow) = (self.reached_from(XLA), self.reached_from(TENSORFLOW));
        let is_in = |reached: &[bool], place: Place| reached.get(place).copied().unwrap_or_default();
        let mut leaves = NodeMap::default();
        for &(intrinsic, place) in &self.intrinsics {
            // A node that occurs repeatedly has one body.
            if is_in(&from_tensorflow, place) {
                leaves.insert(intrinsic, Leaf::TensorFlow);
            } else if is_in(&from_xla, place) {
                leaves.get_or_insert_with(intrinsic, || Leaf::Xla);
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

    fn call(&mut self, call: &'c Call) -> Result<Value, Infallible> {
        let argument = call.argument.as_ref().map(|argument| self.walk(argument)).transpose()?;
        // Nobody else calls a function that is written where it is called.
        if let (Some(_), Some(argument)) = (call.function.as_lambda(), &argument) {
            self.entered = argument.clone();
            return self.result(&call.function);
        }
        let function = self.walk(&call.function)?;
        let argument = argument.unwrap_or(Value::At(UNKNOWN));
        Ok(match function {
            Value::Function(parameter, result) => {
                self.connect(argument.place(), parameter);
                let applied = call.function.as_intrinsic().and_then(|_| self.apply_functions(&argument));
                applied.unwrap_or_else(|| result.as_ref().clone())
            }
            Value::At(place) | Value::Struct(_, place) => Value::At(self.place([place, argument.place()])),
        })
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
