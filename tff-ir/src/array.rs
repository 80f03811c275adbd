//! Arrays: the protocol's `Array`, the content of literals and of every tensor at run time.

use crate::element::{Element, Listed, list_dtype};
use crate::with_element_type;
use bytes::{Bytes, BytesMut};
use half::{bf16, f16};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use tff_proto::v0 as pb;
use tff_types::{DType, Shape, Type};

/// A dense array of one element type: the protocol's `Array`.
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
    #[error("element {index} is {value}, which {dtype} does not have")]
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
        let bytes = bytes.get(start..start.checked_add(size)?)?;
        with_element_type!(self.dtype, T => T::read(bytes).map(T::to_scalar), None)
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
        if let pb::array::Kind::StringList(list) = list
            && dtype == DType::String
        {
            return Self::strings(dims, list.value.as_slice());
        }
        let other = || ArrayError::ListType { expected: dtype, found: list_dtype(list) };
        with_element_type!(
            dtype,
            T => Self::from_items::<T>(dims, T::items(list).ok_or_else(other)?),
            Err(other()),
        )
    }

    fn from_items<T: Element>(dims: Arc<[u64]>, items: &[T::Item]) -> Result<Self, ArrayError> {
        let (dtype, found) = (T::DTYPE, items.len() / T::ITEMS);
        if !items.len().is_multiple_of(T::ITEMS) {
            let (expected, found) = (count(&dims)?, found as u64);
            return Err(ArrayError::ElementCount { dtype, dims: dims.to_vec(), expected, found });
        }
        check_count(dtype, &dims, found)?;
        let mut bytes = BytesMut::with_capacity(found * T::SIZE);
        for (index, items) in items.chunks_exact(T::ITEMS).enumerate() {
            let element = T::of_items(items).map_err(|value| ArrayError::BadElement { index, value, dtype })?;
            element.put(&mut bytes);
        }
        Ok(Self { dtype, dims, data: Data::Dense(bytes.freeze()) })
    }

    /// An array of these elements, row-major.
    ///
    /// ```
    /// use tff_ir::Array;
    ///
    /// # fn main() -> Result<(), tff_ir::ArrayError> {
    /// let array = Array::from_elements([2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(array.ty().to_string(), "float32[2,2]");
    /// assert_eq!(array.elements::<f32>()?.sum::<f32>(), 10.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::ElementCount`] where there are not as many as the shape asks for.
    pub fn from_elements<T: Element>(dims: impl Into<Arc<[u64]>>, elements: &[T]) -> Result<Self, ArrayError> {
        let dims = dims.into();
        check_count(T::DTYPE, &dims, elements.len())?;
        let mut bytes = BytesMut::with_capacity(elements.len() * T::SIZE);
        elements.iter().for_each(|element| element.put(&mut bytes));
        Ok(Self { dtype: T::DTYPE, dims, data: Data::Dense(bytes.freeze()) })
    }

    /// The elements, row-major, as what they are.
    ///
    /// # Errors
    /// [`ArrayError::ListType`] where they are of another type.
    pub fn elements<T: Element>(&self) -> Result<impl ExactSizeIterator<Item = T> + '_, ArrayError> {
        let bytes = self.as_dense().filter(|_| self.dtype == T::DTYPE);
        let bytes = bytes.ok_or(ArrayError::ListType { expected: T::DTYPE, found: self.dtype })?;
        Ok(Elements { bytes, element: PhantomData })
    }

    /// The message with the elements as a list, as in literals.
    #[must_use]
    pub fn to_proto_list(&self) -> pb::Array {
        let list = match &self.data {
            Data::Strings(strings) => pb::array::Kind::StringList(pb::array::BytesList { value: strings.to_vec() }),
            Data::Dense(bytes) => with_element_type!(
                self.dtype,
                T => {
                    let mut items = Vec::with_capacity(self.len() * T::ITEMS);
                    Elements::<T> { bytes, element: PhantomData }.for_each(|element| element.push(&mut items));
                    T::list(items)
                },
                pb::array::Kind::StringList(pb::array::BytesList::default()),
            ),
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

/// Reads the elements of dense bytes.
struct Elements<'a, T> {
    bytes: &'a [u8],
    element: PhantomData<T>,
}

impl<T: Element> Iterator for Elements<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let (element, rest) = self.bytes.split_at_checked(T::SIZE)?;
        self.bytes = rest;
        T::read(element)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.bytes.len() / T::SIZE;
        (len, Some(len))
    }
}

impl<T: Element> ExactSizeIterator for Elements<'_, T> {}

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
