//! Aggregations of plain tensors need no native library.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use std::process::Command;
use tff_compiler::compile_to_native;
use tff_exec::{ExecError, Executor, Options, Value};
use tff_ir::text::{Environment, parse};
use tff_ir::{Array, Scalar};
use tff_types::DType;

/// Set for the process in which the aggregations run: one where nothing says where a library is.
const INNER: &str = "TFF_TEST_WITHOUT_LIBRARY";

#[test]
fn aggregations_run_without_a_library() {
    if std::env::var_os(INNER).is_some() {
        return aggregate();
    }
    let mut inner = Command::new(std::env::current_exe().unwrap());
    inner.env_remove("TENSORFLOW_DIR").env_remove("LD_LIBRARY_PATH").env_remove("DYLD_LIBRARY_PATH").env(INNER, "1");
    let output = inner.args(["--exact", "aggregations_run_without_a_library"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn int(number: i32) -> Value {
    Value::scalar(Scalar::Int32(number))
}

fn floats(numbers: [f32; 2]) -> Value {
    Value::array(Array::from_scalars(DType::Float32, [2], &numbers.map(Scalar::Float32)).unwrap())
}

fn aggregate() {
    let mut options = Options::default();
    options.tensorflow = tff_exec::leaf::tensorflow::Library::Path(std::env::temp_dir().join("no-library-here"));
    let executor = Executor::new(options);
    let run = |text: &str, argument: Value| {
        let comp = parse(text, &Environment::default()).unwrap().comp;
        let compiled = compile_to_native(&comp, &tff_compiler::CompileOptions::default()).unwrap().comp;
        executor.prepare(&compiled).unwrap().call(Some(argument), None)
    };
    let scalars = |value: &Value| {
        fn collect(value: &Value, scalars: &mut Vec<Scalar>) {
            match value {
                Value::Tensor(tensor) => scalars.extend(tensor.array().scalars()),
                Value::Struct(elements) => elements.iter().for_each(|element| collect(element, scalars)),
                Value::Server(member) => collect(member, scalars),
                other => panic!("{other:?}"),
            }
        }
        let mut scalars = Vec::new();
        collect(value, &mut scalars);
        format!("{scalars:?}")
    };
    let check = |text: &str, argument: Value| scalars(&run(text, argument).unwrap());

    let ints = |numbers: [i32; 3]| Value::at_clients(numbers.map(int));
    assert_eq!(check("(v:{int32}@CLIENTS -> %federated_sum(v))", ints([1, 2, 4])), "[Int32(7)]");
    assert_eq!(check("(v:{int32}@CLIENTS -> %federated_min(v))", ints([3, -1, 2])), "[Int32(-1)]");
    assert_eq!(check("(v:{int32}@CLIENTS -> %federated_max(v))", ints([3, -1, 2])), "[Int32(3)]");
    assert_eq!(check("(v:{int32}@CLIENTS -> %federated_sum(v))", Value::at_clients([])), "[Int32(0)]");

    let members = || Value::at_clients([[1.0, 2.0], [3.0, -4.0]].map(|it| Value::structure([floats(it), int(1)])));
    assert_eq!(
        check("(v:{<a=float32[2],n=int32>}@CLIENTS -> %federated_sum(v))", members()),
        "[Float32(4.0), Float32(-2.0), Int32(2)]"
    );
    let vectors = || Value::at_clients([[1.0, 2.0], [3.0, -4.0]].map(floats));
    assert_eq!(check("(v:{float32[2]}@CLIENTS -> %federated_mean(v))", vectors()), "[Float32(2.0), Float32(-1.0)]");
    let weighted = |ty: &str, weights: [Scalar; 2]| {
        let argument = Value::structure([vectors(), Value::at_clients(weights.map(Value::scalar))]);
        let text = format!("(v:<{{float32[2]}}@CLIENTS,{{{ty}}}@CLIENTS> -> %federated_weighted_mean(v))");
        check(&text, argument)
    };
    let mean = "[Float32(2.5), Float32(-2.5)]";
    assert_eq!(weighted("float32", [1.0, 3.0].map(Scalar::Float32)), mean);
    assert_eq!(weighted("int32", [1, 3].map(Scalar::Int32)), mean);

    // The library was needed for nothing of this; there is none.
    let error = executor.tensorflow().open().unwrap_err();
    assert!(matches!(error, ExecError::Library { .. }), "{error}");
}
