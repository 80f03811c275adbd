//! How the elements of a literal print in the forms of the reference: as numpy prints them.

mod float;

use self::float::{Column, Sign, scalar_text};
use crate::{Array, Scalar};
use half::bf16;
use std::fmt::{self, Write};
use tff_types::DType;

/// Prints the array as `str` of numpy does: `1.5`, `True`, `b'abc'`, `[[1 2]\n [3 4]]`, with the
/// middle left out where there are more than 1000 elements.
pub(crate) fn numpy(array: &Array, f: &mut impl Write) -> fmt::Result {
    if array.dims().is_empty() {
        return array.get(0).map_or(Ok(()), |scalar| f.write_str(&lone_text(&scalar)));
    }
    if array.is_empty() {
        return f.write_str("[]");
    }
    let summary = array.len() > THRESHOLD;
    let scalars = if summary { corners(array) } else { array.scalars().collect() };
    let words = words(array.dtype(), &scalars);
    let mut printer = Printer { dims: array.dims(), summary, words: words.iter() };
    f.write_str(&printer.nested(0, LINE_WIDTH))
}

/// Prints the array as `format` of numpy does, which differs for a single float: it is that of 64 bits, so that `float32`
/// 0.1 is `0.10000000149011612`.
pub(crate) fn formatted(array: &Array, f: &mut impl Write) -> fmt::Result {
    let lone = if array.dims().is_empty() { array.get(0) } else { None };
    match lone {
        Some(Scalar::Float16(value)) => f.write_str(&lone_text(&Scalar::Float64(value.into()))),
        Some(Scalar::Float32(value)) => f.write_str(&lone_text(&Scalar::Float64(value.into()))),
        Some(Scalar::Complex64(re, im)) => f.write_str(&lone_text(&Scalar::Complex128(re.into(), im.into()))),
        _ => numpy(array, f),
    }
}

/// Numpy leaves out the middle of arrays of more elements.
const THRESHOLD: usize = 1000;
/// How many elements it then shows at each end of a dimension.
const EDGE: u64 = 3;
/// How long its lines get.
const LINE_WIDTH: usize = 75;

/// The elements at the ends of each dimension, row-major.
fn corners(array: &Array) -> Vec<Scalar> {
    let mut positions = vec![0u64];
    for &dim in array.dims() {
        let shown: Vec<u64> =
            if dim > 2 * EDGE { (0..EDGE).chain(dim - EDGE..dim).collect() } else { (0..dim).collect() };
        // No position exceeds the number of elements, which is that of things in memory.
        positions = positions.iter().flat_map(|start| shown.iter().map(move |index| start * dim + index)).collect();
    }
    positions.into_iter().filter_map(|position| array.get(usize::try_from(position).ok()?)).collect()
}

/// The text of an element that is no member of an array.
fn lone_text(scalar: &Scalar) -> String {
    match *scalar {
        Scalar::Bool(true) => "True".to_owned(),
        Scalar::Bool(false) => "False".to_owned(),
        Scalar::Float16(value) => scalar_text(value, ".0"),
        Scalar::Float32(value) => scalar_text(value, ".0"),
        Scalar::Float64(value) => scalar_text(value, ".0"),
        Scalar::Complex64(re, im) => {
            complex_text(re == 0.0 && re.is_sign_positive(), scalar_text(re, ""), &scalar_text(im, ""))
        }
        Scalar::Complex128(re, im) => {
            complex_text(re == 0.0 && re.is_sign_positive(), scalar_text(re, ""), &scalar_text(im, ""))
        }
        ref other => plain_text(other),
    }
}

fn complex_text(imaginary: bool, re: String, im: &str) -> String {
    if imaginary {
        return format!("{im}j");
    }
    let sign = if im.starts_with('-') { "" } else { "+" };
    format!("({re}{sign}{im}j)")
}

/// The text of integers, strings and `bfloat16`, alone or in arrays. By class of dtype: numpy prints each class in its
/// own way, which no other code shares.
fn plain_text(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int8(value) => value.to_string(),
        Scalar::Int16(value) => value.to_string(),
        Scalar::Int32(value) => value.to_string(),
        Scalar::Int64(value) => value.to_string(),
        Scalar::UInt8(value) => value.to_string(),
        Scalar::UInt16(value) => value.to_string(),
        Scalar::UInt32(value) => value.to_string(),
        Scalar::UInt64(value) => value.to_string(),
        Scalar::BFloat16(value) => bfloat16_text(*value),
        Scalar::String(bytes) => bytes_text(bytes),
        Scalar::Float16(_)
        | Scalar::Float32(_)
        | Scalar::Float64(_)
        | Scalar::Complex64(..)
        | Scalar::Complex128(..) => lone_text(scalar),
    }
}

/// As C++ prints a float by default: six significant digits.
fn bfloat16_text(value: bf16) -> String {
    float::general_text(value.to_f32(), 6)
}

/// The literal of Python for bytes: `b'a\n'`.
fn bytes_text(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut text = format!("b{quote}");
    for &byte in bytes {
        match byte {
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => {
                if char::from(byte) == quote {
                    text.push('\\');
                }
                text.push(byte.into());
            }
            _ => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text.push(quote);
    text
}

/// The texts of the elements of an array, padded so that they line up.
fn words(dtype: DType, scalars: &[Scalar]) -> Vec<String> {
    macro_rules! column {
        ($variant:ident) => {{
            let values =
                scalars.iter().filter_map(|it| if let Scalar::$variant(value) = it { Some(*value) } else { None });
            Column::words(&values.collect::<Vec<_>>(), Sign::Negative)
        }};
    }
    macro_rules! complex_columns {
        ($variant:ident) => {{
            let values =
                scalars.iter().filter_map(|it| if let Scalar::$variant(re, im) = it { Some((*re, *im)) } else { None });
            let (re, im): (Vec<_>, Vec<_>) = values.unzip();
            let (re, im) = (Column::words(&re, Sign::Negative), Column::words(&im, Sign::Both));
            re.iter().zip(&im).map(|(re, im)| complex_word(re, im)).collect()
        }};
    }
    match dtype {
        DType::Float16 => column!(Float16),
        DType::Float32 => column!(Float32),
        DType::Float64 => column!(Float64),
        DType::Complex64 => complex_columns!(Complex64),
        DType::Complex128 => complex_columns!(Complex128),
        DType::Bool => scalars
            .iter()
            .map(|it| if *it == Scalar::Bool(true) { " True".to_owned() } else { "False".to_owned() })
            .collect(),
        DType::String | DType::BFloat16 => scalars.iter().map(plain_text).collect(),
        _ => {
            let texts: Vec<String> = scalars.iter().map(plain_text).collect();
            let width = texts.iter().map(String::len).max().unwrap_or(0);
            texts.iter().map(|text| format!("{text:>width$}")).collect()
        }
    }
}

/// The imaginary unit stands before the padding.
fn complex_word(re: &str, im: &str) -> String {
    let digits = im.trim_end_matches(' ');
    let padding = " ".repeat(im.len() - digits.len());
    format!("{re}{digits}j{padding}")
}

/// Lays the elements out in nested brackets.
struct Printer<'a> {
    dims: &'a [u64],
    summary: bool,
    words: std::slice::Iter<'a, String>,
}

impl Printer<'_> {
    /// The elements below the dimension `axis`, for lines of this width. It recurses as deep as
    /// the array has dimensions.
    fn nested(&mut self, axis: usize, width: usize) -> String {
        let Some(&dim) = self.dims.get(axis) else { return self.words.next().cloned().unwrap_or_default() };
        let left_out = self.summary && dim > 2 * EDGE;
        let shown = if left_out { 2 * EDGE } else { dim };
        let indent = " ".repeat(axis + 1);
        let is_last_axis = axis + 1 == self.dims.len();
        let mut text = String::from("[");
        // The line so far; it begins where the bracket of this dimension does.
        let mut column = indent.len();
        for index in 0..shown {
            if left_out && index == EDGE {
                self.append(&mut text, &mut column, "...", is_last_axis.then_some((&indent, width)));
                self.separate(&mut text, &mut column, axis, &indent);
            }
            let word = crate::visit::with_stack(|| self.nested(axis + 1, width.saturating_sub(1)));
            self.append(&mut text, &mut column, &word, is_last_axis.then_some((&indent, width)));
            if index + 1 < shown {
                self.separate(&mut text, &mut column, axis, &indent);
            }
        }
        text.push(']');
        text
    }

    /// Appends a word, on a new line where the current one is full.
    #[expect(clippy::unused_self, reason = "one of a pair")]
    fn append(&self, text: &mut String, column: &mut usize, word: &str, wrap: Option<(&String, usize)>) {
        let length = word.chars().count();
        if let Some((indent, width)) = wrap
            && *column > indent.len()
            && *column + length > width.saturating_sub(1)
        {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
            text.push_str(indent);
            *column = indent.len();
        }
        text.push_str(word);
        *column += length;
    }

    fn separate(&self, text: &mut String, column: &mut usize, axis: usize, indent: &str) {
        let axes_left = self.dims.len() - axis;
        if axes_left == 1 {
            text.push(' ');
            *column += 1;
        } else {
            text.push_str(&"\n".repeat(axes_left - 1));
            text.push_str(indent);
        }
    }
}
