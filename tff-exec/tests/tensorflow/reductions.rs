//! Reductions of datasets within graphs.

use crate::support::*;
use tff_exec::{Sequence, Value};
use tff_ir::TensorFlowBinding;
use tff_proto::tensorflow::attr_value::{ListValue, Value as Attr};
use tff_proto::tensorflow::op_def::ArgDef;
use tff_proto::tensorflow::{
    FunctionDef, FunctionDefLibrary, GraphDef, NameAttrList, NodeDef, OpDef, TensorProto, TensorShapeProto,
};
use tff_types::{DType, FunctionType, Shape, Type};

fn list(types: &[i32]) -> Attr {
    Attr::List(Box::new(ListValue { r#type: types.to_vec(), ..ListValue::default() }))
}

fn unknown(count: usize) -> Attr {
    let shape = TensorShapeProto { unknown_rank: true, ..TensorShapeProto::default() };
    Attr::List(Box::new(ListValue { shape: vec![shape; count], ..ListValue::default() }))
}

fn function_def(name: &str, inputs: &[(&str, i32)], outputs: &[(&str, i32, &str)], nodes: Vec<NodeDef>) -> FunctionDef {
    let arg = |name: &str, ty| ArgDef { name: name.to_owned(), r#type: ty, ..ArgDef::default() };
    let signature = OpDef {
        name: name.to_owned(),
        input_arg: inputs.iter().map(|&(name, ty)| arg(name, ty)).collect(),
        output_arg: outputs.iter().map(|&(name, ty, _)| arg(name, ty)).collect(),
        is_stateful: true,
        ..OpDef::default()
    };
    let ret = outputs.iter().map(|&(name, _, tensor)| (name.to_owned(), tensor.to_owned())).collect();
    FunctionDef { signature: Some(signature), node_def: nodes, ret, ..FunctionDef::default() }
}

/// `(all, sum), x, factor -> (concat(all, x), sum * factor + last)`, where `x` has one element.
fn step() -> FunctionDef {
    let float = [("T", Attr::Type(FLOAT))];
    let concat = [("T", Attr::Type(FLOAT)), ("N", Attr::I(2)), ("Tidx", Attr::Type(INT32))];
    let axis = TensorProto {
        dtype: INT32,
        tensor_shape: Some(TensorShapeProto::default()),
        int_val: vec![0],
        ..TensorProto::default()
    };
    let shape = TensorProto {
        dtype: INT32,
        tensor_shape: Some(TensorShapeProto { dim: vec![Default::default()], unknown_rank: false }),
        ..TensorProto::default()
    };
    let nodes = vec![
        constant("axis", axis),
        constant("shape", shape),
        node("concat", "ConcatV2", &["all", "x", "axis:output:0"], &concat),
        node("scalar", "Reshape", &["x", "shape:output:0"], &[("T", Attr::Type(FLOAT)), ("Tshape", Attr::Type(INT32))]),
        node("mul", "Mul", &["sum", "factor"], &float),
        node("add", "AddV2", &["mul:z:0", "scalar:output:0"], &float),
    ];
    let inputs = [("all", FLOAT), ("sum", FLOAT), ("x", FLOAT), ("factor", FLOAT)];
    function_def("step", &inputs, &[("all_out", FLOAT, "concat:output:0"), ("sum_out", FLOAT, "add:z:0")], nodes)
}

fn reduce(inputs: &[&str]) -> NodeDef {
    let step = NameAttrList { name: "step".to_owned(), ..NameAttrList::default() };
    let attrs = [
        ("f", Attr::Func(step)),
        ("Tstate", list(&[FLOAT, FLOAT])),
        ("Targuments", list(&[FLOAT])),
        ("output_types", list(&[FLOAT, FLOAT])),
        ("output_shapes", unknown(2)),
        ("use_inter_op_parallelism", Attr::B(true)),
    ];
    node("reduce", "ReduceDataset", inputs, &attrs)
}

fn identity(name: &str, input: &str) -> NodeDef {
    node(name, "Identity", &[input], &[("T", Attr::Type(FLOAT))])
}

fn empty() -> NodeDef {
    let dim = tff_proto::tensorflow::tensor_shape_proto::Dim { size: 0, name: String::new() };
    let shape = TensorShapeProto { dim: vec![dim], unknown_rank: false };
    constant("empty", TensorProto { dtype: FLOAT, tensor_shape: Some(shape), ..TensorProto::default() })
}

fn in_graph() -> GraphDef {
    let mut graph = graph(vec![
        placeholder("data", VARIANT),
        placeholder("factor", FLOAT),
        empty(),
        float_const("zero", 0.0),
        reduce(&["data", "empty", "zero", "factor"]),
        identity("all", "reduce"),
        node("sum", "Identity", &["reduce:1", "^reduce"], &[("T", Attr::Type(FLOAT))]),
    ]);
    graph.library = Some(FunctionDefLibrary { function: vec![step()], ..FunctionDefLibrary::default() });
    graph
}

fn in_function() -> GraphDef {
    let nodes = vec![
        empty(),
        float_const("zero", 0.0),
        reduce(&["data", "empty:output:0", "zero:output:0", "factor"]),
        identity("sum", "reduce:components:1"),
    ];
    let inputs = [("data", VARIANT), ("factor", FLOAT)];
    let outputs = [("all", FLOAT, "reduce:components:0"), ("total", FLOAT, "sum:output:0")];
    let call = [
        ("f", Attr::Func(NameAttrList { name: "outer".to_owned(), ..NameAttrList::default() })),
        ("Tin", list(&[VARIANT, FLOAT])),
        ("Tout", list(&[FLOAT, FLOAT])),
    ];
    let mut graph = graph(vec![
        placeholder("data", VARIANT),
        placeholder("factor", FLOAT),
        node("call", "StatefulPartitionedCall", &["data", "factor"], &call),
        identity("all", "call"),
        identity("sum", "call:1"),
    ]);
    let function = vec![step(), function_def("outer", &inputs, &outputs, nodes)];
    graph.library = Some(FunctionDefLibrary { function, ..FunctionDefLibrary::default() });
    graph
}

fn check(graph: &GraphDef, elements: &[f32]) {
    let element = ty(DType::Float32, &[Some(1)]);
    let vector = ty(DType::Float32, &[None]);
    let float32 = Type::scalar(DType::Float32);
    let parameter = TensorFlowBinding::Struct(vec![variant("data:0"), tensor("factor:0")]);
    let result = TensorFlowBinding::Struct(vec![tensor("all:0"), tensor("sum:0")]);
    let ty = FunctionType {
        parameter: Some(Type::tuple([Type::sequence(element.clone()).unwrap(), float32.clone()]).unwrap()),
        result: Type::tuple([vector, float32]).unwrap(),
    };
    let prepared = prepare(comp(graph, Some(parameter), result), &ty).unwrap();
    let sequence = Sequence::from_elements(element, elements.iter().map(|&it| floats(&[1], &[it])).collect::<Vec<_>>());
    let argument = Value::structure([Value::Sequence(sequence), float(10.0)]);
    let sum = elements.iter().fold(0.0, |sum, it| sum * 10.0 + it);
    for _ in 0..3 {
        let result = crate::support::elements(&prepared.call(Some(&argument)).unwrap());
        assert_eq!(array(&result[0]), array(&floats(&[elements.len() as u64], elements)));
        assert_eq!(array(&result[1]), array(&float(sum)));
    }
}

#[test]
fn reductions_go_in_order_and_carry_state_of_any_shape() {
    for graph in [in_graph(), in_function()] {
        check(&graph, &[1.0, 2.0, 3.0, 4.0, 5.0]);
        check(&graph, &[7.0]);
        check(&graph, &[]);
    }
}

#[test]
fn reductions_run_at_once() {
    let graph = in_function();
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let graph = &graph;
            scope.spawn(move || check(graph, &[thread.into(), 2.0, f32::from(thread)]));
        }
    });
}

#[test]
fn failing_reduction_says_why() {
    // An element of two numbers does not reshape to a scalar.
    let element = Type::tensor(DType::Float32, Shape::new([None]));
    let float32 = Type::scalar(DType::Float32);
    let parameter = TensorFlowBinding::Struct(vec![variant("data:0"), tensor("factor:0")]);
    let sequence = Type::sequence(element.clone()).unwrap();
    let ty = function(Some(Type::tuple([sequence, float32.clone()]).unwrap()), float32);
    let data = Value::Sequence(Sequence::from_elements(element, [floats(&[2], &[1.0, 2.0])]));
    let error =
        run(comp(&in_graph(), Some(parameter), tensor("sum")), &ty, Some(&Value::structure([data, float(1.0)])));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("Input to reshape is a tensor with 2 values"), "{error}");
    assert!(!error.contains('\n'), "{error}");
}
