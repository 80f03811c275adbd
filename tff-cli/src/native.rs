//! Where the native libraries are.

use std::env;
use std::path::{Path, PathBuf};
use tff_exec::leaf::xla::Library;

/// Where `scripts/native.sh` puts TensorFlow, below the root of the repository.
const TENSORFLOW: &str = ".native/tensorflow";

/// Where it puts the PJRT plugin.
const PLUGIN: &str = ".native/pjrt/pjrt_c_api_cpu_plugin.so";

/// The folder with TensorFlow's shared libraries: what the environment variable `TENSORFLOW_DIR`
/// says, else `.native/tensorflow` in a folder above the executable or the current folder.
pub(crate) fn tensorflow_dir() -> Option<PathBuf> {
    if let Some(dir) = env::var_os("TENSORFLOW_DIR").filter(|dir| !dir.is_empty()) {
        return Some(dir.into());
    }
    provisioned(TENSORFLOW).into_iter().find(|folder| folder.is_dir())
}

/// What computations in XLA run on: the PJRT plugin that the environment variable `TFF_PJRT_PLUGIN` names; without it,
/// the XLA that the program is linked with if it is (feature `xla`), else the plugin `.native/pjrt` in a folder above
/// the executable or the current folder.
pub(crate) fn xla() -> Library {
    #[cfg(feature = "xla")]
    if env::var_os("TFF_PJRT_PLUGIN").is_none_or(|plugin| plugin.is_empty()) {
        return Library::Linked;
    }
    Library::Plugin(provisioned(PLUGIN))
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
