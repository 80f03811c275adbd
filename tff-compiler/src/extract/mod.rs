//! Rewrites that change the type of a computation, or that split one computation into several.

mod dependencies;
mod divisive;
mod force_align;
mod normalize_types;
mod normalized;
mod slice;
mod strip_placement;
mod subparameters;

pub use divisive::{AllowedPaths, DivisiveSplit, divisive_force_align_and_split_by_intrinsics};
pub use force_align::force_align_and_split_by_intrinsics;
pub use normalize_types::normalize_types;
pub use normalized::normalize_call_dominant_lambda;
pub use strip_placement::strip_placement;
pub use subparameters::as_function_of_some_subparameters;

pub use crate::substitution::replace_selections;

pub(crate) use dependencies::{called, check_not_dependent};
pub(crate) use force_align::{element_of_members, split};
pub(crate) use normalized::Normalized;
pub(crate) use slice::Shape;
