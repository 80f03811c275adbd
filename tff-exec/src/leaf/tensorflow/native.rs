//! Tensors in TensorFlow's memory, of whichever element type, and arrays as views of them.

use super::ffi::{TString, bytes_of, plain_tensor, string_tensor};
use crate::values::nodes::check_dims;
use bytes::Bytes;
use half::f16;
use num_complex::Complex;
use std::sync::Arc;
use tensorflow::{BFloat16, DataType, FetchToken, Operation, SessionRunArgs, Status, Tensor};
use tff_ir::{Array, ArrayError};
use tff_types::DType;

/// Strings shorter than this are copied out of a tensor: a view costs as much and keeps it alive.
const MIN_VIEW: usize = 1024;

macro_rules! element_types {
    ($($name:ident $data_type:ident $element:ty),* $(,)?) => {
        /// A tensor in TensorFlow's memory; nothing writes to it once it is made.
        #[derive(Debug)]
        pub(super) enum Native {
            $($name(Tensor<$element>),)*
            String(Tensor<TString>),
        }

        /// What TensorFlow calls this element type.
        pub(super) const fn data_type(dtype: DType) -> DataType {
            match dtype {
                $(DType::$name => DataType::$data_type,)*
                DType::String => DataType::String,
            }
        }

        /// The element type that TensorFlow calls so, if values can have it.
        pub(super) const fn dtype_of(data_type: DataType) -> Option<DType> {
            match data_type {
                $(DataType::$data_type => Some(DType::$name),)*
                DataType::String => Some(DType::String),
                _ => None,
            }
        }

        impl Native {
            /// Copies an array into TensorFlow's memory.
            ///
            /// # Errors
            /// [`ArrayError::TooLarge`] for dimensions that TensorFlow cannot represent.
            pub(super) fn from_array(array: &Array) -> Result<Self, ArrayError> {
                check_dims(array.dims())?;
                Ok(match array.dtype() {
                    $(DType::$name => Self::$name(plain_tensor(array)),)*
                    DType::String => Self::String(string_tensor(array.dims(), array.as_strings().unwrap_or_default())),
                })
            }

            /// Takes a tensor that a run has fetched.
            pub(super) fn fetch(args: &mut SessionRunArgs<'_>, token: FetchToken, dtype: DType) -> Result<Self, Status> {
                Ok(match dtype {
                    $(DType::$name => Self::$name(args.fetch(token)?),)*
                    DType::String => Self::String(args.fetch(token)?),
                })
            }

            /// Feeds it to output `index` of `op`.
            pub(super) fn feed<'a>(&'a self, args: &mut SessionRunArgs<'a>, op: &Operation, index: i32) {
                match self {
                    $(Self::$name(tensor) => args.add_feed(op, index, tensor),)*
                    Self::String(tensor) => args.add_feed(op, index, tensor),
                }
            }

            pub(super) fn dtype(&self) -> DType {
                match self {
                    $(Self::$name(_) => DType::$name,)*
                    Self::String(_) => DType::String,
                }
            }

            pub(super) fn dims(&self) -> &[u64] {
                match self {
                    $(Self::$name(tensor) => tensor.dims(),)*
                    Self::String(tensor) => tensor.dims(),
                }
            }
        }

        impl AsRef<[u8]> for Native {
            /// The bytes of the elements; nothing for strings.
            fn as_ref(&self) -> &[u8] {
                match self {
                    $(Self::$name(tensor) => bytes_of(tensor),)*
                    Self::String(_) => &[],
                }
            }
        }
    };
}

element_types! {
    Bool Bool bool,
    Int8 Int8 i8,
    Int16 Int16 i16,
    Int32 Int32 i32,
    Int64 Int64 i64,
    UInt8 UInt8 u8,
    UInt16 UInt16 u16,
    UInt32 UInt32 u32,
    UInt64 UInt64 u64,
    Float16 Half f16,
    BFloat16 BFloat16 BFloat16,
    Float32 Float f32,
    Float64 Double f64,
    Complex64 Complex64 Complex<f32>,
    Complex128 Complex128 Complex<f64>,
}

impl Native {
    /// A scalar string.
    pub(super) fn from_string(string: Bytes) -> Self {
        Self::String(string_tensor(&[], &[string]))
    }

    /// The string at this position; `None` beyond the end and for other element types.
    pub(super) fn string(self: &Arc<Self>, index: usize) -> Option<Bytes> {
        let Self::String(tensor) = &**self else { return None };
        let string = string_at(tensor, index)?;
        Some(if string.len() < MIN_VIEW {
            Bytes::copy_from_slice(string)
        } else {
            Bytes::from_owner(StringView { tensor: self.clone(), index })
        })
    }

    /// The same tensor as an array, which shares the memory.
    ///
    /// # Errors
    /// [`ArrayError::BadElement`] for a truth value that is neither 0 nor 1.
    pub(super) fn to_array(self: &Arc<Self>) -> Result<Array, ArrayError> {
        match &**self {
            Self::String(tensor) => {
                let strings: Arc<[Bytes]> = (0..tensor.len()).filter_map(|index| self.string(index)).collect();
                Array::strings(self.dims(), strings)
            }
            _ => Array::dense(self.dtype(), self.dims(), Bytes::from_owner(View(self.clone()))),
        }
    }
}

struct View(Arc<Native>);

impl AsRef<[u8]> for View {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// One string of a tensor.
struct StringView {
    tensor: Arc<Native>,
    index: usize,
}

impl AsRef<[u8]> for StringView {
    fn as_ref(&self) -> &[u8] {
        match &*self.tensor {
            Native::String(tensor) => string_at(tensor, self.index).unwrap_or_default(),
            _ => &[],
        }
    }
}

/// The string at a row-major position.
fn string_at(tensor: &Tensor<TString>, index: usize) -> Option<&[u8]> {
    // Through the slice: the tensor's own `get` takes an index per dimension and panics.
    let strings: &[TString] = tensor;
    strings.get(index).map(TString::as_bytes)
}
