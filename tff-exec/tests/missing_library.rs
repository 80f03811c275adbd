//! Without libtensorflow, what to do is said when the first computation is prepared, not before.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use tff_exec::leaf::tensorflow::Options;
use tff_exec::{ExecError, TensorFlow};
use tff_ir::{Opaque, TensorFlowBinding};
use tff_types::{DType, FunctionType, Type};

/// Set for the process in which the leaf is tried: one where nothing says where the library is.
const INNER: &str = "TFF_TEST_WITHOUT_LIBRARY";

#[test]
fn missing_library_says_what_to_do() {
    if std::env::var_os(INNER).is_some() {
        return try_leaf();
    }
    let mut inner = Command::new(std::env::current_exe().unwrap());
    inner.env_remove("TENSORFLOW_DIR").env_remove("LD_LIBRARY_PATH").env_remove("DYLD_LIBRARY_PATH").env(INNER, "1");
    let output = inner.args(["--exact", "missing_library_says_what_to_do"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn try_leaf() {
    let nowhere = std::env::temp_dir().join("no-library-here");
    let leaf = TensorFlow::new(Options { library_dir: Some(nowhere), ..Options::default() });
    let comp = tff_ir::TensorFlow {
        graph: Opaque { type_url: "type.googleapis.com/tensorflow.GraphDef".into(), value: bytes::Bytes::new() },
        parameter: None,
        result: TensorFlowBinding::Tensor("x:0".into()),
        initialize_op: "".into(),
        session_token: "".into(),
        cache_key: 0,
        layout_map: BTreeMap::new(),
    };
    let ty = FunctionType { parameter: None, result: Type::scalar(DType::Float32) };
    let error = leaf.prepare(&Arc::new(comp), &ty).unwrap_err();
    assert!(matches!(error, ExecError::Library { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("scripts/native.sh") && text.contains("TENSORFLOW_DIR") && !text.contains('\n'), "{text}");
}
