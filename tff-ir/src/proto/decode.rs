//! Reading computations, with the place of everything that is wrong.

use super::opaque;
use crate::build::{BuildError, check_equivalent, contains_untyped, derive_type, has_same_placement_labels, untyped};
use crate::comp::{Block, Call, Data, Lambda, Literal, Local, Parameter, Reference, Selection, Struct};
use crate::diag::{FirstLine, Name, OneLine, Shown};
use crate::visit::with_stack;
use crate::{
    Array, ArrayError, Comp, CompKind, CompPath, CompStep, CompiledComputation, DataContent, Scope, StructElement,
    UNTYPED,
};
use std::sync::Arc;
use tff_proto::v0 as pb;
use tff_types::{Mismatch, Placement, Type, TypeDecodeError, UnknownPlacement};

/// Why a message is no computation, and where in the computation it is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct CompDecodeError {
    /// From the root of the decoded computation to the node that is wrong.
    pub path: CompPath,
    /// What is wrong there.
    pub problem: DecodeProblem,
}

/// What can be wrong with a node of an encoded computation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeProblem {
    /// The node does not state its type.
    #[error("expected a type, found none")]
    MissingType,
    /// The type of the node is not a type.
    #[error("in the type of this {kind}: {}", OneLine(error))]
    BadType {
        /// The kind of the node.
        kind: &'static str,
        /// What is wrong with the type.
        error: TypeDecodeError,
    },
    /// The type uses the label that is kept for what is left out.
    #[error("the label `{UNTYPED}` of an abstract type is reserved")]
    ReservedLabel,
    /// The node sets none of the twelve kinds.
    #[error("expected a computation, found one of no known kind")]
    NoKind,
    /// A field that the node cannot do without is not set.
    #[error("expected `{0}`, found none")]
    Missing(&'static str),
    /// The parts of the node do not fit together.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The node states another type than follows from its parts.
    #[error("the {kind} states another type than its parts have: {}", FirstLine(mismatch))]
    OtherType {
        /// The kind of the node.
        kind: &'static str,
        /// Where the types differ; the stated one is the expected one.
        mismatch: Box<Mismatch>,
    },
    /// The type of a lambda is not that of a function.
    #[error("expected a function type for a lambda, found {}", Shown(.0))]
    LambdaNotAFunction(Type),
    /// The lambda names a parameter, but its type has none.
    #[error("the lambda names its parameter `{}`, but its type {} has none", Name(name), Shown(ty))]
    ParameterWithoutType {
        /// The name.
        name: String,
        /// The type of the lambda.
        ty: Type,
    },
    /// The type of the lambda has a parameter that the lambda does not name.
    #[error("expected a parameter name for a lambda of type {}, found none", Shown(.0))]
    ParameterWithoutName(Type),
    /// The index of a selection is negative.
    #[error("expected an index of an element, found {0}")]
    NegativeIndex(i32),
    /// The uri of a placement literal is unknown.
    #[error("{}", OneLine(.0))]
    UnknownPlacement(#[from] UnknownPlacement),
    /// The elements of a literal are no array.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// What is done about nodes that do not state their type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Types {
    /// They are wrong.
    Stated,
    /// The type follows from parts and binders, or is [`UNTYPED`].
    Optional,
}

pub(super) fn decode(proto: &pb::Computation, types: Types) -> Result<Comp, CompDecodeError> {
    Decoder { types, path: Vec::new(), scope: Scope::new(), most: 0, errors: Vec::new() }.comp(proto)
}

/// Reads a computation of which every node states its type, past everything that is wrong. At most
/// so many errors are kept; a node that cannot be read is an empty struct.
pub(crate) fn decode_reporting(proto: &pb::Computation, most: usize) -> (Comp, Vec<CompDecodeError>) {
    let mut decoder = Decoder { types: Types::Stated, path: Vec::new(), scope: Scope::new(), most, errors: Vec::new() };
    let comp = match decoder.comp(proto) {
        Ok(comp) => comp,
        Err(error) => {
            decoder.errors.push(error);
            hole(proto)
        }
    };
    (comp, decoder.errors)
}

/// What stands for a node that cannot be read: of the type it states, if that can be read.
fn hole(proto: &pb::Computation) -> Comp {
    let stated = proto.r#type.as_ref().and_then(|ty| Type::from_proto(ty).ok());
    Comp::with_type(CompKind::Struct(Struct { elements: Arc::from([]) }), stated.unwrap_or_else(untyped))
}

struct Decoder {
    types: Types,
    /// The steps to the node that is being read.
    path: Vec<CompStep>,
    /// The types of the names in scope; kept only where types are optional.
    scope: Scope<Type>,
    /// How many errors are collected before one ends the reading.
    most: usize,
    errors: Vec<CompDecodeError>,
}

impl Decoder {
    fn error(&self, problem: impl Into<DecodeProblem>) -> CompDecodeError {
        CompDecodeError { path: CompPath::new(&self.path), problem: problem.into() }
    }

    fn comp(&mut self, proto: &pb::Computation) -> Result<Comp, CompDecodeError> {
        let stated = self.stated_type(proto)?;
        let kind = with_stack(|| self.kind(proto, stated.as_ref()))?;
        self.finish(kind, stated)
    }

    /// Collects the error, or ends the reading with it.
    fn recover(&mut self, error: CompDecodeError) -> Result<(), CompDecodeError> {
        if self.errors.len() >= self.most {
            return Err(error);
        }
        self.errors.push(error);
        Ok(())
    }

    /// The node of this kind: of the type it states, if that is the one that follows.
    fn finish(&mut self, kind: CompKind, stated: Option<Type>) -> Result<Comp, CompDecodeError> {
        let bound = stated.is_none().then(|| self.bound_type(&kind)).flatten();
        let derived = match derive_type(&kind, stated.as_ref().or(bound)) {
            Ok(derived) => derived,
            Err(problem) => {
                self.recover(self.error(problem))?;
                return Ok(Comp::with_type(kind, stated.unwrap_or_else(untyped)));
            }
        };
        // What an intrinsic or a graph requires of its type is left to the validator.
        let node = match kind {
            CompKind::Intrinsic(_) | CompKind::CompiledComputation(_) => Comp::with_type,
            _ => Comp::checked,
        };
        let Some(stated) = stated else { return Ok(node(kind, derived)) };
        match check_equivalent(&stated, &derived) {
            // What was left out below may be stated here, a wider type too, and labels may have other names.
            Ok(is_same) => {
                let is_derived = is_same && !contains_untyped(&derived) && has_same_placement_labels(&stated, &derived);
                Ok(if is_derived { node(kind, derived) } else { Comp::with_type(kind, stated) })
            }
            Err(mismatch) => {
                let comp = Comp::with_type(kind, stated);
                self.recover(self.error(DecodeProblem::OtherType { kind: comp.kind_name(), mismatch }))?;
                Ok(comp)
            }
        }
    }

    fn bound_type(&self, kind: &CompKind) -> Option<&Type> {
        let CompKind::Reference(reference) = kind else { return None };
        self.scope.get(&reference.name)
    }

    fn stated_type(&self, proto: &pb::Computation) -> Result<Option<Type>, CompDecodeError> {
        let Some(ty) = &proto.r#type else {
            return match self.types {
                Types::Stated => Err(self.error(DecodeProblem::MissingType)),
                Types::Optional => Ok(None),
            };
        };
        if self.types == Types::Optional && ty.r#type.is_none() {
            return Ok(None);
        }
        let ty = Type::from_proto(ty)
            .map_err(|error| self.error(DecodeProblem::BadType { kind: kind_name(proto), error }))?;
        if contains_untyped(&ty) {
            return Err(self.error(DecodeProblem::ReservedLabel));
        }
        Ok(Some(ty))
    }

    fn kind(&mut self, proto: &pb::Computation, stated: Option<&Type>) -> Result<CompKind, CompDecodeError> {
        use pb::computation::Computation as Kind;
        Ok(match proto.computation.as_ref().ok_or_else(|| self.error(DecodeProblem::NoKind))? {
            Kind::Reference(reference) => CompKind::Reference(Reference { name: reference.name.as_str().into() }),
            Kind::Selection(selection) => CompKind::Selection(self.selection(selection)?),
            Kind::Struct(structure) => CompKind::Struct(self.structure(structure)?),
            Kind::Call(call) => CompKind::Call(self.call(call)?),
            Kind::Lambda(lambda) => CompKind::Lambda(self.lambda(lambda, stated)?),
            Kind::Block(block) => CompKind::Block(self.block(block)?),
            Kind::Intrinsic(intrinsic) => CompKind::Intrinsic(intrinsic.uri.as_str().into()),
            Kind::Data(data) => CompKind::Data(Data { content: self.data_content(data)? }),
            Kind::Placement(placement) => {
                CompKind::Placement(Placement::from_proto(placement).map_err(|problem| self.error(problem))?)
            }
            Kind::Literal(literal) => {
                let array = literal.value.as_ref().ok_or_else(|| self.missing("value"))?;
                let array = Array::from_proto(array).map_err(|problem| self.error(problem))?;
                CompKind::Literal(Literal { array })
            }
            Kind::Tensorflow(tensorflow) => {
                let tensorflow = opaque::tensorflow(tensorflow).map_err(|field| self.missing(field))?;
                CompKind::CompiledComputation(CompiledComputation::TensorFlow(Arc::new(tensorflow)))
            }
            Kind::Xla(xla) => {
                let xla = opaque::xla(xla).map_err(|field| self.missing(field))?;
                CompKind::CompiledComputation(CompiledComputation::Xla(Arc::new(xla)))
            }
        })
    }

    fn missing(&self, field: &'static str) -> CompDecodeError {
        self.error(DecodeProblem::Missing(field))
    }

    /// Reads a part of the current node.
    fn part(
        &mut self,
        step: CompStep,
        field: &'static str,
        proto: Option<&pb::Computation>,
    ) -> Result<Comp, CompDecodeError> {
        let proto = proto.ok_or_else(|| self.missing(field))?;
        let depth = self.path.len();
        self.path.push(step);
        let comp = match self.comp(proto) {
            Ok(comp) => comp,
            Err(error) => {
                self.recover(error)?;
                hole(proto)
            }
        };
        self.path.truncate(depth);
        Ok(comp)
    }

    fn selection(&mut self, proto: &pb::Selection) -> Result<Selection, CompDecodeError> {
        let source = self.part(CompStep::Source, "source", proto.source.as_deref())?;
        let index = usize::try_from(proto.index).map_err(|_| self.error(DecodeProblem::NegativeIndex(proto.index)))?;
        Ok(Selection { source, index })
    }

    fn structure(&mut self, proto: &pb::Struct) -> Result<Struct, CompDecodeError> {
        let mut elements = Vec::with_capacity(proto.element.len());
        for (index, element) in proto.element.iter().enumerate() {
            let name: Option<Arc<str>> = (!element.name.is_empty()).then(|| element.name.as_str().into());
            let step = CompStep::Element(index, name.clone());
            let value = self.part(step, "element.value", element.value.as_ref())?;
            elements.push(StructElement { name, value });
        }
        Ok(Struct { elements: elements.into() })
    }

    fn call(&mut self, proto: &pb::Call) -> Result<Call, CompDecodeError> {
        let function = self.part(CompStep::Function, "function", proto.function.as_deref())?;
        // An argument that sets no kind is how some writers leave it out.
        let argument = match proto.argument.as_deref().filter(|argument| argument.computation.is_some()) {
            Some(argument) => Some(self.part(CompStep::Argument, "argument", Some(argument))?),
            None => None,
        };
        Ok(Call { function, argument })
    }

    fn lambda(&mut self, proto: &pb::Lambda, stated: Option<&Type>) -> Result<Lambda, CompDecodeError> {
        let parameter = self.parameter(&proto.parameter_name, stated)?;
        if let Some(parameter) = &parameter {
            self.bind(&parameter.name, &parameter.ty);
        }
        let result = self.part(CompStep::LambdaResult, "result", proto.result.as_deref())?;
        if let Some(parameter) = &parameter {
            self.unbind(&parameter.name);
        }
        Ok(Lambda { parameter, result })
    }

    fn parameter(&self, name: &str, stated: Option<&Type>) -> Result<Option<Parameter>, CompDecodeError> {
        let Some(stated) = stated else {
            return Ok((!name.is_empty()).then(|| Parameter { name: name.into(), ty: untyped() }));
        };
        let Some(function) = stated.as_function() else {
            return Err(self.error(DecodeProblem::LambdaNotAFunction(stated.clone())));
        };
        match (&function.parameter, name.is_empty()) {
            (None, true) => Ok(None),
            (Some(ty), false) => Ok(Some(Parameter { name: name.into(), ty: ty.clone() })),
            (None, false) => {
                Err(self.error(DecodeProblem::ParameterWithoutType { name: name.to_owned(), ty: stated.clone() }))
            }
            (Some(_), true) => Err(self.error(DecodeProblem::ParameterWithoutName(stated.clone()))),
        }
    }

    fn block(&mut self, proto: &pb::Block) -> Result<Block, CompDecodeError> {
        let mut locals = Vec::with_capacity(proto.local.len());
        for (index, local) in proto.local.iter().enumerate() {
            let name: Arc<str> = local.name.as_str().into();
            let step = CompStep::Local(index, name.clone());
            let value = self.part(step, "local.value", local.value.as_ref())?;
            self.bind(&name, value.ty());
            locals.push(Local { name, value });
        }
        let result = self.part(CompStep::BlockResult, "result", proto.result.as_deref())?;
        for local in &locals {
            self.unbind(&local.name);
        }
        Ok(Block { locals: locals.into(), result })
    }

    fn data_content(&self, proto: &pb::Data) -> Result<DataContent, CompDecodeError> {
        use pb::data::Data as Content;
        match proto.data.as_ref().ok_or_else(|| self.missing("content"))? {
            Content::Uri(uri) => Ok(DataContent::Uri(uri.as_str().into())),
            Content::Content(any) => Ok(DataContent::Any(opaque::any(any))),
        }
    }

    fn bind(&mut self, name: &Arc<str>, ty: &Type) {
        if self.types == Types::Optional {
            self.scope.bind(name.clone(), ty.clone());
        }
    }

    fn unbind(&mut self, name: &str) {
        if self.types == Types::Optional {
            self.scope.unbind(name);
        }
    }
}

fn kind_name(proto: &pb::Computation) -> &'static str {
    use pb::computation::Computation as Kind;
    match &proto.computation {
        None => "computation",
        Some(Kind::Reference(_)) => "reference",
        Some(Kind::Selection(_)) => "selection",
        Some(Kind::Struct(_)) => "struct",
        Some(Kind::Call(_)) => "call",
        Some(Kind::Lambda(_)) => "lambda",
        Some(Kind::Block(_)) => "block",
        Some(Kind::Intrinsic(_)) => "intrinsic",
        Some(Kind::Data(_)) => "data",
        Some(Kind::Placement(_)) => "placement",
        Some(Kind::Literal(_)) => "literal",
        Some(Kind::Tensorflow(_)) => "tensorflow",
        Some(Kind::Xla(_)) => "xla",
    }
}
