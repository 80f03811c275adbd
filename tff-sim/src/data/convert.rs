//! Columns of files with types of their own as elements of tensors.

use super::cells::{Cells, FrozenCells, shown};
use super::columns::{Plan, TensorPlan};
use super::divide::Keys;
use super::{DataError, columns::Column};
use bytes::Bytes;
use tff_ir::{Element, Scalar, Wide, with_element_type};
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
    let size = dtype.size()?;
    let bytes = bytes.get(index.checked_mul(size)?..)?.get(..size)?;
    match with_element_type!(dtype, T => T::read(bytes)?.to_scalar(), return None).wide() {
        Wide::Bool(truth) => Some(Number::Int(truth.into())),
        Wide::Integer(integer) => Some(Number::Int(integer)),
        Wide::Float32(float) => Some(Number::Float(float.into())),
        Wide::Float64(float) => Some(Number::Float(float)),
        Wide::Complex64(..) | Wide::Complex128(..) | Wide::String(_) => None,
    }
}

impl Cells {
    /// Appends a number; `None` where the type does not hold it. Floats are rounded to the nearest.
    pub(super) fn push_number(&mut self, dtype: DType, number: Number) -> Option<()> {
        let Self::Dense(bytes) = self else { return None };
        let scalar = match number {
            Number::Int(int) if dtype == DType::Bool => Scalar::Bool(match int {
                0 => false,
                1 => true,
                _ => return None,
            }),
            // In one step: two would round twice.
            #[expect(clippy::cast_precision_loss, reason = "rounded to the nearest")]
            Number::Int(int) if dtype == DType::Float32 => Scalar::Float32(int as f32),
            #[expect(clippy::cast_precision_loss, reason = "rounded to the nearest")]
            Number::Int(int) if dtype.is_floating() => Scalar::of_float(dtype, int as f64)?,
            Number::Int(int) => Scalar::of_integer(dtype, int)?,
            Number::Float(float) if dtype.is_floating() => Scalar::of_float(dtype, float)?,
            #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^64")]
            Number::Float(float) if float.fract() == 0.0 && float.abs() < 1.9e19 => {
                return self.push_number(dtype, Number::Int(float as i128));
            }
            Number::Float(_) => return None,
        };
        with_element_type!(dtype, T => T::from_scalar(&scalar)?.put(bytes), return None);
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
    use tff_ir::Array;

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
