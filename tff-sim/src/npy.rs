//! NumPy's files of arrays: `.npy`, the content of `.npz`.

use bytes::{BufMut, Bytes, BytesMut};
use std::io::{self, Read};
use tff_ir::Array;
use tff_types::DType;
use thiserror::Error;

/// Why bytes are no array of NumPy.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NpyError {
    /// They cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// They do not begin as an array does, or their header is not as NumPy writes it.
    #[error("expected an array of NumPy, found {0}")]
    Header(String),
    /// The elements are of a type that tensors do not have.
    #[error("expected elements of numbers or text, found NumPy's type {0}")]
    DType(String),
    /// There are fewer bytes than the shape says, or more than can be held.
    #[error("expected {expected} bytes of elements, found {found}")]
    Size {
        /// What the shape says.
        expected: String,
        /// How many there are.
        found: usize,
    },
}

const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy itself reads headers up to this size from who is not trusted.
const MAX_HEADER: usize = 10_000;

/// The elements of an array, as they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Elements of a tensor, perhaps with the bytes the other way round.
    Dense(DType, bool),
    /// Bytes with zeros behind them.
    Bytes(usize),
    /// Code points of four bytes, with zeros behind them; perhaps with the bytes the other way round.
    Text(usize, bool),
}

impl Stored {
    /// How many bytes an element takes in the file.
    pub(crate) const fn size(self) -> usize {
        match self {
            Self::Dense(dtype, _) => match dtype.size() {
                Some(size) => size,
                None => 0,
            },
            Self::Bytes(size) => size,
            Self::Text(length, _) => length.saturating_mul(4),
        }
    }

    fn parse(descr: &str) -> Option<Self> {
        let (order, rest) = match descr.split_at_checked(1)? {
            (order @ ("<" | ">" | "|" | "="), rest) => (order, rest),
            _ => ("|", descr),
        };
        let (kind, size) = rest.split_at_checked(1)?;
        let size: usize = size.parse().ok()?;
        let swapped = order == ">" && size > 1;
        // NumPy's names of types: a kind and a size.
        let dtype = match (kind, size) {
            ("b", 1) => DType::Bool,
            ("i", 1) => DType::Int8,
            ("i", 2) => DType::Int16,
            ("i", 4) => DType::Int32,
            ("i", 8) => DType::Int64,
            ("u", 1) => DType::UInt8,
            ("u", 2) => DType::UInt16,
            ("u", 4) => DType::UInt32,
            ("u", 8) => DType::UInt64,
            ("f", 2) => DType::Float16,
            ("f", 4) => DType::Float32,
            ("f", 8) => DType::Float64,
            ("c", 8) => DType::Complex64,
            ("c", 16) => DType::Complex128,
            ("S", _) => return Some(Self::Bytes(size)),
            ("U", _) => return Some(Self::Text(size, order == ">")),
            _ => return None,
        };
        Some(Self::Dense(dtype, swapped))
    }
}

/// What stands before the elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) stored: Stored,
    pub(crate) dims: Vec<u64>,
    /// Whether the first dimension, not the last one, changes fastest.
    pub(crate) is_fortran: bool,
    /// Where the elements begin.
    pub(crate) length: u64,
}

impl Header {
    /// Reads the header, up to the first element.
    pub(crate) fn read(reader: &mut impl Read) -> Result<Self, NpyError> {
        let wrong = |found: &str| NpyError::Header(found.to_owned());
        let mut start = [0; 8];
        reader.read_exact(&mut start)?;
        let (magic, version) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(wrong("other bytes"));
        }
        let (length, before) = match version {
            [1, _] => {
                let mut length = [0; 2];
                reader.read_exact(&mut length)?;
                (u16::from_le_bytes(length).into(), 10)
            }
            [2 | 3, _] => {
                let mut length = [0; 4];
                reader.read_exact(&mut length)?;
                (u32::from_le_bytes(length) as usize, 12)
            }
            _ => return Err(NpyError::Header(format!("version {version:?}"))),
        };
        if length > MAX_HEADER {
            return Err(NpyError::Header(format!("a header of {length} bytes")));
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text)?;
        let text = std::str::from_utf8(&text).map_err(|_| wrong("a header that is not text"))?;
        let (descr, is_fortran, dims) = parse_dict(text).ok_or_else(|| wrong(text.trim()))?;
        let stored = Stored::parse(descr).ok_or_else(|| NpyError::DType(descr.to_owned()))?;
        Ok(Self { stored, dims, is_fortran, length: before + length as u64 })
    }

    /// How many bytes the elements take.
    pub(crate) fn n_bytes(&self) -> Result<usize, NpyError> {
        let product = self.dims.iter().try_fold(self.stored.size() as u64, |product, &dim| product.checked_mul(dim));
        let bytes =
            product.and_then(|product| usize::try_from(product).ok()).filter(|&bytes| bytes <= isize::MAX as usize);
        bytes.ok_or_else(|| NpyError::Size { expected: format!("those of shape {:?}", self.dims), found: 0 })
    }
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, the keys in any order.
fn parse_dict(text: &str) -> Option<(&str, bool, Vec<u64>)> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let (mut descr, mut is_fortran, mut dims) = (None, None, None);
    while !rest.is_empty() {
        let (key, after) = rest.strip_prefix('\'')?.split_once('\'')?;
        let value = after.trim_start().strip_prefix(':')?.trim_start();
        let after = match key {
            "descr" => {
                let (text, after) = value.strip_prefix('\'')?.split_once('\'')?;
                descr = Some(text);
                after
            }
            "fortran_order" => {
                let (is, after) = match value.strip_prefix("True") {
                    Some(after) => (true, after),
                    None => (false, value.strip_prefix("False")?),
                };
                is_fortran = Some(is);
                after
            }
            "shape" => {
                let (shape, after) = value.strip_prefix('(')?.split_once(')')?;
                let numbers = shape.split(',').map(str::trim).filter(|dim| !dim.is_empty());
                dims = Some(numbers.map(|dim| dim.trim_end_matches('L').parse().ok()).collect::<Option<Vec<u64>>>()?);
                after
            }
            _ => return None,
        };
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    Some((descr?, is_fortran?, dims?))
}

/// The elements of an array in row-major order.
#[derive(Clone, Debug)]
pub(crate) enum Elements {
    Dense(DType, Bytes),
    Strings(Vec<Bytes>),
}

/// Decodes elements as they are stored, row-major.
pub(crate) fn decode(stored: Stored, bytes: Vec<u8>) -> Elements {
    let size = stored.size().max(1);
    match stored {
        Stored::Dense(dtype, false) => Elements::Dense(dtype, bytes.into()),
        Stored::Dense(dtype, true) => {
            let mut bytes = bytes;
            // The two parts of a complex number are swapped each.
            let part = if dtype.is_complex() { size / 2 } else { size };
            bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
            Elements::Dense(dtype, bytes.into())
        }
        Stored::Bytes(_) => Elements::Strings(bytes.chunks_exact(size).map(|it| without_zeros(it.to_vec())).collect()),
        Stored::Text(_, swapped) => {
            let text = |element: &[u8]| {
                let code = |bytes: &[u8]| {
                    let bytes: [u8; 4] = bytes.try_into().unwrap_or_default();
                    let code = if swapped { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
                };
                without_zeros(element.chunks_exact(4).map(code).collect::<String>().into_bytes())
            };
            Elements::Strings(bytes.chunks_exact(size).map(text).collect())
        }
    }
}

fn without_zeros(mut bytes: Vec<u8>) -> Bytes {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(end);
    bytes.into()
}

/// Puts elements of `size` bytes whose first dimension changes fastest in row-major order.
pub(crate) fn to_row_major(bytes: &[u8], dims: &[u64], size: usize) -> Vec<u8> {
    let dims: Vec<usize> = dims.iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).collect();
    let mut strides = Vec::with_capacity(dims.len());
    let mut stride = size;
    for dim in &dims {
        strides.push(stride);
        stride = stride.saturating_mul(*dim);
    }
    let mut index = vec![0usize; dims.len()];
    let mut row_major = Vec::with_capacity(bytes.len());
    while row_major.len() < bytes.len() {
        let offset: usize = index.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
        let Some(element) = bytes.get(offset..offset + size) else { break };
        row_major.extend_from_slice(element);
        for (position, dim) in index.iter_mut().zip(&dims).rev() {
            *position += 1;
            if *position < *dim {
                break;
            }
            *position = 0;
        }
    }
    row_major
}

/// Reads an array from what is left of a reader; `limit` bounds the bytes of its elements.
///
/// # Errors
/// [`NpyError`].
pub fn read(reader: &mut impl Read, limit: usize) -> Result<Array, NpyError> {
    let header = Header::read(reader)?;
    let bytes = read_elements(&header, reader, limit)?;
    let array = match decode(header.stored, bytes) {
        Elements::Dense(dtype, bytes) => Array::dense(dtype, header.dims, bytes),
        Elements::Strings(strings) => Array::strings(header.dims, strings),
    };
    array.map_err(|error| NpyError::Header(error.to_string()))
}

/// The elements of this header, as they are stored but row-major.
pub(crate) fn read_elements(header: &Header, reader: &mut impl Read, limit: usize) -> Result<Vec<u8>, NpyError> {
    let expected = header.n_bytes()?;
    // Strings of no bytes have elements, and take none here.
    let n_elements = header.dims.iter().try_fold(1u64, |product, &dim| product.checked_mul(dim));
    if expected > limit || header.stored.size() == 0 && n_elements != Some(0) {
        return Err(NpyError::Size { expected: format!("at most {limit}"), found: expected });
    }
    let mut bytes = Vec::new();
    reader.take(expected as u64).read_to_end(&mut bytes)?;
    if bytes.len() != expected {
        return Err(NpyError::Size { expected: expected.to_string(), found: bytes.len() });
    }
    let is_row_major = !header.is_fortran || header.dims.len() < 2;
    Ok(if is_row_major { bytes } else { to_row_major(&bytes, &header.dims, header.stored.size()) })
}

/// Writes an array as NumPy does; `bfloat16`, which NumPy does not have, as `float32`.
#[must_use]
pub fn write(array: &Array) -> Vec<u8> {
    let (descr, elements) = match array.as_strings() {
        Some(strings) => {
            let size = strings.iter().map(Bytes::len).max().unwrap_or(0).max(1);
            let padded = strings.iter().flat_map(|string| {
                let zeros = std::iter::repeat_n(0, size - string.len());
                string.iter().copied().chain(zeros)
            });
            (format!("|S{size}"), padded.collect())
        }
        None => dense(array),
    };
    let dims: Vec<String> = array.dims().iter().map(|dim| format!("{dim},")).collect();
    let shape = dims.join(" ");
    let shape = if array.dims().len() > 1 { shape.trim_end_matches(',') } else { &shape };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The elements begin at a multiple of 64.
    while !(header.len() + 11).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = BytesMut::with_capacity(10 + header.len() + elements.len());
    bytes.put_slice(MAGIC);
    bytes.put_slice(&[1, 0]);
    // Shapes have few dimensions.
    bytes.put_u16_le(u16::try_from(header.len()).unwrap_or(u16::MAX));
    bytes.put_slice(header.as_bytes());
    bytes.put_slice(&elements);
    bytes.to_vec()
}

fn dense(array: &Array) -> (String, Vec<u8>) {
    // The same names, with the order of the bytes.
    let dtype = match array.dtype() {
        DType::Bool => "|b1",
        DType::Int8 => "|i1",
        DType::Int16 => "<i2",
        DType::Int32 => "<i4",
        DType::Int64 => "<i8",
        DType::UInt8 => "|u1",
        DType::UInt16 => "<u2",
        DType::UInt32 => "<u4",
        DType::UInt64 => "<u8",
        DType::Float16 => "<f2",
        DType::BFloat16 => {
            let numbers =
                array.scalars().map(|scalar| if let tff_ir::Scalar::BFloat16(it) = scalar { it.to_f32() } else { 0.0 });
            return ("<f4".to_owned(), numbers.flat_map(f32::to_le_bytes).collect());
        }
        DType::Float32 => "<f4",
        DType::Float64 => "<f8",
        DType::Complex64 => "<c8",
        DType::Complex128 => "<c16",
        DType::String => "|S1",
    };
    (dtype.to_owned(), array.as_dense().map(|bytes| bytes.to_vec()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tff_ir::Scalar;

    fn check(array: Array) {
        let bytes = write(&array);
        assert!(bytes.len() >= 64 && bytes.starts_with(MAGIC));
        assert_eq!(read(&mut bytes.as_slice(), 1 << 20).unwrap(), array);
    }

    #[test]
    fn arrays_are_written_and_read_again() {
        check(Array::from_scalar(Scalar::Float32(1.5)));
        check(Array::from_scalars(DType::Int16, vec![3], &[1, -2, 3].map(Scalar::Int16)).unwrap());
        check(
            Array::from_scalars(
                DType::Complex64,
                vec![1, 2],
                &[Scalar::Complex64(1.0, 2.0), Scalar::Complex64(3.0, 4.0)],
            )
            .unwrap(),
        );
        check(Array::strings(vec![2], vec![Bytes::from("a"), Bytes::from("bcd")]).unwrap());
        check(Array::from_scalars(DType::UInt8, vec![0, 3], &[]).unwrap());
    }

    #[track_caller]
    fn text(descr: &str, order: &str, shape: &str, elements: &[u8]) -> String {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}\n");
        let mut bytes =
            [MAGIC, &[1, 0], &u16::try_from(header.len()).unwrap().to_le_bytes()[..], header.as_bytes()].concat();
        bytes.extend_from_slice(elements);
        match read(&mut bytes.as_slice(), 1000) {
            Ok(array) => format!("{array:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn other_orders_are_read() {
        assert_eq!(text(">i2", "False", "2,", &[0, 1, 1, 0]), text("<i2", "False", "2,", &[1, 0, 0, 1]));
        assert_eq!(text("|i1", "True", "2, 3", &[1, 4, 2, 5, 3, 6]), text("|i1", "False", "2, 3", &[1, 2, 3, 4, 5, 6]));
        assert_eq!(text("<U2", "False", "", &[228, 0, 0, 0, 0, 0, 0, 0]), text("|S2", "False", "", "ä".as_bytes()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        insta::assert_snapshot!(text("|O", "False", "2,", &[]), @"expected elements of numbers or text, found NumPy's type |O");
        insta::assert_snapshot!(text("<f4", "False", "2,", &[0; 7]), @"expected 8 bytes of elements, found 7");
        insta::assert_snapshot!(text("<f4", "False", "18446744073709551615, 9", &[]), @"expected those of shape [18446744073709551615, 9] bytes of elements, found 0");
        insta::assert_snapshot!(text("<f4", "False", "251,", &[]), @"expected at most 1000 bytes of elements, found 1004");
        insta::assert_snapshot!(text("<f4", "Maybe", "2,", &[]), @"expected an array of NumPy, found {'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }");
    }
}
