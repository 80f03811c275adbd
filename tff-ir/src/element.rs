//! The element types of arrays as Rust's own types: the one table that joins a dtype, its type in Rust, its variant of
//! [`Scalar`] and its list in messages.
//!
//! To do something for each dtype, write it once, for a type `T`, in
//! [`with_element_type!`](crate::with_element_type).

use crate::{Array, ArrayError, Scalar};
use bytes::{BufMut, Bytes, BytesMut};
use half::{bf16, f16};
use std::fmt::Debug;
use tff_proto::v0::array as pb;
use tff_types::DType;

/// Runs code for the element type of a dtype.
///
/// In the first expression the name stands for the Rust type of the elements, which is an [`Element`]; the second
/// expression is for strings, which have no fixed size.
///
/// ```
/// use tff_ir::{Element, with_element_type};
/// use tff_types::DType;
///
/// let size = |dtype: DType| with_element_type!(dtype, T => Some(T::SIZE), None);
/// assert_eq!(size(DType::Complex64), Some(8));
/// assert_eq!(size(DType::String), None);
/// ```
#[macro_export]
macro_rules! with_element_type {
    ($dtype:expr, $element:ident => $dense:expr, $strings:expr $(,)?) => {
        $crate::with_element_type!(@ $dtype, $element => $dense, $strings;
            Bool bool, Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64,
            Float16 $crate::element_types::f16, BFloat16 $crate::element_types::bf16, Float32 f32, Float64 f64,
            Complex64 (f32, f32), Complex128 (f64, f64))
    };
    (@ $dtype:expr, $element:ident => $dense:expr, $strings:expr; $($variant:ident $ty:ty),+) => {
        match $dtype {
            $($crate::element_types::DType::$variant => {
                type $element = $ty;
                $dense
            })+
            $crate::element_types::DType::String => $strings,
        }
    };
}

/// A Rust type that arrays have as elements: numbers, truth values, and pairs of a real and an imaginary part.
pub trait Element: Copy + PartialEq + Debug + Send + Sync + Listed + 'static {
    /// The dtype of arrays of it.
    const DTYPE: DType;
    /// How many bytes an element takes.
    const SIZE: usize = size_of::<Self>();

    /// Appends the bytes: little-endian, without padding.
    fn put(self, bytes: &mut BytesMut);

    /// Reads an element from exactly its bytes.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// The element alone.
    fn to_scalar(self) -> Scalar;

    /// The element, if it is of this type.
    fn from_scalar(scalar: &Scalar) -> Option<Self>;

    /// The list of a message.
    #[doc(hidden)]
    fn list(items: Vec<Self::Item>) -> pb::Kind;

    /// The items of a list, if it is one of this type.
    #[doc(hidden)]
    fn items(list: &pb::Kind) -> Option<&[Self::Item]>;
}

/// How elements are listed in messages.
pub trait Listed: Sized {
    /// What the lists are made of.
    type Item: Copy + Default;
    /// How many items one element takes.
    const ITEMS: usize;

    /// Appends the items of an element.
    fn push(self, items: &mut Vec<Self::Item>);

    /// Reads an element from so many items.
    ///
    /// # Errors
    /// The item that is out of range.
    fn of_items(items: &[Self::Item]) -> Result<Self, i64>;
}

macro_rules! listed_as_they_are {
    ($($ty:ty)+) => {$(
        impl Listed for $ty {
            type Item = Self;
            const ITEMS: usize = 1;

            fn push(self, items: &mut Vec<Self>) {
                items.push(self);
            }

            fn of_items(items: &[Self]) -> Result<Self, i64> {
                items.first().copied().ok_or(0)
            }
        }
    )+};
}

listed_as_they_are!(bool i32 i64 u32 u64 f32 f64);

macro_rules! listed_as_int32 {
    ($($ty:ty: $bits:ty, $to_bits:expr, $of_bits:expr;)+) => {$(
        impl Listed for $ty {
            type Item = i32;
            const ITEMS: usize = 1;

            fn push(self, items: &mut Vec<i32>) {
                items.push(i32::from($to_bits(self)));
            }

            fn of_items(items: &[i32]) -> Result<Self, i64> {
                let item = items.first().copied().ok_or(0)?;
                <$bits>::try_from(item).map($of_bits).map_err(|_| item.into())
            }
        }
    )+};
}

listed_as_int32! {
    i8: i8, std::convert::identity, std::convert::identity;
    i16: i16, std::convert::identity, std::convert::identity;
    u8: u8, std::convert::identity, std::convert::identity;
    u16: u16, std::convert::identity, std::convert::identity;
    f16: u16, Self::to_bits, Self::from_bits;
    bf16: u16, Self::to_bits, Self::from_bits;
}

impl<T: Copy + Default> Listed for (T, T) {
    type Item = T;
    const ITEMS: usize = 2;

    fn push(self, items: &mut Vec<T>) {
        items.extend([self.0, self.1]);
    }

    fn of_items(items: &[T]) -> Result<Self, i64> {
        if let [re, im] = items { Ok((*re, *im)) } else { Err(0) }
    }
}

macro_rules! bytes {
    (truth $variant:ident) => {
        bytes!(alone $variant);

        fn put(self, bytes: &mut BytesMut) {
            bytes.put_u8(self.into());
        }

        fn read(bytes: &[u8]) -> Option<Self> {
            if let [byte] = bytes { Some(*byte != 0) } else { None }
        }
    };
    (number $variant:ident) => {
        bytes!(alone $variant);

        fn put(self, bytes: &mut BytesMut) {
            bytes.put_slice(&self.to_le_bytes());
        }

        fn read(bytes: &[u8]) -> Option<Self> {
            bytes.try_into().ok().map(Self::from_le_bytes)
        }
    };
    (alone $variant:ident) => {
        fn to_scalar(self) -> Scalar {
            Scalar::$variant(self)
        }
    };
    (pair $variant:ident) => {
        fn to_scalar(self) -> Scalar {
            Scalar::$variant(self.0, self.1)
        }

        fn put(self, bytes: &mut BytesMut) {
            self.0.put(bytes);
            self.1.put(bytes);
        }

        fn read(bytes: &[u8]) -> Option<Self> {
            let (re, im) = bytes.split_at_checked(Self::SIZE / 2)?;
            Some((Element::read(re)?, Element::read(im)?))
        }
    };
}

macro_rules! elements {
    ($($variant:ident($($part:ident),+): $ty:ty, as $bytes:ident, $list:ident $message:ident;)+) => {
        $(
            impl Element for $ty {
                const DTYPE: DType = DType::$variant;

                bytes!($bytes $variant);

                fn from_scalar(scalar: &Scalar) -> Option<Self> {
                    if let Scalar::$variant($($part),+) = scalar { Some(($(*$part),+)) } else { None }
                }

                fn list(value: Vec<Self::Item>) -> pb::Kind {
                    pb::Kind::$list(pb::$message { value })
                }

                fn items(list: &pb::Kind) -> Option<&[Self::Item]> {
                    if let pb::Kind::$list(list) = list { Some(&list.value) } else { None }
                }
            }

            impl From<$ty> for Scalar {
                fn from(element: $ty) -> Self {
                    element.to_scalar()
                }
            }

            /// Refuses an element of another type.
            impl TryFrom<Scalar> for $ty {
                type Error = ArrayError;

                fn try_from(scalar: Scalar) -> Result<Self, ArrayError> {
                    let other = || ArrayError::ListType { expected: DType::$variant, found: scalar.dtype() };
                    Self::from_scalar(&scalar).ok_or_else(other)
                }
            }
        )+

        impl Scalar {
            /// The element type.
            #[must_use]
            pub const fn dtype(&self) -> DType {
                match self {
                    $(Self::$variant(..) => DType::$variant,)+
                    Self::String(_) => DType::String,
                }
            }

            /// Appends the bytes of an element that is no string; a string appends nothing.
            pub(crate) fn put(&self, bytes: &mut BytesMut) {
                match *self {
                    $(Self::$variant($($part),+) => Element::put(($($part),+), bytes),)+
                    Self::String(_) => {}
                }
            }
        }

        /// The element type of a list of a message.
        pub(crate) const fn list_dtype(list: &pb::Kind) -> DType {
            match list {
                $(pb::Kind::$list(_) => DType::$variant,)+
                pb::Kind::StringList(_) => DType::String,
            }
        }
    };
}

elements! {
    Bool(value): bool, as truth, BoolList BoolList;
    Int8(value): i8, as number, Int8List IntList;
    Int16(value): i16, as number, Int16List IntList;
    Int32(value): i32, as number, Int32List IntList;
    Int64(value): i64, as number, Int64List Int64List;
    UInt8(value): u8, as number, Uint8List IntList;
    UInt16(value): u16, as number, Uint16List IntList;
    UInt32(value): u32, as number, Uint32List Uint32List;
    UInt64(value): u64, as number, Uint64List Uint64List;
    Float16(value): f16, as number, Float16List IntList;
    BFloat16(value): bf16, as number, Bfloat16List IntList;
    Float32(value): f32, as number, Float32List FloatList;
    Float64(value): f64, as number, Float64List DoubleList;
    Complex64(re, im): (f32, f32), as pair, Complex64List FloatList;
    Complex128(re, im): (f64, f64), as pair, Complex128List DoubleList;
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        Self::String(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl From<Bytes> for Scalar {
    fn from(bytes: Bytes) -> Self {
        Self::String(bytes)
    }
}

/// An array without dimensions.
impl<T: Into<Scalar>> From<T> for Array {
    fn from(element: T) -> Self {
        Self::from_scalar(element.into())
    }
}
