//! Finding and opening libtensorflow: one in a process, and not before it is needed.

use super::ffi::Api;
use crate::ExecError;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Which libtensorflow runs graphs.
///
/// A process can have only one: a second copy, even of the same version, ends the process or fails.
/// So one that the process has loaded already (as `import tensorflow` in Python does) is used where
/// it is the one that is meant, and otherwise refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Library {
    /// The copy that the process has loaded, or else the one that the system's loader finds.
    #[default]
    System,
    /// The one that the process has loaded, and no other.
    Loaded,
    /// This file, under any name, or a folder that holds it under one of its usual names.
    Path(PathBuf),
}

/// The names of the library: those of TensorFlow's own archives, and in the Python package.
const NAMES: &[&str] = if cfg!(target_vendor = "apple") {
    &["libtensorflow.dylib", "libtensorflow.2.dylib", "libtensorflow_cc.2.dylib"]
} else if cfg!(windows) {
    &["tensorflow.dll"]
} else {
    &["libtensorflow.so", "libtensorflow.so.2", "libtensorflow_cc.so.2"]
};

/// The library that is open.
static OPEN: Mutex<Option<&'static Api>> = Mutex::new(None);

/// Opens the library unless it is open.
///
/// # Errors
/// [`ExecError::Library`] where it is missing, no libtensorflow, or not the one that is open, with
/// what to do.
pub(super) fn open(library: &Library) -> Result<&'static Api, ExecError> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let api = match (*open, library) {
        (Some(api), Library::System | Library::Loaded) => Ok(api),
        (api, Library::Path(path)) => open_path(api, path),
        (None, Library::System) => already_open().unwrap_or_else(|| {
            let found = NAMES.iter().find_map(|name| Api::open(OsStr::new(name)).ok());
            found.ok_or_else(|| format!("the system's loader finds none of {}", NAMES.join(", ")))
        }),
        (None, Library::Loaded) => already_open().unwrap_or_else(|| Err("the process has loaded none".to_owned())),
    };
    let api = api.map_err(|reason| ExecError::Library {
        library: "libtensorflow",
        reason: format!("{reason}; run scripts/native.sh, or set TENSORFLOW_DIR to the directory that holds it"),
    })?;
    if open.replace(api).is_none() {
        tracing::debug!(version = api.version(), "opened libtensorflow");
    }
    Ok(api)
}

/// The library that the process has loaded under one of its usual names.
fn already_open() -> Option<Result<&'static Api, String>> {
    NAMES.iter().find_map(|name| Api::already_open(OsStr::new(name)))
}

fn open_path(open: Option<&'static Api>, path: &Path) -> Result<&'static Api, String> {
    let files: Vec<PathBuf> = match path.is_dir() {
        true => NAMES.iter().map(|name| path.join(name)).collect(),
        false => vec![path.to_owned()],
    };
    let Some(file) = files.iter().find(|file| file.is_file()) else {
        return Err(match path.is_dir() {
            true => format!("{} holds none of {}", path.display(), NAMES.join(", ")),
            false => format!("{} does not exist", path.display()),
        });
    };
    let describe = |reason| format!("{} {reason}", file.display());
    // The same file is the same copy, also through a link.
    let same = Api::already_open(file.as_os_str()).transpose().map_err(describe)?;
    match (open.map(Ok).or_else(already_open).transpose()?, same) {
        (Some(other), same) if !same.is_some_and(|same| same.is(other)) => Err(format!(
            "the process has loaded another copy, of version {}, and cannot have {} beside it",
            other.version(),
            file.display()
        )),
        (_, Some(same)) => Ok(same),
        (_, None) => Api::open(file.as_os_str()).map_err(describe),
    }
}
