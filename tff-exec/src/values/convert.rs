//! Values from and to Rust's own types, and as text.

use super::{Clients, Function, Sequence, StructValue, Tensor, Value};
use crate::ExecError;
use half::{bf16, f16};
use std::fmt;
use tff_ir::{Array, Element, Scalar, with_element_type};
use tff_types::Brief;

impl Value {
    /// The tensor, if it is one.
    #[must_use]
    pub const fn as_tensor(&self) -> Option<&Tensor> {
        if let Self::Tensor(tensor) = self { Some(tensor) } else { None }
    }

    /// The element of a tensor without dimensions.
    #[must_use]
    pub fn as_scalar(&self) -> Option<Scalar> {
        let array = self.as_tensor()?.array();
        if array.dims().is_empty() { array.get(0) } else { None }
    }

    /// The elements, if it is a struct.
    #[must_use]
    pub const fn as_struct(&self) -> Option<&StructValue> {
        if let Self::Struct(elements) = self { Some(elements) } else { None }
    }

    /// The element of a struct at this position.
    #[must_use]
    pub fn element(&self, index: usize) -> Option<&Self> {
        self.as_struct()?.get(index)
    }

    /// The sequence, if it is one.
    #[must_use]
    pub const fn as_sequence(&self) -> Option<&Sequence> {
        if let Self::Sequence(sequence) = self { Some(sequence) } else { None }
    }

    /// The member of a value at the server.
    #[must_use]
    pub fn as_server(&self) -> Option<&Self> {
        if let Self::Server(member) = self { Some(member) } else { None }
    }

    /// The members of a value at clients.
    #[must_use]
    pub const fn as_clients(&self) -> Option<&Clients> {
        if let Self::Clients(clients) = self { Some(clients) } else { None }
    }

    /// The function, if it is one.
    #[must_use]
    pub const fn as_function(&self) -> Option<&Function> {
        if let Self::Function(function) = self { Some(function) } else { None }
    }
}

/// A tensor: of an array, or without dimensions of one element.
impl<T: Into<Array>> From<T> for Value {
    fn from(content: T) -> Self {
        Self::array(content.into())
    }
}

/// Rust does not take these for all element types at once.
macro_rules! elements {
    ($($rust:ty),+) => {$(
        /// The element of a tensor without dimensions, of this element type and no other.
        impl TryFrom<&Value> for $rust {
            type Error = ExecError;

            fn try_from(value: &Value) -> Result<Self, ExecError> {
                let element = value.as_scalar().as_ref().and_then(Self::from_scalar);
                element.ok_or_else(|| ExecError::mismatch(Self::DTYPE, value.describe()))
            }
        }

        /// The elements of a tensor of any shape, row-major.
        impl TryFrom<&Value> for Vec<$rust> {
            type Error = ExecError;

            fn try_from(value: &Value) -> Result<Self, ExecError> {
                let elements = value.as_tensor().and_then(|tensor| tensor.array().elements::<$rust>().ok());
                let wrong = || ExecError::mismatch(format!("a tensor of {}", <$rust>::DTYPE), value.describe());
                elements.map(Iterator::collect).ok_or_else(wrong)
            }
        }
    )+};
}

elements!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, (f32, f32), (f64, f64));

fn write_element(f: &mut fmt::Formatter<'_>, scalar: &Scalar) -> fmt::Result {
    match scalar {
        Scalar::Complex64(re, im) => write!(f, "{re:?}+{im:?}i"),
        Scalar::Complex128(re, im) => write!(f, "{re:?}+{im:?}i"),
        Scalar::String(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
        real => {
            with_element_type!(real.dtype(), T => T::from_scalar(real).map_or(Ok(()), |it| write!(f, "{it:?}")), Ok(()))
        }
    }
}

/// The text of a string without dimensions.
impl TryFrom<&Value> for String {
    type Error = ExecError;

    fn try_from(value: &Value) -> Result<Self, ExecError> {
        match value.as_scalar() {
            Some(Scalar::String(bytes)) => std::str::from_utf8(&bytes).map(str::to_owned).ok(),
            _ => None,
        }
        .ok_or_else(|| ExecError::mismatch("a string of UTF-8", value.describe()))
    }
}

/// For people: like TFF's notation, on one line, cut where it is long.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The most characters that are shown.
        const SHOWN: usize = 1000;
        Brief::start(&Whole(self), SHOWN).fmt(f)
    }
}

/// A value in full. `Brief` stops it when the text is long enough.
struct Whole<'a>(&'a Value);

impl fmt::Display for Whole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Tensor(tensor) => {
                let array = tensor.array();
                elements(f, array.dims(), &mut array.scalars())
            }
            Value::Struct(elements) => {
                f.write_str("<")?;
                list(f, elements)?;
                f.write_str(">")
            }
            Value::Sequence(sequence) => match sequence.known_elements() {
                Some(elements) => {
                    f.write_str("[")?;
                    list(f, elements)?;
                    f.write_str("]")
                }
                None => write!(f, "a dataset of {}*", sequence.element_type()),
            },
            Value::Server(member) => write!(f, "{}@SERVER", Whole(member)),
            Value::Clients(Clients::AllEqual(member)) => write!(f, "{}@CLIENTS", Whole(member)),
            Value::Clients(Clients::Each(members)) => {
                f.write_str("{")?;
                list(f, members)?;
                f.write_str("}@CLIENTS")
            }
            Value::Function(function) => match function.ty() {
                Some(ty) => write!(f, "a function of type {ty}"),
                None => f.write_str("a function"),
            },
            Value::Placement(placement) => placement.fmt(f),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, values: &[Value]) -> fmt::Result {
    values.iter().enumerate().try_for_each(|(index, value)| {
        let comma = if index == 0 { "" } else { "," };
        write!(f, "{comma}{}", Whole(value))
    })
}

/// The elements of an array, in brackets for each dimension.
fn elements(f: &mut fmt::Formatter<'_>, dims: &[u64], scalars: &mut impl Iterator<Item = Scalar>) -> fmt::Result {
    let Some((&len, inner)) = dims.split_first() else {
        return scalars.next().map_or(Ok(()), |scalar| write_element(f, &scalar));
    };
    f.write_str("[")?;
    for index in 0..len {
        if index > 0 {
            f.write_str(",")?;
        }
        elements(f, inner, scalars)?;
    }
    f.write_str("]")
}
