//! The signature of a module: which arrays it takes and gives.

use super::LEAF;
use crate::{ExecError, LeafError, Place};
use std::fmt;
use tff_ir::Opaque;
use tff_proto::google::protobuf::Any;
use tff_proto::xla::{HloModuleProto, PrimitiveType, ProgramShapeProto, ShapeProto};
use tff_types::{Brief, DType, Shape, Type};

/// The most characters of a module's name that errors repeat.
const MAX_NAME: usize = 100;

/// The arrays that a module takes and gives, without nesting.
#[derive(Debug)]
pub(super) struct Signature {
    /// What errors call the module.
    pub(super) place: Place,
    pub(super) parameters: Vec<ArrayShape>,
    pub(super) results: Vec<ArrayShape>,
    /// Whether the module takes one tuple of its parameters instead of each by itself.
    pub(super) is_tupled: bool,
}

/// The element type and the sizes of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArrayShape {
    pub(super) dtype: DType,
    pub(super) dims: Vec<u64>,
}

impl Signature {
    /// Reads the signature of a serialized module.
    ///
    /// # Errors
    /// [`ExecError::Prepare`] where the message is another one or damaged, or where something is
    /// taken or given that no tensor is.
    pub(super) fn read(module: &Opaque) -> Result<Self, ExecError> {
        let any = Any { type_url: module.type_url.to_string(), value: module.value.clone() };
        let proto: HloModuleProto = any.unpack().map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            LEAF.refuses(LeafError::Body(format!("{error}{cause}")))
        })?;
        let place = Place::Module(Brief::start(&proto.name, MAX_NAME).to_string().into());
        let shape = proto.host_program_shape.unwrap_or_default();
        Self::of(place.clone(), &shape).map_err(|reason| LEAF.refuses(LeafError::Body(reason)).at(place))
    }

    fn of(place: Place, shape: &ProgramShapeProto) -> Result<Self, String> {
        let (parameters, is_tupled) = match shape.parameters.as_slice() {
            [tuple] if is_tuple(tuple) => (tuple.tuple_shapes.as_slice(), true),
            parameters => (parameters, false),
        };
        let results = match &shape.result {
            None => return Err("the module does not say what it gives".to_owned()),
            Some(tuple) if is_tuple(tuple) => tuple.tuple_shapes.as_slice(),
            Some(result) => std::slice::from_ref(result),
        };
        let read = |side, shapes: &[ShapeProto]| -> Result<Vec<ArrayShape>, String> {
            let shapes = shapes.iter().enumerate().map(|(index, shape)| {
                ArrayShape::read(shape).map_err(|reason| format!("{side} {index} of the module {reason}"))
            });
            shapes.collect()
        };
        Ok(Self { place, parameters: read("parameter", parameters)?, results: read("result", results)?, is_tupled })
    }
}

fn is_tuple(shape: &ShapeProto) -> bool {
    shape.element_type() == PrimitiveType::Tuple
}

impl ArrayShape {
    fn read(shape: &ShapeProto) -> Result<Self, String> {
        let element_type = shape.element_type();
        let Some(dtype) = dtype_of(element_type) else {
            return Err(match element_type {
                PrimitiveType::Tuple => "is a tuple within a tuple".to_owned(),
                other => format!("is of type {}, which no tensor is", other.as_str_name().to_lowercase()),
            });
        };
        if shape.is_dynamic_dimension.contains(&true) {
            return Err("has a size that is only known when it runs".to_owned());
        }
        let dims: Result<Vec<u64>, _> = shape.dimensions.iter().map(|&dim| u64::try_from(dim)).collect();
        let dims = dims.map_err(|_| format!("has a negative size: {:?}", shape.dimensions))?;
        let shape = Self { dtype, dims };
        if shape.size().is_none() {
            return Err(format!("is {shape}, which is too large"));
        }
        Ok(shape)
    }

    /// The shape of that many such arrays, one after another.
    pub(super) fn stacked(&self, n: usize) -> Self {
        Self { dtype: self.dtype, dims: [n as u64].iter().chain(&self.dims).copied().collect() }
    }

    /// The bytes that the elements take; `None` beyond what can be addressed. Sizes of zero do not
    /// count, since libraries multiply in any order.
    pub(super) fn size(&self) -> Option<usize> {
        let size = self.dims.iter().try_fold(self.dtype.size()? as u64, |size, &dim| size.checked_mul(dim.max(1)))?;
        isize::try_from(size).ok().map(isize::unsigned_abs)
    }
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Type::tensor(self.dtype, Shape::fixed(self.dims.iter().copied())).fmt(f)
    }
}

/// The element type of tensors that XLA calls so.
const fn dtype_of(ty: PrimitiveType) -> Option<DType> {
    Some(match ty {
        PrimitiveType::Pred => DType::Bool,
        PrimitiveType::S8 => DType::Int8,
        PrimitiveType::S16 => DType::Int16,
        PrimitiveType::S32 => DType::Int32,
        PrimitiveType::S64 => DType::Int64,
        PrimitiveType::U8 => DType::UInt8,
        PrimitiveType::U16 => DType::UInt16,
        PrimitiveType::U32 => DType::UInt32,
        PrimitiveType::U64 => DType::UInt64,
        PrimitiveType::F16 => DType::Float16,
        PrimitiveType::Bf16 => DType::BFloat16,
        PrimitiveType::F32 => DType::Float32,
        PrimitiveType::F64 => DType::Float64,
        PrimitiveType::C64 => DType::Complex64,
        PrimitiveType::C128 => DType::Complex128,
        _ => return None,
    })
}
