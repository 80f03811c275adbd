//! Constants of a graph: literals, and values that fill every tensor of a type.

use super::binding::tensors_of;
use super::builder::GraphBuilder;
use super::error::GraphError;
use super::nodes;
use super::wire::{Tensor, Wire};
use half::{bf16, f16};
use tff_ir::{Array, Scalar};
use tff_proto::tensorflow as tf;
use tff_types::{DType, TensorType, Type};

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

impl GraphBuilder {
    /// A constant tensor, of the dtype and shape of the array.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`], [`GraphError::TooManyNodes`].
    pub fn constant(&mut self, array: &Array) -> Result<Wire, GraphError> {
        let size = array.as_strings().map_or(0, |strings| strings.iter().map(|it| it.len()).sum());
        self.reserve(1, array.as_dense().map_or(size, |bytes| bytes.len()))?;
        let tensor = self.constant_node(array.dtype(), nodes::array_tensor(array))?;
        Ok(Wire::leaf(array.ty(), tensor))
    }

    /// A value of this type, of tensors and structs of them, with every element the same.
    ///
    /// # Errors
    /// [`GraphError::UndefinedShape`] for a shape that is not fully defined,
    /// [`GraphError::UnsupportedType`] for a sequence, [`GraphError::Scalar`] where there is no
    /// such element of a dtype.
    pub fn fill(&mut self, fill: &Fill, ty: &Type) -> Result<Wire, GraphError> {
        let tensors = tensors_of(ty, &mut |ty| {
            let tensor = ty.as_tensor().ok_or_else(|| GraphError::UnsupportedType { ty: ty.clone() })?;
            let scalar = fill.scalar(tensor.dtype)?;
            let dims = defined_dims(tensor).ok_or_else(|| GraphError::UndefinedShape { ty: ty.clone() })?;
            self.constant_node(tensor.dtype, nodes::filled_tensor(&scalar, &dims))
        })?;
        Ok(Wire::new(ty.clone(), tensors))
    }

    /// The constant array broadcast to every tensor of a type, as numpy broadcasts, converted to
    /// its dtype as [`Fill::Number`] is.
    ///
    /// # Errors
    /// As [`GraphBuilder::fill`], and [`GraphError::Shapes`].
    pub fn broadcast_constant(&mut self, array: &Array, ty: &Type) -> Result<Wire, GraphError> {
        if let (Some(scalar), true) = (array.get(0), array.dims().is_empty()) {
            return self.fill(&Fill::Number(scalar), ty);
        }
        let tensors = tensors_of(ty, &mut |ty| {
            let tensor = ty.as_tensor().ok_or_else(|| GraphError::UnsupportedType { ty: ty.clone() })?;
            let elements: Vec<_> =
                array.scalars().map(|scalar| convert(&scalar, tensor.dtype)).collect::<Result<_, _>>()?;
            let converted = Array::from_scalars(tensor.dtype, array.dims(), &elements)?;
            let constant = self.constant(&converted)?;
            let broadcast = self.broadcast(&constant, tensor)?;
            broadcast.as_leaf().cloned().ok_or_else(|| GraphError::UnsupportedType { ty: ty.clone() })
        })?;
        Ok(Wire::new(ty.clone(), tensors))
    }

    /// A constant that is no value of a type of its own: dimensions, axes.
    pub(super) fn constant_node(&mut self, dtype: DType, tensor: tf::TensorProto) -> Result<Tensor, GraphError> {
        self.add("Const", &[], &[("dtype", nodes::dtype(dtype)), ("value", nodes::tensor(tensor))])
    }
}

/// The dimensions, if all are known.
pub(super) fn defined_dims(tensor: &TensorType) -> Option<Vec<u64>> {
    tensor.shape.dims()?.iter().copied().collect()
}

impl Fill {
    /// The element of a dtype.
    pub(crate) fn scalar(&self, dtype: DType) -> Result<Scalar, GraphError> {
        match self {
            Self::Zero if dtype == DType::Bool => Ok(Scalar::Bool(false)),
            Self::Zero if dtype == DType::String => Err(GraphError::NoSuchNumber { number: "zero", dtype }),
            Self::Zero => convert(&Scalar::Int8(0), dtype),
            Self::Number(scalar) => convert(scalar, dtype),
            Self::Lowest => lowest(dtype).ok_or(GraphError::NoSuchNumber { number: "lowest", dtype }),
            Self::Highest => highest(dtype).ok_or(GraphError::NoSuchNumber { number: "highest", dtype }),
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
fn convert(scalar: &Scalar, dtype: DType) -> Result<Scalar, GraphError> {
    let converted = match (number(scalar), scalar.dtype() == dtype) {
        (_, true) => Some(scalar.clone()),
        (Some(Number::Integer(value)), false) => from_integer(value, dtype),
        (Some(Number::Float(value)), false) => from_float(value, dtype),
        (Some(Number::Complex(re, im)), false) => from_complex(re, im, dtype),
        (None, false) => None,
    };
    converted.ok_or_else(|| GraphError::Scalar { value: format!("{scalar:?}"), dtype })
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
