//! The type tree: the protocol's `Type` and the invariants its constructors enforce.

use crate::{DType, MAX_PROBLEMS, NameProblem, NestingProblem, Path, Placement, PlacementSpec, Shape, Step, TypeError};
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The most levels a type may be nested. The wire carries about 50, so this bounds only what is
/// built in memory; it is what makes recursion over types safe.
pub const MAX_DEPTH: u32 = 200;

/// The most parts a type may have, counted with repetition: a shared part counts wherever it
/// occurs, so that a small program cannot describe a type too large to print or compare.
pub const MAX_SIZE: u32 = 1 << 20;

/// A type: the protocol's `Type`, immutable and shared.
///
/// Equality is the relation *identical*: the same structure, names, shapes and placements.
#[derive(Clone)]
pub struct Type(Arc<Node>);

struct Node {
    kind: TypeKind,
    depth: u32,
    wire_depth: u32,
    size: u32,
    contains: Contains,
}

/// Which kinds occur anywhere in a type, so that nesting rules and common questions need no walk.
#[derive(Clone, Copy, Default)]
struct Contains {
    federated: bool,
    function: bool,
    sequence: bool,
    abstract_: bool,
    placement_label: bool,
}

impl Contains {
    const fn or(self, other: Self) -> Self {
        Self {
            federated: self.federated || other.federated,
            function: self.function || other.function,
            sequence: self.sequence || other.sequence,
            abstract_: self.abstract_ || other.abstract_,
            placement_label: self.placement_label || other.placement_label,
        }
    }
}

/// The seven kinds of types.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// A tensor, `float32[2,?]`.
    Tensor(TensorType),
    /// A struct, `<a=int32,float32>`.
    Struct(StructType),
    /// A sequence, `int32*`.
    Sequence(SequenceType),
    /// A function, `(int32 -> bool)` or `( -> bool)`.
    Function(FunctionType),
    /// An abstract type, `T`.
    Abstract(AbstractType),
    /// The type of placements, `placement`.
    Placement(PlacementType),
    /// A federated type, `{int32}@CLIENTS` or `int32@SERVER`.
    Federated(FederatedType),
}

/// A tensor type: the protocol's `TensorType`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    /// The element type.
    pub dtype: DType,
    /// The shape.
    pub shape: Shape,
}

/// A struct type: the protocol's `StructType`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StructType {
    elements: Arc<[Element]>,
}

/// One element of a struct type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// The name, if the element has one; never empty.
    pub name: Option<Arc<str>>,
    /// The type.
    pub ty: Type,
}

impl StructType {
    pub(crate) const fn from_elements(elements: Arc<[Element]>) -> Self {
        Self { elements }
    }

    /// The elements, in order.
    #[must_use]
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The position of the element of this name.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.elements.iter().position(|element| element.name.as_deref() == Some(name))
    }
}

/// A sequence type: the protocol's `SequenceType`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SequenceType {
    /// The type of the elements.
    pub element: Type,
}

/// A function type: the protocol's `FunctionType`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionType {
    /// The type of the parameter; `None` for a function without one.
    pub parameter: Option<Type>,
    /// The type of the result.
    pub result: Type,
}

/// An abstract type: the protocol's `AbstractType`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AbstractType {
    /// The label that relates the occurrences within one signature.
    pub label: Arc<str>,
}

/// The type of placements: the protocol's `PlacementType`.
///
/// The label annotates one occurrence and does not qualify the type: it is ignored by equality.
#[derive(Clone, Debug)]
pub struct PlacementType {
    /// The label under which federated types of the same signature refer to this placement.
    pub instance_label: Option<Arc<str>>,
}

impl PartialEq for PlacementType {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PlacementType {}

impl Hash for PlacementType {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A federated type: the protocol's `FederatedType`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FederatedType {
    /// The type of each member.
    pub member: Type,
    /// Where the members are.
    pub placement: PlacementSpec,
    /// Whether the members are known to be equal.
    pub all_equal: bool,
}

impl Type {
    /// A tensor type.
    #[must_use]
    pub fn tensor(dtype: DType, shape: Shape) -> Self {
        Self::above(TypeKind::Tensor(TensorType { dtype, shape }))
    }

    /// The type of a scalar.
    #[must_use]
    pub fn scalar(dtype: DType) -> Self {
        Self::tensor(dtype, Shape::scalar())
    }

    /// An abstract type.
    pub fn abstract_type(label: impl Into<Arc<str>>) -> Self {
        Self::above(TypeKind::Abstract(AbstractType { label: label.into() }))
    }

    /// The type of placements.
    #[must_use]
    pub fn placement() -> Self {
        Self::above(TypeKind::Placement(PlacementType { instance_label: None }))
    }

    /// The type of placements, annotated with the label that federated types refer to.
    pub fn labelled_placement(label: impl Into<Arc<str>>) -> Self {
        Self::above(TypeKind::Placement(PlacementType { instance_label: Some(label.into()) }))
    }

    /// A struct of named and unnamed elements.
    ///
    /// # Errors
    /// [`TypeError::Names`] with every duplicate and every empty name, and the bounds.
    pub fn structure<N: Into<Arc<str>>>(
        elements: impl IntoIterator<Item = (Option<N>, Self)>,
    ) -> Result<Self, TypeError> {
        let elements: Arc<[Element]> =
            elements.into_iter().map(|(name, ty)| Element { name: name.map(Into::into), ty }).collect();
        Self::checked(TypeKind::Struct(StructType { elements }))
    }

    /// A struct without names.
    ///
    /// # Errors
    /// The bounds on depth and size.
    pub fn tuple(elements: impl IntoIterator<Item = Self>) -> Result<Self, TypeError> {
        Self::structure(elements.into_iter().map(|ty| (None::<Arc<str>>, ty)))
    }

    /// A sequence of elements of this type.
    ///
    /// # Errors
    /// [`TypeError::Nesting`] where the element contains a sequence, a function or a federated
    /// type, at any depth; and the bounds.
    pub fn sequence(element: Self) -> Result<Self, TypeError> {
        Self::checked(TypeKind::Sequence(SequenceType { element }))
    }

    /// A function type; without a parameter where that is `None`.
    ///
    /// # Errors
    /// The bounds on depth and size.
    pub fn function(parameter: Option<Self>, result: Self) -> Result<Self, TypeError> {
        Self::checked(TypeKind::Function(FunctionType { parameter, result }))
    }

    /// A federated type.
    ///
    /// # Errors
    /// [`TypeError::Nesting`] where the member contains a function or a federated type, at any
    /// depth; and the bounds.
    pub fn federated(member: Self, placement: impl Into<PlacementSpec>, all_equal: bool) -> Result<Self, TypeError> {
        Self::checked(TypeKind::Federated(FederatedType { member, placement: placement.into(), all_equal }))
    }

    /// `{T}@CLIENTS`.
    ///
    /// # Errors
    /// As [`Type::federated`].
    pub fn at_clients(member: Self) -> Result<Self, TypeError> {
        Self::federated(member, Placement::Clients, false)
    }

    /// `T@CLIENTS`, all members equal.
    ///
    /// # Errors
    /// As [`Type::federated`].
    pub fn at_clients_all_equal(member: Self) -> Result<Self, TypeError> {
        Self::federated(member, Placement::Clients, true)
    }

    /// `T@SERVER`.
    ///
    /// # Errors
    /// As [`Type::federated`].
    pub fn at_server(member: Self) -> Result<Self, TypeError> {
        Self::federated(member, Placement::Server, true)
    }

    /// The kind, with its parts.
    #[must_use]
    pub fn kind(&self) -> &TypeKind {
        &self.0.kind
    }

    /// The kind in one word: `tensor`, `struct`, `sequence`, `function`, `abstract`, `placement`
    /// or `federated`.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self.kind() {
            TypeKind::Tensor(_) => "tensor",
            TypeKind::Struct(_) => "struct",
            TypeKind::Sequence(_) => "sequence",
            TypeKind::Function(_) => "function",
            TypeKind::Abstract(_) => "abstract",
            TypeKind::Placement(_) => "placement",
            TypeKind::Federated(_) => "federated",
        }
    }

    /// The parts, if it is a tensor type.
    #[must_use]
    pub fn as_tensor(&self) -> Option<&TensorType> {
        if let TypeKind::Tensor(tensor) = self.kind() { Some(tensor) } else { None }
    }

    /// The parts, if it is a struct type.
    #[must_use]
    pub fn as_struct(&self) -> Option<&StructType> {
        if let TypeKind::Struct(structure) = self.kind() { Some(structure) } else { None }
    }

    /// The parts, if it is a sequence type.
    #[must_use]
    pub fn as_sequence(&self) -> Option<&SequenceType> {
        if let TypeKind::Sequence(sequence) = self.kind() { Some(sequence) } else { None }
    }

    /// The parts, if it is a function type.
    #[must_use]
    pub fn as_function(&self) -> Option<&FunctionType> {
        if let TypeKind::Function(function) = self.kind() { Some(function) } else { None }
    }

    /// The parts, if it is a federated type.
    #[must_use]
    pub fn as_federated(&self) -> Option<&FederatedType> {
        if let TypeKind::Federated(federated) = self.kind() { Some(federated) } else { None }
    }

    /// Whether a federated type occurs anywhere in it.
    #[must_use]
    pub fn contains_federated(&self) -> bool {
        self.0.contains.federated
    }

    /// Whether a function type occurs anywhere in it.
    #[must_use]
    pub fn contains_function(&self) -> bool {
        self.0.contains.function
    }

    /// Whether a sequence type occurs anywhere in it.
    #[must_use]
    pub fn contains_sequence(&self) -> bool {
        self.0.contains.sequence
    }

    /// Whether an abstract type, or a federated type at a placement that is a label, occurs anywhere in it. The label
    /// of a placement type means nothing and does not count.
    #[must_use]
    pub fn contains_abstract(&self) -> bool {
        self.0.contains.abstract_
    }

    /// Whether a type of placements with a label occurs anywhere in it.
    #[must_use]
    pub fn contains_placement_label(&self) -> bool {
        self.0.contains.placement_label
    }

    /// How deep it is nested: 1 for a tensor. At most [`MAX_DEPTH`].
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.0.depth
    }

    /// How many messages are nested in one another below the `Type` message that encodes it: 1 for
    /// a tensor, 4 for a struct of tensors. What encodes a type within a larger message adds its own.
    #[must_use]
    pub fn wire_depth(&self) -> u32 {
        self.0.wire_depth
    }

    /// How many parts it has, itself included. At most [`MAX_SIZE`].
    #[must_use]
    pub fn size(&self) -> u32 {
        self.0.size
    }

    /// Whether both are the same tree in memory; equality then needs no walk.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The parts directly below, each with the step that leads to it: the elements of a struct;
    /// the parameter, if any, and the result of a function; the element of a sequence; the member
    /// of a federated type.
    pub fn children(&self) -> impl Iterator<Item = (Step, &Self)> {
        let (elements, rest) = match self.kind() {
            TypeKind::Tensor(_) | TypeKind::Abstract(_) | TypeKind::Placement(_) => (None, [None, None]),
            TypeKind::Struct(structure) => (Some(structure.elements()), [None, None]),
            TypeKind::Sequence(sequence) => (None, [Some((Step::SequenceElement, &sequence.element)), None]),
            TypeKind::Function(function) => (
                None,
                [
                    function.parameter.as_ref().map(|parameter| (Step::Parameter, parameter)),
                    Some((Step::Result, &function.result)),
                ],
            ),
            TypeKind::Federated(federated) => (None, [Some((Step::Member, &federated.member)), None]),
        };
        elements
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(index, element)| (Step::Element(index, element.name.clone()), &element.ty))
            .chain(rest.into_iter().flatten())
    }

    fn leaf(kind: TypeKind, contains: Contains) -> Self {
        let wire_depth = if contains.placement_label { 2 } else { 1 };
        Self(Arc::new(Node { kind, depth: 1, wire_depth, size: 1, contains }))
    }

    /// Adds a node above its children, if the rules of the kind and the bounds allow it.
    pub(crate) fn checked(kind: TypeKind) -> Result<Self, TypeError> {
        match &kind {
            TypeKind::Struct(structure) => check_names(structure.elements())?,
            TypeKind::Sequence(sequence) => {
                let contains = sequence.element.0.contains;
                if contains.sequence || contains.function || contains.federated {
                    return Err(nesting("sequence", &sequence.element, |kind| {
                        matches!(kind, TypeKind::Sequence(_) | TypeKind::Function(_) | TypeKind::Federated(_))
                    }));
                }
            }
            TypeKind::Federated(federated) => {
                let contains = federated.member.0.contains;
                if contains.function || contains.federated {
                    return Err(nesting("federated", &federated.member, |kind| {
                        matches!(kind, TypeKind::Function(_) | TypeKind::Federated(_))
                    }));
                }
            }
            TypeKind::Function(_) | TypeKind::Tensor(_) | TypeKind::Abstract(_) | TypeKind::Placement(_) => {}
        }
        let this = Self::above(kind);
        if this.0.depth > MAX_DEPTH {
            return Err(TypeError::TooDeep);
        }
        if this.0.size > MAX_SIZE {
            return Err(TypeError::TooLarge);
        }
        Ok(this)
    }

    /// Adds a node above its children, for a caller that knows that the nesting rules and the bounds hold.
    pub(crate) fn above(kind: TypeKind) -> Self {
        // The messages of a node itself, down to the `Type` of a child: `Type.federated` and so on.
        let (mut contains, own_depth, mut wire_depth) = match &kind {
            TypeKind::Struct(_) => (Contains::default(), 3, 1),
            TypeKind::Sequence(_) => (Contains { sequence: true, ..Contains::default() }, 2, 1),
            TypeKind::Function(_) => (Contains { function: true, ..Contains::default() }, 2, 1),
            TypeKind::Federated(federated) => {
                let abstract_ = matches!(federated.placement, PlacementSpec::Label(_));
                (Contains { federated: true, abstract_, ..Contains::default() }, 2, 3)
            }
            TypeKind::Tensor(_) => return Self::leaf(kind, Contains::default()),
            TypeKind::Abstract(_) => return Self::leaf(kind, Contains { abstract_: true, ..Contains::default() }),
            TypeKind::Placement(placement) => {
                let placement_label = placement.instance_label.is_some();
                return Self::leaf(kind, Contains { placement_label, ..Contains::default() });
            }
        };
        let mut this = Self(Arc::new(Node { kind, depth: 1, wire_depth: 1, size: 1, contains }));
        let (mut depth, mut size) = (0, 1u32);
        for (_, child) in this.children() {
            depth = depth.max(child.0.depth);
            wire_depth = wire_depth.max(own_depth + child.0.wire_depth);
            size = size.saturating_add(child.0.size);
            contains = contains.or(child.0.contains);
        }
        if let Some(node) = Arc::get_mut(&mut this.0) {
            (node.depth, node.wire_depth, node.size, node.contains) = (depth + 1, wire_depth, size, contains);
        }
        this
    }
}

/// Finds every element that has the name of an earlier one or an empty name.
fn check_names(elements: &[Element]) -> Result<(), TypeError> {
    let mut first_of = HashMap::new();
    let mut problems = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        let Some(name) = &element.name else { continue };
        if name.is_empty() {
            problems.push(NameProblem::Empty { index });
        } else if let Some(&first) = first_of.get(name) {
            problems.push(NameProblem::Duplicate { name: name.clone(), first, index });
        } else {
            first_of.insert(name, index);
        }
    }
    problems.truncate(MAX_PROBLEMS);
    if problems.is_empty() { Ok(()) } else { Err(TypeError::Names(problems)) }
}

/// Every part of `ty` that is forbidden in `outer`, not looking below one that was found.
fn nesting(outer: &'static str, ty: &Type, forbidden: fn(&TypeKind) -> bool) -> TypeError {
    fn walk(ty: &Type, path: &mut Path, forbidden: fn(&TypeKind) -> bool, problems: &mut Vec<NestingProblem>) {
        if forbidden(ty.kind()) {
            problems.push(NestingProblem { path: path.clone(), found: ty.clone() });
            return;
        }
        for (step, child) in ty.children() {
            if problems.len() >= MAX_PROBLEMS {
                return;
            }
            path.push(step);
            walk(child, path, forbidden, problems);
            path.pop();
        }
    }
    let mut problems = Vec::new();
    walk(ty, &mut Path::root(), forbidden, &mut problems);
    TypeError::Nesting { outer, problems }
}

impl PartialEq for Type {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other) || (self.0.size == other.0.size && self.0.kind == other.0.kind)
    }
}

impl Eq for Type {}

impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.kind.hash(state);
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Type({self})")
    }
}
