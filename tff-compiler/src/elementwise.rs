//! The operators and constants that bodies of intrinsics apply to each element, with the rules of dtypes and
//! shapes. Graphs and modules are both built by these rules.

use half::{bf16, f16};
use tff_ir::Scalar;
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
            Self::Lowest => lowest(dtype),
            Self::Highest => highest(dtype),
        }
    }
}

const fn lowest(dtype: DType) -> Option<Scalar> {
    Some(match dtype {
        DType::Int8 => Scalar::Int8(i8::MIN),
        DType::Int16 => Scalar::Int16(i16::MIN),
        DType::Int32 => Scalar::Int32(i32::MIN),
        DType::Int64 => Scalar::Int64(i64::MIN),
        DType::UInt8 => Scalar::UInt8(u8::MIN),
        DType::UInt16 => Scalar::UInt16(u16::MIN),
        DType::UInt32 => Scalar::UInt32(u32::MIN),
        DType::UInt64 => Scalar::UInt64(u64::MIN),
        DType::Float16 => Scalar::Float16(f16::MIN),
        DType::BFloat16 => Scalar::BFloat16(bf16::MIN),
        DType::Float32 => Scalar::Float32(f32::MIN),
        DType::Float64 => Scalar::Float64(f64::MIN),
        DType::Bool | DType::Complex64 | DType::Complex128 | DType::String => return None,
    })
}

const fn highest(dtype: DType) -> Option<Scalar> {
    Some(match dtype {
        DType::Int8 => Scalar::Int8(i8::MAX),
        DType::Int16 => Scalar::Int16(i16::MAX),
        DType::Int32 => Scalar::Int32(i32::MAX),
        DType::Int64 => Scalar::Int64(i64::MAX),
        DType::UInt8 => Scalar::UInt8(u8::MAX),
        DType::UInt16 => Scalar::UInt16(u16::MAX),
        DType::UInt32 => Scalar::UInt32(u32::MAX),
        DType::UInt64 => Scalar::UInt64(u64::MAX),
        DType::Float16 => Scalar::Float16(f16::MAX),
        DType::BFloat16 => Scalar::BFloat16(bf16::MAX),
        DType::Float32 => Scalar::Float32(f32::MAX),
        DType::Float64 => Scalar::Float64(f64::MAX),
        DType::Bool | DType::Complex64 | DType::Complex128 | DType::String => return None,
    })
}

/// The same value as an element of another dtype: integers in their range, floats rounded.
fn convert(scalar: &Scalar, dtype: DType) -> Option<Scalar> {
    match (number(scalar), scalar.dtype() == dtype) {
        (_, true) => Some(scalar.clone()),
        (Some(Number::Integer(value)), false) => from_integer(value, dtype),
        (Some(Number::Float(value)), false) => from_float(value, dtype),
        (Some(Number::Complex(re, im)), false) => from_complex(re, im, dtype),
        (None, false) => None,
    }
}

enum Number {
    /// Wide enough for every integer dtype.
    Integer(i128),
    Float(f64),
    Complex(f64, f64),
}

fn number(scalar: &Scalar) -> Option<Number> {
    Some(match *scalar {
        Scalar::Int8(value) => Number::Integer(value.into()),
        Scalar::Int16(value) => Number::Integer(value.into()),
        Scalar::Int32(value) => Number::Integer(value.into()),
        Scalar::Int64(value) => Number::Integer(value.into()),
        Scalar::UInt8(value) => Number::Integer(value.into()),
        Scalar::UInt16(value) => Number::Integer(value.into()),
        Scalar::UInt32(value) => Number::Integer(value.into()),
        Scalar::UInt64(value) => Number::Integer(value.into()),
        Scalar::Float16(value) => Number::Float(value.into()),
        Scalar::BFloat16(value) => Number::Float(value.into()),
        Scalar::Float32(value) => Number::Float(value.into()),
        Scalar::Float64(value) => Number::Float(value),
        Scalar::Complex64(re, im) => Number::Complex(re.into(), im.into()),
        Scalar::Complex128(re, im) => Number::Complex(re, im),
        Scalar::Bool(_) | Scalar::String(_) => return None,
    })
}

fn from_integer(value: i128, dtype: DType) -> Option<Scalar> {
    match dtype {
        DType::Int8 => value.try_into().ok().map(Scalar::Int8),
        DType::Int16 => value.try_into().ok().map(Scalar::Int16),
        DType::Int32 => value.try_into().ok().map(Scalar::Int32),
        DType::Int64 => value.try_into().ok().map(Scalar::Int64),
        DType::UInt8 => value.try_into().ok().map(Scalar::UInt8),
        DType::UInt16 => value.try_into().ok().map(Scalar::UInt16),
        DType::UInt32 => value.try_into().ok().map(Scalar::UInt32),
        DType::UInt64 => value.try_into().ok().map(Scalar::UInt64),
        DType::Bool | DType::String => None,
        // One rounding, as a conversion rounds.
        DType::Float32 => Some(Scalar::Float32(value as f32)),
        DType::Float64 | DType::Float16 | DType::BFloat16 | DType::Complex64 | DType::Complex128 => {
            from_float(value as f64, dtype)
        }
    }
}

fn from_float(value: f64, dtype: DType) -> Option<Scalar> {
    match dtype {
        DType::Float16 => Some(Scalar::Float16(f16::from_f64(value))),
        DType::BFloat16 => Some(Scalar::BFloat16(bf16::from_f64(value))),
        DType::Float32 => Some(Scalar::Float32(value as f32)),
        DType::Float64 => Some(Scalar::Float64(value)),
        DType::Complex64 | DType::Complex128 => from_complex(value, 0.0, dtype),
        _ => None,
    }
}

const fn from_complex(re: f64, im: f64, dtype: DType) -> Option<Scalar> {
    match dtype {
        DType::Complex64 => Some(Scalar::Complex64(re as f32, im as f32)),
        DType::Complex128 => Some(Scalar::Complex128(re, im)),
        _ => None,
    }
}
