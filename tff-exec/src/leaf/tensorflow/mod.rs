//! The TensorFlow leaf.
pub(crate) mod dataset;
use crate::{ExecError, leaf::Prepared};
use std::sync::Arc;
use tff_types::FunctionType;

/// The TensorFlow library.
#[derive(Debug)]
pub struct TensorFlow {}

impl TensorFlow {
    /// Prepares.
    pub fn prepare(&self, _comp: &Arc<()>, _ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
        Err(ExecError::Unsupported(String::new()))
    }
}
