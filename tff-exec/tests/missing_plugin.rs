//! Without a PJRT plugin, or with a file that is none, what to do is said when the first computation
//! in XLA is prepared, not before, and the next computation runs.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use prost::Message;
use std::path::{Path, PathBuf};
use std::process::Command;
use tff_exec::leaf::xla::{Library, Options};
use tff_exec::{ExecError, Value, Xla};
use tff_ir::{Comp, CompiledComputation, Scalar};

/// Set for the process in which the leaf is tried: one where the environment names no plugin.
const INNER: &str = "TFF_TEST_WITHOUT_PLUGIN";

#[test]
fn missing_plugin_says_what_to_do() {
    if std::env::var_os(INNER).is_some() {
        return try_leaf();
    }
    let mut inner = Command::new(std::env::current_exe().unwrap());
    inner.env_remove("TFF_PJRT_PLUGIN").env(INNER, "1");
    let output = inner.args(["--exact", "missing_plugin_says_what_to_do"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn try_leaf() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/xla/add_i32.pb");
    let comp = tff_proto::v0::Computation::decode(&*std::fs::read(&file).unwrap()).unwrap();
    let comp = Comp::from_proto(&comp).unwrap();
    let Some(CompiledComputation::Xla(xla)) = comp.as_compiled() else { panic!("no XLA") };
    let try_plugins = |plugins: Vec<PathBuf>| {
        let leaf = Xla::new(Options { library: Library::Plugin(plugins), ..Options::default() });
        let prepared = leaf.prepare(xla, comp.ty().as_function().unwrap())?;
        prepared.call(Some(&Value::structure([3, 4].map(|it| Value::scalar(Scalar::Int32(it))))))
    };
    let refuse = |plugins: Vec<PathBuf>| {
        let error = try_plugins(plugins).unwrap_err();
        assert!(matches!(error, ExecError::Library { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("scripts/native.sh pjrt") && text.contains("TFF_PJRT_PLUGIN"), "{text}");
        assert!(!text.contains('\n'), "{text}");
        text
    };
    refuse(vec![]);
    let nowhere = ["a", "b"].map(|name| std::env::temp_dir().join("no-plugin-here").join(name));
    let text = refuse(nowhere.to_vec());
    assert!(nowhere.iter().all(|path| text.contains(path.to_str().unwrap())), "{text}");
    // Of the files that exist the first is opened, whatever it is.
    let text = refuse(vec![nowhere[0].clone(), file.clone()]);
    assert!(text.contains("add_i32.pb cannot be opened"), "{text}");
    // A library, and no plugin: this process has others open.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    if let Some(library) =
        maps.lines().find_map(|line| line.split_whitespace().last().filter(|it| it.contains("/libc.")))
    {
        let text = refuse(vec![library.into()]);
        assert!(text.contains("exports no GetPjrtApi"), "{text}");
    }

    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let plugins = plugin.map(|folder| folder.join(".native/pjrt/pjrt_c_api_cpu_plugin.so")).collect();
    let Ok(Value::Tensor(sum)) = try_plugins(plugins) else {
        panic!("no plugin above the crate: run scripts/native.sh")
    };
    assert_eq!(sum.array().get(0), Some(Scalar::Int32(7)));
}
