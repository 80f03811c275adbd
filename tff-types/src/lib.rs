//! The types of federated computations.
//!
//! A [`Type`] is the protocol's `Type` message as an immutable, shared tree. There are seven kinds: tensors, structs,
//! sequences, functions, abstract types, placements and federated types. A type is cheap to clone. It is always well
//! formed, because its constructors check the nesting rules of the protocol. Its depth and size are bounded
//! ([`MAX_DEPTH`], [`MAX_SIZE`]), so code that walks one may recurse.
//!
//! ```
//! use tff_types::{DType, Type};
//!
//! # fn main() -> Result<(), tff_types::TypeError> {
//! let member = Type::structure([(Some("x"), Type::scalar(DType::Int32))])?;
//! assert_eq!(Type::at_clients(member)?.to_string(), "{<x=int32>}@CLIENTS");
//! assert!(Type::sequence(Type::sequence(Type::scalar(DType::Int32))?).is_err());
//! # Ok(())
//! # }
//! ```
//!
//! # Relations
//!
//! There are two relations:
//!
//! - *Assignable*: a value of the source type may be used where the target type is expected.
//!   [`Type::check_assignable_from`] says where and why not.
//! - *Equivalent*: each type is assignable to the other. This is `==`. [`Type::check_equivalent_to`] says where two types
//!   differ.
//!
//! | target | accepts | does not accept |
//! |---|---|---|
//! | `int32[?]` | `int32[3]` | `int32`, `int64[3]` |
//! | `<a=int32>` | `<int32>`: an element without a name fits every name | `<b=int32>` |
//! | `{int32}@CLIENTS` | `int32@CLIENTS`: the same value on all clients | `int32`, `{int32}@SERVER` |
//! | `(int32[3] -> bool)` | `(int32[?] -> bool)`: it takes more than it must | `(int32[4] -> bool)` |
//! | `T` | `T` | every other type |
//!
//! # Templates
//!
//! A template is a type with labels, such as `(<(T -> U),{T}@CLIENTS> -> {U}@CLIENTS)`. Each label stands for one type.
//! [`Type::check_instance_of`] finds out what the labels of a template stand for in a concrete type,
//! [`Type::concretize`] puts types in their place, and [`Type::instantiate`] does both, given only the argument of a
//! function.
//!
//! ```
//! use tff_types::Type;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let template: Type = "(<(T -> U),{T}@CLIENTS> -> {U}@CLIENTS)".parse()?;
//! let map = template.instantiate(&"<(float32[?] -> bool),{float32[3]}@CLIENTS>".parse()?)?;
//! assert_eq!(map.to_string(), "(<(float32[3] -> bool),{float32[3]}@CLIENTS> -> {bool}@CLIENTS)");
//! # Ok(())
//! # }
//! ```
//!
//! # Text
//!
//! A type is printed as TensorFlow Federated prints it: on one line (`to_string`) or on several ([`Type::formatted`]).
//! [`Type::quoted`] also quotes names that are not identifiers, so every type can be read back from it. Types are read with
//! `parse`; the grammar is in `GRAMMAR.md`. The module [`syntax`] has the lexer, for notations that contain types.
//!
//! ```
//! use tff_types::{DType, Type};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ty = Type::structure([(Some("two words"), Type::scalar(DType::Bool))])?;
//! assert_eq!(ty.quoted().to_string(), "<`two words`=bool>");
//! assert_eq!(ty.quoted().to_string().parse::<Type>()?, ty);
//! # Ok(())
//! # }
//! ```
//!
//! # Wire
//!
//! [`Type::to_proto`] and [`Type::from_proto`] convert to and from the message of `tff-proto`. The bytes are those that
//! TensorFlow Federated writes. A message may come from anyone, so reading one returns a typed error with the path of the
//! part that is wrong, and needs little stack and memory whatever the message is.
//!
//! ```
//! use tff_types::Type;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ty: Type = "{float32[2,?]}@CLIENTS".parse()?;
//! assert_eq!(Type::from_proto(&ty.to_proto()?)?, ty);
//! # Ok(())
//! # }
//! ```

mod analysis;
#[cfg(feature = "arbitrary")]
mod arbitrary;
mod assign;
mod brief;
mod display;
mod dtype;
mod error;
mod labels;
mod parse;
mod path;
mod placement;
mod proto;
mod shape;
pub mod syntax;
mod transform;
mod ty;
mod unify;

pub use analysis::SumError;
pub use assign::{Mismatch, Reason, Relation};
pub use brief::Brief;
pub use display::{Formatted, Quoted};
pub use dtype::{DType, UnknownDType};
pub use error::{MAX_PROBLEMS, NameProblem, NestingProblem, TypeError};
pub use labels::{Label, UnboundLabels};
pub use path::{Path, Step};
pub use placement::{Placement, PlacementSpec, UnknownPlacement};
pub use proto::{TypeDecodeError, TypeDecodeProblem, TypeEncodeError};
pub use shape::{Dim, Shape};
pub use ty::{
    AbstractType, Element, FederatedType, FunctionType, MAX_DEPTH, MAX_SIZE, PlacementType, SequenceType, StructType,
    TensorType, Type, TypeKind,
};
pub use unify::{Bindings, TemplateError, Use};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
