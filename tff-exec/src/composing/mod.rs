//! Programs whose clients are elsewhere: federated intrinsics over children, each of which has
//! some of the clients.
//!
//! The server's part is evaluated here. Values at clients stay with the children from one intrinsic to
//! the next; what a child needs is sent to it once, when it is first needed.

mod children;
mod held;

pub(crate) use children::Children;

use crate::{ExecError, Value};
use std::fmt;
use std::sync::Arc;
use tff_proto::v0 as pb;

/// A listener that gets a value, or the error in its place.
pub type Receive = Box<dyn FnOnce(Result<pb::Value, ExecError>) + Send>;

/// An executor elsewhere, which makes values step by step for some of the clients: the protocol's executor
/// interface.
///
/// Values have numbers, which the child chooses. Nothing blocks, and only [`Child::compute`] fails: if a value
/// failed, so has every value that is made of it.
pub trait Child: fmt::Debug + Send + Sync {
    /// Its name in errors: its address.
    fn name(&self) -> &Arc<str>;

    /// How many clients it has, 1 or more.
    fn n_clients(&self) -> usize;

    /// Creates a value from a message.
    fn create_value(&self, value: pb::Value) -> u64;

    /// Creates the value of a call.
    fn create_call(&self, function: u64, argument: Option<u64>) -> u64;

    /// Creates a struct of values.
    fn create_struct(&self, elements: &[u64]) -> u64;

    /// Passes the message of a value to `receive` when it is there, unless the value is disposed of before.
    fn compute(&self, id: u64, receive: Receive);

    /// Forgets a value.
    fn dispose(&self, id: u64);
}

/// What finds children for the clients of a program.
pub trait Workers: fmt::Debug + Send + Sync {
    /// Spreads this many clients, 1 or more, over children in their order, and runs `round` on these:
    /// again, on others, where it fails with [`WorkerError::Unavailable`](crate::WorkerError::Unavailable) and that may help.
    ///
    /// # Errors
    /// [`WorkerError::Unavailable`](crate::WorkerError::Unavailable) where no children are found; those of `round`.
    fn run(
        &self,
        n_clients: usize,
        round: &mut dyn FnMut(Vec<Arc<dyn Child>>) -> Result<Value, ExecError>,
    ) -> Result<Value, ExecError>;
}
