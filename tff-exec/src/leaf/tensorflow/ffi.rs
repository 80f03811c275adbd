//! The unsafe corner: the process environment that the library reads, strings in its memory, and
//! its tensors as bytes. Every other file of the leaf is safe code over these.
#![expect(unsafe_code, reason = "views of memory that TensorFlow owns, and the environment it reads")]

use super::native::data_type;
use bytes::Bytes;
use half::f16;
use std::ffi::{OsStr, c_void};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use tensorflow::{BFloat16, Code, DataType, Status, Tensor, TensorInner, TensorType};
use tensorflow_sys_runtime as sys;
use tff_ir::Array;

// Arrays are little-endian, TensorFlow's tensors are native: views of one another need both equal.
const _: () = assert!(cfg!(target_endian = "little"));

/// Sets a variable of the process environment that nothing has set yet.
///
/// TensorFlow takes the directory of its library and the level of its log from there and from
/// nowhere else.
pub(super) fn set_default_env(key: &str, value: &OsStr) {
    if std::env::var_os(key).is_none() {
        // SAFETY: the standard library serialises its own accesses. What remains is C code that
        // reads the environment in another thread at this moment; the caller,
        // `library::announce`, runs before TensorFlow is opened, and the constructor that calls
        // it asks to be called while the process has no such threads.
        unsafe { std::env::set_var(key, value) };
    }
}

/// A string in TensorFlow's memory.
#[repr(transparent)]
pub(super) struct TString(sys::TF_TString);

impl TString {
    /// The content, any bytes.
    pub(super) fn as_bytes(&self) -> &[u8] {
        // SAFETY: every `TString` was initialised, here or by TensorFlow; the pointer is that of
        // `size` bytes that live and stay unchanged as long as `self` is borrowed.
        unsafe {
            let data = sys::TF_StringGetDataPointer(&raw const self.0).cast::<u8>();
            let size = sys::TF_StringGetSize(&raw const self.0);
            if data.is_null() { &[] } else { std::slice::from_raw_parts(data, size) }
        }
    }

    fn assign(&mut self, bytes: &[u8]) {
        // SAFETY: `self` was initialised; TensorFlow copies exactly these bytes.
        unsafe { sys::TF_StringCopy(&raw mut self.0, bytes.as_ptr().cast(), bytes.len()) };
    }
}

impl Default for TString {
    fn default() -> Self {
        let mut string = std::mem::MaybeUninit::zeroed();
        // SAFETY: a `TF_TString` is a union of plain integers, so zeros are a value of it, and
        // initialising it makes that value the empty string.
        unsafe {
            sys::TF_StringInit(string.as_mut_ptr());
            Self(string.assume_init())
        }
    }
}

impl Drop for TString {
    fn drop(&mut self) {
        // SAFETY: `self` was initialised and nothing uses it afterwards.
        unsafe { sys::TF_StringDealloc(&raw mut self.0) };
    }
}

impl Clone for TString {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.assign(self.as_bytes());
        copy
    }
}

impl fmt::Debug for TString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

impl fmt::Display for TString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The strings of a tensor, where TensorFlow has them. The crate's own tensor of strings refuses
/// bytes that are not UTF-8, and is unsound when it is empty, cloned or shared between threads.
pub(super) struct StringData {
    /// Owned. `None` only where TensorFlow could not make the tensor.
    tensor: Option<NonNull<sys::TF_Tensor>>,
    len: usize,
}

// SAFETY: a `TF_Tensor` is a counted reference to a buffer and may be used and freed by any thread.
unsafe impl Send for StringData {}
// SAFETY: with a shared reference the buffer is only read.
unsafe impl Sync for StringData {}

impl StringData {
    fn dims(&self) -> Vec<u64> {
        let Some(tensor) = self.tensor else { return Vec::new() };
        // SAFETY: the tensor is alive, and each index is below its number of dimensions.
        unsafe {
            let rank = sys::TF_NumDims(tensor.as_ptr());
            (0..rank).map(|axis| u64::try_from(sys::TF_Dim(tensor.as_ptr(), axis)).unwrap_or(0)).collect()
        }
    }

    fn data(&self) -> Option<NonNull<TString>> {
        // SAFETY: the tensor is alive.
        self.tensor.and_then(|tensor| NonNull::new(unsafe { sys::TF_TensorData(tensor.as_ptr()) }.cast()))
    }
}

impl TensorInner<TString> for StringData {
    fn new_inner(dims: &[u64]) -> Self {
        let len = usize::try_from(dims.iter().product::<u64>()).unwrap_or(usize::MAX);
        let strings: Box<[TString]> = std::iter::repeat_with(TString::default).take(len).collect();
        let size = size_of_val(&*strings);
        let data = Box::into_raw(strings).cast::<c_void>();
        // SAFETY: `dims` holds as many sizes as it says, each of the width of an `i64`; the data
        // are `size` bytes of a boxed slice, which `free_strings` takes back.
        let tensor = unsafe {
            sys::TF_NewTensor(
                sys::TF_STRING,
                dims.as_ptr().cast(),
                i32::try_from(dims.len()).unwrap_or(0),
                data,
                size,
                Some(free_strings),
                ptr::null_mut(),
            )
        };
        let tensor = NonNull::new(tensor);
        Self { tensor, len: if tensor.is_some() { len } else { 0 } }
    }

    unsafe fn from_tf_tensor(tensor: *mut sys::TF_Tensor) -> Option<Self> {
        let tensor = NonNull::new(tensor)?;
        // SAFETY: the caller hands over a live tensor.
        let (dtype, len) =
            unsafe { (sys::TF_TensorType(tensor.as_ptr()), sys::TF_TensorElementCount(tensor.as_ptr())) };
        (dtype == sys::TF_STRING).then(|| Self { tensor: Some(tensor), len: usize::try_from(len).unwrap_or(0) })
    }

    fn as_mut_ptr(&self, _: &[u64]) -> tensorflow::Result<*mut sys::TF_Tensor> {
        self.tensor.map(NonNull::as_ptr).ok_or_else(|| Status::new_set_lossy(Code::ResourceExhausted, "no memory"))
    }
}

/// Frees the strings of a tensor that [`StringData`] made.
unsafe extern "C" fn free_strings(data: *mut c_void, size: usize, _: *mut c_void) {
    let strings = ptr::slice_from_raw_parts_mut(data.cast::<TString>(), size / size_of::<TString>());
    // SAFETY: this is the boxed slice that `new_inner` gave away, and TensorFlow calls this once.
    drop(unsafe { Box::from_raw(strings) });
}

impl Deref for StringData {
    type Target = [TString];

    fn deref(&self) -> &[TString] {
        match self.data() {
            // SAFETY: a tensor of strings holds `len` initialised ones, laid out as `TString`.
            Some(data) if self.len > 0 => unsafe { std::slice::from_raw_parts(data.as_ptr(), self.len) },
            _ => &[],
        }
    }
}

impl DerefMut for StringData {
    fn deref_mut(&mut self) -> &mut [TString] {
        match self.data() {
            // SAFETY: as for `deref`; a tensor is written only before it is first shared.
            Some(data) if self.len > 0 => unsafe { std::slice::from_raw_parts_mut(data.as_ptr(), self.len) },
            _ => &mut [],
        }
    }
}

impl Drop for StringData {
    fn drop(&mut self) {
        if let Some(tensor) = self.tensor {
            // SAFETY: the tensor is owned and nothing uses it afterwards.
            unsafe { sys::TF_DeleteTensor(tensor.as_ptr()) };
        }
    }
}

impl Clone for StringData {
    fn clone(&self) -> Self {
        let mut copy = Self::new_inner(&self.dims());
        copy.clone_from_slice(self);
        copy
    }
}

impl fmt::Debug for StringData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl TensorType for TString {
    type InnerType = StringData;

    fn data_type() -> DataType {
        DataType::String
    }

    fn zero() -> Self {
        Self::default()
    }

    fn one() -> Self {
        let mut string = Self::default();
        string.assign(&[1]);
        string
    }

    fn is_repr_c() -> bool {
        false
    }

    fn unpack(_: &[u8], _: usize) -> tensorflow::Result<Vec<Self>> {
        Err(Status::new_set_lossy(Code::Unimplemented, "strings are read in place"))
    }

    fn pack(_: &[Self], _: &[u64]) -> tensorflow::Result<*mut sys::TF_Tensor> {
        Err(Status::new_set_lossy(Code::Unimplemented, "strings are written in place"))
    }
}

/// A tensor of these strings; there are as many as the dimensions ask for.
pub(super) fn string_tensor(dims: &[u64], strings: &[Bytes]) -> Tensor<TString> {
    let mut tensor = Tensor::<TString>::new(dims);
    for (target, source) in tensor.iter_mut().zip(strings) {
        target.assign(source);
    }
    tensor
}

/// An element type that is the same bytes in Rust and in TensorFlow, without padding.
pub(super) trait Plain: TensorType + Copy {}

impl Plain for bool {}
impl Plain for i8 {}
impl Plain for i16 {}
impl Plain for i32 {}
impl Plain for i64 {}
impl Plain for u8 {}
impl Plain for u16 {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for f16 {}
impl Plain for BFloat16 {}
impl Plain for f32 {}
impl Plain for f64 {}
impl Plain for num_complex::Complex<f32> {}
impl Plain for num_complex::Complex<f64> {}

/// The bytes of a tensor.
pub(super) fn bytes_of<T: Plain>(tensor: &Tensor<T>) -> &[u8] {
    // The data pointer of an empty tensor may be null, which no slice may be made of.
    if tensor.dims().contains(&0) {
        return &[];
    }
    let elements: &[T] = tensor;
    // SAFETY: the elements are initialised memory without padding, so all of it may be read as bytes.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// A tensor with the dimensions and the elements of `array`, which is of this element type.
pub(super) fn plain_tensor<T: Plain>(array: &Array) -> Tensor<T> {
    let mut tensor = Tensor::<T>::new(array.dims());
    let source = array.as_dense().filter(|_| data_type(array.dtype()) == T::data_type()).map_or(&[][..], |it| it);
    if !source.is_empty() {
        let target: &mut [T] = &mut tensor;
        let size = size_of_val(target).min(source.len());
        // SAFETY: both are valid for `size` bytes and the new tensor overlaps nothing. An array
        // holds valid elements of its type only, also where not every byte is one (booleans).
        unsafe { ptr::copy_nonoverlapping(source.as_ptr(), target.as_mut_ptr().cast(), size) };
    }
    tensor
}
