//! The computations of TensorFlow Federated as a typed tree.
//!
//! A [`Comp`] is the protocol's `Computation` message as an immutable, shared tree: every node knows its type. Build
//! one with the checked constructors, read one with [`Comp::from_bytes`] or [`text::parse`], print it with
//! `to_string()` or [`text::print`].
//!
//! # Scope
//!
//! A lambda binds the name of its parameter in its result. A block binds the name of each local in the locals after it
//! and in its result, not in the value of the local itself. An inner binding hides an outer one of the same name. A name
//! without a binding is free; a valid computation has no free name.
//!
//! ```
//! use tff_ir::text::{Environment, parse};
//!
//! # fn main() -> Result<(), tff_ir::text::TextError> {
//! let comp = parse("(x:int32 -> (let x=<x,x>,y=x[0] in <x,y,z:bool>))", &Environment::default())?.comp;
//! assert_eq!(comp.ty().to_string(), "(int32 -> <<int32,int32>,int32,bool>)");
//! assert_eq!(comp.free_names().into_iter().collect::<Vec<_>>(), ["z".into()]);
//! # Ok(())
//! # }
//! ```
//!
//! These rules are written once, in [`Comp::parts`], and [`Walk`] uses it.
//!
//! # Evaluation
//!
//! The parts of a node are evaluated in the order of [`Comp::parts`]: a function before its argument, the elements of a
//! struct in order, each local of a block once, in order, whether something needs it or not, and the result last. The
//! result of a lambda is evaluated each time it is called.
//!
//! # Equality
//!
//! - `==` and `Hash` are structural: the same kinds, names, types and contents. Literals are equal if their bits are equal:
//!   a NaN equals itself, and `0.0` is not `-0.0`.
//! - [`Comp::is_alpha_equivalent_to`] and [`Comp::alpha_hash`] ignore the choice of bound names.
//! - [`Comp::ptr_eq`] and [`NodeMap`] compare nodes by identity: the same computation in two places may be two nodes.
//!
//! ```
//! use tff_ir::text::{Environment, parse};
//!
//! # fn main() -> Result<(), tff_ir::text::TextError> {
//! let read = |text| parse(text, &Environment::default()).map(|parsed| parsed.comp);
//! let (x, y) = (read("(x:int32 -> x)")?, read("(y:int32 -> y)")?);
//! assert!(x != y && x.is_alpha_equivalent_to(&y));
//! # Ok(())
//! # }
//! ```
//!
//! # What is checked when
//!
//! | when | what |
//! |---|---|
//! | a node is built | its parts fit together: what is called is a function, the argument is assignable to its parameter, what is selected is there. The type follows from the parts. |
//! | a message is decoded | the same, and that each node states the type that follows |
//! | [`validate`] | what only the whole tree shows: names are bound, and references have the type of what binds them; also the signatures of intrinsics and the bindings of graphs, which decoding leaves open |
//!
//! Each node caches that it has been checked against its parts, so validating again only has to check names.

#[cfg(feature = "arbitrary")]
mod arbitrary;
mod array;
mod build;
mod comp;
mod compiled;
mod diag;
mod display;
mod element;
mod hash;
mod intrinsic;
mod literal;
mod names;
mod opaque;
mod operands;
mod path;
mod proto;
mod scope;
pub mod text;
mod transform;
mod validate;
mod visit;
mod wide;

pub use array::{Array, ArrayError, Scalar};
pub use build::{BuildError, UNTYPED};
pub use comp::{
    Binder, Block, Call, Comp, CompKind, Data, Lambda, Literal, Local, Parameter, Part, Reference, Selection, Struct,
    StructElement,
};
pub use compiled::CompiledProblem;
pub use display::{Formatted, Structural};
pub use element::Element;
pub use intrinsic::{Communication, InstanceError, InstanceProblem, Intrinsic, IntrinsicDef, Privacy};
pub use names::UniqueNames;
pub use opaque::{
    CompiledComputation, DataContent, Opaque, SequenceBinding, TensorFlow, TensorFlowBinding, Xla, XlaBinding,
};
pub use path::{CompPath, CompStep};
pub use proto::{CompBytesError, CompDecodeError, CompEncodeError, DecodeProblem};
pub use scope::Scope;
pub use transform::{Transformed, transform_postorder, transform_preorder};
pub use validate::{Code, Diagnostic, Severity, validate, validate_proto};
pub use visit::{NodeMap, Walk, with_stack};
pub use wide::Wide;

/// What [`with_element_type!`] names.
#[doc(hidden)]
pub mod element_types {
    pub use half::{bf16, f16};
    pub use tff_types::DType;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
