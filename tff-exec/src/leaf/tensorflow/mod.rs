//! The TensorFlow leaf.
pub(crate) mod dataset;
use crate::{ExecError, leaf::Prepared};
use std::sync::Arc;
use tff_types::FunctionType;

/// The TensorFlow library.
#[derive(Debug)]
pub struct TensorFlow {}

impl TensorFlow {
    /// New.
    pub fn new(_dir: Option<std::path::PathBuf>) -> Self {
        Self {}
    }

    /// Prepares.
    pub fn prepare(&self, _comp: &Arc<tff_ir::TensorFlow>, _ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
        Err(ExecError::Unsupported(String::new()))
    }
}
