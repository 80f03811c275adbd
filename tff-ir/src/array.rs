//! Arrays: the seed's `Array`, the content of literals and of every tensor at run time.

use bytes::{BufMut, Bytes, BytesMut};
use half::{bf16, f16};
use std::fmt;
use std::sync::Arc;
use tff_proto::v0 as pb;
use tff_types::{DType, Shape, Type};

/// A dense array of one element type: the seed's `Array`.
///
/// It is immutable and cheap to clone: the elements are a reference-counted view of bytes, also
/// of a received message or of a buffer that a runtime owns. Equality is bit for bit, so that a
/// NaN equals itself and `0.0` differs from `-0.0`.
///
/// ```
/// use tff_ir::{Array, Scalar};
///
/// let array = Array::from_scalar(Scalar::Int32(7));
/// assert_eq!(array.ty().to_string(), "int32");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Array {
    dtype: DType,
    dims: Arc<[u64]>,
    data: Data,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Data {
    /// Elements of a fixed size, little-endian, row-major, without padding.
    Dense(Bytes),
    Strings(Arc<[Bytes]>),
}

/// Why something is no array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrayError {
    /// The element type is missing or unknown.
    #[error("unknown dtype number {0}")]
    UnknownDType(i32),
    /// A dimension is negative or its size unknown.
    #[error("an array needs a known size in every dimension, found {0}")]
    BadDim(i64),
    /// The message says that the rank is unknown.
    #[error("an array needs a shape of known rank")]
    UnknownRank,
    /// The shape has more elements than can be addressed.
    #[error("an array of shape {0:?} is too large")]
    TooLarge(Vec<u64>),
    /// The number of elements differs from what the shape says.
    #[error("expected {expected} elements of {dtype} for shape {dims:?}, found {found}")]
    ElementCount {
        /// The element type.
        dtype: DType,
        /// The shape.
        dims: Vec<u64>,
        /// The elements that the shape asks for.
        expected: u64,
        /// The elements that are there.
        found: u64,
    },
    /// The number of bytes differs from what dtype and shape say.
    #[error("expected {expected} bytes for {dtype}{dims:?}, found {found}")]
    ByteCount {
        /// The element type.
        dtype: DType,
        /// The shape.
        dims: Vec<u64>,
        /// The bytes that dtype and shape ask for.
        expected: u64,
        /// The bytes that are there.
        found: u64,
    },
    /// The list that holds the elements is of another element type.
    #[error("expected elements of {expected}, found a list of {found}")]
    ListType {
        /// The declared element type.
        expected: DType,
        /// The element type of the list.
        found: DType,
    },
    /// An element does not fit its type.
    #[error("element {index} is {value}, which is no {dtype}")]
    BadElement {
        /// The position, row-major.
        index: usize,
        /// The value found.
        value: i64,
        /// The element type.
        dtype: DType,
    },
    /// There are no elements at all: neither a list nor bytes.
    #[error("an array of {0} without elements")]
    Missing(DType),
    /// Strings cannot be given as raw bytes.
    #[error("an array of str needs a list of strings, found raw bytes")]
    RawStrings,
}

/// One element of an array.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the element type of its name")]
pub enum Scalar {
    Bool(bool),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    UInt8(u8),
    UInt16(u16),
    UInt32(u32),
    UInt64(u64),
    Float16(f16),
    BFloat16(bf16),
    Float32(f32),
    Float64(f64),
    Complex64(f32, f32),
    Complex128(f64, f64),
    String(Bytes),
}

impl Scalar {
    /// The element type.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        match self {
            Self::Bool(_) => DType::Bool,
            Self::Int8(_) => DType::Int8,
            Self::Int16(_) => DType::Int16,
            Self::Int32(_) => DType::Int32,
            Self::Int64(_) => DType::Int64,
            Self::UInt8(_) => DType::UInt8,
            Self::UInt16(_) => DType::UInt16,
            Self::UInt32(_) => DType::UInt32,
            Self::UInt64(_) => DType::UInt64,
            Self::Float16(_) => DType::Float16,
            Self::BFloat16(_) => DType::BFloat16,
            Self::Float32(_) => DType::Float32,
            Self::Float64(_) => DType::Float64,
            Self::Complex64(..) => DType::Complex64,
            Self::Complex128(..) => DType::Complex128,
            Self::String(_) => DType::String,
        }
    }

    /// Appends the little-endian bytes of an element that is no string; a string appends nothing.
    fn put(&self, bytes: &mut BytesMut) {
        match *self {
            Self::Bool(value) => bytes.put_u8(value.into()),
            Self::Int8(value) => bytes.put_i8(value),
            Self::Int16(value) => bytes.put_i16_le(value),
            Self::Int32(value) => bytes.put_i32_le(value),
            Self::Int64(value) => bytes.put_i64_le(value),
            Self::UInt8(value) => bytes.put_u8(value),
            Self::UInt16(value) => bytes.put_u16_le(value),
            Self::UInt32(value) => bytes.put_u32_le(value),
            Self::UInt64(value) => bytes.put_u64_le(value),
            Self::Float16(value) => bytes.put_u16_le(value.to_bits()),
            Self::BFloat16(value) => bytes.put_u16_le(value.to_bits()),
            Self::Float32(value) => bytes.put_f32_le(value),
            Self::Float64(value) => bytes.put_f64_le(value),
            Self::Complex64(re, im) => {
                bytes.put_f32_le(re);
                bytes.put_f32_le(im);
            }
            Self::Complex128(re, im) => {
                bytes.put_f64_le(re);
                bytes.put_f64_le(im);
            }
            Self::String(_) => {}
        }
    }
}

impl Array {
    /// An array over raw bytes: little-endian elements, row-major, without padding.
    ///
    /// # Errors
    /// [`ArrayError::RawStrings`] for strings, [`ArrayError::ByteCount`] where the length is not
    /// the one that dtype and shape ask for, [`ArrayError::BadElement`] for a truth value that is
    /// neither 0 nor 1, [`ArrayError::TooLarge`].
    pub fn dense(dtype: DType, dims: impl Into<Arc<[u64]>>, bytes: Bytes) -> Result<Self, ArrayError> {
        let dims = dims.into();
        let size = dtype.size().ok_or(ArrayError::RawStrings)? as u64;
        let too_large = || ArrayError::TooLarge(dims.to_vec());
        let expected = count(&dims)?.checked_mul(size).ok_or_else(too_large)?;
        let found = bytes.len() as u64;
        if expected != found {
            return Err(ArrayError::ByteCount { dtype, dims: dims.to_vec(), expected, found });
        }
        if dtype == DType::Bool
            && let Some((index, &value)) = bytes.iter().enumerate().find(|&(_, &byte)| byte > 1)
        {
            return Err(ArrayError::BadElement { index, value: value.into(), dtype });
        }
        Ok(Self { dtype, dims, data: Data::Dense(bytes) })
    }

    /// An array of strings, row-major.
    ///
    /// # Errors
    /// [`ArrayError::ElementCount`] where there are not as many as the shape asks for.
    pub fn strings(dims: impl Into<Arc<[u64]>>, strings: impl Into<Arc<[Bytes]>>) -> Result<Self, ArrayError> {
        let (dims, strings) = (dims.into(), strings.into());
        check_count(DType::String, &dims, strings.len())?;
        Ok(Self { dtype: DType::String, dims, data: Data::Strings(strings) })
    }

    /// An array of these elements, row-major.
    ///
    /// # Errors
    /// [`ArrayError::ElementCount`], and [`ArrayError::ListType`] where an element is of another
    /// type.
    pub fn from_scalars(dtype: DType, dims: impl Into<Arc<[u64]>>, scalars: &[Scalar]) -> Result<Self, ArrayError> {
        let dims = dims.into();
        check_count(dtype, &dims, scalars.len())?;
        if let Some(other) = scalars.iter().find(|scalar| scalar.dtype() != dtype) {
            return Err(ArrayError::ListType { expected: dtype, found: other.dtype() });
        }
        Ok(Self { dtype, dims, data: Data::of(dtype, scalars) })
    }

    /// A scalar.
    #[must_use]
    pub fn from_scalar(scalar: Scalar) -> Self {
        let dtype = scalar.dtype();
        Self { dtype, dims: Arc::from([]), data: Data::of(dtype, &[scalar]) }
    }

    /// The element type.
    #[must_use]
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of each dimension; empty for a scalar.
    #[must_use]
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Dense(bytes) => bytes.len() / self.dtype.size().unwrap_or(1),
            Data::Strings(strings) => strings.len(),
        }
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tensor type of exactly this array.
    #[must_use]
    pub fn ty(&self) -> Type {
        Type::tensor(self.dtype, Shape::fixed(self.dims.iter().copied()))
    }

    /// The raw bytes; `None` for strings.
    #[must_use]
    pub const fn as_dense(&self) -> Option<&Bytes> {
        if let Data::Dense(bytes) = &self.data { Some(bytes) } else { None }
    }

    /// Lets `write` change the raw bytes, if nobody else holds them; says whether it was called.
    ///
    /// Never for strings, nor for truth values, of which not every byte is one.
    pub fn write_if_unique(&mut self, write: impl FnOnce(&mut [u8])) -> bool {
        let Data::Dense(bytes) = &mut self.data else { return false };
        if self.dtype == DType::Bool {
            return false;
        }
        match std::mem::take(bytes).try_into_mut() {
            Ok(mut unique) => {
                write(&mut unique);
                *bytes = unique.freeze();
                true
            }
            Err(shared) => {
                *bytes = shared;
                false
            }
        }
    }

    /// The strings; `None` for every other element type.
    #[must_use]
    pub fn as_strings(&self) -> Option<&[Bytes]> {
        if let Data::Strings(strings) = &self.data { Some(strings) } else { None }
    }

    /// The element at this position, row-major.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Scalar> {
        let bytes = match &self.data {
            Data::Strings(strings) => return strings.get(index).cloned().map(Scalar::String),
            Data::Dense(bytes) => bytes,
        };
        let size = self.dtype.size()?;
        let start = index.checked_mul(size)?;
        read_scalar(self.dtype, bytes.get(start..start.checked_add(size)?)?)
    }

    /// The elements, row-major.
    pub fn scalars(&self) -> impl Iterator<Item = Scalar> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Reads the message in either of its forms, a list of elements or raw bytes.
    ///
    /// The bytes are shared with the message, not copied.
    ///
    /// # Errors
    /// An [`ArrayError`] for everything that is not exactly the declared number of elements of
    /// the declared type.
    pub fn from_proto(proto: &pb::Array) -> Result<Self, ArrayError> {
        let dtype = DType::from_number(proto.dtype).ok_or(ArrayError::UnknownDType(proto.dtype))?;
        let shape = proto.shape.as_ref();
        if shape.is_some_and(|shape| shape.unknown_rank) {
            return Err(ArrayError::UnknownRank);
        }
        let dims = shape.map_or(&[][..], |shape| &shape.dim);
        let dims: Arc<[u64]> = dims
            .iter()
            .map(|&dim| u64::try_from(dim).map_err(|_| ArrayError::BadDim(dim)))
            .collect::<Result<_, _>>()?;
        match (&proto.kind, &proto.content) {
            (Some(list), _) => Self::from_list(dtype, dims, list),
            (None, Some(content)) => Self::dense(dtype, dims, content.clone()),
            // An array without elements may leave its bytes out; any other one has too few.
            (None, None) if !dims.is_empty() && dtype != DType::String => Self::dense(dtype, dims, Bytes::new()),
            (None, None) => Err(ArrayError::Missing(dtype)),
        }
    }

    fn from_list(dtype: DType, dims: Arc<[u64]>, list: &pb::array::Kind) -> Result<Self, ArrayError> {
        use pb::array::Kind as K;
        let found = list_dtype(list);
        if found != dtype {
            return Err(ArrayError::ListType { expected: dtype, found });
        }
        let pairs = |length: usize| {
            if length.is_multiple_of(2) {
                Ok(length / 2)
            } else {
                Err(ArrayError::ElementCount {
                    dtype,
                    dims: dims.to_vec(),
                    expected: count(&dims)?,
                    found: length as u64 / 2,
                })
            }
        };
        let length = match list {
            K::BoolList(list) => list.value.len(),
            K::Int8List(list)
            | K::Int16List(list)
            | K::Int32List(list)
            | K::Uint8List(list)
            | K::Uint16List(list)
            | K::Float16List(list)
            | K::Bfloat16List(list) => list.value.len(),
            K::Int64List(list) => list.value.len(),
            K::Uint32List(list) => list.value.len(),
            K::Uint64List(list) => list.value.len(),
            K::Float32List(list) => list.value.len(),
            K::Float64List(list) => list.value.len(),
            K::Complex64List(list) => pairs(list.value.len())?,
            K::Complex128List(list) => pairs(list.value.len())?,
            K::StringList(list) => list.value.len(),
        };
        check_count(dtype, &dims, length)?;
        let data = match list {
            K::StringList(list) => Data::Strings(list.value.iter().cloned().collect()),
            K::BoolList(list) => Data::dense(list.value.iter().map(|&value| [u8::from(value)])),
            K::Int8List(list) => Data::narrow(dtype, &list.value, |it: i8| it.to_le_bytes())?,
            K::Int16List(list) => Data::narrow(dtype, &list.value, |it: i16| it.to_le_bytes())?,
            K::Uint8List(list) => Data::narrow(dtype, &list.value, |it: u8| [it])?,
            K::Uint16List(list) | K::Float16List(list) | K::Bfloat16List(list) => {
                Data::narrow(dtype, &list.value, |it: u16| it.to_le_bytes())?
            }
            K::Int32List(list) => Data::dense(list.value.iter().map(|it| it.to_le_bytes())),
            K::Int64List(list) => Data::dense(list.value.iter().map(|it| it.to_le_bytes())),
            K::Uint32List(list) => Data::dense(list.value.iter().map(|it| it.to_le_bytes())),
            K::Uint64List(list) => Data::dense(list.value.iter().map(|it| it.to_le_bytes())),
            K::Float32List(list) | K::Complex64List(list) => Data::dense(list.value.iter().map(|it| it.to_le_bytes())),
            K::Float64List(list) | K::Complex128List(list) => Data::dense(list.value.iter().map(|it| it.to_le_bytes())),
        };
        Ok(Self { dtype, dims, data })
    }

    /// The message with the elements as a list, as in literals.
    #[must_use]
    pub fn to_proto_list(&self) -> pb::Array {
        use pb::array::Kind as K;
        let bytes = match &self.data {
            Data::Strings(strings) => {
                let list = pb::array::BytesList { value: strings.to_vec() };
                return self.proto(Some(K::StringList(list)), None);
            }
            Data::Dense(bytes) => bytes,
        };
        let int = |value| pb::array::IntList { value };
        let list = match self.dtype {
            DType::Bool => K::BoolList(pb::array::BoolList { value: bytes.iter().map(|&byte| byte != 0).collect() }),
            DType::Int8 => K::Int8List(int(elements(bytes, i8::from_le_bytes).map(i32::from).collect())),
            DType::Int16 => K::Int16List(int(elements(bytes, i16::from_le_bytes).map(i32::from).collect())),
            DType::Int32 => K::Int32List(int(elements(bytes, i32::from_le_bytes).collect())),
            DType::UInt8 => K::Uint8List(int(bytes.iter().map(|&byte| byte.into()).collect())),
            DType::UInt16 => K::Uint16List(int(elements(bytes, u16::from_le_bytes).map(i32::from).collect())),
            DType::Float16 => K::Float16List(int(elements(bytes, u16::from_le_bytes).map(i32::from).collect())),
            DType::BFloat16 => K::Bfloat16List(int(elements(bytes, u16::from_le_bytes).map(i32::from).collect())),
            DType::Int64 => K::Int64List(pb::array::Int64List { value: elements(bytes, i64::from_le_bytes).collect() }),
            DType::UInt32 => {
                K::Uint32List(pb::array::Uint32List { value: elements(bytes, u32::from_le_bytes).collect() })
            }
            DType::UInt64 => {
                K::Uint64List(pb::array::Uint64List { value: elements(bytes, u64::from_le_bytes).collect() })
            }
            DType::Float32 => {
                K::Float32List(pb::array::FloatList { value: elements(bytes, f32::from_le_bytes).collect() })
            }
            DType::Complex64 => {
                K::Complex64List(pb::array::FloatList { value: elements(bytes, f32::from_le_bytes).collect() })
            }
            DType::Float64 => {
                K::Float64List(pb::array::DoubleList { value: elements(bytes, f64::from_le_bytes).collect() })
            }
            DType::Complex128 => {
                K::Complex128List(pb::array::DoubleList { value: elements(bytes, f64::from_le_bytes).collect() })
            }
            DType::String => K::StringList(pb::array::BytesList::default()),
        };
        self.proto(Some(list), None)
    }

    /// The message as values cross the wire: a list for scalars and strings, raw bytes, shared
    /// and not copied, for everything else.
    #[must_use]
    pub fn to_proto_value(&self) -> pb::Array {
        match &self.data {
            Data::Dense(bytes) if !self.dims.is_empty() => self.proto(None, Some(bytes.clone())),
            Data::Dense(_) | Data::Strings(_) => self.to_proto_list(),
        }
    }

    fn proto(&self, kind: Option<pb::array::Kind>, content: Option<Bytes>) -> pb::Array {
        let dim = self.dims.iter().map(|&dim| i64::try_from(dim).unwrap_or(i64::MAX)).collect();
        let shape = Some(pb::ArrayShape { dim, unknown_rank: false });
        pb::Array { dtype: self.dtype.number(), shape, content, kind }
    }
}

impl Data {
    fn of(dtype: DType, scalars: &[Scalar]) -> Self {
        if dtype == DType::String {
            let strings = scalars.iter().filter_map(|scalar| match scalar {
                Scalar::String(bytes) => Some(bytes.clone()),
                _ => None,
            });
            return Self::Strings(strings.collect());
        }
        let mut bytes = BytesMut::with_capacity(scalars.len() * dtype.size().unwrap_or(0));
        for scalar in scalars {
            scalar.put(&mut bytes);
        }
        Self::Dense(bytes.freeze())
    }

    fn dense<const N: usize>(elements: impl ExactSizeIterator<Item = [u8; N]>) -> Self {
        let mut bytes = BytesMut::with_capacity(elements.len() * N);
        for element in elements {
            bytes.put_slice(&element);
        }
        Self::Dense(bytes.freeze())
    }

    /// Elements that the message carries as 32-bit integers, each checked against its type.
    fn narrow<T: TryFrom<i32>, const N: usize>(
        dtype: DType,
        values: &[i32],
        to_bytes: impl Fn(T) -> [u8; N],
    ) -> Result<Self, ArrayError> {
        let mut bytes = BytesMut::with_capacity(values.len() * N);
        for (index, &value) in values.iter().enumerate() {
            let element =
                T::try_from(value).map_err(|_| ArrayError::BadElement { index, value: value.into(), dtype })?;
            bytes.put_slice(&to_bytes(element));
        }
        Ok(Self::Dense(bytes.freeze()))
    }
}

/// The number of elements of a shape.
fn count(dims: &[u64]) -> Result<u64, ArrayError> {
    if dims.contains(&0) {
        return Ok(0);
    }
    dims.iter()
        .try_fold(1u64, |product, &dim| product.checked_mul(dim))
        .filter(|&product| isize::try_from(product).is_ok())
        .ok_or_else(|| ArrayError::TooLarge(dims.to_vec()))
}

fn check_count(dtype: DType, dims: &[u64], found: usize) -> Result<(), ArrayError> {
    let (expected, found) = (count(dims)?, found as u64);
    if expected == found {
        Ok(())
    } else {
        Err(ArrayError::ElementCount { dtype, dims: dims.to_vec(), expected, found })
    }
}

const fn list_dtype(list: &pb::array::Kind) -> DType {
    use pb::array::Kind as K;
    match list {
        K::BoolList(_) => DType::Bool,
        K::Int8List(_) => DType::Int8,
        K::Int16List(_) => DType::Int16,
        K::Int32List(_) => DType::Int32,
        K::Int64List(_) => DType::Int64,
        K::Uint8List(_) => DType::UInt8,
        K::Uint16List(_) => DType::UInt16,
        K::Uint32List(_) => DType::UInt32,
        K::Uint64List(_) => DType::UInt64,
        K::Float16List(_) => DType::Float16,
        K::Float32List(_) => DType::Float32,
        K::Float64List(_) => DType::Float64,
        K::Complex64List(_) => DType::Complex64,
        K::Complex128List(_) => DType::Complex128,
        K::Bfloat16List(_) => DType::BFloat16,
        K::StringList(_) => DType::String,
    }
}

/// Reads consecutive little-endian elements.
fn elements<'a, T: 'a, const N: usize>(bytes: &'a [u8], read: fn([u8; N]) -> T) -> impl Iterator<Item = T> + 'a {
    bytes.chunks_exact(N).filter_map(move |chunk| chunk.try_into().ok().map(read))
}

/// Reads one element that is no string from exactly its bytes.
fn read_scalar(dtype: DType, bytes: &[u8]) -> Option<Scalar> {
    let half = |range: std::ops::Range<usize>| bytes.get(range);
    Some(match dtype {
        DType::Bool => Scalar::Bool(*bytes.first()? != 0),
        DType::Int8 => Scalar::Int8(i8::from_le_bytes(bytes.try_into().ok()?)),
        DType::Int16 => Scalar::Int16(i16::from_le_bytes(bytes.try_into().ok()?)),
        DType::Int32 => Scalar::Int32(i32::from_le_bytes(bytes.try_into().ok()?)),
        DType::Int64 => Scalar::Int64(i64::from_le_bytes(bytes.try_into().ok()?)),
        DType::UInt8 => Scalar::UInt8(u8::from_le_bytes(bytes.try_into().ok()?)),
        DType::UInt16 => Scalar::UInt16(u16::from_le_bytes(bytes.try_into().ok()?)),
        DType::UInt32 => Scalar::UInt32(u32::from_le_bytes(bytes.try_into().ok()?)),
        DType::UInt64 => Scalar::UInt64(u64::from_le_bytes(bytes.try_into().ok()?)),
        DType::Float16 => Scalar::Float16(f16::from_le_bytes(bytes.try_into().ok()?)),
        DType::BFloat16 => Scalar::BFloat16(bf16::from_le_bytes(bytes.try_into().ok()?)),
        DType::Float32 => Scalar::Float32(f32::from_le_bytes(bytes.try_into().ok()?)),
        DType::Float64 => Scalar::Float64(f64::from_le_bytes(bytes.try_into().ok()?)),
        DType::Complex64 => Scalar::Complex64(
            f32::from_le_bytes(half(0..4)?.try_into().ok()?),
            f32::from_le_bytes(half(4..8)?.try_into().ok()?),
        ),
        DType::Complex128 => Scalar::Complex128(
            f64::from_le_bytes(half(0..8)?.try_into().ok()?),
            f64::from_le_bytes(half(8..16)?.try_into().ok()?),
        ),
        DType::String => return None,
    })
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        write!(f, "Array({} [", self.ty())?;
        for (index, scalar) in self.scalars().take(SHOWN).enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            scalar.fmt(f)?;
        }
        f.write_str(if self.len() > SHOWN { ", …])" } else { "])" })
    }
}
