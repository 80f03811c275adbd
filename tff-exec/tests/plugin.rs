//! PJRT plugins: without one, or with a file that is none, what to do is said when the first
//! computation in XLA is prepared, not before, and the next computation runs; clients with options.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use prost::Message;
use std::path::{Path, PathBuf};
use std::process::Command;
use tff_exec::leaf::xla::{Library, OptionValue, Plugin, XlaOptions};
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

/// The computation of `xla/add_i32.pb`, run on a plugin.
fn run_on(plugin: Plugin) -> Result<Value, ExecError> {
    let file = golden("add_i32.pb");
    let comp = tff_proto::v0::Computation::decode(&*std::fs::read(&file).unwrap()).unwrap();
    let comp = Comp::from_proto(&comp).unwrap();
    let Some(CompiledComputation::Xla(xla)) = comp.as_compiled() else { panic!("no XLA") };
    let leaf = Xla::new(XlaOptions { library: Library::Plugin(plugin), ..XlaOptions::default() });
    let prepared = leaf.prepare(xla, comp.ty().as_function().unwrap())?;
    prepared.call(Some(&Value::structure([3, 4].map(|it| Value::scalar(Scalar::Int32(it))))))
}

#[track_caller]
fn assert_is_7(result: Result<Value, ExecError>) {
    let Ok(Value::Tensor(sum)) = result else { panic!("{result:?}: run scripts/native.sh") };
    assert_eq!(sum.array().get(0), Some(Scalar::Int32(7)));
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/xla").join(name)
}

/// The plugin that the environment names, else the one in `.native` in a folder above the crate.
fn plugins() -> Vec<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let provisioned = above.map(|folder| folder.join(".native/pjrt/pjrt_c_api_cpu_plugin.so"));
    std::env::var_os("TFF_PJRT_PLUGIN").map(PathBuf::from).into_iter().chain(provisioned).collect()
}

fn try_leaf() {
    let refuse = |plugins: Vec<PathBuf>| {
        let error = run_on(Plugin::new(plugins)).unwrap_err();
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
    let text = refuse(vec![nowhere[0].clone(), golden("add_i32.pb")]);
    assert!(text.contains("add_i32.pb cannot be opened"), "{text}");
    // A library, and no plugin: this process has others open.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    if let Some(library) =
        maps.lines().find_map(|line| line.split_whitespace().last().filter(|it| it.contains("/libc.")))
    {
        let text = refuse(vec![library.into()]);
        assert!(text.contains("does not export GetPjrtApi"), "{text}");
    }
    assert_is_7(run_on(Plugin::new(plugins())));
}

#[test]
fn a_client_takes_options_and_a_device() {
    let with = |options: &[(&str, OptionValue)], device| {
        let mut plugin = Plugin::new(plugins());
        plugin.options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        plugin.device = device;
        run_on(plugin)
    };
    let three = ("cpu_device_count", OptionValue::Int64(3));
    // Three clients of one plugin.
    assert_is_7(with(&[], 0));
    assert_is_7(with(std::slice::from_ref(&three), 0));
    assert_is_7(with(std::slice::from_ref(&three), 2));
    let refuse = |options: &[(&str, OptionValue)], device, words: &str| {
        let text = with(options, device).unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    refuse(&[three], 3, "has no device 3: it has 3");
    refuse(&[("cpu_device_count", OptionValue::Bool(true))], 0, "with the options cpu_device_count=true: ");
    refuse(
        &[("memory_fraction", OptionValue::Float(0.5)), ("names", OptionValue::String("a\"".to_owned()))],
        0,
        "with the options memory_fraction=0.5, names=\"a\\\"\": ",
    );
    refuse(&[("sizes", OptionValue::Int64List(vec![1, 2]))], 0, "with the options sizes=[1, 2]: ");
}
