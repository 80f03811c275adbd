//! How the elements of a literal print in the forms of the reference: as numpy prints them.

use crate::Array;
use std::fmt;

/// Prints the array as numpy does.
pub(crate) fn numpy(array: &Array, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{array:?}")
}
