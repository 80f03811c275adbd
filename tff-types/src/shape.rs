//! The shapes of tensors: known, partly known, or of unknown rank.

use std::fmt;
use std::sync::Arc;

/// The size of one dimension; `None` where it is not known (`?` in the notation).
pub type Dim = Option<u64>;

/// The shape of a tensor: the dims of the protocol's `TensorType`, or an unknown rank.
///
/// A dimension is at most `i64::MAX`, the most that the wire carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape(Option<Arc<[Dim]>>);

impl Shape {
    /// The shape of a scalar: no dimensions.
    #[must_use]
    pub fn scalar() -> Self {
        Self(Some(Arc::from([])))
    }

    /// The shape that says nothing, not even how many dimensions there are.
    #[must_use]
    pub const fn unknown_rank() -> Self {
        Self(None)
    }

    /// A shape of these dimensions. A size above `i64::MAX` cannot be written and becomes unknown.
    pub fn new(dims: impl IntoIterator<Item = Dim>) -> Self {
        Self(Some(dims.into_iter().map(|dim| dim.filter(|&size| i64::try_from(size).is_ok())).collect()))
    }

    /// A fully defined shape.
    pub fn fixed(dims: impl IntoIterator<Item = u64>) -> Self {
        Self::new(dims.into_iter().map(Some))
    }

    /// The shape that the wire describes as these dimensions: every negative one is unknown, and
    /// all are ignored where the rank is.
    #[must_use]
    pub fn from_wire(dims: &[i64], unknown_rank: bool) -> Self {
        if unknown_rank { Self::unknown_rank() } else { Self::new(dims.iter().map(|&dim| u64::try_from(dim).ok())) }
    }

    /// The dimensions as the wire has them, -1 where unknown, and whether the rank is unknown;
    /// there are no dimensions then.
    #[must_use]
    pub fn to_wire(&self) -> (Vec<i64>, bool) {
        let wire = |dim: &Dim| dim.and_then(|size| i64::try_from(size).ok()).unwrap_or(-1);
        (self.dims().unwrap_or_default().iter().map(wire).collect(), self.dims().is_none())
    }

    /// The dimensions; `None` where the rank is unknown.
    #[must_use]
    pub fn dims(&self) -> Option<&[Dim]> {
        self.0.as_deref()
    }

    /// How many dimensions there are, if known.
    #[must_use]
    pub fn rank(&self) -> Option<usize> {
        self.dims().map(<[Dim]>::len)
    }

    /// Whether the rank is known and there are no dimensions.
    #[must_use]
    pub fn is_scalar(&self) -> bool {
        self.rank() == Some(0)
    }

    /// Whether the rank and every dimension are known.
    #[must_use]
    pub fn is_fully_defined(&self) -> bool {
        self.dims().is_some_and(|dims| dims.iter().all(Option::is_some))
    }

    /// The number of elements: the product of the dimensions, 1 for a scalar. `None` where a
    /// dimension is unknown or the product exceeds 64 bits.
    #[must_use]
    pub fn num_elements(&self) -> Option<u64> {
        let dims = self.dims()?;
        if dims.contains(&Some(0)) && self.is_fully_defined() {
            return Some(0);
        }
        dims.iter().try_fold(1u64, |product, dim| product.checked_mul((*dim)?))
    }

    /// Whether an array of the fully known shape `dims` is of this shape.
    #[must_use]
    pub fn admits(&self, dims: &[u64]) -> bool {
        self.dims().is_none_or(|own| {
            own.len() == dims.len() && own.iter().zip(dims).all(|(own, dim)| own.is_none_or(|own| own == *dim))
        })
    }
}

/// Prints the dimensions in brackets, `[2,?]`; nothing for a scalar; `(shape=None)` for an
/// unknown rank.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = self.dims() else { return f.write_str("(shape=None)") };
        for (position, dim) in dims.iter().enumerate() {
            f.write_str(if position == 0 { "[" } else { "," })?;
            match dim {
                Some(size) => write!(f, "{size}")?,
                None => f.write_str("?")?,
            }
        }
        if dims.is_empty() { Ok(()) } else { f.write_str("]") }
    }
}
