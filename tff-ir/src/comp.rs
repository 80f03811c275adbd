//! The computation tree: the seed's `Computation`, its twelve kinds, each node with its type.
//!
//! A [`Comp`] is immutable and shared; its type was computed when it was built and is read in
//! constant time. How trees are built, and what is checked then, is in [`crate::build`]; what only
//! the whole tree shows (scopes, bindings of graphs) is left to the validator.

use crate::build::is_untyped;
use crate::{Array, CompPath, CompStep, CompiledComputation, DataContent, Intrinsic};
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
    /// Whether the type is known to be the one that follows from the parts, so that no one derives it again.
    is_checked: AtomicBool,
}

/// The kinds of computations: the seed's `computation` variants, `tensorflow` and `xla` together
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

/// A name: the seed's `Reference`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The name, bound by the innermost lambda or block that introduces it.
    pub name: Arc<str>,
}

/// An element of a struct: the seed's `Selection`.
#[derive(Clone, Debug)]
pub struct Selection {
    /// What to select from; its type is a struct.
    pub source: Comp,
    /// The position of the element, from 0.
    pub index: usize,
}

/// A struct made of its elements: the seed's `Struct`.
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

/// A function applied to its argument: the seed's `Call`.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called; its type is a function.
    pub function: Comp,
    /// The argument; present exactly where the function has a parameter.
    pub argument: Option<Comp>,
}

/// A function: the seed's `Lambda`.
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

/// Names for intermediate results: the seed's `Block`.
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

/// A source of data: the seed's `Data`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Data {
    /// What the runtime finds the data by.
    pub content: DataContent,
}

/// A constant tensor: the seed's `Literal`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Literal {
    /// The elements.
    pub array: Array,
}

impl Comp {
    /// A node of this kind and type, which nobody has compared with its parts.
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
        for child in children_of(&kind) {
            height = height.max(child.0.height);
            size = size.saturating_add(child.0.size);
        }
        let height = height.saturating_add(1);
        Self(Arc::new(Node { kind, ty, height, size, is_checked: AtomicBool::new(is_checked) }))
    }

    /// Whether nothing is wrong with this node, given its parts.
    pub(crate) fn is_checked(&self) -> bool {
        self.0.is_checked.load(Ordering::Relaxed)
    }

    /// Keeps in mind that nothing is wrong with this node, given its parts.
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

    /// The kind in one word, as the variants of the seed's `Computation` are called; `tensorflow`
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
    #[must_use]
    pub fn address(&self) -> usize {
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
        children_of(&self.0.kind)
    }

    /// The computations directly below, each with the step that leads to it.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = (CompStep, &Self)> {
        let steps: Vec<CompStep> = match self.kind() {
            CompKind::Selection(_) => vec![CompStep::Source],
            CompKind::Struct(structure) => {
                let elements = structure.elements.iter().enumerate();
                elements.map(|(index, element)| CompStep::Element(index, element.name.clone())).collect()
            }
            CompKind::Call(_) => vec![CompStep::Function, CompStep::Argument],
            CompKind::Lambda(_) => vec![CompStep::LambdaResult],
            CompKind::Block(block) => {
                let locals = block.locals.iter().enumerate();
                let locals = locals.map(|(index, local)| CompStep::Local(index, local.name.clone()));
                locals.chain([CompStep::BlockResult]).collect()
            }
            _ => Vec::new(),
        };
        let children: Vec<&Self> = self.children().collect();
        steps.into_iter().take(children.len()).zip(children)
    }

    /// The part at this path; `None` where there is none, or the path leaves out steps.
    #[must_use]
    pub fn at(&self, path: &CompPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |comp, step| {
            let mut children = comp.children();
            match (step, comp.kind()) {
                (CompStep::Source, CompKind::Selection(_))
                | (CompStep::Function, CompKind::Call(_))
                | (CompStep::LambdaResult, CompKind::Lambda(_)) => children.next(),
                (CompStep::Element(index, _), CompKind::Struct(_)) => children.nth(*index),
                (CompStep::Argument, CompKind::Call(call)) => call.argument.as_ref(),
                (CompStep::Local(index, _), CompKind::Block(block)) => block.locals.get(*index).map(|it| &it.value),
                (CompStep::BlockResult, CompKind::Block(block)) => Some(&block.result),
                _ => None,
            }
        })
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

fn children_of(kind: &CompKind) -> Children<'_> {
    let mut children = Children { first: None, elements: [].iter(), locals: [].iter(), last: None };
    match kind {
        CompKind::Selection(Selection { source, .. }) => children.last = Some(source),
        CompKind::Struct(Struct { elements }) => children.elements = elements.iter(),
        CompKind::Call(Call { function, argument }) => {
            children.first = Some(function);
            children.last = argument.as_ref();
        }
        CompKind::Lambda(Lambda { result, .. }) => children.last = Some(result),
        CompKind::Block(Block { locals, result }) => {
            children.locals = locals.iter();
            children.last = Some(result);
        }
        CompKind::Reference(_)
        | CompKind::Intrinsic(_)
        | CompKind::Data(_)
        | CompKind::Placement(_)
        | CompKind::Literal(_)
        | CompKind::CompiledComputation(_) => {}
    }
    children
}

/// The parts of a node, in order.
struct Children<'a> {
    first: Option<&'a Comp>,
    elements: std::slice::Iter<'a, StructElement>,
    locals: std::slice::Iter<'a, Local>,
    last: Option<&'a Comp>,
}

impl<'a> Iterator for Children<'a> {
    type Item = &'a Comp;

    fn next(&mut self) -> Option<&'a Comp> {
        let element = || self.elements.next().map(|element| &element.value);
        let part = self.first.take().or_else(element);
        part.or_else(|| self.locals.next().map(|local| &local.value)).or_else(|| self.last.take())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let ends = usize::from(self.first.is_some()) + usize::from(self.last.is_some());
        let len = ends + self.elements.len() + self.locals.len();
        (len, Some(len))
    }
}

impl DoubleEndedIterator for Children<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let local = || self.locals.next_back().map(|local| &local.value);
        let part = self.last.take().or_else(local);
        part.or_else(|| self.elements.next_back().map(|element| &element.value)).or_else(|| self.first.take())
    }
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
