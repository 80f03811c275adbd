//! Tensors in TensorFlow's memory as arrays, which are views of them.

use super::ffi::{Api, Native};
use bytes::Bytes;
use std::sync::Arc;
use tff_ir::{Array, ArrayError};
use tff_types::DType;

/// Strings shorter than this are copied out of a tensor: a view costs as much and keeps it alive.
const MIN_VIEW: usize = 1024;

impl Native {
    /// A scalar string.
    ///
    /// # Errors
    /// [`ArrayError::TooLarge`] where TensorFlow has no memory.
    pub(super) fn from_string(library: &'static Api, string: Bytes) -> Result<Self, ArrayError> {
        Self::from_array(library, &Array::strings([], [string])?)
    }

    /// The string at this position, shared where it is long; `None` beyond the end and for other
    /// element types.
    pub(super) fn string_bytes(self: &Arc<Self>, index: usize) -> Option<Bytes> {
        let string = self.string(index)?;
        Some(if string.len() < MIN_VIEW {
            Bytes::copy_from_slice(string)
        } else {
            Bytes::from_owner(StringView { tensor: self.clone(), index })
        })
    }

    /// The same tensor as an array, which shares the memory.
    ///
    /// # Errors
    /// [`ArrayError::BadElement`] for a truth value that is neither 0 nor 1.
    pub(super) fn to_array(self: &Arc<Self>) -> Result<Array, ArrayError> {
        match self.dtype() {
            DType::String => {
                let strings: Arc<[Bytes]> = (0..self.n_strings()).filter_map(|it| self.string_bytes(it)).collect();
                Array::strings(self.dims(), strings)
            }
            dtype => Array::dense(dtype, self.dims(), Bytes::from_owner(View(self.clone()))),
        }
    }
}

struct View(Arc<Native>);

impl AsRef<[u8]> for View {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

/// One string of a tensor.
struct StringView {
    tensor: Arc<Native>,
    index: usize,
}

impl AsRef<[u8]> for StringView {
    fn as_ref(&self) -> &[u8] {
        self.tensor.string(self.index).unwrap_or_default()
    }
}
