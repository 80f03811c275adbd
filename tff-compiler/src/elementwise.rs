//! The operators and constants that bodies of intrinsics apply to each element, with the rules of dtypes and
//! shapes. Graphs and modules are both built by these rules.

use half::{bf16, f16};
use tff_ir::{Element, Scalar, with_element_type};
use tff_types::{DType, Shape};

/// An operator on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// The sum; integers wrap.
    Add,
    /// The difference; integers wrap.
    Subtract,
    /// The product; integers wrap.
    Multiply,
    /// The true quotient: integers of 32 and 64 bits give a `float64`, smaller ones a `float32`.
    Divide,
    /// The lesser; NaN where either is.
    Minimum,
    /// The greater; NaN where either is.
    Maximum,
    /// The remainder that has the sign of the divisor.
    FloorMod,
    /// The left one shifted by as many bits as the right one says.
    LeftShift,
    /// Whether the left one is at most the right one; gives a `bool`.
    LessEqual,
}

impl BinaryOp {
    /// The dtype that operands are computed in; none where the operator does not take the dtype.
    pub(crate) fn operand(self, dtype: DType) -> Option<DType> {
        let (integer, real) = (dtype.is_integer(), dtype.is_integer() || dtype.is_floating());
        match self {
            Self::Add | Self::Subtract | Self::Multiply if real || dtype.is_complex() => Some(dtype),
            Self::Divide if integer => Some(quotient(dtype)),
            Self::Divide if real || dtype.is_complex() => Some(dtype),
            Self::Minimum | Self::Maximum | Self::FloorMod | Self::LessEqual if real => Some(dtype),
            Self::LeftShift if integer => Some(dtype),
            _ => None,
        }
    }

    pub(crate) const fn result(self, operand: DType) -> DType {
        if matches!(self, Self::LessEqual) { DType::Bool } else { operand }
    }
}

const fn quotient(integer: DType) -> DType {
    match integer {
        DType::Int8 | DType::Int16 | DType::UInt8 | DType::UInt16 => DType::Float32,
        _ => DType::Float64,
    }
}

/// The shape of what two tensors of these shapes give together: dimensions are matched from the
/// last one, and those of size 1 are repeated. None
/// where they do not match.
pub(crate) fn broadcast_shape(left: &Shape, right: &Shape) -> Option<Shape> {
    let (Some(left_dims), Some(right_dims)) = (left.dims(), right.dims()) else { return Some(Shape::unknown_rank()) };
    let rank = left_dims.len().max(right_dims.len());
    let padded = |dims: &[Option<u64>]| {
        let missing = rank - dims.len();
        std::iter::repeat_n(Some(1), missing).chain(dims.iter().copied()).collect::<Vec<_>>()
    };
    let dims: Option<Vec<_>> = padded(left_dims)
        .into_iter()
        .zip(padded(right_dims))
        .map(|pair| match pair {
            (Some(1), dim) | (dim, Some(1)) => Some(dim),
            (None, dim) | (dim, None) => Some(dim),
            (Some(left), Some(right)) => (left == right).then_some(Some(left)),
        })
        .collect();
    dims.map(Shape::new)
}

/// What every element of every tensor of a type is filled with.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// Zero: `0`, `0.0`, `false`.
    Zero,
    /// The least finite number of the dtype: where a maximum starts.
    Lowest,
    /// The greatest finite number of the dtype: where a minimum starts.
    Highest,
    /// This number, converted to the dtype without changing what it is: an integer may become a
    /// float, a float no integer.
    Number(Scalar),
}

impl Fill {
    /// The element of a dtype, if the dtype has one.
    pub(crate) fn scalar(&self, dtype: DType) -> Option<Scalar> {
        match self {
            Self::Zero if dtype == DType::Bool => Some(Scalar::Bool(false)),
            Self::Zero => convert(&Scalar::Int8(0), dtype),
            Self::Number(scalar) => convert(scalar, dtype),
            Self::Lowest => limits(dtype).map(|(lowest, _)| lowest),
            Self::Highest => limits(dtype).map(|(_, highest)| highest),
        }
    }
}

/// The least and the greatest finite number of a dtype that has them.
fn limits(dtype: DType) -> Option<(Scalar, Scalar)> {
    with_element_type!(dtype, T => T::LIMITS.map(|(lowest, highest)| (lowest.to_scalar(), highest.to_scalar())), None)
}

/// The same value as an element of another dtype: integers in their range, floats rounded.
fn convert(scalar: &Scalar, dtype: DType) -> Option<Scalar> {
    if scalar.dtype() == dtype {
        return Some(scalar.clone());
    }
    let wide = with_element_type!(scalar.dtype(), T => T::from_scalar(scalar)?.wide(), None)?;
    with_element_type!(dtype, T => T::of(wide).map(T::to_scalar), None)
}

/// A number in the widest type of its kind.
#[derive(Clone, Copy)]
enum Wide {
    Integer(i128),
    Float(f64),
    Complex(f64, f64),
}

/// What there is to know of the numbers of one element type.
trait Number: Element {
    /// The least and the greatest finite one.
    const LIMITS: Option<(Self, Self)> = None;
    /// `None` for a truth value.
    fn wide(self) -> Option<Wide> {
        None
    }
    /// The same value, if it is in range and no part of it is lost but by rounding.
    fn of(_: Wide) -> Option<Self> {
        None
    }
}

impl Number for bool {}

macro_rules! numbers {
    ($($($ty:ty),+ as $kind:ident: $of:expr;)+) => {$($(
        impl Number for $ty {
            const LIMITS: Option<(Self, Self)> = Some((Self::MIN, Self::MAX));

            fn wide(self) -> Option<Wide> {
                Some(Wide::$kind(self.into()))
            }

            fn of(wide: Wide) -> Option<Self> {
                $of(wide)
            }
        }
    )+)+};
}

numbers! {
    i8, i16, i32, i64, u8, u16, u32, u64 as Integer: of_integer;
    f16, bf16 as Float: |wide| of_float(wide).map(Self::from_f64);
    // An integer is rounded once, as a conversion rounds.
    f32 as Float: |wide| if let Wide::Integer(value) = wide { Some(value as Self) } else { Some(of_float(wide)? as Self) };
    f64 as Float: of_float;
}

fn of_integer<T: TryFrom<i128>>(wide: Wide) -> Option<T> {
    if let Wide::Integer(value) = wide { value.try_into().ok() } else { None }
}

const fn of_float(wide: Wide) -> Option<f64> {
    match wide {
        Wide::Integer(value) => Some(value as f64),
        Wide::Float(value) => Some(value),
        Wide::Complex(..) => None,
    }
}

fn of_complex(wide: Wide) -> (f64, f64) {
    if let Wide::Complex(re, im) = wide { (re, im) } else { (of_float(wide).unwrap_or_default(), 0.0) }
}

macro_rules! complex {
    ($($part:ty)+) => {$(
        impl Number for ($part, $part) {
            fn wide(self) -> Option<Wide> {
                Some(Wide::Complex(self.0.into(), self.1.into()))
            }

            fn of(wide: Wide) -> Option<Self> {
                let (re, im) = of_complex(wide);
                Some((re as $part, im as $part))
            }
        }
    )+};
}

complex!(f32 f64);
