//! Where the native libraries are.

use std::env;
use std::path::{Path, PathBuf};
use tff_exec::leaf::{tensorflow, xla};

/// Where `scripts/native.sh` puts TensorFlow, below the root of the repository.
const TENSORFLOW: &str = ".native/tensorflow";

/// Where it puts the PJRT plugin.
const PLUGIN: &str = ".native/pjrt/pjrt_c_api_cpu_plugin.so";

/// Keeps the native libraries from logging to stderr the errors that they also return. A level that the environment
/// already has is kept. The libraries read their level from the environment only.
///
/// # Safety
/// The process must have no other thread.
#[expect(unsafe_code, reason = "the libraries are told in no other way")]
pub unsafe fn quiet() {
    const LEVEL: &str = "TF_CPP_MIN_LOG_LEVEL";
    if env::var_os(LEVEL).is_none() {
        // SAFETY: the caller promises that there is no other thread, so nothing reads the environment now.
        unsafe { env::set_var(LEVEL, "3") };
    }
}

/// The path that an environment variable names.
fn own(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// What runs TensorFlow's graphs: the library that the environment variable `TENSORFLOW_DIR` names, by its file or its
/// folder; without it, `.native/tensorflow` in a folder above the executable or the current folder, or else the system's.
pub(crate) fn tensorflow() -> tensorflow::Library {
    let path = own("TENSORFLOW_DIR").or_else(|| provisioned(TENSORFLOW).into_iter().find(|folder| folder.is_dir()));
    path.map_or(tensorflow::Library::System, tensorflow::Library::Path)
}

/// What computations in XLA run on: the PJRT plugin that the environment variable `TFF_PJRT_PLUGIN` names; without it,
/// the XLA that the program is linked with if it is (feature `xla`), else the plugin `.native/pjrt` in a folder above
/// the executable or the current folder.
pub(crate) fn xla() -> xla::Library {
    let own = own("TFF_PJRT_PLUGIN");
    #[cfg(feature = "xla")]
    if own.is_none() {
        return xla::Library::Linked;
    }
    xla::Library::Plugin(xla::Plugin::new(own.map_or_else(|| provisioned(PLUGIN), |plugin| vec![plugin])))
}

/// The places of what the script provisions: below each folder above the executable, then above the current folder.
fn provisioned(path: &str) -> Vec<PathBuf> {
    // A link to the executable, as in a `bin` folder, leads to where it was built.
    let executable = env::current_exe().and_then(|path| path.canonicalize()).ok();
    let starts = [executable.as_deref().and_then(Path::parent).map(Path::to_owned), env::current_dir().ok()];
    let mut places = Vec::new();
    for place in starts.iter().flatten().flat_map(|start| below_ancestors(start, path)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// A path below each of the folders that lead to `start`, the nearest first.
fn below_ancestors(start: &Path, path: &str) -> impl Iterator<Item = PathBuf> {
    start.ancestors().map(move |folder| folder.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_comes_first() {
        let places: Vec<PathBuf> = below_ancestors(Path::new("/a/b"), PLUGIN).collect();
        assert_eq!(places, ["/a/b", "/a", "/"].map(|folder| Path::new(folder).join(PLUGIN)));
    }
}
