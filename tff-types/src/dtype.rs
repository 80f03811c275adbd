//! The element types of tensors: the protocol's `DataType`.

use std::fmt;
use std::str::FromStr;

/// The element type of a tensor, one of the sixteen that the protocol's `DataType` names.
///
/// ```
/// use tff_types::DType;
///
/// assert_eq!(DType::Int32.to_string(), "int32");
/// assert_eq!("str".parse(), Ok(DType::String));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
pub enum DType {
    /// IEEE 754 single precision.
    Float32 = 1,
    /// IEEE 754 double precision.
    Float64 = 2,
    /// Signed 32-bit integer.
    Int32 = 3,
    /// Unsigned 8-bit integer.
    UInt8 = 4,
    /// Signed 16-bit integer.
    Int16 = 5,
    /// Signed 8-bit integer.
    Int8 = 6,
    /// A string of arbitrary bytes; printed `str`.
    String = 7,
    /// Two `float32`: real and imaginary part.
    Complex64 = 8,
    /// Signed 64-bit integer.
    Int64 = 9,
    /// A truth value, one byte each.
    Bool = 10,
    /// The upper half of a `float32`.
    BFloat16 = 14,
    /// Unsigned 16-bit integer.
    UInt16 = 17,
    /// Two `float64`: real and imaginary part.
    Complex128 = 18,
    /// IEEE 754 half precision.
    Float16 = 19,
    /// Unsigned 32-bit integer.
    UInt32 = 22,
    /// Unsigned 64-bit integer.
    UInt64 = 23,
}

impl DType {
    /// All element types, in the order of their wire numbers.
    pub const ALL: [Self; 16] = [
        Self::Float32,
        Self::Float64,
        Self::Int32,
        Self::UInt8,
        Self::Int16,
        Self::Int8,
        Self::String,
        Self::Complex64,
        Self::Int64,
        Self::Bool,
        Self::BFloat16,
        Self::UInt16,
        Self::Complex128,
        Self::Float16,
        Self::UInt32,
        Self::UInt64,
    ];

    /// The name in the notation of types: `int32`, `str`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Int32 => "int32",
            Self::UInt8 => "uint8",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
            Self::String => "str",
            Self::Complex64 => "complex64",
            Self::Int64 => "int64",
            Self::Bool => "bool",
            Self::BFloat16 => "bfloat16",
            Self::UInt16 => "uint16",
            Self::Complex128 => "complex128",
            Self::Float16 => "float16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
        }
    }

    /// The element type that somebody may have meant who wrote this name: by the name that another language has for it,
    /// or with two letters exchanged or one wrong.
    ///
    /// ```
    /// # use tff_types::DType;
    /// assert_eq!(DType::nearest("double"), Some(DType::Float64));
    /// assert_eq!(DType::nearest("flaot32"), Some(DType::Float32));
    /// assert_eq!(DType::nearest("T"), None);
    /// ```
    #[must_use]
    pub fn nearest(name: &str) -> Option<Self> {
        Some(match name {
            "float" => Self::Float32,
            "double" => Self::Float64,
            "int" | "integer" => Self::Int32,
            "long" => Self::Int64,
            "uint" => Self::UInt32,
            "half" => Self::Float16,
            "boolean" => Self::Bool,
            "string" => Self::String,
            _ => return Self::ALL.into_iter().find(|dtype| is_misspelt(name.as_bytes(), dtype.name().as_bytes())),
        })
    }

    /// The number of the protocol's `DataType`, which is also TensorFlow's.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// The element type of that number of the protocol's `DataType`; `None` for `DT_INVALID` and for
    /// numbers the protocol does not know.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.number() == number)
    }

    /// The bytes that one element takes in a dense array; `None` for strings, whose size varies.
    #[must_use]
    pub const fn size(self) -> Option<usize> {
        match self {
            Self::Bool | Self::Int8 | Self::UInt8 => Some(1),
            Self::Int16 | Self::UInt16 | Self::Float16 | Self::BFloat16 => Some(2),
            Self::Int32 | Self::UInt32 | Self::Float32 => Some(4),
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Complex64 => Some(8),
            Self::Complex128 => Some(16),
            Self::String => None,
        }
    }

    /// Whether it is one of the eight signed and unsigned integers.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(
            self,
            Self::Int8
                | Self::Int16
                | Self::Int32
                | Self::Int64
                | Self::UInt8
                | Self::UInt16
                | Self::UInt32
                | Self::UInt64
        )
    }

    /// Whether it is a real floating-point number, `bfloat16` included.
    #[must_use]
    pub const fn is_floating(self) -> bool {
        matches!(self, Self::Float16 | Self::BFloat16 | Self::Float32 | Self::Float64)
    }

    /// Whether it is one of the two complex numbers.
    #[must_use]
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::Complex64 | Self::Complex128)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no element type has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown dtype `{0}`")]
pub struct UnknownDType(pub String);

impl FromStr for DType {
    type Err = UnknownDType;

    /// Reads a name as printed, and `string`, the protocol's spelling of `str`.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == "string" {
            return Ok(Self::String);
        }
        Self::ALL.into_iter().find(|dtype| dtype.name() == name).ok_or_else(|| UnknownDType(name.to_owned()))
    }
}

/// Whether a name of the same length, and longer than a letter or two, has one character wrong or two neighbours exchanged.
fn is_misspelt(written: &[u8], name: &[u8]) -> bool {
    if written.len() != name.len() || name.len() < 4 {
        return false;
    }
    let mut wrong = (0..name.len()).filter(|&index| written.get(index) != name.get(index));
    match (wrong.next(), wrong.next(), wrong.next()) {
        (Some(_), None, None) => true,
        (Some(first), Some(second), None) => {
            second == first + 1 && written.get(first) == name.get(second) && written.get(second) == name.get(first)
        }
        _ => false,
    }
}
