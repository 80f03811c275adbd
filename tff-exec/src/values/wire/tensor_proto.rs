//! Tensors as TensorFlow writes them: the `TensorProto` in values of the 0.80 dialect.

use crate::ExecError;
use half::{bf16, f16};
use tff_ir::{Array, ArrayError, Element};
use tff_proto::google::protobuf::Any;
use tff_proto::{tensorflow as tf, v0 as pb};
use tff_types::DType;

/// The most elements that a message may ask for without carrying them: a list shorter than its
/// shape stands for its last element repeated, so a few bytes could ask for any amount of memory.
const MAX_FILLED: usize = 1 << 24;

/// Reads the tensor in a message of the 0.80 dialect.
///
/// # Errors
/// [`ExecError::Decode`] where it holds something else, [`ExecError::Array`] where the content is
/// not of the declared type and shape, [`ExecError::Limit`].
pub(crate) fn array_from_any(any: &Any) -> Result<Array, ExecError> {
    array_from_tensor_proto(any.unpack::<tf::TensorProto>()?)
}

pub(crate) fn array_from_tensor_proto(proto: tf::TensorProto) -> Result<Array, ExecError> {
    let dtype = DType::from_number(proto.dtype).ok_or(ArrayError::UnknownDType(proto.dtype))?;
    let shape = proto.tensor_shape.unwrap_or_default();
    let shape =
        pb::ArrayShape { dim: shape.dim.iter().map(|dim| dim.size).collect(), unknown_rank: shape.unknown_rank };
    let dims = shape.dim.iter().map(|&dim| usize::try_from(dim).map_err(|_| ArrayError::BadDim(dim)));
    let dims = dims.collect::<Result<Vec<_>, _>>()?;
    if !proto.tensor_content.is_empty() {
        let (content, kind) = (Some(proto.tensor_content), None);
        return Ok(Array::from_proto(&pb::Array { dtype: proto.dtype, shape: Some(shape), content, kind })?);
    }
    let count = dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    let fill = Fill { count: count.ok_or_else(|| ArrayError::TooLarge(dims.iter().map(|&dim| dim as u64).collect()))? };
    // Where TensorFlow puts the elements of each type.
    let kind = match dtype {
        DType::Bool => fill.list::<bool>(proto.bool_val),
        DType::Int8 => fill.list::<i8>(proto.int_val),
        DType::Int16 => fill.list::<i16>(proto.int_val),
        DType::Int32 => fill.list::<i32>(proto.int_val),
        DType::UInt8 => fill.list::<u8>(proto.int_val),
        DType::UInt16 => fill.list::<u16>(proto.int_val),
        DType::Float16 => fill.list::<f16>(proto.half_val),
        DType::BFloat16 => fill.list::<bf16>(proto.half_val),
        DType::Int64 => fill.list::<i64>(proto.int64_val),
        DType::UInt32 => fill.list::<u32>(proto.uint32_val),
        DType::UInt64 => fill.list::<u64>(proto.uint64_val),
        DType::Float32 => fill.list::<f32>(proto.float_val),
        DType::Float64 => fill.list::<f64>(proto.double_val),
        DType::Complex64 => fill.list::<(f32, f32)>(proto.scomplex_val),
        DType::Complex128 => fill.list::<(f64, f64)>(proto.dcomplex_val),
        DType::String => {
            fill.fill(proto.string_val, 1).map(|value| pb::array::Kind::StringList(pb::array::BytesList { value }))
        }
    }?;
    let (content, kind) = (None, Some(kind));
    Ok(Array::from_proto(&pb::Array { dtype: proto.dtype, shape: Some(shape), content, kind })?)
}

/// Lists made as long as the shape says, by TensorFlow's rule: the last element repeats, and
/// without any all are zero.
struct Fill {
    count: usize,
}

impl Fill {
    fn list<T: Element>(&self, mut items: Vec<T::Item>) -> Result<pb::array::Kind, ExecError> {
        // An incomplete complex number is left out.
        items.truncate(items.len() - items.len() % T::ITEMS);
        self.fill(items, T::ITEMS).map(T::list)
    }

    /// A list in which each element takes so many items.
    fn fill<T: Clone + Default>(&self, mut items: Vec<T>, per_element: usize) -> Result<Vec<T>, ExecError> {
        let missing = self.count.saturating_sub(items.len() / per_element);
        if missing > MAX_FILLED {
            return Err(ExecError::Limit { what: "the number of elements a tensor leaves out", limit: MAX_FILLED });
        }
        let last = items.len().checked_sub(per_element).and_then(|start| items.get(start..)).map(<[T]>::to_vec);
        let last = last.unwrap_or_else(|| vec![T::default(); per_element]);
        items.extend(std::iter::repeat_n(last, missing).flatten());
        Ok(items)
    }
}

/// Writes an array as a message of the 0.80 dialect: raw bytes, strings as a list.
pub(crate) fn array_to_any(array: &Array) -> Any {
    let dim = array
        .dims()
        .iter()
        .map(|&dim| tf::tensor_shape_proto::Dim { size: i64::try_from(dim).unwrap_or(i64::MAX), name: String::new() });
    Any::pack(&tf::TensorProto {
        dtype: array.dtype().number(),
        tensor_shape: Some(tf::TensorShapeProto { dim: dim.collect(), unknown_rank: false }),
        tensor_content: array.as_dense().cloned().unwrap_or_default(),
        string_val: array.as_strings().map(<[_]>::to_vec).unwrap_or_default(),
        ..Default::default()
    })
}
