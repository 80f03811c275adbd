//! A computation is a function: calls do not see one another's state.

use crate::support::*;
use std::sync::Arc;
use tff_exec::Value;
use tff_exec::leaf::Prepared;
use tff_proto::tensorflow::attr_value::ListValue;
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::op_def::ArgDef;
use tff_proto::tensorflow::{
    FunctionDef, FunctionDefLibrary, NameAttrList, NodeDef, OpDef, TensorProto, TensorShapeProto,
};
use tff_types::{DType, Type};

fn variable(name: &str) -> NodeDef {
    let shape = Attr::Shape(TensorShapeProto::default());
    node(
        name,
        "VarHandleOp",
        &[],
        &[("dtype", Attr::Type(FLOAT)), ("shape", shape), ("shared_name", Attr::S("v".into()))],
    )
}

/// Adds `x` to a variable that begins as 1: `initialize` sets it, or it is set within the run.
fn counter() -> (tff_ir::TensorFlow, tff_types::FunctionType) {
    let dtype = [("dtype", Attr::Type(FLOAT))];
    let nodes = vec![
        placeholder("x", FLOAT),
        variable("v"),
        float_const("one", 1.0),
        node("init", "AssignVariableOp", &["v", "one"], &dtype),
        node("add", "AssignAddVariableOp", &["v", "x"], &dtype),
        node("y", "ReadVariableOp", &["v", "^add"], &dtype),
    ];
    let mut comp = comp(&graph(nodes), Some(tensor("x")), tensor("y"));
    comp.initialize_op = "init".into();
    let float32 = Type::scalar(DType::Float32);
    (comp, function(Some(float32.clone()), float32))
}

/// Calls from eight threads, several times each; every call must give `expected`.
fn check_calls(prepared: &Arc<dyn Prepared>, argument: Option<&Value>, expected: &Value) {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..10 {
                    assert_eq!(array(&prepared.call(argument).unwrap()), array(expected));
                }
            });
        }
    });
}

#[test]
fn variables_are_initialized_for_every_call() {
    let (comp, ty) = counter();
    check_calls(&prepare(comp, &ty).unwrap(), Some(&float(2.0)), &float(3.0));
}

#[test]
fn variables_do_not_outlive_a_call() {
    // Without an initializer: uninitialized for every call, not for the first alone.
    let dtype = [("dtype", Attr::Type(FLOAT))];
    let nodes = vec![
        variable("v"),
        node("was_there", "VarIsInitializedOp", &["v"], &[]),
        float_const("one", 1.0),
        node("set", "AssignVariableOp", &["v", "one", "^was_there"], &dtype),
        node("y", "Identity", &["was_there", "^set"], &[("T", Attr::Type(10))]),
    ];
    let prepared = prepare(comp(&graph(nodes), None, tensor("y")), &function(None, Type::scalar(DType::Bool)));
    check_calls(&prepared.unwrap(), None, &Value::scalar(tff_ir::Scalar::Bool(false)));
}

#[test]
fn variable_of_tensorflow_1_may_be_the_result() {
    let attrs = [("dtype", Attr::Type(FLOAT)), ("shape", Attr::Shape(TensorShapeProto::default()))];
    let assign = [("T", Attr::Type(FLOAT))];
    let nodes = vec![
        node("v", "VariableV2", &[], &attrs),
        float_const("one", 1.0),
        node("init", "Assign", &["v", "one"], &assign),
    ];
    let mut comp = comp(&graph(nodes), None, tensor("v:0"));
    comp.initialize_op = "init".into();
    let prepared = prepare(comp, &function(None, Type::scalar(DType::Float32)));
    check_calls(&prepared.unwrap(), None, &float(1.0));
}

#[test]
fn anonymous_variables_do_not_outlive_a_call() {
    let (mut counter, ty) = counter();
    let mut def: tff_proto::tensorflow::GraphDef = prost::Message::decode(counter.graph.value.clone()).unwrap();
    // The name for which each run makes another variable; so the ops share one within a function.
    let name = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";
    let body: Vec<NodeDef> = def.node.drain(..).filter(|node| node.op != "Placeholder" && node.name != "one").collect();
    def.library = function_of(body, name);
    let call = NameAttrList { name: "f".to_owned(), ..NameAttrList::default() };
    let list = || Attr::List(Box::new(ListValue { r#type: vec![FLOAT], ..ListValue::default() }));
    def.node = vec![
        placeholder("x", FLOAT),
        node("y", "StatefulPartitionedCall", &["x"], &[("f", Attr::Func(call)), ("Tin", list()), ("Tout", list())]),
    ];
    counter.graph.value = prost::Message::encode_to_vec(&def).into();
    counter.initialize_op = "".into();
    check_calls(&prepare(counter, &ty).unwrap(), Some(&float(2.0)), &float(4.0));
}

/// The library with the function `f` of `x`: the counter, begun as `x`.
fn function_of(mut body: Vec<NodeDef>, shared_name: &str) -> Option<FunctionDefLibrary> {
    for node in &mut body {
        for input in &mut node.input {
            *input = match input.as_str() {
                "v" => "v:resource:0".to_owned(),
                "one" => "x".to_owned(),
                other => other.to_owned(),
            };
        }
        if node.op == "VarHandleOp" {
            node.attr.get_mut("shared_name").unwrap().value = Some(Attr::S(shared_name.to_owned().into()));
        }
        if node.name == "add" {
            node.input.push("^init".to_owned());
        }
    }
    let arg = |name: &str| ArgDef { name: name.to_owned(), r#type: FLOAT, ..ArgDef::default() };
    let signature = OpDef {
        name: "f".to_owned(),
        input_arg: vec![arg("x")],
        output_arg: vec![arg("out")],
        is_stateful: true,
        ..OpDef::default()
    };
    let ret = [("out".to_owned(), "y:value:0".to_owned())].into();
    let function = FunctionDef { signature: Some(signature), node_def: body, ret, ..FunctionDef::default() };
    Some(FunctionDefLibrary { function: vec![function], ..FunctionDefLibrary::default() })
}

#[test]
fn failed_call_leaves_nothing_behind() {
    let (mut graph_of, ty) = counter();
    let nodes = {
        let mut def: tff_proto::tensorflow::GraphDef = prost::Message::decode(graph_of.graph.value.clone()).unwrap();
        def.node.push(node(
            "checked",
            "CheckNumerics",
            &["y"],
            &[("T", Attr::Type(FLOAT)), ("message", Attr::S("m".into()))],
        ));
        def
    };
    graph_of.graph.value = prost::Message::encode_to_vec(&nodes).into();
    graph_of.result = tensor("checked");
    let prepared = prepare(graph_of, &ty).unwrap();
    assert!(prepared.call(Some(&float(f32::NAN))).is_err());
    check_calls(&prepared, Some(&float(2.0)), &float(3.0));
}

#[test]
fn seeded_random_numbers_are_the_same_in_every_call() {
    let shape = TensorProto {
        dtype: INT32,
        tensor_shape: Some(TensorShapeProto {
            dim: vec![tff_proto::tensorflow::tensor_shape_proto::Dim { size: 1, name: String::new() }],
            unknown_rank: false,
        }),
        int_val: vec![4],
        ..TensorProto::default()
    };
    let attrs = [("T", Attr::Type(INT32)), ("dtype", Attr::Type(FLOAT)), ("seed", Attr::I(87)), ("seed2", Attr::I(12))];
    let nodes = vec![constant("shape", shape), node("y", "RandomUniform", &["shape"], &attrs)];
    let prepared = prepare(comp(&graph(nodes), None, tensor("y")), &function(None, ty(DType::Float32, &[Some(4)])));
    let prepared = prepared.unwrap();
    let expected = prepared.call(None).unwrap();
    check_calls(&prepared, None, &expected);
}

#[test]
fn tables_do_not_outlive_a_call() {
    let (keys, values) = (("key_dtype", Attr::Type(STRING)), ("value_dtype", Attr::Type(INT64)));
    let key = TensorProto {
        dtype: STRING,
        tensor_shape: Some(TensorShapeProto::default()),
        string_val: vec!["k".into()],
        ..TensorProto::default()
    };
    let types = [("Tin", Attr::Type(STRING)), ("Tout", Attr::Type(INT64))];
    let nodes = vec![
        node("t", "MutableHashTableV2", &[], &[keys, values, ("shared_name", Attr::S("t".into()))]),
        constant("k", key),
        int64_const("seven", 7),
        int64_const("none", -1),
        node("found", "LookupTableFindV2", &["t", "k", "none"], &types),
        node("insert", "LookupTableInsertV2", &["t", "k", "seven", "^found"], &types),
        node("y", "Identity", &["found", "^insert"], &[("T", Attr::Type(INT64))]),
    ];
    let prepared = prepare(comp(&graph(nodes), None, tensor("y")), &function(None, Type::scalar(DType::Int64)));
    check_calls(&prepared.unwrap(), None, &Value::scalar(tff_ir::Scalar::Int64(-1)));
}
