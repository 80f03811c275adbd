//! Tensors as TensorFlow writes them: the `TensorProto` in values of the 0.80 dialect.

use crate::ExecError;
use tff_ir::{Array, ArrayError};
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
    let ints = |value| pb::array::IntList { value };
    use pb::array::Kind as K;
    let kind = match dtype {
        DType::Bool => K::BoolList(pb::array::BoolList { value: fill.list(proto.bool_val)? }),
        DType::Int8 => K::Int8List(ints(fill.list(proto.int_val)?)),
        DType::Int16 => K::Int16List(ints(fill.list(proto.int_val)?)),
        DType::Int32 => K::Int32List(ints(fill.list(proto.int_val)?)),
        DType::UInt8 => K::Uint8List(ints(fill.list(proto.int_val)?)),
        DType::UInt16 => K::Uint16List(ints(fill.list(proto.int_val)?)),
        DType::Float16 => K::Float16List(ints(fill.list(proto.half_val)?)),
        DType::BFloat16 => K::Bfloat16List(ints(fill.list(proto.half_val)?)),
        DType::Int64 => K::Int64List(pb::array::Int64List { value: fill.list(proto.int64_val)? }),
        DType::UInt32 => K::Uint32List(pb::array::Uint32List { value: fill.list(proto.uint32_val)? }),
        DType::UInt64 => K::Uint64List(pb::array::Uint64List { value: fill.list(proto.uint64_val)? }),
        DType::Float32 => K::Float32List(pb::array::FloatList { value: fill.list(proto.float_val)? }),
        DType::Float64 => K::Float64List(pb::array::DoubleList { value: fill.list(proto.double_val)? }),
        DType::Complex64 => K::Complex64List(pb::array::FloatList { value: fill.pairs(proto.scomplex_val)? }),
        DType::Complex128 => K::Complex128List(pb::array::DoubleList { value: fill.pairs(proto.dcomplex_val)? }),
        DType::String => K::StringList(pb::array::BytesList { value: fill.list(proto.string_val)? }),
    };
    let (content, kind) = (None, Some(kind));
    Ok(Array::from_proto(&pb::Array { dtype: proto.dtype, shape: Some(shape), content, kind })?)
}

/// Lists made as long as the shape says, by TensorFlow's rule: the last element repeats, and
/// without any all are zero.
struct Fill {
    count: usize,
}

impl Fill {
    fn list<T: Clone + Default>(&self, mut list: Vec<T>) -> Result<Vec<T>, ExecError> {
        if list.len() < self.count {
            let missing = self.count - list.len();
            if missing > MAX_FILLED {
                return Err(ExecError::Limit { what: "the number of elements a tensor leaves out", limit: MAX_FILLED });
            }
            list.resize(self.count, list.last().cloned().unwrap_or_default());
        }
        Ok(list)
    }

    /// The same for complex numbers, two entries each.
    fn pairs<T: Copy + Default>(&self, list: Vec<T>) -> Result<Vec<T>, ExecError> {
        let pairs = list.chunks_exact(2).filter_map(|pair| <[T; 2]>::try_from(pair).ok()).collect();
        Ok(self.list::<[T; 2]>(pairs)?.into_iter().flatten().collect())
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
