//! The syntax tree of a text, before names are resolved and types are found.

use crate::Array;
use std::sync::Arc;
use tff_types::syntax::Span;
use tff_types::{Placement, Type};

/// A number that leads from a node to one below it; nodes lie in one vector, so that nothing
/// about them recurses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(pub(super) usize);

/// A piece of text that is a computation.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) kind: WrittenKind,
    pub(super) span: Span,
    /// How many levels of text it nests, itself included.
    pub(super) levels: usize,
}

#[derive(Debug)]
pub(super) enum WrittenKind {
    /// `x`, `x:int32`: a reference; without a type possibly an intrinsic, placement or constant.
    Name { name: Arc<str>, ty: Option<Type> },
    /// `x[0]`
    Index { source: Id, index: usize },
    /// `x.a`
    Field { source: Id, name: Arc<str> },
    /// `<a=x,y>`
    Struct { elements: Vec<(Option<Arc<str>>, Id)> },
    /// `f(x)`, `f()`
    Call { function: Id, argument: Option<Id> },
    /// `(x:int32 -> y)`, `(x -> y)`, `( -> y)`
    Lambda { parameter: Option<(Arc<str>, Option<Type>)>, result: Id },
    /// `(let a=x in y)`
    Block { locals: Vec<(Arc<str>, Id)>, result: Id },
    /// `%federated_sum:({int32}@CLIENTS -> int32@SERVER)`, `%federated_sum`
    Intrinsic { uri: Arc<str>, ty: Option<Type> },
    /// `@CLIENTS`, `@CLIENTS:p`
    Placement { placement: Placement, label: Option<Arc<str>> },
    /// `comp#LABEL`
    Compiled { label: Arc<str> },
    /// `data#LABEL:int32`
    Data { label: Arc<str>, ty: Type },
    /// `data "uri":int32`
    DataUri { uri: Arc<str>, ty: Type },
    /// `lit int32[2] [1,2] as int32[?]`
    Literal { array: Array, ty: Type },
    /// `1`, `-1.5`, `(1+2j)`, `b'abc'`: a constant whose type follows from where it is
    Plain(Plain),
}

/// A constant as Python writes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Plain {
    /// An integer with its sign.
    Integer(String),
    /// A floating-point number with its sign.
    Float(f64),
    Complex(f64, f64),
    Bytes(Vec<u8>),
    Bool(bool),
}
