//! A graph that runs and is no longer needed ends.

use crate::support::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tff_exec::leaf::{Prepared, Until};
use tff_exec::{ExecError, Value};
use tff_ir::Scalar;
use tff_proto::tensorflow::attr_value::{ListValue, Value as Attr};
use tff_proto::tensorflow::op_def::ArgDef;
use tff_proto::tensorflow::{FunctionDef, FunctionDefLibrary, GraphDef, NameAttrList, NodeDef, OpDef};
use tff_types::{DType, Type};

fn counting(name: &str, result: (&str, i32, &str), node: NodeDef) -> FunctionDef {
    let arg = |name: &str, ty| ArgDef { name: name.to_owned(), r#type: ty, ..ArgDef::default() };
    let (output, ty, tensor) = result;
    let mut outputs = vec![arg(output, ty)];
    let mut ret = vec![(output.to_owned(), tensor.to_owned())];
    if name == "body" {
        outputs.push(arg("n_out", INT64));
        ret.push(("n_out".to_owned(), "n".to_owned()));
    }
    let signature = OpDef {
        name: name.to_owned(),
        input_arg: vec![arg("i", INT64), arg("n", INT64)],
        output_arg: outputs,
        ..OpDef::default()
    };
    let node_def = vec![int64_const("one", 1), node];
    FunctionDef { signature: Some(signature), node_def, ret: ret.into_iter().collect(), ..FunctionDef::default() }
}

/// `(int64 -> int64)`: counts to its argument. As it stands, or as TensorFlow lowers it to ops that
/// its executor runs by itself.
fn count_to(is_lowered: bool) -> Arc<dyn Prepared> {
    let ty = [("T", Attr::Type(INT64))];
    let f = |name: &str| Attr::Func(NameAttrList { name: name.to_owned(), ..NameAttrList::default() });
    let types = Attr::List(Box::new(ListValue { r#type: vec![INT64, INT64], ..ListValue::default() }));
    let attrs =
        [("T", types), ("cond", f("cond")), ("body", f("body")), ("_lower_using_switch_merge", Attr::B(is_lowered))];
    let nodes = vec![
        placeholder("n", INT64),
        int64_const("zero", 0),
        node("loop", "While", &["zero", "n"], &attrs),
        node("y", "Identity", &["loop"], &ty),
    ];
    let function_defs = vec![
        counting("cond", ("more", 10, "less:z:0"), node("less", "Less", &["i", "n"], &ty)),
        counting("body", ("next", INT64, "add:z:0"), node("add", "AddV2", &["i", "one:output:0"], &ty)),
    ];
    let library = FunctionDefLibrary { function: function_defs, ..FunctionDefLibrary::default() };
    let graph = GraphDef { library: Some(library), ..graph(nodes) };
    let int64 = Type::scalar(DType::Int64);
    prepare(comp(&graph, Some(tensor("n")), tensor("y")), &function(Some(int64.clone()), int64)).unwrap()
}

fn number(value: i64) -> Value {
    Value::scalar(Scalar::Int64(value))
}

fn check(is_lowered: bool) {
    let prepared = count_to(is_lowered);
    let for_ever = |until: &Until| prepared.consume_until(Some(number(i64::MAX)), until);
    let given_up = Arc::new(AtomicBool::new(false));
    let until = Until { given_up: Some(given_up.clone()), ..Until::default() };
    let ended = AtomicBool::new(false);
    // Another call shares the session: it is not ended with the one that nobody needs.
    let other = || {
        let argument = number(100_000);
        while !ended.load(Ordering::Relaxed) {
            assert_eq!(array(&prepared.call(Some(&argument)).unwrap()), array(&argument));
            // By now the other call is under way, too.
            given_up.store(true, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(other);
        let error = for_ever(&until).unwrap_err();
        ended.store(true, Ordering::Relaxed);
        assert!(matches!(error, ExecError::GivenUp), "{error}");
    });

    let begin = Instant::now();
    let deadline = Some(begin + Duration::from_millis(100));
    let error = for_ever(&Until { deadline, ..Until::default() }).unwrap_err();
    assert!(matches!(error, ExecError::Deadline), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert_eq!(array(&prepared.call(Some(&number(7))).unwrap()), array(&number(7)));
}

#[test]
fn a_loop_ends_that_nobody_needs() {
    check(false);
}

#[test]
fn a_lowered_loop_ends_that_nobody_needs() {
    check(true);
}
