//! What the leaf needs from a runtime. The leaf checks everything once, for all runtimes; a runtime
//! calls its library.

use super::signature::Signature;
use crate::LeafError;
use crate::leaf::one_line;
use crate::values::status_code;
use std::fmt;
use std::sync::Arc;
use tff_ir::Array;

/// A library that compiles modules and runs them on one device.
///
/// A runtime lives as long as the process: libraries with threads of their own cannot be closed.
/// Its methods may be called from several threads at once. What they are given was checked: that
/// the module's signature is the computation's, and that arrays are none of strings.
pub(super) trait Runtime: fmt::Debug + Send + Sync + 'static {
    /// A compiled module.
    type Executable: Send + Sync;
    /// An array in the memory of the device. Nothing writes to it once it is made.
    type Buffer: Send + Sync + 'static;

    /// Compiles a serialized `xla.HloModuleProto` of this signature.
    ///
    /// # Errors
    /// The library's message.
    fn compile(&'static self, module: &[u8], signature: &Signature) -> Result<Self::Executable, Failure>;

    /// Copies an array into the memory of the device.
    ///
    /// # Errors
    /// The library's message.
    fn upload(&'static self, array: &Array) -> Result<Self::Buffer, Failure>;

    /// Whether the buffer is in the memory of this runtime.
    fn owns(&self, buffer: &Self::Buffer) -> bool;

    /// Runs a module on the caller's thread, with one argument for each parameter of its
    /// signature. The results, one for each of its signature, are complete when it returns, and
    /// the arguments unchanged.
    ///
    /// # Errors
    /// The library's message.
    fn execute(&self, executable: &Self::Executable, arguments: &[&Self::Buffer])
    -> Result<Vec<Self::Buffer>, Failure>;

    /// The content of a buffer: a view where the memory of the device is that of the process, else
    /// a copy.
    ///
    /// # Errors
    /// The library's message, or that the content is not an array.
    fn download(&self, buffer: &Arc<Self::Buffer>) -> Result<Array, Failure>;
}

/// Why a library did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Failure {
    /// The library's code.
    pub(super) code: i32,
    pub(super) message: String,
}

/// Something that was noticed here and not by the library.
impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { code: status_code::INTERNAL, message }
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

impl From<tff_ir::ArrayError> for Failure {
    fn from(error: tff_ir::ArrayError) -> Self {
        error.to_string().into()
    }
}

impl From<Failure> for LeafError {
    fn from(failure: Failure) -> Self {
        Self::Native { code: status_code::name(failure.code), message: one_line(&failure.message) }
    }
}
