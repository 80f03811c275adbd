//! Tensor types, shapes and constants as XLA's messages.

use bytes::Bytes;
use tff_ir::Scalar;
use tff_proto::xla::{LiteralProto, PrimitiveType, ShapeProto};
use tff_types::{DType, Shape, TensorType};

/// Whether XLA has tensors of this type: not of strings, and only of sizes that are known.
pub(super) fn is_array(ty: &TensorType) -> bool {
    primitive_type(ty.dtype).is_some() && ty.shape.is_fully_defined()
}

/// The shape of a tensor for which [`is_array`] holds.
pub(super) fn array(ty: &TensorType) -> ShapeProto {
    let (dimensions, _) = ty.shape.to_wire();
    // Constants, which are all scalars, need a layout; for others, XLA chooses it.
    let layout = dimensions.is_empty().then(Bytes::new);
    ShapeProto { layout, ..ShapeProto::array(primitive_type(ty.dtype).unwrap_or_default(), dimensions) }
}

/// What XLA calls the element type; it has no strings. A table of its own, because the numbers are XLA's.
const fn primitive_type(dtype: DType) -> Option<PrimitiveType> {
    Some(match dtype {
        DType::Bool => PrimitiveType::Pred,
        DType::Int8 => PrimitiveType::S8,
        DType::Int16 => PrimitiveType::S16,
        DType::Int32 => PrimitiveType::S32,
        DType::Int64 => PrimitiveType::S64,
        DType::UInt8 => PrimitiveType::U8,
        DType::UInt16 => PrimitiveType::U16,
        DType::UInt32 => PrimitiveType::U32,
        DType::UInt64 => PrimitiveType::U64,
        DType::Float16 => PrimitiveType::F16,
        DType::BFloat16 => PrimitiveType::Bf16,
        DType::Float32 => PrimitiveType::F32,
        DType::Float64 => PrimitiveType::F64,
        DType::Complex64 => PrimitiveType::C64,
        DType::Complex128 => PrimitiveType::C128,
        DType::String => return None,
    })
}

pub(super) fn scalar_ty(dtype: DType) -> TensorType {
    TensorType { dtype, shape: Shape::scalar() }
}

/// A scalar as a constant; there are none of strings. A table of its own, because XLA's message has other fields than
/// the protocol's: some dtypes are lists of numbers, others bytes.
pub(super) fn literal(scalar: &Scalar) -> Option<LiteralProto> {
    let shape = array(&scalar_ty(scalar.dtype()));
    let mut literal = LiteralProto { shape: Some(shape), ..LiteralProto::default() };
    let bytes = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
    match scalar {
        Scalar::Bool(value) => literal.preds = vec![*value],
        Scalar::Int8(value) => literal.s8s = bytes(&value.to_le_bytes()),
        Scalar::Int16(value) => literal.s16s = bytes(&value.to_le_bytes()),
        Scalar::Int32(value) => literal.s32s = vec![*value],
        Scalar::Int64(value) => literal.s64s = vec![*value],
        Scalar::UInt8(value) => literal.u8s = bytes(&value.to_le_bytes()),
        Scalar::UInt16(value) => literal.u16s = bytes(&value.to_le_bytes()),
        Scalar::UInt32(value) => literal.u32s = vec![*value],
        Scalar::UInt64(value) => literal.u64s = vec![*value],
        Scalar::Float16(value) => literal.f16s = bytes(&value.to_le_bytes()),
        Scalar::BFloat16(value) => literal.bf16s = bytes(&value.to_le_bytes()),
        Scalar::Float32(value) => literal.f32s = vec![*value],
        Scalar::Float64(value) => literal.f64s = vec![*value],
        Scalar::Complex64(re, im) => literal.c64s = vec![*re, *im],
        Scalar::Complex128(re, im) => literal.c128s = vec![*re, *im],
        Scalar::String(_) => return None,
    }
    Some(literal)
}
