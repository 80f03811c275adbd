//! Tensors at run time: an array, and the forms in which native libraries hold it.

use crate::ExecError;
use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use tff_ir::Array;
use tff_types::{TensorType, Type};

/// A tensor: an [`Array`] that clones by reference count and remembers the native tensors made of
/// it, so that a value broadcast to many clients is copied into a library's memory once. They are
/// freed with the tensor.
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

struct Inner {
    array: Array,
    natives: Natives,
}

/// The native tensors, one for each library that needed one: a list that only grows, since there
/// are no more libraries than the process has opened.
type Natives = OnceLock<Box<Native>>;

struct Native {
    tensor: Arc<dyn Any + Send + Sync>,
    next: Natives,
}

impl Native {
    fn new(tensor: Arc<dyn Any + Send + Sync>) -> Box<Self> {
        Box::new(Self { tensor, next: Natives::new() })
    }
}

impl Tensor {
    /// A tensor of this content.
    #[must_use]
    pub fn new(array: Array) -> Self {
        Self(Arc::new(Inner { array, natives: Natives::new() }))
    }

    /// A tensor whose content is that of `native`, a library's own tensor.
    pub(crate) fn with_native(array: Array, native: Arc<dyn Any + Send + Sync>) -> Self {
        Self(Arc::new(Inner { array, natives: Natives::from(Native::new(native)) }))
    }

    /// The content.
    #[must_use]
    pub fn array(&self) -> &Array {
        &self.0.array
    }

    /// Lets `write` change the bytes of the elements, if nobody else holds this tensor or its
    /// bytes; says whether it was called.
    pub(crate) fn write_if_unique(&mut self, write: impl FnOnce(&mut [u8])) -> bool {
        let Some(Inner { array, natives }) = Arc::get_mut(&mut self.0) else { return false };
        array.write_if_unique(|bytes| {
            // What libraries hold is the old content.
            natives.take();
            write(bytes);
        })
    }

    /// The native tensor of type `T`, made by `make` unless it is remembered. Where a type serves
    /// several libraries, `is_ours` tells whose a tensor is.
    pub(crate) fn native<T, E>(
        &self,
        is_ours: impl Fn(&T) -> bool,
        make: impl FnOnce(&Array) -> Result<T, E>,
    ) -> Result<Arc<T>, E>
    where
        T: Any + Send + Sync,
    {
        let mut end = match find(&self.0.natives, &is_ours) {
            Ok(kept) => return Ok(kept),
            Err(end) => end,
        };
        // Not under a lock, so that nothing computes while another thread waits: of two that race,
        // one drops its copy.
        let made = Arc::new(make(&self.0.array)?);
        while end.set(Native::new(made.clone())).is_err() {
            // Another thread was faster: perhaps with the same.
            match find(end, &is_ours) {
                Ok(kept) => return Ok(kept),
                Err(next) => end = next,
            }
        }
        Ok(made)
    }
}

/// The first native tensor from here on that is ours, or the end of the list.
fn find<T: Any + Send + Sync>(mut from: &Natives, is_ours: impl Fn(&T) -> bool) -> Result<Arc<T>, &Natives> {
    while let Some(native) = from.get() {
        if native.tensor.downcast_ref().is_some_and(&is_ours)
            && let Ok(kept) = native.tensor.clone().downcast()
        {
            return Ok(kept);
        }
        from = &native.next;
    }
    Err(from)
}

/// Checks the element type and the shape of an array. Native libraries do not check what they are
/// given.
///
/// # Errors
/// [`ExecError::Mismatch`].
pub(crate) fn check_tensor(ty: &TensorType, array: &Array) -> Result<(), ExecError> {
    if ty.dtype == array.dtype() && ty.shape.admits(array.dims()) {
        Ok(())
    } else {
        Err(ExecError::mismatch(Type::tensor(ty.dtype, ty.shape.clone()), array.ty()))
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

#[cfg(test)]
mod tests {
    use super::Tensor;
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tff_ir::{Array, Scalar};

    /// The native tensor of one of the libraries that share a type.
    struct Native {
        library: u8,
        alive: Arc<AtomicUsize>,
    }

    impl Native {
        fn new(library: u8, alive: &Arc<AtomicUsize>) -> Self {
            alive.fetch_add(1, Ordering::Relaxed);
            Self { library, alive: alive.clone() }
        }
    }

    impl Drop for Native {
        fn drop(&mut self) {
            self.alive.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn native(tensor: &Tensor, library: u8, alive: &Arc<AtomicUsize>) -> Arc<Native> {
        let made: Result<_, Infallible> =
            tensor.native(|it: &Native| it.library == library, |_| Ok(Native::new(library, alive)));
        made.unwrap()
    }

    #[test]
    fn each_library_makes_one_that_ends_with_the_tensor() {
        let alive = Arc::default();
        let tensor = Tensor::with_native(Array::from_scalar(Scalar::Int32(1)), Arc::new("another type"));
        let made: Vec<_> = (0..6).map(|index| native(&tensor.clone(), index % 3, &alive)).collect();
        assert_eq!(made.iter().map(|it| it.library).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
        assert_eq!(alive.load(Ordering::Relaxed), 3);
        drop(made);
        assert_eq!(alive.load(Ordering::Relaxed), 3);
        drop(tensor);
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn threads_that_race_agree() {
        let alive = Arc::default();
        let tensor = Tensor::new(Array::from_scalar(Scalar::Int32(1)));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (tensor, alive) = (&tensor, &alive);
                scope.spawn(move || native(tensor, thread % 2, alive));
            }
        });
        assert_eq!(alive.load(Ordering::Relaxed), 2);
        assert!(Arc::ptr_eq(&native(&tensor, 1, &alive), &native(&tensor, 1, &alive)));
    }
}
