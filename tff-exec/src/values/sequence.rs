//! Sequences at run time: elements, or a dataset that TensorFlow serialized, or both.

use super::{Value, dataset};
use crate::ExecError;
use bytes::Bytes;
use std::fmt;
use std::sync::{Arc, OnceLock};
use tff_types::Type;

/// A sequence: immutable, shared, re-iterable.
///
/// It begins as elements or as a dataset (a serialized graph, the form in which sequences enter
/// and leave TensorFlow) and keeps the other form once it was needed.
#[derive(Clone)]
pub struct Sequence(Arc<Inner>);

struct Inner {
    element: Type,
    elements: OnceLock<Arc<[Value]>>,
    dataset: OnceLock<Bytes>,
}

/// Reads sequences that TensorFlow serialized: see [`TensorFlow`](crate::TensorFlow).
pub trait ReadDataset: Send + Sync {
    /// The elements that a serialized dataset makes, each of type `element`.
    ///
    /// # Errors
    /// Those of [`Sequence::elements`].
    fn read_dataset(&self, graph: &Bytes, element: &Type) -> Result<Arc<[Value]>, ExecError>;
}

impl Sequence {
    /// A sequence of these elements, each of type `element`.
    #[must_use]
    pub fn from_elements(element: Type, elements: impl Into<Arc<[Value]>>) -> Self {
        Self(Arc::new(Inner { element, elements: OnceLock::from(elements.into()), dataset: OnceLock::new() }))
    }

    /// A sequence that TensorFlow serialized: a `GraphDef` that makes a dataset.
    #[must_use]
    pub fn from_dataset(element: Type, graph: Bytes) -> Self {
        Self(Arc::new(Inner { element, elements: OnceLock::new(), dataset: OnceLock::from(graph) }))
    }

    /// The type of each element.
    #[must_use]
    pub fn element_type(&self) -> &Type {
        &self.0.element
    }

    /// The elements, if they are known without running a dataset.
    #[must_use]
    pub fn known_elements(&self) -> Option<&Arc<[Value]>> {
        self.0.elements.get()
    }

    /// The elements, in order; reads a dataset through `reader`.
    ///
    /// # Errors
    /// [`ExecError::Run`] where TensorFlow cannot read the dataset, [`ExecError::Mismatch`] where
    /// its elements are not of the element type, [`ExecError::Limit`] where it does not end.
    pub fn elements(&self, reader: &dyn ReadDataset) -> Result<Arc<[Value]>, ExecError> {
        if let Some(elements) = self.0.elements.get() {
            return Ok(elements.clone());
        }
        let elements = match self.0.dataset.get() {
            Some(graph) => reader.read_dataset(graph, &self.0.element)?,
            None => Arc::from([]),
        };
        Ok(self.0.elements.get_or_init(|| elements).clone())
    }

    /// The dataset; writes one for elements, without calling TensorFlow.
    ///
    /// # Errors
    /// [`ExecError::Mismatch`] where an element is not of the element type.
    pub fn dataset(&self) -> Result<Bytes, ExecError> {
        if let Some(graph) = self.0.dataset.get() {
            return Ok(graph.clone());
        }
        let elements = self.0.elements.get().map_or(&[][..], |elements| elements);
        let graph = dataset::write(elements, &self.0.element)?;
        Ok(self.0.dataset.get_or_init(|| graph).clone())
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequence")
            .field("element", &self.0.element)
            .field("elements", &self.0.elements.get())
            .field("dataset", &self.0.dataset.get().map(Bytes::len))
            .finish()
    }
}
