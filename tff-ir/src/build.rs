//! Checked constructors: what one node requires of its parts, and the type it has.

use crate::comp::{Block, Call, Data, Lambda, Literal, Local, Parameter, Reference, Selection, Struct};
use crate::diag::{FirstLine, Name, OneLine, Shown};
use crate::{
    Array, Comp, CompKind, CompiledComputation, CompiledProblem, DataContent, InstanceError, Intrinsic, StructElement,
};
use std::sync::Arc;
use tff_types::{Mismatch, Placement, Type, TypeError, TypeKind};

/// The label of the abstract type that stands for a type left out by the sender of a computation.
///
/// Clients of the protocol may leave types out, and do: [`Comp::from_proto_lenient`], which workers read with, gives
/// this type to nodes whose type is neither written nor derivable. The constructors of this crate take it for
/// assignable from and to every type; what is called, selected or built from such a node has it, too. The validator
/// reports it, so a valid computation has none. It is never written to the wire, and refused where a message uses the
/// label.
///
/// It is an abstract type like others to `tff-types`, whose relations know nothing of it.
pub const UNTYPED: &str = "?";

/// Why a computation cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// What is called is not a function.
    #[error("expected a function to call, found a value of type {}", Shown(found))]
    NotAFunction {
        /// The type of what is called.
        found: Type,
    },
    /// The function has a parameter, but no argument is given.
    #[error("missing argument of type {}", Shown(parameter))]
    MissingArgument {
        /// The type of the parameter.
        parameter: Type,
    },
    /// The function has no parameter, but an argument is given.
    #[error("the function has no parameter, found an argument of type {}", Shown(argument))]
    UnexpectedArgument {
        /// The type of the argument.
        argument: Type,
    },
    /// The type of the argument is not assignable to that of the parameter.
    #[error("in the argument: {}", FirstLine(.0))]
    ArgumentNotAssignable(Box<Mismatch>),
    /// What is selected from is not a struct.
    #[error("expected a struct to select from, found a value of type {}", Shown(found))]
    NotAStruct {
        /// The type of what is selected from.
        found: Type,
    },
    /// The struct has no element at this position.
    #[error("index {index} is out of range for a struct of {len} elements")]
    IndexOutOfRange {
        /// The position asked for.
        index: usize,
        /// How many elements there are.
        len: usize,
    },
    /// The struct has no element of this name.
    #[error("no element `{}` in a struct of type {}", Name(name), Shown(found))]
    NoSuchElement {
        /// The name asked for.
        name: String,
        /// The type of the struct.
        found: Type,
    },
    /// The name of a parameter, local or reference is the empty string.
    #[error("empty name of a {0}")]
    EmptyName(&'static str),
    /// The type of a literal is not that of a tensor.
    #[error("expected a tensor type for a literal, found {}", Shown(found))]
    LiteralNotATensor {
        /// The type.
        found: Type,
    },
    /// The elements of a literal do not have the dtype or shape of its type.
    #[error("expected a literal of type {}, found {}", Shown(ty), Shown(found))]
    LiteralMismatch {
        /// The type of the literal.
        ty: Type,
        /// The type of its elements.
        found: Type,
    },
    /// The type of an intrinsic is no instance of its signature.
    #[error(transparent)]
    NotAnInstance(Box<InstanceError>),
    /// The type of a graph or module cannot be that, or its bindings do not parallel it.
    #[error(transparent)]
    Compiled(Box<CompiledProblem>),
    /// A node cannot have so many parts.
    #[error("expected {expected} parts of a {kind}, found {found}")]
    NumberOfParts {
        /// The kind of the node.
        kind: &'static str,
        /// How many parts it has.
        expected: usize,
        /// How many it is given.
        found: usize,
    },
    /// The type of a node cannot be built.
    #[error("{}", OneLine(.0))]
    Type(#[from] TypeError),
}

impl Comp {
    /// A reference to a name, of the type of what the name is bound to.
    ///
    /// # Errors
    /// [`BuildError::EmptyName`].
    pub fn reference(name: impl Into<Arc<str>>, ty: Type) -> Result<Self, BuildError> {
        Self::stated(CompKind::Reference(Reference { name: name.into() }), &ty)
    }

    /// The element of `source` at this position.
    ///
    /// # Errors
    /// [`BuildError::NotAStruct`], [`BuildError::IndexOutOfRange`].
    pub fn selection(source: Self, index: usize) -> Result<Self, BuildError> {
        Self::derived(CompKind::Selection(Selection { source, index }))
    }

    /// The element of `source` of this name.
    ///
    /// # Errors
    /// [`BuildError::NotAStruct`], [`BuildError::NoSuchElement`].
    pub fn selection_by_name(source: Self, name: &str) -> Result<Self, BuildError> {
        let Some(structure) = source.ty().as_struct() else {
            return Err(BuildError::NotAStruct { found: source.ty().clone() });
        };
        let Some(index) = structure.index_of(name) else {
            return Err(BuildError::NoSuchElement { name: name.to_owned(), found: source.ty().clone() });
        };
        Self::selection(source, index)
    }

    /// A struct of named and unnamed elements.
    ///
    /// # Errors
    /// [`BuildError::Type`]: a name that is empty or occurs twice, or a type too large.
    pub fn structure<N: Into<Arc<str>>>(
        elements: impl IntoIterator<Item = (Option<N>, Self)>,
    ) -> Result<Self, BuildError> {
        let elements =
            elements.into_iter().map(|(name, value)| StructElement { name: name.map(Into::into), value }).collect();
        Self::derived(CompKind::Struct(Struct { elements }))
    }

    /// A struct without names.
    ///
    /// # Errors
    /// [`BuildError::Type`]: a type too large.
    pub fn tuple(elements: impl IntoIterator<Item = Self>) -> Result<Self, BuildError> {
        Self::structure(elements.into_iter().map(|value| (None::<Arc<str>>, value)))
    }

    /// A call of a function; with an argument exactly where it has a parameter.
    ///
    /// # Errors
    /// If the callee is not a function, or the argument is missing, superfluous or not assignable.
    pub fn call(function: Self, argument: Option<Self>) -> Result<Self, BuildError> {
        Self::derived(CompKind::Call(Call { function, argument }))
    }

    /// A function; with the name and type of its parameter if it has one.
    ///
    /// That references to the parameter are of its type is a rule of the whole tree, which the
    /// validator checks.
    ///
    /// # Errors
    /// [`BuildError::EmptyName`], [`BuildError::Type`].
    pub fn lambda<N: Into<Arc<str>>>(parameter: Option<(N, Type)>, result: Self) -> Result<Self, BuildError> {
        let parameter = parameter.map(|(name, ty)| Parameter { name: name.into(), ty });
        Self::derived(CompKind::Lambda(Lambda { parameter, result }))
    }

    /// Names for intermediate results. The result may be stated without any.
    ///
    /// # Errors
    /// [`BuildError::EmptyName`].
    pub fn block<N: Into<Arc<str>>>(
        locals: impl IntoIterator<Item = (N, Self)>,
        result: Self,
    ) -> Result<Self, BuildError> {
        let locals = locals.into_iter().map(|(name, value)| Local { name: name.into(), value }).collect();
        Self::derived(CompKind::Block(Block { locals, result }))
    }

    /// An intrinsic, or the one of this uri, as an instance of this type.
    ///
    /// # Errors
    /// [`BuildError::EmptyName`], and [`BuildError::NotAnInstance`] where the signature of the intrinsic has no such
    /// instance.
    pub fn intrinsic(intrinsic: impl Into<Intrinsic>, ty: Type) -> Result<Self, BuildError> {
        let intrinsic = match intrinsic.into() {
            Intrinsic::Other(uri) => uri.into(),
            known => known,
        };
        intrinsic.check_instance(&ty).map_err(|error| BuildError::NotAnInstance(Box::new(error)))?;
        let comp = Self::stated(CompKind::Intrinsic(intrinsic), &ty)?;
        if !is_untyped(&ty) {
            comp.set_checked();
        }
        Ok(comp)
    }

    /// A graph or module, as a function of this type.
    ///
    /// # Errors
    /// [`BuildError::Compiled`] where the type is not that of a function of what graphs or modules
    /// compute with, or the bindings do not parallel it.
    pub fn compiled(compiled: CompiledComputation, ty: Type) -> Result<Self, BuildError> {
        match compiled.problems(&ty).into_iter().next() {
            Some(problem) => Err(BuildError::Compiled(Box::new(problem))),
            None => Ok(Self::checked(CompKind::CompiledComputation(compiled), ty)),
        }
    }

    /// A source of data of this type.
    #[must_use]
    pub fn data(content: DataContent, ty: Type) -> Self {
        Self::checked(CompKind::Data(Data { content }), ty)
    }

    /// A placement literal.
    #[must_use]
    pub fn placement(placement: Placement) -> Self {
        Self::checked(CompKind::Placement(placement), Type::placement())
    }

    /// A placement literal whose type has the label that federated types refer to.
    pub fn labelled_placement(placement: Placement, label: impl Into<Arc<str>>) -> Self {
        Self::checked(CompKind::Placement(placement), Type::labelled_placement(label))
    }

    /// A constant, of the dtype and shape of its elements.
    #[must_use]
    pub fn literal(array: Array) -> Self {
        let ty = array.ty();
        Self::checked(CompKind::Literal(Literal { array }), ty)
    }

    /// A constant of a tensor type whose shape may say less than its elements.
    ///
    /// # Errors
    /// [`BuildError::LiteralNotATensor`], [`BuildError::LiteralMismatch`].
    pub fn literal_of_type(array: Array, ty: Type) -> Result<Self, BuildError> {
        Self::stated(CompKind::Literal(Literal { array }), &ty)
    }

    /// A node of this kind, of the type that follows from its parts.
    fn derived(kind: CompKind) -> Result<Self, BuildError> {
        let ty = derive_type(&kind, None)?;
        Ok(Self::checked(kind, ty))
    }

    /// A node of a kind whose type does not follow from its parts.
    pub(crate) fn stated(kind: CompKind, ty: &Type) -> Result<Self, BuildError> {
        let ty = derive_type(&kind, Some(ty))?;
        // Whether an intrinsic is of a type that its signature allows is a question of its own.
        Ok(if matches!(kind, CompKind::Intrinsic(_)) { Self::with_type(kind, ty) } else { Self::checked(kind, ty) })
    }
}

/// The type of a node of this kind, if its parts fit together. Where the type does not follow from
/// the parts it is `given`, and checked.
pub(crate) fn derive_type(kind: &CompKind, given: Option<&Type>) -> Result<Type, BuildError> {
    let given_if = |fits: &dyn Fn(&Type) -> bool| given.filter(|ty| fits(ty)).cloned();
    let given = || given.cloned().unwrap_or_else(untyped);
    match kind {
        CompKind::Reference(reference) => named("reference", &reference.name).map(|()| given()),
        CompKind::Selection(selection) => selection_type(selection),
        CompKind::Struct(structure) => {
            let elements = structure.elements.iter();
            Ok(Type::structure(elements.map(|element| (element.name.clone(), element.value.ty().clone())))?)
        }
        CompKind::Call(call) => call_type(call),
        CompKind::Lambda(lambda) => {
            if let Some(parameter) = &lambda.parameter {
                named("parameter", &parameter.name)?;
            }
            let parameter = lambda.parameter.as_ref().map(|parameter| parameter.ty.clone());
            Ok(Type::function(parameter, lambda.result.ty().clone())?)
        }
        CompKind::Block(block) => {
            block.locals.iter().try_for_each(|local| named("local", &local.name))?;
            Ok(block.result.ty().clone())
        }
        CompKind::Intrinsic(intrinsic) => named("intrinsic", intrinsic.uri()).map(|()| given()),
        CompKind::Data(_) | CompKind::CompiledComputation(_) => Ok(given()),
        // Only its label is not given by the kind.
        CompKind::Placement(_) => Ok(given_if(&|ty| *ty == Type::placement()).unwrap_or_else(Type::placement)),
        CompKind::Literal(literal) => literal_type(&literal.array, given()),
    }
}

fn named(what: &'static str, name: &str) -> Result<(), BuildError> {
    if name.is_empty() { Err(BuildError::EmptyName(what)) } else { Ok(()) }
}

fn selection_type(selection: &Selection) -> Result<Type, BuildError> {
    let source = selection.source.ty();
    if is_untyped(source) {
        return Ok(source.clone());
    }
    let Some(structure) = source.as_struct() else {
        return Err(BuildError::NotAStruct { found: source.clone() });
    };
    let (index, len) = (selection.index, structure.len());
    let element = structure.elements().get(index).ok_or(BuildError::IndexOutOfRange { index, len })?;
    Ok(element.ty.clone())
}

fn call_type(call: &Call) -> Result<Type, BuildError> {
    let function = call.function.ty();
    if is_untyped(function) {
        return Ok(function.clone());
    }
    let Some(function) = function.as_function() else {
        return Err(BuildError::NotAFunction { found: function.clone() });
    };
    match (&function.parameter, call.argument.as_ref().map(Comp::ty)) {
        (None, None) => {}
        (Some(parameter), None) => return Err(BuildError::MissingArgument { parameter: parameter.clone() }),
        (None, Some(argument)) => return Err(BuildError::UnexpectedArgument { argument: argument.clone() }),
        (Some(parameter), Some(argument)) => {
            check_assignable(parameter, argument).map_err(BuildError::ArgumentNotAssignable)?;
        }
    }
    Ok(function.result.clone())
}

fn literal_type(array: &Array, ty: Type) -> Result<Type, BuildError> {
    let Some(tensor) = ty.as_tensor() else {
        return if is_untyped(&ty) { Ok(array.ty()) } else { Err(BuildError::LiteralNotATensor { found: ty }) };
    };
    if tensor.dtype != array.dtype() || !tensor.shape.admits(array.dims()) {
        return Err(BuildError::LiteralMismatch { found: array.ty(), ty });
    }
    Ok(ty)
}

/// The type that stands for one left out.
pub(crate) fn untyped() -> Type {
    Type::abstract_type(UNTYPED)
}

/// Whether nothing at all is known about the type.
pub(crate) fn is_untyped(ty: &Type) -> bool {
    matches!(ty.kind(), TypeKind::Abstract(abstract_type) if &*abstract_type.label == UNTYPED)
}

/// Checks that a value of type `source` may be used where `target` is expected. What is
/// [`UNTYPED`] may be used anywhere: it is looked at when it is computed.
fn check_assignable(target: &Type, source: &Type) -> Result<(), Box<Mismatch>> {
    target.check_assignable_from(source).or_else(
        |mismatch| {
            if may_fit(target, source) { Ok(()) } else { Err(Box::new(mismatch)) }
        },
    )
}

/// Checks that a node may state the type `stated` where `derived` follows from its parts; says whether both are the same
/// but for labels of placement types. Labels of abstract types and placements may have other names, as long as equal
/// ones stay equal and different ones stay different.
pub(crate) fn check_equivalent(stated: &Type, derived: &Type) -> Result<bool, Box<Mismatch>> {
    stated.check_equivalent_to(derived).map(|()| true).or_else(|mismatch| {
        let fits = may_fit(stated, derived) || stated.is_alpha_equivalent_to(derived);
        if fits { Ok(false) } else { Err(Box::new(mismatch)) }
    })
}

/// Whether one of the types contains [`UNTYPED`] and what is known of both fits.
fn may_fit(target: &Type, source: &Type) -> bool {
    if is_untyped(target) || is_untyped(source) {
        return true;
    }
    if !contains_untyped(target) && !contains_untyped(source) {
        return target.is_assignable_from(source);
    }
    // Only functions turn the relation around.
    if let (Some(target), Some(source)) = (target.as_function(), source.as_function()) {
        let parameters = match (&target.parameter, &source.parameter) {
            (None, None) => true,
            (Some(target), Some(source)) => may_fit(source, target),
            _ => false,
        };
        return parameters && may_fit(&target.result, &source.result);
    }
    target.kind_name() == source.kind_name()
        && target.children().count() == source.children().count()
        && target.children().zip(source.children()).all(|((_, target), (_, source))| may_fit(target, source))
}

/// Whether [`UNTYPED`] occurs anywhere.
pub(crate) fn contains_untyped(ty: &Type) -> bool {
    is_untyped(ty) || (ty.contains_abstract() && ty.children().any(|(_, child)| contains_untyped(child)))
}

/// Whether the types are the same, the labels of placement types included.
pub(crate) fn is_same(left: &Type, right: &Type) -> bool {
    left.ptr_eq(right) || (left == right && has_same_placement_labels(left, right))
}

/// Whether types that are otherwise the same have the same labels in their placement types.
pub(crate) fn has_same_placement_labels(left: &Type, right: &Type) -> bool {
    let has_label = left.contains_placement_label() || right.contains_placement_label();
    !has_label || left.quoted().to_string() == right.quoted().to_string()
}
