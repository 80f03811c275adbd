//! Tensors at run time: an array, and the form in which a native library holds it.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use tff_ir::Array;

/// A tensor: an [`Array`] that clones by reference count and remembers the native tensor made of
/// it, so that a value broadcast to many clients is copied into a library's memory once.
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

struct Inner {
    array: Array,
    native: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl Tensor {
    /// A tensor of this content.
    #[must_use]
    pub fn new(array: Array) -> Self {
        Self(Arc::new(Inner { array, native: OnceLock::new() }))
    }

    /// A tensor whose content is a view of `native`, a library's own tensor.
    pub(crate) fn with_native(array: Array, native: Arc<dyn Any + Send + Sync>) -> Self {
        Self(Arc::new(Inner { array, native: OnceLock::from(native) }))
    }

    /// The content.
    #[must_use]
    pub fn array(&self) -> &Array {
        &self.0.array
    }

    /// Lets `write` change the bytes of the elements, if nobody else holds this tensor or its
    /// bytes; says whether it was called.
    pub(crate) fn write_if_unique(&mut self, write: impl FnOnce(&mut [u8])) -> bool {
        let Some(inner) = Arc::get_mut(&mut self.0) else { return false };
        let Inner { array, native } = inner;
        array.write_if_unique(|bytes| {
            // What a library holds is the old content.
            native.take();
            write(bytes);
        })
    }

    /// The native tensor of type `T`, made by `make` unless it is remembered. The first that is
    /// made stays with the tensor; where two libraries meet, the second makes its own each time.
    pub(crate) fn native<T, E>(&self, make: impl FnOnce(&Array) -> Result<T, E>) -> Result<Arc<T>, E>
    where
        T: Any + Send + Sync,
    {
        if let Some(kept) = self.0.native.get().cloned().and_then(|kept| kept.downcast().ok()) {
            return Ok(kept);
        }
        // Made outside the cell, so that nothing computes while another thread waits: of two that
        // race, one drops its copy.
        let made = Arc::new(make(&self.0.array)?);
        // A full cell only means that this tensor is not remembered.
        let _ = self.0.native.set(made.clone());
        Ok(made)
    }
}

impl From<Array> for Tensor {
    fn from(array: Array) -> Self {
        Self::new(array)
    }
}

impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.array == other.0.array
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.array.fmt(f)
    }
}
