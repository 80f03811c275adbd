//! The computation tree: the protocol's `Computation`, its twelve kinds, each node with its type.
//!
//! A [`Comp`] is immutable and shared; its type was computed when it was built and is read in
//! constant time. How trees are built, and what is checked then, is in [`crate::build`]; what only
//! the whole tree shows (scopes, bindings of graphs) is left to the validator.

use crate::build::is_untyped;
use crate::{Array, CompPath, CompiledComputation, DataContent, Intrinsic};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use tff_types::{Placement, Type};

/// A computation: one node with its type and, below it, the computations it is made of.
///
/// Cloning shares the node. Dropping, printing, comparing and transforming work at any depth.
#[derive(Clone)]
pub struct Comp(Arc<Node>);

struct Node {
    kind: CompKind,
    ty: Type,
    /// 1 for a leaf; tells which trees are too high to be dropped by plain recursion.
    height: u32,
    /// How many nodes there are from here downwards.
    size: u32,
    /// Whether this node has been checked against its parts, so that it need not be checked again. Set by
    /// the constructors and the validator, never unset.
    is_checked: AtomicBool,
}

/// The kinds of computations: the protocol's `computation` variants, `tensorflow` and `xla` together
/// as [`CompKind::CompiledComputation`].
#[derive(Clone, Debug)]
pub enum CompKind {
    /// A name bound by a surrounding lambda or block: `x`.
    Reference(Reference),
    /// An element of a struct: `x[0]`.
    Selection(Selection),
    /// A struct made of its elements: `<a=x,y>`.
    Struct(Struct),
    /// A function applied to its argument: `f(x)`, `f()`.
    Call(Call),
    /// A function: `(x -> y)`, `( -> y)`.
    Lambda(Lambda),
    /// Names for intermediate results: `(let a=x,b=y in z)`.
    Block(Block),
    /// A function known to the framework by its uri: `federated_sum`.
    Intrinsic(Intrinsic),
    /// A source of data outside of the computation.
    Data(Data),
    /// A placement literal: `CLIENTS`.
    Placement(Placement),
    /// A constant tensor: `1`.
    Literal(Literal),
    /// A function given as the graph or module of another system.
    CompiledComputation(CompiledComputation),
}

/// A name: the protocol's `Reference`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The name, bound by the innermost lambda or block that introduces it.
    pub name: Arc<str>,
}

/// An element of a struct: the protocol's `Selection`.
#[derive(Clone, Debug)]
pub struct Selection {
    /// What to select from; its type is a struct.
    pub source: Comp,
    /// The position of the element, from 0.
    pub index: usize,
}

/// A struct made of its elements: the protocol's `Struct`.
#[derive(Clone, Debug)]
pub struct Struct {
    /// The elements, in order.
    pub elements: Arc<[StructElement]>,
}

/// One element of a [`Struct`].
#[derive(Clone, Debug)]
pub struct StructElement {
    /// The name, if the element has one; never empty.
    pub name: Option<Arc<str>>,
    /// The value.
    pub value: Comp,
}

/// A function applied to its argument: the protocol's `Call`.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called; its type is a function.
    pub function: Comp,
    /// The argument; present exactly where the function has a parameter.
    pub argument: Option<Comp>,
}

/// A function: the protocol's `Lambda`.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// The parameter; `None` for a function without one.
    pub parameter: Option<Parameter>,
    /// What the function returns, in terms of its parameter.
    pub result: Comp,
}

/// The parameter of a [`Lambda`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// The name under which the result refers to it; never empty.
    pub name: Arc<str>,
    /// The type, which is that of all references to it.
    pub ty: Type,
}

/// Names for intermediate results: the protocol's `Block`.
#[derive(Clone, Debug)]
pub struct Block {
    /// The locals; each may refer to those before it.
    pub locals: Arc<[Local]>,
    /// The result, in terms of the locals.
    pub result: Comp,
}

/// One local of a [`Block`].
#[derive(Clone, Debug)]
pub struct Local {
    /// The name; never empty.
    pub name: Arc<str>,
    /// The value.
    pub value: Comp,
}

/// A source of data: the protocol's `Data`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Data {
    /// What the runtime finds the data by.
    pub content: DataContent,
}

/// A constant tensor: the protocol's `Literal`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Literal {
    /// The elements.
    pub array: Array,
}

impl Comp {
    /// A node of this kind and type, which has not been checked against its parts.
    pub(crate) fn with_type(kind: CompKind, ty: Type) -> Self {
        Self::node(kind, ty, false)
    }

    /// A node of this kind and of the type that follows from its parts.
    pub(crate) fn checked(kind: CompKind, ty: Type) -> Self {
        let is_checked = !is_untyped(&ty);
        Self::node(kind, ty, is_checked)
    }

    fn node(kind: CompKind, ty: Type, is_checked: bool) -> Self {
        let (mut height, mut size) = (0, 1u32);
        for part in parts_of(&kind) {
            height = height.max(part.comp.0.height);
            size = size.saturating_add(part.comp.0.size);
        }
        let height = height.saturating_add(1);
        Self(Arc::new(Node { kind, ty, height, size, is_checked: AtomicBool::new(is_checked) }))
    }

    /// Whether nothing is wrong with this node, given its parts.
    pub(crate) fn is_checked(&self) -> bool {
        self.0.is_checked.load(Ordering::Relaxed)
    }

    /// Notes that nothing is wrong with this node, given its parts.
    pub(crate) fn set_checked(&self) {
        self.0.is_checked.store(true, Ordering::Relaxed);
    }

    /// The kind, with its parts.
    #[must_use]
    pub fn kind(&self) -> &CompKind {
        &self.0.kind
    }

    /// The type.
    #[must_use]
    pub fn ty(&self) -> &Type {
        &self.0.ty
    }

    /// The kind in one word, as the variants of the protocol's `Computation` are called; `tensorflow`
    /// or `xla` for a compiled computation.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self.kind() {
            CompKind::Reference(_) => "reference",
            CompKind::Selection(_) => "selection",
            CompKind::Struct(_) => "struct",
            CompKind::Call(_) => "call",
            CompKind::Lambda(_) => "lambda",
            CompKind::Block(_) => "block",
            CompKind::Intrinsic(_) => "intrinsic",
            CompKind::Data(_) => "data",
            CompKind::Placement(_) => "placement",
            CompKind::Literal(_) => "literal",
            CompKind::CompiledComputation(CompiledComputation::TensorFlow(_)) => "tensorflow",
            CompKind::CompiledComputation(CompiledComputation::Xla(_)) => "xla",
        }
    }

    /// Whether both are the same node in memory.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The address of the node: equal for clones, and unique while one of them lives.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// How many nodes the longest way to a leaf has: 1 for a leaf.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.0.height
    }

    /// How many nodes there are from this one downwards, itself included; one that occurs twice counts twice.
    /// At most [`u32::MAX`].
    #[must_use]
    pub fn size(&self) -> u32 {
        self.0.size
    }

    /// The computations directly below, in the order in which names come into scope: function
    /// before argument, locals in order before the result.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = &Self> {
        self.parts().map(|part| part.comp)
    }

    /// The computations directly below, as [`Comp::children`], each with the name that comes into scope before it.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = Part<'_>> {
        parts_of(&self.0.kind)
    }

    /// The part at this path; `None` if there is no such part, or if the path leaves out steps.
    #[must_use]
    pub fn at(&self, path: &CompPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |comp, step| comp.part_at(step))
    }

    /// The parts, if it is a reference.
    #[must_use]
    pub fn as_reference(&self) -> Option<&Reference> {
        if let CompKind::Reference(reference) = self.kind() { Some(reference) } else { None }
    }

    /// The parts, if it is a selection.
    #[must_use]
    pub fn as_selection(&self) -> Option<&Selection> {
        if let CompKind::Selection(selection) = self.kind() { Some(selection) } else { None }
    }

    /// The parts, if it is a struct.
    #[must_use]
    pub fn as_struct(&self) -> Option<&Struct> {
        if let CompKind::Struct(structure) = self.kind() { Some(structure) } else { None }
    }

    /// The parts, if it is a call.
    #[must_use]
    pub fn as_call(&self) -> Option<&Call> {
        if let CompKind::Call(call) = self.kind() { Some(call) } else { None }
    }

    /// The parts, if it is a lambda.
    #[must_use]
    pub fn as_lambda(&self) -> Option<&Lambda> {
        if let CompKind::Lambda(lambda) = self.kind() { Some(lambda) } else { None }
    }

    /// The parts, if it is a block.
    #[must_use]
    pub fn as_block(&self) -> Option<&Block> {
        if let CompKind::Block(block) = self.kind() { Some(block) } else { None }
    }

    /// The intrinsic, if it is one.
    #[must_use]
    pub fn as_intrinsic(&self) -> Option<&Intrinsic> {
        if let CompKind::Intrinsic(intrinsic) = self.kind() { Some(intrinsic) } else { None }
    }

    /// The parts, if it is a literal.
    #[must_use]
    pub fn as_literal(&self) -> Option<&Literal> {
        if let CompKind::Literal(literal) = self.kind() { Some(literal) } else { None }
    }

    /// The parts, if it is a compiled computation.
    #[must_use]
    pub fn as_compiled(&self) -> Option<&CompiledComputation> {
        if let CompKind::CompiledComputation(compiled) = self.kind() { Some(compiled) } else { None }
    }
}

/// A computation directly below another one.
#[derive(Clone, Copy, Debug)]
pub struct Part<'c> {
    /// The name that comes into scope before the part and stays there until the last part.
    pub binder: Option<Binder<'c>>,
    /// The part.
    pub comp: &'c Comp,
}

/// What brings a name into scope.
#[derive(Clone, Copy, Debug)]
pub enum Binder<'c> {
    /// The parameter of a lambda, for its result.
    Parameter(&'c Parameter),
    /// A local of a block, for the locals after it and the result.
    Local(&'c Local),
}

impl<'c> Binder<'c> {
    /// The name.
    #[must_use]
    pub const fn name(self) -> &'c Arc<str> {
        match self {
            Self::Parameter(parameter) => &parameter.name,
            Self::Local(local) => &local.name,
        }
    }

    /// The type of what the name stands for.
    #[must_use]
    pub fn ty(self) -> &'c Type {
        match self {
            Self::Parameter(parameter) => &parameter.ty,
            Self::Local(local) => local.value.ty(),
        }
    }
}

/// The one place that says which parts a node has, in which order they are evaluated, and which of them see which
/// names. All walks go by it.
fn parts_of(kind: &CompKind) -> impl DoubleEndedIterator<Item = Part<'_>> {
    let n_parts = match kind {
        CompKind::Selection(_) | CompKind::Lambda(_) => 1,
        CompKind::Struct(structure) => structure.elements.len(),
        CompKind::Call(call) => 1 + usize::from(call.argument.is_some()),
        CompKind::Block(block) => block.locals.len() + 1,
        CompKind::Reference(_)
        | CompKind::Intrinsic(_)
        | CompKind::Data(_)
        | CompKind::Placement(_)
        | CompKind::Literal(_)
        | CompKind::CompiledComputation(_) => 0,
    };
    (0..n_parts).filter_map(move |index| {
        let (binder, comp) = match kind {
            CompKind::Selection(selection) => (None, &selection.source),
            CompKind::Struct(structure) => (None, &structure.elements.get(index)?.value),
            CompKind::Call(call) if index == 0 => (None, &call.function),
            CompKind::Call(call) => (None, call.argument.as_ref()?),
            CompKind::Lambda(lambda) => (lambda.parameter.as_ref().map(Binder::Parameter), &lambda.result),
            CompKind::Block(block) => {
                let before = index.checked_sub(1).and_then(|before| block.locals.get(before));
                let comp = block.locals.get(index).map_or(&block.result, |local| &local.value);
                (before.map(Binder::Local), comp)
            }
            CompKind::Reference(_)
            | CompKind::Intrinsic(_)
            | CompKind::Data(_)
            | CompKind::Placement(_)
            | CompKind::Literal(_)
            | CompKind::CompiledComputation(_) => return None,
        };
        Some(Part { binder, comp })
    })
}

/// Prints the compact form and the type.
impl fmt::Debug for Comp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Comp({self}: {})", self.ty())
    }
}

/// Trees up to this height are dropped by plain recursion, which is faster.
const SHALLOW: u32 = 64;

impl Drop for Node {
    fn drop(&mut self) {
        if self.height <= SHALLOW {
            return;
        }
        let mut pending = Vec::new();
        take_children(&mut self.kind, &mut pending);
        while let Some(comp) = pending.pop() {
            // A node that others hold too lives on.
            if let Some(mut node) = Arc::into_inner(comp.0)
                && node.height > SHALLOW
            {
                take_children(&mut node.kind, &mut pending);
                node.height = 0;
            }
        }
    }
}

/// Moves the children out, leaving a leaf in the place of each.
fn take_children(kind: &mut CompKind, taken: &mut Vec<Comp>) {
    static LEAF: LazyLock<Comp> =
        LazyLock::new(|| Comp::with_type(CompKind::Placement(Placement::Server), Type::placement()));
    let mut take = |comp: &mut Comp| taken.push(std::mem::replace(comp, LEAF.clone()));
    match kind {
        CompKind::Selection(selection) => take(&mut selection.source),
        CompKind::Struct(structure) => {
            // Elements that another node shares live on.
            for element in Arc::get_mut(&mut structure.elements).into_iter().flatten() {
                take(&mut element.value);
            }
        }
        CompKind::Call(call) => {
            take(&mut call.function);
            if let Some(argument) = &mut call.argument {
                take(argument);
            }
        }
        CompKind::Lambda(lambda) => take(&mut lambda.result),
        CompKind::Block(block) => {
            for local in Arc::get_mut(&mut block.locals).into_iter().flatten() {
                take(&mut local.value);
            }
            take(&mut block.result);
        }
        CompKind::Reference(_)
        | CompKind::Intrinsic(_)
        | CompKind::Data(_)
        | CompKind::Placement(_)
        | CompKind::Literal(_)
        | CompKind::CompiledComputation(_) => {}
    }
}
