//! The runtime that the suite runs on: with the feature `xla` the XLA that it is linked with, else the PJRT plugin in
//! `.native`, or the environment's.

use std::path::{Path, PathBuf};
use tff_exec::leaf::xla::{Library, XlaOptions};

/// What makes a leaf on this runtime.
pub(crate) fn options() -> XlaOptions {
    XlaOptions { library: library(), ..XlaOptions::default() }
}

/// What makes an executor on this runtime, with TensorFlow too.
pub(crate) fn executor_options() -> tff_exec::Options {
    let mut options = tff_exec::Options::default();
    let tensorflow = std::env::var_os("TENSORFLOW_DIR").map(PathBuf::from).or_else(|| native("tensorflow"));
    options.tensorflow = tensorflow.map(tff_exec::leaf::tensorflow::Library::Path).unwrap_or_default();
    options.xla = library();
    options
}

#[cfg(feature = "xla")]
const fn library() -> Library {
    Library::Linked
}

#[cfg(not(feature = "xla"))]
fn library() -> Library {
    let provisioned = || native("pjrt").unwrap_or_default().join("pjrt_c_api_cpu_plugin.so");
    let plugin = std::env::var_os("TFF_PJRT_PLUGIN").map_or_else(provisioned, Into::into);
    Library::Plugin(tff_exec::leaf::xla::Plugin::new(vec![plugin]))
}

/// A folder of `.native` in a folder above the crate.
fn native(library: &str) -> Option<PathBuf> {
    let start = Path::new(env!("CARGO_MANIFEST_DIR"));
    start.ancestors().map(|dir| dir.join(".native").join(library)).find(|dir| dir.is_dir())
}
