//! Elements whatever their width: the one table for whoever shows, reads or compares them.

use crate::Scalar;
use half::{bf16, f16};
use tff_types::DType;

/// An element without its width: integers are of one kind, and so are the floats of up to 32 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "they are called what they are")]
pub enum Wide<'a> {
    Bool(bool),
    Integer(i128),
    /// Of 16 or 32 bits.
    Float32(f32),
    Float64(f64),
    /// The real and the imaginary part.
    Complex64(f32, f32),
    /// The real and the imaginary part.
    Complex128(f64, f64),
    String(&'a [u8]),
}

impl Wide<'_> {
    /// Whether it, or one of its parts, is not a number.
    #[must_use]
    pub const fn is_nan(self) -> bool {
        match self {
            Self::Bool(_) | Self::Integer(_) | Self::String(_) => false,
            Self::Float32(value) => value.is_nan(),
            Self::Float64(value) => value.is_nan(),
            Self::Complex64(re, im) => re.is_nan() || im.is_nan(),
            Self::Complex128(re, im) => re.is_nan() || im.is_nan(),
        }
    }
}

impl Scalar {
    /// The element without its width.
    #[must_use]
    pub fn wide(&self) -> Wide<'_> {
        match *self {
            Self::Bool(value) => Wide::Bool(value),
            Self::Int8(value) => Wide::Integer(value.into()),
            Self::Int16(value) => Wide::Integer(value.into()),
            Self::Int32(value) => Wide::Integer(value.into()),
            Self::Int64(value) => Wide::Integer(value.into()),
            Self::UInt8(value) => Wide::Integer(value.into()),
            Self::UInt16(value) => Wide::Integer(value.into()),
            Self::UInt32(value) => Wide::Integer(value.into()),
            Self::UInt64(value) => Wide::Integer(value.into()),
            Self::Float16(value) => Wide::Float32(value.to_f32()),
            Self::BFloat16(value) => Wide::Float32(value.to_f32()),
            Self::Float32(value) => Wide::Float32(value),
            Self::Float64(value) => Wide::Float64(value),
            Self::Complex64(re, im) => Wide::Complex64(re, im),
            Self::Complex128(re, im) => Wide::Complex128(re, im),
            Self::String(ref bytes) => Wide::String(bytes),
        }
    }

    /// The integer, in an element type that has it.
    #[must_use]
    pub fn of_integer(dtype: DType, value: i128) -> Option<Self> {
        match dtype {
            DType::Int8 => value.try_into().ok().map(Self::Int8),
            DType::Int16 => value.try_into().ok().map(Self::Int16),
            DType::Int32 => value.try_into().ok().map(Self::Int32),
            DType::Int64 => value.try_into().ok().map(Self::Int64),
            DType::UInt8 => value.try_into().ok().map(Self::UInt8),
            DType::UInt16 => value.try_into().ok().map(Self::UInt16),
            DType::UInt32 => value.try_into().ok().map(Self::UInt32),
            DType::UInt64 => value.try_into().ok().map(Self::UInt64),
            _ => None,
        }
    }

    /// The nearest float, in an element type of real floats where a finite number stays finite.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest is what is meant")]
    pub fn of_float(dtype: DType, value: f64) -> Option<Self> {
        let (narrow, is_infinite) = match dtype {
            DType::Float16 => (Self::Float16(f16::from_f64(value)), f16::from_f64(value).is_infinite()),
            DType::BFloat16 => (Self::BFloat16(bf16::from_f64(value)), bf16::from_f64(value).is_infinite()),
            DType::Float32 => (Self::Float32(value as f32), (value as f32).is_infinite()),
            DType::Float64 => (Self::Float64(value), value.is_infinite()),
            _ => return None,
        };
        (value.is_infinite() || !is_infinite).then_some(narrow)
    }
}
