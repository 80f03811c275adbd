//! The computations of TensorFlow Federated as a typed tree.
//!
//! A [`Comp`] is the seed's `Computation` message as an immutable, shared tree: every node knows
//! its type. Build one with the checked constructors, read one with [`Comp::from_proto`], print
//! it with `to_string()`.

#[cfg(feature = "arbitrary")]
mod arbitrary;
mod array;
mod build;
mod comp;
mod compiled;
mod diag;
mod display;
mod hash;
mod intrinsic;
mod literal;
mod names;
mod opaque;
mod path;
mod proto;
mod scope;
pub mod text;
mod transform;
mod validate;
mod visit;

pub use array::{Array, ArrayError, Scalar};
pub use build::{BuildError, UNTYPED};
pub use comp::{
    Binder, Block, Call, Comp, CompKind, Data, Lambda, Literal, Local, Parameter, Part, Reference, Selection, Struct,
    StructElement,
};
pub use compiled::CompiledProblem;
pub use display::{Formatted, Structural};
pub use intrinsic::{Communication, InstanceError, Intrinsic, IntrinsicDef, Privacy};
pub use names::UniqueNames;
pub use opaque::{
    CompiledComputation, DataContent, Opaque, SequenceBinding, TensorFlow, TensorFlowBinding, Xla, XlaBinding,
};
pub use path::{CompPath, CompStep};
pub use proto::{CompDecodeError, CompEncodeError, DecodeProblem};
pub use scope::Scope;
pub use transform::{Transformed, transform_postorder, transform_preorder};
pub use validate::{Code, Diagnostic, Severity, validate, validate_proto};
pub use visit::{NodeMap, Walk, with_stack};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
