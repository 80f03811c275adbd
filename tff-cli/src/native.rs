//! Where the native libraries are.

use std::env;
use std::path::{Path, PathBuf};

/// Where `scripts/native.sh` puts the library, below the root of the repository.
const PROVISIONED: &str = ".native/tensorflow";

/// The folder with TensorFlow's shared libraries: what the environment variable `TENSORFLOW_DIR`
/// says, else `.native/tensorflow` in a folder above the executable or the current folder.
pub(crate) fn tensorflow_dir() -> Option<PathBuf> {
    if let Some(dir) = env::var_os("TENSORFLOW_DIR").filter(|dir| !dir.is_empty()) {
        return Some(dir.into());
    }
    // A link to the executable, as in a `bin` folder, leads to where it was built.
    let executable = env::current_exe().and_then(|path| path.canonicalize()).ok();
    [executable, env::current_dir().ok()].into_iter().flatten().find_map(|start| provisioned_above(&start))
}

fn provisioned_above(start: &Path) -> Option<PathBuf> {
    start.ancestors().map(|folder| folder.join(PROVISIONED)).find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_above_counts() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b");
        std::fs::create_dir_all(root.path().join(PROVISIONED)).unwrap();
        std::fs::create_dir_all(deep.join("c")).unwrap();
        assert_eq!(provisioned_above(&deep.join("c")), Some(root.path().join(PROVISIONED)));
        std::fs::create_dir_all(deep.join(PROVISIONED)).unwrap();
        assert_eq!(provisioned_above(&deep.join("c")), Some(deep.join(PROVISIONED)));
    }
}
