//! Arithmetic on the elements of two tensors, as the kernels of TensorFlow do it: integers wrap,
//! floats are rounded once to the nearest, halves are computed as `float32`.
//!
//! The elements are little-endian bytes wherever they lie, also unaligned inside a message; the
//! loops are plain, so that the compiler makes vector instructions of them.

use half::f16;
use std::collections::TryReserveError;
use tff_types::DType;

/// An op on two tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    /// Of floats.
    Divide,
    Minimum,
    Maximum,
}

impl Binary {
    /// Whether it is known for elements of this type.
    pub(super) fn takes(self, dtype: DType) -> bool {
        struct Nothing;
        impl Job for Nothing {
            type Output = ();
            fn run<const N: usize>(self, _: usize, _: impl Fn([u8; N], [u8; N], bool) -> [u8; N]) {}
        }
        self.dispatch(dtype, Nothing).is_some()
    }

    /// The elements of the result. Both operands are of this dtype and equally long, or one of
    /// them is a single element. `None` where the op does not take the dtype.
    ///
    /// # Errors
    /// If memory runs out.
    pub(super) fn compute(self, dtype: DType, left: &[u8], right: &[u8]) -> Option<Result<Vec<u8>, TryReserveError>> {
        self.dispatch(dtype, Compute { left, right })
    }

    /// The same, the result written over the left operand, which is not the shorter one.
    pub(super) fn update_left(self, dtype: DType, left: &mut [u8], right: &[u8]) {
        self.dispatch(dtype, UpdateLeft { left, right });
    }

    /// The same, the result written over the right operand, which is not the shorter one.
    pub(super) fn update_right(self, dtype: DType, left: &[u8], right: &mut [u8]) {
        self.dispatch(dtype, UpdateRight { left, right });
    }
}

/// What is done with the function that computes an element.
trait Job {
    type Output;
    /// `N` is the size of an element. TensorFlow computes `packet` elements at a time and the
    /// remaining ones by themselves; `f` is told whether it computes one of a packet, since
    /// that shows in a few results.
    fn run<const N: usize>(self, packet: usize, f: impl Fn([u8; N], [u8; N], bool) -> [u8; N]) -> Self::Output;
}

/// As many as packets hold, and the remaining ones.
fn split<T>(elements: &[T], packet: usize) -> (&[T], &[T]) {
    elements.split_at(elements.len() - elements.len() % packet)
}

struct Compute<'a> {
    left: &'a [u8],
    right: &'a [u8],
}

impl Job for Compute<'_> {
    type Output = Result<Vec<u8>, TryReserveError>;

    fn run<const N: usize>(self, packet: usize, f: impl Fn([u8; N], [u8; N], bool) -> [u8; N]) -> Self::Output {
        let (left, right) = (self.left.as_chunks::<N>().0, self.right.as_chunks::<N>().0);
        let mut out = Vec::new();
        out.try_reserve_exact(if left.len() == 1 { right.len() } else { left.len() })?;
        match (left, right) {
            ([left], right) if right.len() != 1 => {
                let (packets, rest) = split(right, packet);
                out.extend(packets.iter().map(|right| f(*left, *right, true)));
                out.extend(rest.iter().map(|right| f(*left, *right, false)));
            }
            (left, [right]) => {
                let (packets, rest) = split(left, packet);
                out.extend(packets.iter().map(|left| f(*left, *right, true)));
                out.extend(rest.iter().map(|left| f(*left, *right, false)));
            }
            (left, right) => {
                let ((lefts, left), (rights, right)) = (split(left, packet), split(right, packet));
                out.extend(lefts.iter().zip(rights).map(|(left, right)| f(*left, *right, true)));
                out.extend(left.iter().zip(right).map(|(left, right)| f(*left, *right, false)));
            }
        }
        Ok(out.into_flattened())
    }
}

struct UpdateLeft<'a> {
    left: &'a mut [u8],
    right: &'a [u8],
}

impl Job for UpdateLeft<'_> {
    type Output = ();

    fn run<const N: usize>(self, packet: usize, f: impl Fn([u8; N], [u8; N], bool) -> [u8; N]) {
        let left = self.left.as_chunks_mut::<N>().0;
        let (lefts, left) = left.split_at_mut(left.len() - left.len() % packet);
        match self.right.as_chunks::<N>().0 {
            [right] => {
                lefts.iter_mut().for_each(|left| *left = f(*left, *right, true));
                left.iter_mut().for_each(|left| *left = f(*left, *right, false));
            }
            right => {
                let (rights, right) = split(right, packet);
                lefts.iter_mut().zip(rights).for_each(|(left, right)| *left = f(*left, *right, true));
                left.iter_mut().zip(right).for_each(|(left, right)| *left = f(*left, *right, false));
            }
        }
    }
}

struct UpdateRight<'a> {
    left: &'a [u8],
    right: &'a mut [u8],
}

impl Job for UpdateRight<'_> {
    type Output = ();

    fn run<const N: usize>(self, packet: usize, f: impl Fn([u8; N], [u8; N], bool) -> [u8; N]) {
        let job = UpdateLeft { left: self.right, right: self.left };
        job.run(packet, |right, left, is_in_packet| f(left, right, is_in_packet));
    }
}

impl Binary {
    /// Runs the job with the function that computes an element of this dtype, if it is known.
    #[rustfmt::skip]
    fn dispatch<J: Job>(self, dtype: DType, job: J) -> Option<J::Output> {
        macro_rules! elements {
            ($element:ty, |$left:ident, $right:ident| $result:expr) => {
                elements!(1, $element, |$left, $right, _is_in_packet| $result)
            };
            ($packet:expr, $element:ty, |$left:ident, $right:ident, $is_in_packet:ident| $result:expr) => {
                job.run($packet, |left, right, $is_in_packet| {
                    let ($left, $right) = (<$element>::from_le_bytes(left), <$element>::from_le_bytes(right));
                    <$element>::to_le_bytes($result)
                })
            };
        }
        macro_rules! integer {
            ($int:ty) => {
                match self {
                    Self::Add => elements!($int, |left, right| left.wrapping_add(right)),
                    Self::Subtract => elements!($int, |left, right| left.wrapping_sub(right)),
                    Self::Multiply => elements!($int, |left, right| left.wrapping_mul(right)),
                    Self::Minimum => elements!($int, |left, right| left.min(right)),
                    Self::Maximum => elements!($int, |left, right| left.max(right)),
                    Self::Divide => return None,
                }
            };
        }
        // Of two zeros, which are equal, the right one where it is one of a packet.
        macro_rules! float {
            ($float:ty, $packet:literal) => {
                match self {
                    Self::Add => elements!($float, |left, right| left + right),
                    Self::Subtract => elements!($float, |left, right| left - right),
                    Self::Multiply => elements!($float, |left, right| left * right),
                    Self::Divide => elements!($float, |left, right| left / right),
                    Self::Minimum => elements!($packet, $float, |left, right, is_in_packet| {
                        if is_first(left < right, left == right, left.is_nan(), right.is_nan(), is_in_packet) { left } else { right }
                    }),
                    Self::Maximum => elements!($packet, $float, |left, right, is_in_packet| {
                        if is_first(left > right, left == right, left.is_nan(), right.is_nan(), is_in_packet) { left } else { right }
                    }),
                }
            };
        }
        macro_rules! half {
            ($packet:expr, $read:expr, $write:expr) => {
                match self {
                    Self::Add => elements!($packet, u16, |left, right, is_in_packet| $write($read(left) + $read(right), is_in_packet)),
                    Self::Subtract => elements!($packet, u16, |left, right, is_in_packet| $write($read(left) - $read(right), is_in_packet)),
                    Self::Multiply => elements!($packet, u16, |left, right, is_in_packet| $write($read(left) * $read(right), is_in_packet)),
                    Self::Divide => elements!($packet, u16, |left, right, is_in_packet| $write($read(left) / $read(right), is_in_packet)),
                    Self::Minimum => elements!(u16, |left, right| {
                        let (l, r) = ($read(left), $read(right));
                        if is_first(l < r, l == r, l.is_nan(), r.is_nan(), false) { left } else { right }
                    }),
                    Self::Maximum => elements!(u16, |left, right| {
                        let (l, r) = ($read(left), $read(right));
                        if is_first(l > r, l == r, l.is_nan(), r.is_nan(), false) { left } else { right }
                    }),
                }
            };
        }
        macro_rules! complex {
            ($bits:ty, $apply:expr) => {
                match self {
                    Self::Add => elements!($bits, |left, right| $apply(left, right, |left, right| left + right)),
                    Self::Subtract => elements!($bits, |left, right| $apply(left, right, |left, right| left - right)),
                    _ => return None,
                }
            };
        }
        // What TensorFlow's kernels do with elements of each type. The loops are over bytes, so that they need no alignment.
        Some(match dtype {
            DType::Int8 => integer!(i8),
            DType::Int16 => integer!(i16),
            DType::Int32 => integer!(i32),
            DType::Int64 => integer!(i64),
            DType::UInt8 => integer!(u8),
            DType::UInt16 => integer!(u16),
            DType::UInt32 => integer!(u32),
            DType::UInt64 => integer!(u64),
            DType::Float32 => float!(f32, 8),
            DType::Float64 => float!(f64, 4),
            DType::Float16 => half!(1, half_to_float, |value, _| float_to_half(value)),
            DType::BFloat16 => half!(BFLOAT_PACKET, bfloat_to_float, float_to_bfloat),
            DType::Complex64 => complex!(u64, on_complex64),
            DType::Complex128 => complex!(u128, on_complex128),
            DType::Bool | DType::String => return None,
        })
    }
}

/// Applies a function to the real and to the imaginary parts.
fn on_complex64(left: u64, right: u64, f: impl Fn(f32, f32) -> f32) -> u64 {
    let part = |shift| f(f32::from_bits((left >> shift) as u32), f32::from_bits((right >> shift) as u32));
    u64::from(part(0).to_bits()) | u64::from(part(32).to_bits()) << 32
}

/// Applies a function to the real and to the imaginary parts.
fn on_complex128(left: u128, right: u128, f: impl Fn(f64, f64) -> f64) -> u128 {
    let part = |shift| f(f64::from_bits((left >> shift) as u64), f64::from_bits((right >> shift) as u64));
    u128::from(part(0).to_bits()) | u128::from(part(64).to_bits()) << 64
}

/// A `float16`.
pub(super) fn half_to_float(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

/// The nearest `float16`. There is one NaN of each sign.
pub(super) fn float_to_half(value: f32) -> u16 {
    const NAN: u16 = 0x7e00;
    if value.is_nan() { sign(value) | NAN } else { f16::from_f32(value).to_bits() }
}

/// How many `bfloat16` TensorFlow computes at a time.
pub(super) const BFLOAT_PACKET: usize = 8;

/// A `bfloat16`.
pub(super) fn bfloat_to_float(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest `bfloat16`, of two equally near ones the even one. There is one NaN of each sign, in
/// packets only the positive one.
pub(super) fn float_to_bfloat(value: f32, is_in_packet: bool) -> u16 {
    const NAN: u16 = 0x7fc0;
    let bits = value.to_bits();
    let nan = if is_in_packet { NAN } else { sign(value) | NAN };
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if value.is_nan() { nan } else { rounded as u16 }
}

fn sign(value: f32) -> u16 {
    (value.to_bits() >> 16) as u16 & 0x8000
}

/// Whether the left operand is the minimum or maximum: a NaN is, the left one first.
const fn is_first(is_beyond: bool, is_equal: bool, left_is_nan: bool, right_is_nan: bool, is_in_packet: bool) -> bool {
    left_is_nan || is_beyond || (!right_is_nan && is_equal && !is_in_packet)
}
