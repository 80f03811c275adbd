//! What can be wrong with a graph, or with a request to build or change one.
#![expect(missing_docs, reason = "the message of each variant documents it")]

use tff_ir::{ArrayError, BuildError};
use tff_proto::AnyError;
use tff_types::{Brief, DType, Mismatch, Shape, Type, TypeError};
use thiserror::Error;

/// The most nodes that a graph may have, those of its functions not counted.
pub(super) const MAX_NODES: usize = 1 << 20;

/// The most bytes that an encoded graph may have: protobuf's own limit.
pub(super) const MAX_BYTES: usize = i32::MAX as usize;

/// Why a graph cannot be read, built or merged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GraphError {
    #[error("the computation holds no graph")]
    NotAGraph(#[source] AnyError),
    #[error("two nodes of the graph are named `{}`", brief(name))]
    DuplicateNode { name: String },
    #[error("two functions of the graph are named `{}`", brief(name))]
    DuplicateFunction { name: String },
    #[error("`{}` refers to the node `{}`, which is not in the graph", brief(user), brief(name))]
    MissingNode { user: String, name: String },
    #[error("`{}` refers to `{}`, which is not the name of a tensor", brief(user), brief(name))]
    TensorName { user: String, name: String },
    #[error("the binding of the {side} does not fit its type, {}", brief(ty))]
    Binding { side: &'static str, ty: Type },
    #[error("the parameter binds the tensor `{}` twice", brief(name))]
    BoundTwice { name: String },
    #[error("the placeholder `{}` is of dtype number {found}, its type is {}", brief(node), brief(ty))]
    Placeholder { node: String, ty: Type, found: i32 },
    #[error("the function has a parameter of type {}, but is called without an argument", brief(parameter))]
    MissingArgument { parameter: Type },
    #[error("the function has no parameter, but is called with an argument of type {}", brief(argument))]
    UnexpectedArgument { argument: Type },
    #[error("the argument does not fit the parameter")]
    Argument(#[source] Box<Mismatch>),
    #[error("a graph has one parameter, of type {}; asked for another of type {}", brief(first), brief(second))]
    SecondParameter { first: Type, second: Type },
    #[error("expected a function type for a graph, found {}", brief(ty))]
    NotAFunction { ty: Type },
    #[error("a graph computes tensors, structs and sequences, found {}", brief(ty))]
    UnsupportedType { ty: Type },
    #[error("expected {what}, found {}", brief(ty))]
    Operand { what: &'static str, ty: Type },
    #[error("{op} takes no elements of {dtype}")]
    DType { op: &'static str, dtype: DType },
    #[error("{op} takes elements of the same dtype, found {left} and {right}")]
    MixedDTypes { op: &'static str, left: DType, right: DType },
    #[error("the structures {} and {} differ", brief(left), brief(right))]
    Structures { left: Type, right: Type },
    #[error("the shapes {} and {} cannot be combined", shown(left), shown(right))]
    Shapes { left: Shape, right: Shape },
    #[error("a constant needs a fully defined shape, found {}", brief(ty))]
    UndefinedShape { ty: Type },
    #[error("{dtype} does not have a {number} number")]
    NoSuchNumber { number: &'static str, dtype: DType },
    #[error("{value} cannot be an element of {dtype}")]
    Scalar { value: String, dtype: DType },
    #[error("index {index} is out of range for a struct of {len} elements")]
    IndexOutOfRange { index: usize, len: usize },
    #[error("the graph would have more than {MAX_NODES} nodes")]
    TooManyNodes,
    #[error("the graph would have more than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("the config of the node `{}` is not a ConfigProto", brief(node))]
    Config { node: String, source: tff_proto::DecodeError },
    #[error("the graph uses ops that are not allowed: {}", brief(&ops.join(", ")))]
    DisallowedOps { ops: Vec<String> },
    #[error(transparent)]
    Type(#[from] TypeError),
    #[error(transparent)]
    Array(#[from] ArrayError),
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// What may be long, on one line and cut.
pub(crate) fn brief(value: &dyn std::fmt::Display) -> Brief {
    Brief::start(value, 200)
}

fn shown(shape: &Shape) -> String {
    if shape.is_scalar() { "[]".to_owned() } else { shape.to_string() }
}
