//! The types of federated computations.
//!
//! A [`Type`] is the protocol's `Type` message as an immutable, shared tree: tensors, structs,
//! sequences, functions, abstract types, placements and federated types. It is cheap to clone,
//! always well formed (its constructors check the nesting rules of the protocol) and bounded in depth
//! and size, so code that walks it may recurse.
//!
//! ```
//! use tff_types::{DType, Type};
//!
//! # fn main() -> Result<(), tff_types::TypeError> {
//! let member = Type::structure([(Some("x"), Type::scalar(DType::Int32))])?;
//! assert_eq!(Type::at_clients(member)?.to_string(), "{<x=int32>}@CLIENTS");
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

pub use analysis::{SumError, TensorCount};
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
