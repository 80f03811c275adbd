//! Datasets: sequences as the serialized graphs in which they enter and leave TensorFlow.

mod layout;
mod read;
mod read_graph;
mod write;

pub(super) use layout::Layout;
pub(crate) use read::read;
pub(super) use read::{Form, Reader};
pub(crate) use write::write;
