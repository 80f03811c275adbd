//! Datasets: sequences as the serialized graphs in which they enter and leave TensorFlow. They are
//! written here; reading them needs TensorFlow.

mod layout;
pub(crate) mod nodes;
mod write;

pub(crate) use layout::Layout;
pub(super) use write::write;
