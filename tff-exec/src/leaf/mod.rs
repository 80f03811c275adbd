//! Leaves run compiled computations: each is prepared once and called many times.

/// Declares types for the objects of a native library. Only their addresses are known.
macro_rules! opaque {
    ($($name:ident),*) => { $(
        /// An object of the library.
        #[repr(C)]
        pub(super) struct $name {
            _private: [u8; 0],
        }
    )* };
}

mod recent;
pub mod tensorflow;
mod until;
pub mod xla;

pub use recent::Keep;
pub use until::Until;
pub(crate) use until::check;

use crate::{ExecError, Value};
use std::fmt;
use tff_types::Brief;

/// A compiled computation, ready to be called from any thread, also from several at once.
///
/// The argument was not checked before: a prepared computation checks kinds, element types and
/// shapes against its own type and says where in the argument a mismatch is.
pub trait Prepared: Send + Sync + fmt::Debug {
    /// Calls it on the caller's thread.
    ///
    /// # Errors
    /// An [`ExecError`] for an argument that is not of the parameter's type, or a run that fails.
    fn call(&self, argument: Option<&Value>) -> Result<Value, ExecError>;

    /// The same with an argument that the caller gives away. The result may overwrite the parts of it that nobody
    /// else holds.
    ///
    /// # Errors
    /// As for [`Prepared::call`].
    fn consume(&self, argument: Option<Value>) -> Result<Value, ExecError> {
        self.call(argument.as_ref())
    }

    /// The same, ended early if it is no longer needed and the library can end what it runs.
    ///
    /// # Errors
    /// As for [`Prepared::call`]; those of [`Until::check`] where the call was ended.
    fn consume_until(&self, argument: Option<Value>, _: &Until) -> Result<Value, ExecError> {
        self.consume(argument)
    }

    /// Folds the elements in one run of the library. For each element in order, the function is applied to the pair of
    /// its last result (at first `zero`) and the element; the last result is returned. `None` if the library cannot do
    /// that for this function and these values; the caller then makes one call for each element.
    fn fold(&self, zero: &Value, elements: &[Value], until: &Until) -> Option<Result<Value, ExecError>> {
        let _ = (zero, elements, until);
        None
    }
}

/// The words of a message of a native library on one line, cut where they are very many.
fn one_line(message: &str) -> String {
    /// The most characters, with the ellipsis.
    const MAX_LEN: usize = 1001;
    let words: Vec<&str> = message.split_whitespace().collect();
    Brief::start(&words.join(" "), MAX_LEN).to_string()
}
