//! Memory that Python and tensors share, by the buffer protocol: the one file with unsafe code.
#![expect(unsafe_code, reason = "the buffer protocol hands out pointers")]

use bytes::Bytes;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_int;

/// The memory of a Python object, C-contiguous, held as long as this lives.
pub(crate) struct Memory(PyUntypedBuffer);

impl Memory {
    /// The memory of an object with at least one dimension; `None` where it has none to show, or its
    /// elements do not follow one another.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> Option<Self> {
        let buffer = PyUntypedBuffer::get(object).ok()?;
        (buffer.dimensions() > 0 && buffer.is_c_contiguous()).then_some(Self(buffer))
    }

    pub(crate) fn buffer(&self) -> &PyUntypedBuffer {
        &self.0
    }

    /// A copy of the memory, which later writes to the object do not reach.
    pub(crate) fn copied(&self, _py: Python<'_>) -> Bytes {
        Bytes::copy_from_slice(self.as_ref())
    }

    /// The memory itself. Nothing may write to it while the bytes live: the caller has made sure that
    /// the object and whatever it is a view of are read-only.
    pub(crate) fn shared(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        let len = self.0.len_bytes();
        if len == 0 {
            return &[];
        }
        // SAFETY: the exporter keeps `len` bytes from here on as they are until the buffer is released, which
        // dropping `self` does. Only `copied`, with the GIL held, and `shared` lead here.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), len) }
    }
}

/// The bytes of a tensor, read-only.
#[pyclass(frozen, module = "federated_runtime._native")]
pub(crate) struct Buffer(pub(crate) Bytes);

#[pymethods]
impl Buffer {
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = &slf.get().0;
        let len = isize::try_from(bytes.len())?;
        let start = bytes.as_ptr().cast_mut().cast();
        // SAFETY: Python gave `view` to be filled. It will hold `slf`, and with it the bytes. They are exported as
        // read-only, so that nothing writes through the pointer.
        let code = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 1, flags) };
        if code == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
