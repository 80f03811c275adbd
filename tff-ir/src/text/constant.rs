//! The elements of literals as text: exact, whatever they are.

use super::ast::Plain;
use super::error::{TextError, TextProblem};
use crate::{Array, Element, Scalar, with_element_type};
use half::{bf16, f16};
use std::convert::identity;
use std::fmt::{self, Write};
use std::ops::Neg;
use tff_types::syntax::{Lexer, Span, Token, TokenKind};
use tff_types::{Brief, DType, Type};

/// Prints the elements: one of a scalar, all of an array in brackets, row-major.
pub(super) fn print(array: &Array, f: &mut impl Write) -> fmt::Result {
    let is_scalar = array.dims().is_empty();
    f.write_str(if is_scalar { "" } else { "[" })?;
    match array.as_strings() {
        Some(strings) => print_all(strings.iter(), |text, f| print_text(text, f), f)?,
        None => with_element_type!(
            array.dtype(),
            T => print_all(array.elements::<T>().into_iter().flatten(), T::print, f)?,
            (),
        ),
    }
    f.write_str(if is_scalar { "" } else { "]" })
}

fn print_all<T, F: Write>(
    elements: impl Iterator<Item = T>,
    print: impl Fn(T, &mut F) -> fmt::Result,
    f: &mut F,
) -> fmt::Result {
    for (index, element) in elements.enumerate() {
        f.write_str(if index == 0 { "" } else { "," })?;
        print(element, f)?;
    }
    Ok(())
}

/// An element of a literal as text.
pub(super) trait Constant: Element {
    fn print(self, f: &mut impl Write) -> fmt::Result;
    fn parse(lexer: &mut Lexer<'_>) -> Result<Self, TextError>;
    /// What a constant that does not say its dtype is as one of this type.
    fn of_plain(plain: &Plain) -> Option<Self>;
}

impl Constant for bool {
    fn print(self, f: &mut impl Write) -> fmt::Result {
        write!(f, "{self}")
    }

    fn parse(lexer: &mut Lexer<'_>) -> Result<Self, TextError> {
        let token = lexer.peek()?;
        let value = match lexer.text(token) {
            "true" | "True" => true,
            "false" | "False" => false,
            _ => return Err(lexer.unexpected(token, "`true` or `false`").into()),
        };
        lexer.advance()?;
        Ok(value)
    }

    fn of_plain(plain: &Plain) -> Option<Self> {
        if let Plain::Bool(value) = plain { Some(*value) } else { None }
    }
}

macro_rules! integers {
    ($($ty:ty)+) => {$(
        impl Constant for $ty {
            fn print(self, f: &mut impl Write) -> fmt::Result {
                write!(f, "{self}")
            }

            fn parse(lexer: &mut Lexer<'_>) -> Result<Self, TextError> {
                let (sign, token) = parse_signed(lexer, "an integer")?;
                let text = format!("{sign}{}", lexer.text(token));
                text.parse().map_err(|_| constant_error(lexer, token, Self::DTYPE, text))
            }

            fn of_plain(plain: &Plain) -> Option<Self> {
                if let Plain::Integer(text) = plain { text.parse().ok() } else { None }
            }
        }
    )+};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($ty:ty)+) => {$(
        impl Constant for $ty {
            fn print(self, f: &mut impl Write) -> fmt::Result {
                print_float(self, f)
            }

            fn parse(lexer: &mut Lexer<'_>) -> Result<Self, TextError> {
                parse_float(lexer, Self::DTYPE)
            }

            fn of_plain(plain: &Plain) -> Option<Self> {
                if let Plain::Float(value) = plain { Some(Float::rounded(*value)) } else { None }
            }
        }
    )+};
}

floats!(f16 bf16 f32 f64);

impl<F: Float> Constant for (F, F)
where
    Self: Element,
{
    fn print(self, f: &mut impl Write) -> fmt::Result {
        f.write_str("(")?;
        print_float(self.0, f)?;
        f.write_str(",")?;
        print_float(self.1, f)?;
        f.write_str(")")
    }

    fn parse(lexer: &mut Lexer<'_>) -> Result<Self, TextError> {
        lexer.expect(TokenKind::Symbol('('), "`(`, the real and the imaginary part")?;
        let re = parse_float(lexer, Self::DTYPE)?;
        lexer.expect(TokenKind::Symbol(','), "`,` and the imaginary part")?;
        let im = parse_float(lexer, Self::DTYPE)?;
        lexer.expect(TokenKind::Symbol(')'), "`)`")?;
        Ok((re, im))
    }

    fn of_plain(plain: &Plain) -> Option<Self> {
        if let Plain::Complex(re, im) = plain { Some((F::rounded(*re), F::rounded(*im))) } else { None }
    }
}

/// Prints the shortest decimal that is read as this value; the bits of a NaN other than the usual.
fn print_float<F: Float>(value: F, f: &mut impl Write) -> fmt::Result {
    if value.bits() == F::NAN_BITS {
        f.write_str("nan")
    } else if value.into().is_nan() {
        write!(f, "0x{:0width$x}", value.bits(), width = F::HEX_DIGITS)
    } else {
        f.write_str(&value.shortest())
    }
}

/// Prints bytes in double quotes: what is printable ASCII as it is.
pub(super) fn print_text(bytes: &[u8], f: &mut impl Write) -> fmt::Result {
    f.write_char('"')?;
    for &byte in bytes {
        match byte {
            b'"' => f.write_str("\\\"")?,
            b'\\' => f.write_str("\\\\")?,
            b'\n' => f.write_str("\\n")?,
            b'\r' => f.write_str("\\r")?,
            b'\t' => f.write_str("\\t")?,
            b' '..=b'~' => f.write_char(byte.into())?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    f.write_char('"')
}

/// The floating-point formats, bit for bit.
trait Float: Copy + Into<f64> + Neg<Output = Self> {
    /// The bits of the NaN that is written as `nan`.
    const NAN_BITS: u64;
    /// How many hexadecimal digits the bits have.
    const HEX_DIGITS: usize = 2 * size_of::<Self>();
    fn bits(self) -> u64;
    fn of_bits(bits: u64) -> Option<Self>;
    /// The nearest value.
    fn rounded(value: f64) -> Self;
    /// Reads an unsigned decimal or `inf`.
    fn read(text: &str) -> Option<Self>;
    fn shortest(self) -> String;
}

macro_rules! float {
    ($ty:ty, $bits:ty, $nan:literal, $rounded:expr, $read:expr, $shortest:expr) => {
        impl Float for $ty {
            const NAN_BITS: u64 = $nan;

            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            fn of_bits(bits: u64) -> Option<Self> {
                <$bits>::try_from(bits).ok().map(Self::from_bits)
            }

            fn rounded(value: f64) -> Self {
                $rounded(value)
            }

            fn read(text: &str) -> Option<Self> {
                $read(text)
            }

            fn shortest(self) -> String {
                $shortest(self)
            }
        }
    };
}

float!(f64, u64, 0x7ff8_0000_0000_0000, identity, |text: &str| text.parse().ok(), |value| format!("{value:?}"));
float!(f32, u32, 0x7fc0_0000, nearest, |text: &str| text.parse().ok(), |value| format!("{value:?}"));
// The decimals of the formats of 16 bits are read as `float64` and rounded.
float!(f16, u16, 0x7e00, Self::from_f64, |text: &str| text.parse().ok().map(Self::from_f64), shortest_half);
float!(bf16, u16, 0x7fc0, Self::from_f64, |text: &str| text.parse().ok().map(Self::from_f64), shortest_half);

#[expect(clippy::cast_possible_truncation, reason = "a constant is rounded to its type")]
const fn nearest(value: f64) -> f32 {
    value as f32
}

fn shortest_half<F: Float>(value: F) -> String {
    let wide = value.into();
    // Five digits tell all values apart.
    let rounded = (0..5).filter_map(|digits| format!("{wide:.digits$e}").parse().ok());
    let shortest = rounded.into_iter().find(|it| F::rounded(*it).bits() == value.bits());
    format!("{:?}", shortest.unwrap_or(wide))
}

/// Reads what comes next as the elements of an array of this tensor type.
pub(super) fn parse(lexer: &mut Lexer<'_>, ty: &Type, span: Span) -> Result<Array, TextError> {
    let dims = ty.as_tensor().and_then(|tensor| {
        let dims = tensor.shape.dims()?.iter().copied().collect::<Option<Vec<u64>>>()?;
        Some((tensor.dtype, dims))
    });
    let Some((dtype, dims)) = dims else {
        return Err(TextError::new(lexer.source(), span, TextProblem::LiteralShape(ty.clone())));
    };
    if dims.is_empty() {
        return parse_scalar(lexer, dtype).map(Array::from_scalar);
    }
    let start = lexer.expect(TokenKind::Symbol('['), "`[` and the elements")?;
    let mut scalars = Vec::new();
    if !lexer.eat(TokenKind::Symbol(']'))? {
        loop {
            scalars.push(parse_scalar(lexer, dtype)?);
            if !lexer.eat(TokenKind::Symbol(','))? {
                break;
            }
        }
        lexer.expect(TokenKind::Symbol(']'), "`,` or `]`")?;
    }
    let span = Span { start: start.span.start, end: lexer.last_end() };
    Array::from_scalars(dtype, dims, &scalars).map_err(|error| TextError::new(lexer.source(), span, error))
}

fn parse_scalar(lexer: &mut Lexer<'_>, dtype: DType) -> Result<Scalar, TextError> {
    with_element_type!(dtype, T => T::parse(lexer).map(T::to_scalar), {
        let token = lexer.expect(TokenKind::Text, "a text in double quotes")?;
        Ok(Scalar::String(lexer.bytes(token).unwrap_or_default().into_owned().into()))
    })
}

/// What a constant that does not say its dtype is as one of this dtype.
pub(super) fn plain_scalar(plain: &Plain, dtype: DType) -> Option<Scalar> {
    with_element_type!(dtype, T => T::of_plain(plain).map(T::to_scalar), match plain {
        Plain::Bytes(bytes) => Some(Scalar::String(bytes.clone().into())),
        _ => None,
    })
}

fn parse_float<F: Float>(lexer: &mut Lexer<'_>, dtype: DType) -> Result<F, TextError> {
    let (sign, token) = parse_signed(lexer, "a number, `inf`, `nan` or the bits of one: `0x…`")?;
    let text = lexer.text(token);
    let value = match text.strip_prefix("0x") {
        // More digits than the format has are not a value of it.
        Some(digits) if sign.is_empty() && digits.len() == F::HEX_DIGITS => {
            u64::from_str_radix(digits, 16).ok().and_then(F::of_bits)
        }
        Some(_) => None,
        None if text == "nan" => F::of_bits(F::NAN_BITS).filter(|_| sign.is_empty()),
        None => F::read(text).map(|value| if sign.is_empty() { value } else { -value }),
    };
    // A decimal that rounds to infinity is out of range.
    let value = value.filter(|value| text == "inf" || text.starts_with("0x") || !(*value).into().is_infinite());
    value.ok_or_else(|| constant_error(lexer, token, dtype, format!("{sign}{text}")))
}

/// A number, or a word in its place, after a sign.
fn parse_signed(lexer: &mut Lexer<'_>, expected: &'static str) -> Result<(&'static str, Token), TextError> {
    let sign = if lexer.eat(TokenKind::Symbol('-'))? { "-" } else { "" };
    let token = lexer.peek()?;
    let fits = token.kind == TokenKind::Number || matches!(lexer.text(token), "inf" | "nan");
    if !fits {
        return Err(lexer.unexpected(token, expected).into());
    }
    Ok((sign, lexer.advance()?))
}

fn constant_error(lexer: &Lexer<'_>, token: Token, dtype: DType, found: String) -> TextError {
    let found = Brief::start(&found, 40).to_string();
    TextError::new(lexer.source(), token.span, TextProblem::Constant { dtype, found })
}
