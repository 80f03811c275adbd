//! From a syntax tree to a computation: names are resolved, types are found.

use super::MAX_EXPANDED;
use super::ast::{Id, Plain, Written, WrittenKind};
use super::bodies::{Bodies, BodyKind};
use super::error::{TextError, TextProblem};
use super::parse::Tree;
use super::{Environment, constant, infer};
use crate::visit::with_stack;
use crate::{Array, BuildError, Comp, CompKind, DataContent, Intrinsic, NodeMap, Opaque, Scope};

use prost::Message;
use std::collections::HashMap;
use std::sync::Arc;
use tff_proto::v0 as pb;
use tff_types::syntax::Span;
use tff_types::{DType, Placement, Type};

/// What is known of the type of something before it is looked at.
#[derive(Clone, Debug)]
pub(super) enum Hint {
    None,
    /// It is assignable to this type.
    Type(Type),
    /// It is a function with a parameter of this type.
    Parameter(Type),
}

impl Hint {
    /// What is known of the parameter of a function.
    fn parameter(&self) -> Option<&Type> {
        match self {
            Self::None => None,
            Self::Type(ty) => ty.as_function()?.parameter.as_ref(),
            Self::Parameter(ty) => Some(ty),
        }
    }

    fn ty(&self) -> Option<&Type> {
        if let Self::Type(ty) = self { Some(ty) } else { None }
    }

    fn of(ty: Option<&Type>) -> Self {
        ty.map_or(Self::None, |ty| Self::Type(ty.clone()))
    }
}

pub(super) fn resolve(
    source: &str,
    tree: &Tree,
    bodies: &Bodies,
    environment: &Environment,
) -> Result<(Comp, NodeMap<Span>), TextError> {
    let mut resolver = Resolver {
        source,
        tree,
        bodies,
        environment,
        scope: Scope::new(),
        spans: NodeMap::default(),
        compiled: HashMap::new(),
        expanded: 0,
    };
    let hint = environment.parameter.clone().map_or(Hint::None, Hint::Parameter);
    let comp = resolver.comp(tree.root, &hint)?;
    Ok((comp, resolver.spans))
}

pub(super) struct Resolver<'a> {
    source: &'a str,
    tree: &'a Tree,
    bodies: &'a Bodies,
    environment: &'a Environment,
    /// The types of the names in scope.
    scope: Scope<Type>,
    spans: NodeMap<Span>,
    /// The computations that labels stand for.
    compiled: HashMap<Arc<str>, Comp>,
    /// How many nodes labels stand for so far, each as often as it is used.
    expanded: usize,
}

impl<'a> Resolver<'a> {
    pub(super) fn written(&self, id: Id) -> Result<&'a Written, TextError> {
        let whole = Span { start: 0, end: self.source.len() };
        self.tree.get(id).ok_or_else(|| self.error(whole, TextProblem::Internal("a part that was not parsed")))
    }

    /// Notes where a node is written.
    pub(super) fn place(&mut self, comp: &Comp, span: Span) {
        self.spans.insert(comp, span);
    }

    pub(super) fn error(&self, span: Span, problem: impl Into<TextProblem>) -> TextError {
        TextError::new(self.source, span, problem)
    }

    pub(super) fn comp(&mut self, id: Id, hint: &Hint) -> Result<Comp, TextError> {
        let written = self.written(id)?;
        let comp = with_stack(|| self.kind(written, hint))?;
        self.place(&comp, written.span);
        Ok(comp)
    }

    fn built(&self, written: &Written, built: Result<Comp, BuildError>) -> Result<Comp, TextError> {
        built.map_err(|error| self.error(written.span, error))
    }

    fn kind(&mut self, written: &'a Written, hint: &Hint) -> Result<Comp, TextError> {
        match &written.kind {
            WrittenKind::Name { name, ty } => self.name(written, name, ty.as_ref(), hint),
            WrittenKind::Index { source, index } => {
                let source = self.comp(*source, &Hint::None)?;
                self.built(written, Comp::selection(source, *index))
            }
            WrittenKind::Field { source, name } => {
                let source = self.comp(*source, &Hint::None)?;
                self.built(written, Comp::selection_by_name(source, name))
            }
            WrittenKind::Struct { elements } => self.structure(written, elements, hint),
            WrittenKind::Call { function, argument } => self.call(written, *function, *argument),
            WrittenKind::Lambda { parameter, result } => self.lambda(written, parameter.as_ref(), *result, hint),
            WrittenKind::Block { locals, result } => self.block(written, locals, *result, hint),
            WrittenKind::Intrinsic { uri, ty } => self.intrinsic(written, uri, ty.as_ref(), hint),
            WrittenKind::Placement { placement, label: None } => Ok(Comp::placement(*placement)),
            WrittenKind::Placement { placement, label: Some(label) } => {
                Ok(Comp::labelled_placement(*placement, label.clone()))
            }
            WrittenKind::Compiled { label } => self.compiled(written, label),
            WrittenKind::Data { label, ty } => self.data(written, label, ty),
            WrittenKind::DataUri { uri, ty } => Ok(Comp::data(DataContent::Uri(uri.clone()), ty.clone())),
            WrittenKind::Literal { array, ty } => self.built(written, Comp::literal_of_type(array.clone(), ty.clone())),
            WrittenKind::Plain(plain) => self.plain(written, plain, hint),
        }
    }

    /// A reference to a name that is bound or has a type; otherwise an intrinsic, a placement, a constant or
    /// a name of the environment.
    fn name(&mut self, written: &Written, name: &Arc<str>, ty: Option<&Type>, hint: &Hint) -> Result<Comp, TextError> {
        if let Some(ty) = ty.or_else(|| self.scope.get(name)).or_else(|| self.environment.names.get(name)) {
            return self.built(written, Comp::reference(name.clone(), ty.clone()));
        }
        if let Some(placement) = Placement::ALL.into_iter().find(|it| it.name() == &**name) {
            return Ok(Comp::placement(placement));
        }
        match &**name {
            "True" | "true" => self.plain(written, &Plain::Bool(true), hint),
            "False" | "false" => self.plain(written, &Plain::Bool(false), hint),
            "nan" => self.plain(written, &Plain::Float(f64::NAN), hint),
            "inf" => self.plain(written, &Plain::Float(f64::INFINITY), hint),
            uri if Intrinsic::from(uri).def().is_some() => self.intrinsic(written, name, None, hint),
            _ => Err(self.error(written.span, TextProblem::UnknownName(name.to_string()))),
        }
    }

    /// An intrinsic of the type that is written, or else of the expected type.
    fn intrinsic(&self, written: &Written, uri: &Arc<str>, ty: Option<&Type>, hint: &Hint) -> Result<Comp, TextError> {
        let intrinsic = Intrinsic::from(uri.clone());
        let fits = |ty: &&Type| intrinsic.def().is_some() && intrinsic.check_instance(ty).is_ok();
        match ty.or_else(|| hint.ty().filter(fits)) {
            // Whether the type is an instance of the signature is for the validator to say, as it is for
            // messages.
            Some(ty) => self.built(written, Comp::stated(CompKind::Intrinsic(intrinsic), ty)),
            None => Err(self.error(written.span, TextProblem::IntrinsicNeedsType(uri.to_string()))),
        }
    }

    /// The intrinsic that is meant, if its type is still to be found.
    fn as_intrinsic(&self, written: &Written) -> Option<Intrinsic> {
        let is_bound = |name| self.scope.get(name).is_some() || self.environment.names.contains_key(name);
        let uri = match &written.kind {
            WrittenKind::Intrinsic { uri, ty: None } => uri,
            WrittenKind::Name { name, ty: None } if !is_bound(name) => name,
            _ => return None,
        };
        Some(Intrinsic::from(&**uri)).filter(|intrinsic| intrinsic.def().is_some())
    }

    fn structure(
        &mut self,
        written: &Written,
        elements: &[(Option<Arc<str>>, Id)],
        hint: &Hint,
    ) -> Result<Comp, TextError> {
        let hints = hint.ty().and_then(Type::as_struct).map(|structure| structure.elements());
        let mut parts = Vec::with_capacity(elements.len());
        for (index, (name, id)) in elements.iter().enumerate() {
            let hint = Hint::of(hints.and_then(|hints| hints.get(index)).map(|element| &element.ty));
            parts.push((name.clone(), self.comp(*id, &hint)?));
        }
        self.built(written, Comp::structure(parts))
    }

    fn call(&mut self, written: &Written, function: Id, argument: Option<Id>) -> Result<Comp, TextError> {
        let callee = self.written(function)?;
        if let (Some(intrinsic), Some(argument)) = (self.as_intrinsic(callee), argument) {
            let (function, argument) = infer::call(self, callee, &intrinsic, argument)?;
            self.place(&function, callee.span);
            return self.built(written, Comp::call(function, Some(argument)));
        }
        // The type of a parameter that does not say it is that of the argument.
        let follows = matches!(&callee.kind, WrittenKind::Lambda { parameter: Some((_, None)), .. });
        let (function, argument) = match argument {
            Some(argument) if follows => {
                let argument = self.comp(argument, &Hint::None)?;
                (self.comp(function, &Hint::Parameter(argument.ty().clone()))?, Some(argument))
            }
            Some(argument) => {
                let function = self.comp(function, &Hint::None)?;
                let parameter = function.ty().as_function().and_then(|function| function.parameter.as_ref());
                let argument = self.comp(argument, &Hint::of(parameter))?;
                (function, Some(argument))
            }
            None => (self.comp(function, &Hint::None)?, None),
        };
        self.built(written, Comp::call(function, argument))
    }

    fn lambda(
        &mut self,
        written: &Written,
        parameter: Option<&(Arc<str>, Option<Type>)>,
        result: Id,
        hint: &Hint,
    ) -> Result<Comp, TextError> {
        let result_hint = Hint::of(hint.ty().and_then(Type::as_function).map(|function| &function.result));
        let Some((name, ty)) = parameter else {
            let result = self.comp(result, &result_hint)?;
            return self.built(written, Comp::lambda(None::<(Arc<str>, _)>, result));
        };
        let Some(ty) = ty.as_ref().or_else(|| hint.parameter()).cloned() else {
            return Err(self.error(written.span, TextProblem::ParameterNeedsType(name.to_string())));
        };
        self.scope.bind(name.clone(), ty.clone());
        let result = self.comp(result, &result_hint);
        self.scope.unbind(name);
        self.built(written, Comp::lambda(Some((name.clone(), ty)), result?))
    }

    fn block(
        &mut self,
        written: &Written,
        locals: &[(Arc<str>, Id)],
        result: Id,
        hint: &Hint,
    ) -> Result<Comp, TextError> {
        let mut values = Vec::with_capacity(locals.len());
        for (name, id) in locals {
            let value = self.comp(*id, &Hint::None)?;
            self.scope.bind(name.clone(), value.ty().clone());
            values.push((name.clone(), value));
        }
        let result = self.comp(result, hint)?;
        for (name, _) in locals {
            self.scope.unbind(name);
        }
        self.built(written, Comp::block(values, result))
    }

    fn body(&self, written: &Written, kind: BodyKind, label: &str) -> Result<&'a bytes::Bytes, TextError> {
        let find = |bodies: &'a Bodies| match kind {
            BodyKind::Comp => bodies.comp(label),
            BodyKind::Data => bodies.data(label),
        };
        find(self.bodies).or_else(|| find(&self.environment.bodies)).ok_or_else(|| {
            self.error(written.span, TextProblem::UnknownLabel { kind: kind.word(), label: label.to_owned() })
        })
    }

    fn compiled(&mut self, written: &Written, label: &Arc<str>) -> Result<Comp, TextError> {
        let comp = match self.compiled.get(label) {
            // A node of its own, since its place is its own.
            Some(comp) => Comp::with_type(comp.kind().clone(), comp.ty().clone()),
            None => {
                let comp = self.decoded(written, label)?;
                self.compiled.insert(label.clone(), comp.clone());
                comp
            }
        };
        self.expanded = self.expanded.saturating_add(comp.size() as usize);
        if self.expanded > MAX_EXPANDED {
            return Err(self.error(written.span, TextProblem::TooMuchExpanded));
        }
        Ok(comp)
    }

    fn decoded(&self, written: &Written, label: &Arc<str>) -> Result<Comp, TextError> {
        let body = self.body(written, BodyKind::Comp, label)?;
        let proto = pb::Computation::decode(body.clone());
        let proto = proto.map_err(|error| self.malformed(written, BodyKind::Comp, label, &error))?;
        Comp::from_proto(&proto).map_err(|error| {
            self.error(written.span, TextProblem::BadBody { label: label.to_string(), error: Box::new(error) })
        })
    }

    fn data(&self, written: &Written, label: &str, ty: &Type) -> Result<Comp, TextError> {
        let body = self.body(written, BodyKind::Data, label)?;
        let any = tff_proto::google::protobuf::Any::decode(body.clone());
        let any = any.map_err(|error| self.malformed(written, BodyKind::Data, label, &error))?;
        let content = DataContent::Any(Opaque { type_url: any.type_url.into(), value: any.value });
        Ok(Comp::data(content, ty.clone()))
    }

    fn malformed(&self, written: &Written, kind: BodyKind, label: &str, error: &prost::DecodeError) -> TextError {
        let (kind, label, error) = (kind.word(), label.to_owned(), error.to_string());
        self.error(written.span, TextProblem::MalformedBody { kind, label, error })
    }

    /// A constant of the expected dtype, or else of the dtype of Python's value.
    fn plain(&self, written: &Written, plain: &Plain, hint: &Hint) -> Result<Comp, TextError> {
        let dtype = hint.ty().and_then(Type::as_tensor).map(|tensor| tensor.dtype);
        let dtype = dtype.unwrap_or_else(|| match plain {
            Plain::Integer(text) if text.parse::<i32>().is_ok() => DType::Int32,
            Plain::Integer(_) => DType::Int64,
            Plain::Float(_) => DType::Float32,
            Plain::Complex(..) => DType::Complex128,
            Plain::Bytes(_) => DType::String,
            Plain::Bool(_) => DType::Bool,
        });
        let scalar = constant::plain_scalar(plain, dtype).ok_or_else(|| {
            let found = self.source.get(written.span.start..written.span.end).unwrap_or_default();
            let found = found.chars().take(40).collect();
            self.error(written.span, TextProblem::Constant { dtype, found })
        })?;
        Ok(Comp::literal(Array::from_scalar(scalar)))
    }
}
