//! The cells of a table as elements of tensors.

use crate::files::quoted;
use bytes::{Bytes, BytesMut};
use half::{bf16, f16};
use std::str::FromStr;
use tff_ir::{Array, ArrayError, Element, Scalar, with_element_type};
use tff_types::DType;

/// The cells of one tensor, of all rows of a client.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    /// Elements of a fixed size, little-endian.
    Dense(BytesMut),
    Strings(Vec<Bytes>),
}

impl Cells {
    /// Makes room for so many elements.
    pub(super) fn reserve(&mut self, dtype: DType, n_elements: usize) {
        if let (Self::Dense(bytes), Some(size)) = (self, dtype.size()) {
            bytes.reserve(n_elements.saturating_mul(size));
        }
    }

    pub(super) fn new(dtype: DType) -> Self {
        if dtype == DType::String { Self::Strings(Vec::new()) } else { Self::Dense(BytesMut::new()) }
    }

    /// Appends the element that a cell holds; `None` where it holds none of this type.
    pub(super) fn push(&mut self, dtype: DType, cell: &[u8]) -> Option<()> {
        let bytes = match self {
            Self::Strings(strings) => {
                strings.push(Bytes::copy_from_slice(cell));
                return Some(());
            }
            Self::Dense(bytes) => bytes,
        };
        if let Some(small) = small_integer(cell)
            && push_small(bytes, dtype, small).is_some()
        {
            return Some(());
        }
        let text = std::str::from_utf8(cell).ok()?.trim();
        let scalar = match dtype {
            DType::Bool => truth(text)?.into(),
            DType::Float16 => float(text, f16::is_infinite)?.into(),
            DType::BFloat16 => float(text, bf16::is_infinite)?.into(),
            DType::Float32 => float(text, f32::is_infinite)?.into(),
            DType::Float64 => float(text, f64::is_infinite)?.into(),
            dtype => Scalar::of_integer(dtype, integer(text)?)?,
        };
        with_element_type!(dtype, T => T::from_scalar(&scalar)?.put(bytes), return None);
        Some(())
    }

    /// The cells, to be shared by the batches that are cut from them.
    pub(super) fn freeze(self) -> FrozenCells {
        match self {
            Self::Dense(bytes) => FrozenCells::Dense(bytes.freeze()),
            Self::Strings(strings) => FrozenCells::Strings(strings),
        }
    }
}

/// The cells of one tensor, complete.
#[derive(Clone, Debug)]
pub(super) enum FrozenCells {
    Dense(Bytes),
    Strings(Vec<Bytes>),
}

impl FrozenCells {
    /// How much memory they take.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Dense(bytes) => bytes.len(),
            Self::Strings(strings) => strings.iter().map(|it| it.len() + size_of::<Bytes>()).sum(),
        }
    }

    /// Those of these rows, each of `size` bytes or strings; without a copy where the rows follow each other.
    pub(super) fn rows(&self, rows: &[usize], size: usize) -> Self {
        let range = |row: &usize| row.saturating_mul(size)..row.saturating_add(1).saturating_mul(size);
        match self {
            Self::Dense(bytes) => {
                let is_run = rows.iter().zip(rows.iter().skip(1)).all(|(row, next)| row + 1 == *next);
                if let (true, Some(first), Some(last)) = (is_run, rows.first(), rows.last())
                    && range(last).end <= bytes.len()
                {
                    return Self::Dense(bytes.slice(range(first).start..range(last).end));
                }
                let mut copy = BytesMut::with_capacity(rows.len().saturating_mul(size).min(bytes.len()));
                rows.iter().filter_map(|row| bytes.get(range(row))).for_each(|row| copy.extend_from_slice(row));
                Self::Dense(copy.freeze())
            }
            Self::Strings(strings) => {
                Self::Strings(rows.iter().filter_map(|row| strings.get(range(row))).flatten().cloned().collect())
            }
        }
    }

    /// One after the other.
    pub(super) fn concat(dtype: DType, mut parts: Vec<Self>) -> Self {
        if parts.len() == 1
            && let Some(part) = parts.pop()
        {
            return part;
        }
        if dtype == DType::String {
            let strings = parts.into_iter().flat_map(|part| if let Self::Strings(it) = part { it } else { Vec::new() });
            return Self::Strings(strings.collect());
        }
        let mut all = BytesMut::with_capacity(parts.iter().map(Self::bytes).sum());
        for part in &parts {
            if let Self::Dense(bytes) = part {
                all.extend_from_slice(bytes);
            }
        }
        Self::Dense(all.freeze())
    }

    /// The array of these elements, which shares the memory of the cells.
    pub(super) fn array(
        &self,
        dtype: DType,
        dims: Vec<u64>,
        elements: std::ops::Range<usize>,
    ) -> Result<Array, ArrayError> {
        match self {
            Self::Dense(bytes) => {
                let size = dtype.size().unwrap_or(0);
                // A range that is not there is told from the number of bytes.
                let (start, end) = (elements.start.saturating_mul(size), elements.end.saturating_mul(size));
                let part = if start <= end && end <= bytes.len() { bytes.slice(start..end) } else { Bytes::new() };
                Array::dense(dtype, dims, part)
            }
            Self::Strings(strings) => Array::strings(dims, strings.get(elements).unwrap_or_default()),
        }
    }
}

/// A number below 2^24, which is the same number as a float; most cells of large tables are such.
fn small_integer(cell: &[u8]) -> Option<u32> {
    if cell.is_empty() || cell.len() > 7 {
        return None;
    }
    cell.iter().try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

/// Appends it, where the type is one of those that most tables are read as.
fn push_small(bytes: &mut BytesMut, dtype: DType, small: u32) -> Option<()> {
    match dtype {
        #[expect(clippy::cast_precision_loss, reason = "below 2^24")]
        DType::Float32 => bytes.extend_from_slice(&(small as f32).to_le_bytes()),
        DType::Float64 => bytes.extend_from_slice(&f64::from(small).to_le_bytes()),
        DType::UInt8 => bytes.extend_from_slice(&[u8::try_from(small).ok()?]),
        DType::Int32 => bytes.extend_from_slice(&i32::try_from(small).ok()?.to_le_bytes()),
        DType::Int64 => bytes.extend_from_slice(&i64::from(small).to_le_bytes()),
        _ => return None,
    }
    Some(())
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "true" | "True" | "TRUE" => Some(true),
        "0" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// An integer, also as `6.0`: so pandas writes a column of integers in which a value is missing.
fn integer(text: &str) -> Option<i128> {
    let is_whole = |fraction: &str| !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
    let digits = text.split_once('.').filter(|(_, fraction)| is_whole(fraction)).map_or(text, |(digits, _)| digits);
    digits.parse().ok()
}

/// A float; `None` where a finite number is too large for its type.
fn float<T: FromStr + Copy>(text: &str, is_infinite: fn(T) -> bool) -> Option<T> {
    let value: T = text.parse().ok()?;
    let is_named = text.bytes().any(|byte| matches!(byte, b'i' | b'I'));
    (is_named || !is_infinite(value)).then_some(value)
}

/// A cell as it appears in messages.
pub(super) fn shown(cell: &[u8]) -> String {
    if cell.is_empty() { "an empty cell".to_owned() } else { quoted(&String::from_utf8_lossy(cell)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dtype: DType, cell: &str) -> String {
        let mut cells = Cells::new(dtype);
        match cells.push(dtype, cell.as_bytes()) {
            Some(()) => {
                let array = cells.freeze().array(dtype, vec![], 0..1).unwrap();
                crate::json::scalar(&array.get(0).unwrap())
            }
            None => "refused".to_owned(),
        }
    }

    #[test]
    fn cells_are_read_by_type() {
        let cases = [
            (DType::Int8, "-128", "-128"),
            (DType::Int8, "128", "refused"),
            (DType::UInt64, "18446744073709551615", "18446744073709551615"),
            (DType::Int32, " 7 ", "7"),
            (DType::Int32, "7.0", "7"),
            (DType::Int8, "-7.00", "-7"),
            (DType::UInt64, "18446744073709551615.0", "18446744073709551615"),
            (DType::Int8, "128.0", "refused"),
            (DType::Int32, "7.5", "refused"),
            (DType::Int32, "7.", "refused"),
            (DType::Int32, ".0", "refused"),
            (DType::Int32, "", "refused"),
            (DType::Float32, "1e-3", "0.001"),
            (DType::Float32, "16777217", "16777216.0"),
            (DType::Float32, "1e39", "refused"),
            (DType::Float32, "inf", "\"inf\""),
            (DType::Float32, "-Infinity", "\"-inf\""),
            (DType::Float32, "nan", "\"nan\""),
            (DType::Float16, "65504", "65504.0"),
            (DType::Float16, "70000", "refused"),
            (DType::BFloat16, "1.5", "1.5"),
            (DType::Float64, "0.1", "0.1"),
            (DType::Bool, "True", "true"),
            (DType::Bool, "0", "false"),
            (DType::Bool, "2", "refused"),
            (DType::String, " a,b ", "\" a,b \""),
            (DType::Complex64, "1", "refused"),
        ];
        for (dtype, cell, expected) in cases {
            assert_eq!(check(dtype, cell), expected, "{dtype} {cell:?}");
        }
    }
}
