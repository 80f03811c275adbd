//! Graphs by their identity in memory.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use tff_ir::TensorFlow;

/// A graph that is equal to its clones alone. It is kept, so that no other one takes its place in memory.
#[derive(Clone, Debug)]
pub(crate) struct SameBody(Arc<TensorFlow>);

impl SameBody {
    pub(crate) fn of(body: &Arc<TensorFlow>) -> Self {
        Self(body.clone())
    }
}

impl PartialEq for SameBody {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SameBody {}

impl Hash for SameBody {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}
