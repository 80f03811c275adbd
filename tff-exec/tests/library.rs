//! Which libtensorflow is opened, and what is said where there is none, or another one.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tff_exec::leaf::tensorflow::{Library, TensorFlowOptions};
use tff_exec::{ExecError, TensorFlow};
use tff_ir::{Opaque, TensorFlowBinding};
use tff_types::{DType, FunctionType, Type};

/// Set for the process in which the leaf is tried: one where nothing says where the library is.
const INNER: &str = "TFF_TEST_LIBRARY";

/// Runs `test`, the test of this name, in a process of its own: a library stays open.
fn alone(name: &str, test: fn()) {
    if env::var_os(INNER).is_some() {
        return test();
    }
    let mut inner = Command::new(env::current_exe().unwrap());
    inner.env_remove("LD_LIBRARY_PATH").env_remove("DYLD_LIBRARY_PATH").env_remove("TF_CPP_MIN_LOG_LEVEL");
    let output = inner.env(INNER, "1").args(["--exact", name]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The folder with the library.
fn folder() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let provisioned = || above.map(|dir| dir.join(".native/tensorflow")).find(|dir| dir.is_dir());
    env::var_os("TENSORFLOW_DIR").map(PathBuf::from).or_else(provisioned).unwrap()
}

fn open(library: Library) -> Result<(), ExecError> {
    TensorFlow::new(TensorFlowOptions { library, ..TensorFlowOptions::default() }).open()
}

/// The message of the error that opening this gives.
fn refused(library: Library) -> String {
    let error = open(library).unwrap_err();
    assert!(matches!(error, ExecError::Library { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("scripts/native.sh") && text.contains("TENSORFLOW_DIR") && !text.contains('\n'), "{text}");
    text
}

#[test]
fn missing_library_says_what_to_do() {
    alone("missing_library_says_what_to_do", || {
        let nowhere = env::temp_dir().join("no-library-here");
        let library = Library::Path(nowhere.clone());
        let leaf = TensorFlow::new(TensorFlowOptions { library: library.clone(), ..TensorFlowOptions::default() });
        let comp = tff_ir::TensorFlow {
            graph: Opaque { type_url: "type.googleapis.com/tensorflow.GraphDef".into(), value: bytes::Bytes::new() },
            parameter: None,
            result: TensorFlowBinding::Tensor("x:0".into()),
            initialize_op: "".into(),
            session_token: "".into(),
            cache_key: None,
            layout_map: None,
        };
        let ty = FunctionType { parameter: None, result: Type::scalar(DType::Float32) };
        let error = leaf.prepare(&Arc::new(comp), &ty).unwrap_err();
        assert!(matches!(error, ExecError::Library { .. }), "{error}");
        assert_eq!(error.to_string(), refused(library));
        assert!(error.to_string().contains(nowhere.to_str().unwrap()), "{error}");

        assert!(refused(Library::Loaded).contains("the process has loaded none"));
        let empty = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert!(refused(Library::Path(empty)).contains("holds none of libtensorflow"));
        let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(refused(Library::Path(text)).contains("Cargo.toml cannot be opened"));
        // A library, and not this one: the process has others open.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let files = maps.lines().filter_map(|line| line.split_whitespace().last());
        if let Some(libc) = files.into_iter().find(|file| file.contains("/libc.")) {
            assert!(
                refused(Library::Path(libc.into()))
                    .contains("is not a libtensorflow 2.x: it does not export TF_Version")
            );
        }
    });
}

#[test]
fn one_copy_serves_all_and_a_second_is_refused() {
    alone("one_copy_serves_all_and_a_second_is_refused", || {
        let before: Vec<_> = env::vars_os().collect();
        // A file, whatever it is called.
        let file = std::fs::canonicalize(folder().join("libtensorflow.so")).unwrap();
        open(Library::Path(file.clone())).unwrap();
        open(Library::Path(folder())).unwrap();
        open(Library::Loaded).unwrap();
        open(Library::System).unwrap();
        let link = env::temp_dir().join(format!("tff-link-{}.so", std::process::id()));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let through_link = open(Library::Path(link.clone()));
        std::fs::remove_file(&link).unwrap();
        through_link.unwrap();

        let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let text = refused(Library::Path(other));
        assert!(text.contains("the process has loaded another copy, of version 2."), "{text}");
        open(Library::Path(file)).unwrap();
        // Whoever embeds the leaf owns the environment.
        assert_eq!(env::vars_os().collect::<Vec<_>>(), before);
    });
}

#[test]
fn a_copy_that_others_loaded_is_used() {
    alone("a_copy_that_others_loaded_is_used", || {
        let file = folder().join("libtensorflow.so");
        // SAFETY: the library's initialisers are what the leaf would run.
        #[expect(unsafe_code, reason = "somebody else opens the library")]
        std::mem::forget(unsafe { libloading::Library::new(&file) }.unwrap());
        let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert!(refused(Library::Path(other)).contains("the process has loaded another copy"));
        open(Library::Loaded).unwrap();
        open(Library::Path(file)).unwrap();
    });
}
