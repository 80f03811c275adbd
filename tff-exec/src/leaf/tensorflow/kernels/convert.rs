//! Conversions of elements to another type, and elements repeated, as the kernels of TensorFlow
//! do it.
//!
//! Conversions of floats to integers are left to TensorFlow: out of range, their result depends on
//! the processor.

use super::arithmetic::{BFLOAT_PACKET, bfloat_to_float, float_to_bfloat, float_to_half, half_to_float};
use std::collections::TryReserveError;
use tff_types::DType;

/// Whether a conversion is known.
pub(super) fn casts(from: DType, to: DType) -> bool {
    cast(from, to, &[]).is_some()
}

/// The elements converted; `None` where that is not known.
///
/// # Errors
/// If memory runs out.
// Rust's `as` is what TensorFlow does here, and is there for two types that are written out only.
#[rustfmt::skip]
pub(super) fn cast(from: DType, to: DType, bytes: &[u8]) -> Option<Result<Vec<u8>, TryReserveError>> {
    macro_rules! float {
        ($source:ty, $read:expr) => {
            match to {
                DType::Float16 => map(bytes, |it| float_to_half($read(<$source>::from_le_bytes(it)) as f32).to_le_bytes()),
                DType::BFloat16 => map(bytes, |it| float_to_bfloat($read(<$source>::from_le_bytes(it)) as f32, false).to_le_bytes()),
                DType::Float32 => map(bytes, |it| ($read(<$source>::from_le_bytes(it)) as f32).to_le_bytes()),
                DType::Float64 => map(bytes, |it| ($read(<$source>::from_le_bytes(it)) as f64).to_le_bytes()),
                _ => return None,
            }
        };
    }
    macro_rules! integer {
        ($source:ty) => {
            match to {
                DType::Int8 => map(bytes, |it| (<$source>::from_le_bytes(it) as i8).to_le_bytes()),
                DType::Int16 => map(bytes, |it| (<$source>::from_le_bytes(it) as i16).to_le_bytes()),
                DType::Int32 => map(bytes, |it| (<$source>::from_le_bytes(it) as i32).to_le_bytes()),
                DType::Int64 => map(bytes, |it| (<$source>::from_le_bytes(it) as i64).to_le_bytes()),
                DType::UInt8 => map(bytes, |it| (<$source>::from_le_bytes(it) as u8).to_le_bytes()),
                DType::UInt16 => map(bytes, |it| (<$source>::from_le_bytes(it) as u16).to_le_bytes()),
                DType::UInt32 => map(bytes, |it| (<$source>::from_le_bytes(it) as u32).to_le_bytes()),
                DType::UInt64 => map(bytes, |it| (<$source>::from_le_bytes(it) as u64).to_le_bytes()),
                _ => float!($source, |value| value),
            }
        };
    }
    if (from, to) == (DType::Float32, DType::BFloat16) {
        let (packets, rest) = bytes.split_at(bytes.len() - bytes.len() % (BFLOAT_PACKET * size_of::<f32>()));
        let packets = map(packets, |it| float_to_bfloat(f32::from_le_bytes(it), true).to_le_bytes());
        let rest = map(rest, |it| float_to_bfloat(f32::from_le_bytes(it), false).to_le_bytes());
        return Some(packets.and_then(|packets| join(packets, &rest?)));
    }
    Some(match from {
        // Truth values are the bytes 0 and 1.
        DType::Bool | DType::UInt8 => integer!(u8),
        DType::Int8 => integer!(i8),
        DType::Int16 => integer!(i16),
        DType::Int32 => integer!(i32),
        DType::Int64 => integer!(i64),
        DType::UInt16 => integer!(u16),
        DType::UInt32 => integer!(u32),
        DType::UInt64 => integer!(u64),
        DType::Float16 => float!(u16, half_to_float),
        DType::BFloat16 => float!(u16, bfloat_to_float),
        DType::Float32 => float!(f32, |value| value),
        DType::Float64 => float!(f64, |value| value),
        DType::Complex64 | DType::Complex128 | DType::String => return None,
    })
}

fn join(mut bytes: Vec<u8>, rest: &[u8]) -> Result<Vec<u8>, TryReserveError> {
    bytes.try_reserve_exact(rest.len())?;
    bytes.extend_from_slice(rest);
    Ok(bytes)
}

fn map<const N: usize, const M: usize>(
    bytes: &[u8],
    f: impl Fn([u8; N]) -> [u8; M],
) -> Result<Vec<u8>, TryReserveError> {
    let elements = bytes.as_chunks::<N>().0;
    let mut out = Vec::new();
    out.try_reserve_exact(elements.len())?;
    out.extend(elements.iter().map(|element| f(*element)));
    Ok(out.into_flattened())
}

/// The elements, of `size` bytes each, repeated as numpy broadcasts them: along each dimension of 1
/// that is longer in `to`. The two have as many dimensions, and the result can be addressed.
///
/// # Errors
/// If memory runs out.
pub(super) fn broadcast(bytes: &[u8], size: usize, from: &[u64], to: &[usize]) -> Result<Vec<u8>, TryReserveError> {
    let mut data = Vec::new();
    if to.contains(&0) {
        return Ok(data);
    }
    data.try_reserve_exact(bytes.len())?;
    data.extend_from_slice(bytes);
    // What lies behind one position of the dimension.
    let mut block = size;
    for (&from, &to) in from.iter().zip(to).rev() {
        if from == 1 && to > 1 {
            let mut repeated = Vec::new();
            repeated.try_reserve_exact(data.len().saturating_mul(to))?;
            data.chunks_exact(block).for_each(|chunk| repeat(chunk, to, &mut repeated));
            data = repeated;
        }
        block = block.saturating_mul(to);
    }
    Ok(data)
}

fn repeat(chunk: &[u8], count: usize, out: &mut Vec<u8>) {
    let (start, end) = (out.len(), out.len() + chunk.len() * count);
    out.extend_from_slice(chunk);
    // Twice as many each time.
    while out.len() < end {
        out.extend_from_within(start..out.len().min(start + end - out.len()));
    }
}
