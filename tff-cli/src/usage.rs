//! Wrong usage that only a command can find, because clap's definitions cannot express it.

use clap::Command;
use clap::error::ErrorKind;
use std::fmt;

/// Arguments that do not go together, or a value that is not one.
#[derive(Debug)]
pub(crate) struct UsageError {
    kind: ErrorKind,
    message: &'static str,
}

impl UsageError {
    /// The exit code of wrong usage, also where clap finds it.
    pub(crate) const CODE: u8 = 2;

    /// Arguments that do not go together.
    pub(crate) const fn conflict(message: &'static str) -> Self {
        Self { kind: ErrorKind::ArgumentConflict, message }
    }

    /// A value that an argument cannot have.
    pub(crate) const fn value(message: &'static str) -> Self {
        Self { kind: ErrorKind::ValueValidation, message }
    }

    /// Prints the error, and the usage of the command.
    pub(crate) fn show(&self, command: &mut Command) {
        // Where stderr is closed there is nobody left to tell.
        let _ = command.error(self.kind, self.message).print();
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for UsageError {}
