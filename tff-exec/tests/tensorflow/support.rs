//! What the tests share: the leaf on the library in `.native`, values, and small graphs.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tff_exec::TensorFlow;
use tff_exec::leaf::tensorflow::Options;

/// The directory of the repository that holds `.native`.
fn native_dir() -> PathBuf {
    let start = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = start.ancestors().map(|dir| dir.join(".native/tensorflow")).find(|dir| dir.is_dir());
    dir.expect("no .native/tensorflow above the crate: run scripts/native.sh")
}

pub(crate) fn leaf_with(options: Options) -> TensorFlow {
    TensorFlow::new(Options { library_dir: Some(native_dir()), ..options })
}

/// One leaf for all tests of the process, as an executor has one.
pub(crate) fn leaf() -> &'static TensorFlow {
    static LEAF: LazyLock<TensorFlow> = LazyLock::new(|| leaf_with(Options::default()));
    &LEAF
}
