//! The two traits that the evaluator needs: one runs leaves, one computes for clients elsewhere.

use super::data::DataBackend;
use super::run::Context;
use crate::leaf::Prepared;
use crate::values::{ExecError, ReadDataset, Value};
use rayon::ThreadPool;
use std::sync::Arc;
use tff_ir::{CompiledComputation, Intrinsic};
use tff_types::{FunctionType, Type};

/// What computations run on.
pub(crate) trait Host: Send + Sync {
    /// Prepares a compiled computation of this type to be called.
    fn prepare_leaf(&self, comp: &CompiledComputation, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError>;

    /// What finds the values of data.
    fn data(&self) -> Option<&dyn DataBackend>;

    /// What reads the elements of datasets.
    fn datasets(&self) -> &dyn ReadDataset;

    /// How many threads compute for clients.
    fn threads(&self) -> usize;

    /// The fixed pool of these threads.
    fn pool(&self) -> Result<&ThreadPool, ExecError>;
}

/// Does the clients' part of a run in place of this process.
pub(crate) trait Elsewhere: Sync {
    /// Does an intrinsic. `None` if it has to be done here: it is the server's, or it needs no client.
    fn call(
        &self,
        ctx: &Context<'_>,
        intrinsic: &Intrinsic,
        ty: &Type,
        argument: &Value,
    ) -> Result<Option<Value>, ExecError>;
}
