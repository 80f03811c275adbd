//! Datasets, which TensorFlow reads.

mod read;
mod read_graph;

pub(super) use read::{Form, Reader, read};
