//! Columns of files with types of their own as elements of tensors.

use super::cells::{Cells, FrozenCells, shown};
use super::columns::{Plan, TensorPlan};
use super::divide::Keys;
use super::{DataError, columns::Column};
use bytes::{BufMut, Bytes};
use half::{bf16, f16};
use tff_types::DType;

/// What the rows of a file have in one column: so many elements each, one after the other.
#[derive(Clone, Debug)]
pub(super) enum ColumnData {
    /// Elements of this type, little-endian.
    Dense(DType, Bytes),
    Strings(Vec<Bytes>),
}

/// Why columns give no tensor.
#[derive(Debug)]
pub(super) struct BadElement {
    /// The row in the chunk.
    pub(super) row: usize,
    /// The position among the columns of the tensor.
    pub(super) column: usize,
    /// What is there.
    pub(super) found: String,
}

/// The elements of a tensor from its columns, each with the number of elements in a row; converted where no value is
/// lost that is no fraction of a float.
pub(super) fn combine(dtype: DType, columns: &[(ColumnData, usize)], n_rows: usize) -> Result<FrozenCells, BadElement> {
    if let [(ColumnData::Dense(found, bytes), _)] = columns
        && *found == dtype
    {
        return Ok(FrozenCells::Dense(bytes.clone()));
    }
    let mut cells = Cells::new(dtype);
    if let (Cells::Dense(bytes), Some(size)) = (&mut cells, dtype.size()) {
        bytes.reserve(n_rows * size * columns.iter().map(|(_, width)| width).sum::<usize>());
    }
    for row in 0..n_rows {
        for (column, (data, width)) in columns.iter().enumerate() {
            for element in row * width..(row + 1) * width {
                let bad = |found: String| BadElement { row, column, found };
                match data {
                    ColumnData::Dense(from, bytes) => {
                        let number = number(*from, bytes, element).ok_or_else(|| bad("nothing".to_owned()))?;
                        cells.push_number(dtype, number).ok_or_else(|| bad(format!("{from} {number}")))?;
                    }
                    ColumnData::Strings(strings) => {
                        let string = strings.get(element).ok_or_else(|| bad("nothing".to_owned()))?;
                        match &mut cells {
                            Cells::Strings(all) => all.push(string.clone()),
                            Cells::Dense(_) => cells.push(dtype, string).ok_or_else(|| bad(shown(string)))?,
                        }
                    }
                }
            }
        }
    }
    Ok(cells.freeze())
}

/// A number of any element type.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

/// The element at this position; `None` where there is none, or it is complex.
pub(super) fn number(dtype: DType, bytes: &[u8], index: usize) -> Option<Number> {
    macro_rules! read {
        ($ty:ty) => {{
            const SIZE: usize = size_of::<$ty>();
            let bytes = bytes.get(index.checked_mul(SIZE)?..)?.first_chunk::<SIZE>()?;
            <$ty>::from_le_bytes(*bytes)
        }};
    }
    Some(match dtype {
        DType::Bool | DType::UInt8 => Number::Int(read!(u8).into()),
        DType::Int8 => Number::Int(read!(i8).into()),
        DType::Int16 => Number::Int(read!(i16).into()),
        DType::Int32 => Number::Int(read!(i32).into()),
        DType::Int64 => Number::Int(read!(i64).into()),
        DType::UInt16 => Number::Int(read!(u16).into()),
        DType::UInt32 => Number::Int(read!(u32).into()),
        DType::UInt64 => Number::Int(read!(u64).into()),
        DType::Float16 => Number::Float(read!(f16).into()),
        DType::BFloat16 => Number::Float(read!(bf16).into()),
        DType::Float32 => Number::Float(read!(f32).into()),
        DType::Float64 => Number::Float(read!(f64)),
        DType::Complex64 | DType::Complex128 | DType::String => return None,
    })
}

impl Cells {
    /// Appends a number; `None` where the type does not hold it. Floats are rounded to the nearest.
    pub(super) fn push_number(&mut self, dtype: DType, number: Number) -> Option<()> {
        let Self::Dense(bytes) = self else { return None };
        if dtype.is_floating() {
            #[expect(clippy::cast_precision_loss, reason = "rounded to the nearest")]
            let (float, is_int) = match number {
                Number::Int(int) => (int as f64, true),
                Number::Float(float) => (float, false),
            };
            // A finite number must not become infinite.
            let fits = |is_infinite: bool| (!is_infinite || float.is_infinite()).then_some(());
            match dtype {
                DType::Float16 => {
                    let value = f16::from_f64(float);
                    fits(value.is_infinite())?;
                    bytes.put_u16_le(value.to_bits());
                }
                DType::BFloat16 => {
                    let value = bf16::from_f64(float);
                    fits(value.is_infinite())?;
                    bytes.put_u16_le(value.to_bits());
                }
                DType::Float32 => {
                    #[expect(clippy::cast_possible_truncation, reason = "rounded to the nearest")]
                    let value = float as f32;
                    fits(value.is_infinite())?;
                    // From an integer in one step: two would round twice.
                    #[expect(clippy::cast_precision_loss, reason = "rounded to the nearest")]
                    bytes.put_f32_le(match number {
                        Number::Int(int) if is_int => int as f32,
                        _ => value,
                    });
                }
                _ => bytes.put_f64_le(float),
            }
            return Some(());
        }
        let int = match number {
            Number::Int(int) => int,
            // The integers up to here are floats, too; `as` gives the number itself.
            #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^64")]
            Number::Float(float) if float.fract() == 0.0 && float.abs() < 1.9e19 => float as i128,
            Number::Float(_) => return None,
        };
        match dtype {
            DType::Bool => bytes.put_u8(u8::try_from(int).ok().filter(|bit| *bit < 2)?),
            DType::Int8 => bytes.put_i8(int.try_into().ok()?),
            DType::Int16 => bytes.put_i16_le(int.try_into().ok()?),
            DType::Int32 => bytes.put_i32_le(int.try_into().ok()?),
            DType::Int64 => bytes.put_i64_le(int.try_into().ok()?),
            DType::UInt8 => bytes.put_u8(int.try_into().ok()?),
            DType::UInt16 => bytes.put_u16_le(int.try_into().ok()?),
            DType::UInt32 => bytes.put_u32_le(int.try_into().ok()?),
            DType::UInt64 => bytes.put_u64_le(int.try_into().ok()?),
            _ => return None,
        }
        Some(())
    }
}

/// The tensors of a plan from columns: `data` gives that at a position, with the number of elements in a row. Errors name
/// the row, counted from `first_row`.
pub(super) fn tensors(
    name: &str,
    plan: &Plan,
    header: &[Column],
    rows: std::ops::Range<usize>,
    data: impl Fn(usize) -> Result<(ColumnData, usize), DataError>,
) -> Result<Vec<FrozenCells>, DataError> {
    let tensor = |tensor: &TensorPlan| {
        let columns: Result<Vec<_>, _> = tensor.columns.iter().map(|&column| data(column)).collect();
        combine(tensor.dtype, &columns?, rows.len()).map_err(|bad| {
            let column = tensor.columns.get(bad.column).and_then(|&column| header.get(column));
            let column = column.map_or("", |column| column.name.as_str());
            let place = format!("{name}: row {}: column {column}", rows.start + bad.row);
            DataError::mismatch(place, tensor.dtype, bad.found)
        })
    };
    plan.tensors.iter().map(tensor).collect()
}

/// Adds the values of a column, one a row, as text.
pub(super) fn push_keys(keys: &mut Keys, place: &str, (data, width): &(ColumnData, usize)) -> Result<(), DataError> {
    if *width != 1 {
        return Err(DataError::mismatch(place, "one value in a row", width));
    }
    match data {
        ColumnData::Dense(dtype, bytes) => {
            for index in 0..bytes.len() / dtype.size().unwrap_or(1) {
                let number = number(*dtype, bytes, index);
                let number = number.ok_or_else(|| DataError::mismatch(place, "a number or text", dtype))?;
                keys.push(&number.to_string());
            }
        }
        ColumnData::Strings(strings) => {
            for string in strings {
                let text = std::str::from_utf8(string).ok().filter(|text| !text.is_empty());
                keys.push(text.ok_or_else(|| DataError::mismatch(place, "text", shown(string)))?);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tff_ir::{Array, Scalar};

    #[track_caller]
    fn check(from: Scalar, to: DType) -> String {
        let array = Array::from_scalar(from);
        if let Scalar::String(string) = array.get(0).unwrap() {
            return show(combine(to, &[(ColumnData::Strings(vec![string]), 1)], 1), to);
        }
        let bytes = array.as_dense().unwrap().clone();
        show(combine(to, &[(ColumnData::Dense(array.dtype(), bytes), 1)], 1), to)
    }

    fn show(cells: Result<FrozenCells, BadElement>, dtype: DType) -> String {
        match cells {
            Ok(cells) => crate::json::scalar(&cells.array(dtype, vec![], 0..1).unwrap().get(0).unwrap()),
            Err(bad) => format!("refused: {}", bad.found),
        }
    }

    #[test]
    fn numbers_are_converted_where_they_fit() {
        let cases = [
            (Scalar::Int64(-128), DType::Int8, "-128"),
            (Scalar::Int64(128), DType::Int8, "refused: int64 128"),
            (Scalar::Float64(6.0), DType::Int32, "6"),
            (Scalar::Float64(6.5), DType::Int32, "refused: float64 6.5"),
            (Scalar::Float64(f64::NAN), DType::Int32, "refused: float64 NaN"),
            (Scalar::Float64(1e39), DType::Float32, "refused: float64 1000000000000000000000000000000000000000"),
            (Scalar::Float64(f64::INFINITY), DType::Float32, "\"inf\""),
            (Scalar::Int32(16_777_217), DType::Float32, "16777216.0"),
            (Scalar::UInt64(u64::MAX), DType::UInt64, "18446744073709551615"),
            (Scalar::Bool(true), DType::Float32, "1.0"),
            (Scalar::Int64(2), DType::Bool, "refused: int64 2"),
            (Scalar::Float32(0.1), DType::Float64, "0.10000000149011612"),
            (Scalar::String("7".into()), DType::Int8, "7"),
            (Scalar::String("x".into()), DType::Int8, "refused: \"x\""),
        ];
        for (from, to, expected) in cases {
            assert_eq!(check(from.clone(), to), expected, "{from:?} {to}");
        }
    }
}
