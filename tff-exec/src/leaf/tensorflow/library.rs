//! Finding and opening libtensorflow: once in a process, and not before it is needed.

use super::ffi::set_default_env;
use crate::ExecError;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The variable that the bindings look for the library in; a user's own setting comes first.
const DIRECTORY: &str = "TENSORFLOW_DIR";

/// The file that the bindings open.
const FILE: &str = if cfg!(target_os = "macos") { "libtensorflow.dylib" } else { "libtensorflow.so" };

/// Whether the library is open.
static OPEN: Mutex<bool> = Mutex::new(false);

/// Says where the library is, if it is there, and that it should log nothing that it returns as an
/// error. What the environment says already stays.
pub(super) fn announce(directory: Option<&Path>) {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if *open {
        return;
    }
    set_default_env("TF_CPP_MIN_LOG_LEVEL", OsStr::new("3"));
    // Absolute, since the working directory may be another one when the library is opened.
    let directory = directory.filter(|it| it.join(FILE).is_file()).and_then(|it| std::path::absolute(it).ok());
    if let Some(directory) = directory {
        set_default_env(DIRECTORY, directory.as_os_str());
    }
}

/// Opens the library unless it is open.
///
/// # Errors
/// [`ExecError::Library`] where it is missing or no libtensorflow, with what to do.
pub(super) fn open() -> Result<(), ExecError> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if !*open {
        tensorflow::library::load().map_err(|reason| ExecError::Library {
            library: FILE,
            reason: format!("{reason}; run scripts/native.sh, or set {DIRECTORY} to the directory that holds it"),
        })?;
        *open = true;
        tracing::debug!(version = tensorflow::version().unwrap_or_default(), "opened libtensorflow");
    }
    Ok(())
}
