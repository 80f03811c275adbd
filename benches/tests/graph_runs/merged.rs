//! What merging must keep apart or in order: resources, functions, initialization, datasets.

use crate::{build, call, graph_of, run, sample, ty};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tff_compiler::graph::generic::{self, Packing};
use tff_compiler::graph::{self, GraphBuilder, Wire};
use tff_compiler::{BinaryOp, Fill};
use tff_exec::Value;
use tff_ir::{Comp, CompiledComputation, Opaque, Scalar, SequenceBinding, TensorFlow, TensorFlowBinding};
use tff_proto::google::protobuf::Any;
use tff_proto::tensorflow as tf;
use tff_proto::tensorflow::attr_value::{ListValue, Value as Attr};

const INT32: i32 = tf::DataType::DtInt32 as i32;
const INT64: i32 = tf::DataType::DtInt64 as i32;
const STRING: i32 = tf::DataType::DtString as i32;

fn node(name: &str, op: &str, input: &[&str], attrs: &[(&str, Attr)]) -> tf::NodeDef {
    tf::NodeDef {
        name: name.to_owned(),
        op: op.to_owned(),
        input: input.iter().map(|&it| it.to_owned()).collect(),
        attr: attrs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), tf::AttrValue { value: Some(value.clone()) }))
            .collect(),
        ..tf::NodeDef::default()
    }
}

fn scalar_shape() -> Attr {
    Attr::Shape(tf::TensorShapeProto::default())
}

fn placeholder(name: &str, dtype: i32) -> tf::NodeDef {
    node(name, "Placeholder", &[], &[("dtype", Attr::Type(dtype)), ("shape", scalar_shape())])
}

fn int32(name: &str, value: i32) -> tf::NodeDef {
    let tensor = tf::TensorProto { dtype: INT32, int_val: vec![value], ..tf::TensorProto::default() };
    node(name, "Const", &[], &[("dtype", Attr::Type(INT32)), ("value", Attr::Tensor(Box::new(tensor)))])
}

fn int64(name: &str, value: i64) -> tf::NodeDef {
    let tensor = tf::TensorProto { dtype: INT64, int64_val: vec![value], ..tf::TensorProto::default() };
    node(name, "Const", &[], &[("dtype", Attr::Type(INT64)), ("value", Attr::Tensor(Box::new(tensor)))])
}

fn typed(name: &str, op: &str, input: &[&str]) -> tf::NodeDef {
    node(name, op, input, &[("T", Attr::Type(INT32))])
}

fn types(types: &[i32]) -> Attr {
    Attr::List(Box::new(ListValue { r#type: types.to_vec(), ..ListValue::default() }))
}

fn tensor(name: &str) -> TensorFlowBinding {
    TensorFlowBinding::Tensor(name.into())
}

/// A graph as a computation.
fn comp(
    signature: &str,
    nodes: Vec<tf::NodeDef>,
    function: Vec<tf::FunctionDef>,
    parameter: Option<TensorFlowBinding>,
    result: TensorFlowBinding,
    initialize_op: &str,
) -> Comp {
    let library = tf::FunctionDefLibrary { function, ..tf::FunctionDefLibrary::default() };
    let versions = Some(tf::VersionDef { producer: 1575, ..tf::VersionDef::default() });
    let graph = tf::GraphDef { node: nodes, versions, library: Some(library), ..tf::GraphDef::default() };
    let Any { type_url, value } = Any::pack(&graph);
    let tensorflow = TensorFlow {
        graph: Opaque { type_url: type_url.into(), value },
        parameter,
        result,
        initialize_op: initialize_op.into(),
        session_token: "".into(),
        cache_key: None,
        layout_map: None,
    };
    Comp::compiled(CompiledComputation::TensorFlow(Arc::new(tensorflow)), ty(signature)).unwrap()
}

/// The nodes of a variable that starts as what `initial` gives, and `sum`, that plus 1.
fn variable(shared_name: &'static str, initial: &str) -> Vec<tf::NodeDef> {
    let dtype = ("dtype", Attr::Type(INT32));
    let name = ("shared_name", Attr::S(shared_name.into()));
    vec![
        node("v", "VarHandleOp", &[], &[dtype.clone(), ("shape", scalar_shape()), name]),
        node("assign", "AssignVariableOp", &["v", initial], std::slice::from_ref(&dtype)),
        node("init", "NoOp", &["^assign"], &[]),
        node("read", "ReadVariableOp", &["v"], std::slice::from_ref(&dtype)),
        int32("one", 1),
        typed("sum", "AddV2", &["read", "one"]),
    ]
}

/// `(int32 -> int32)`: the argument plus 1, by way of a variable that starts as the argument.
fn increment() -> Comp {
    let mut nodes = vec![placeholder("arg", INT32)];
    nodes.extend(variable("shared", "arg"));
    comp("(int32 -> int32)", nodes, vec![], Some(tensor("arg:0")), tensor("sum:0"), "init")
}

/// `( -> int32)`: a random number, by way of a variable that starts as one.
fn random() -> Comp {
    let attrs = [("T", Attr::Type(INT32)), ("Tout", Attr::Type(INT32))];
    let shape = tf::TensorProto {
        dtype: INT32,
        tensor_shape: Some(tf::TensorShapeProto {
            dim: vec![tf::tensor_shape_proto::Dim::default()],
            unknown_rank: false,
        }),
        ..tf::TensorProto::default()
    };
    let mut nodes = vec![
        node("shape", "Const", &[], &[("dtype", Attr::Type(INT32)), ("value", Attr::Tensor(Box::new(shape)))]),
        int32("least", 0),
        int32("most", i32::MAX - 10),
        node("random", "RandomUniformInt", &["shape", "least", "most"], &attrs),
    ];
    nodes.extend(variable("", "random"));
    comp("( -> int32)", nodes, vec![], None, tensor("sum:0"), "init")
}

fn scalar(value: i32) -> Value {
    Value::scalar(Scalar::Int32(value))
}

fn pair(first: Wire, second: Wire) -> Result<Wire, graph::GraphError> {
    Wire::structure([(None::<&str>, first), (None, second)])
}

#[test]
fn each_use_has_its_own_variable() {
    let merged = build(&ty("int32"), |graph, x| {
        let ten = graph.fill(&Fill::Number(Scalar::Int32(10)), &ty("int32"))?;
        let more = graph.binary(BinaryOp::Add, x, &ten)?;
        let first = call(graph, &increment(), Some(x))?;
        let second = call(graph, &increment(), Some(&more))?;
        pair(first, second)
    });
    assert_eq!(run(&merged, Some(&scalar(1))), "<2,12>");
    assert_eq!(run(&merged, Some(&scalar(5))), "<6,16>");
}

#[test]
fn what_starts_as_the_result_of_another_call_starts_within_the_run() {
    let merged = build(&ty("int32"), |graph, x| {
        let first = call(graph, &increment(), Some(x))?;
        let second = call(graph, &increment(), Some(&first))?;
        let third = call(graph, &increment(), Some(&second))?;
        pair(second, third)
    });
    assert_eq!(run(&merged, Some(&scalar(1))), "<3,4>");
}

#[test]
fn a_call_gives_one_value_to_all_that_use_it() {
    let mut graph = GraphBuilder::new();
    let random = call(&mut graph, &random(), None).unwrap();
    let next = call(&mut graph, &increment(), Some(&random)).unwrap();
    let difference = graph.binary(BinaryOp::Subtract, &next, &random).unwrap();
    let merged = graph.finish(&difference).unwrap();
    for _ in 0..5 {
        assert_eq!(run(&merged, None), "1");
    }
}

#[test]
fn a_call_that_is_not_used_is_not_initialized() {
    let failing = comp(
        "( -> int32)",
        variable("", "missing").into_iter().chain([int32("missing", 1)]).collect(),
        vec![],
        None,
        tensor("sum:0"),
        "init",
    );
    let merged = build(&ty("int32"), |graph, x| {
        call(graph, &failing, None)?;
        call(graph, &increment(), Some(x))
    });
    assert_eq!(&*graph_of(&merged).0.initialize_op, "call1/init");
    assert_eq!(run(&merged, Some(&scalar(1))), "2");
}

/// A function of one `int32`; `y` is the output of the last node.
fn function(name: &str, nodes: Vec<tf::NodeDef>, output: &str) -> tf::FunctionDef {
    let arg = |name: &str| tf::op_def::ArgDef { name: name.into(), r#type: INT32, ..tf::op_def::ArgDef::default() };
    tf::FunctionDef {
        signature: Some(tf::OpDef {
            name: name.into(),
            input_arg: vec![arg("x")],
            output_arg: vec![arg("y")],
            is_stateful: true,
            ..tf::OpDef::default()
        }),
        node_def: nodes,
        ret: BTreeMap::from([("y".into(), output.into())]),
        ..tf::FunctionDef::default()
    }
}

fn function_call(name: &str, function: &str, input: &str) -> tf::NodeDef {
    let function = tf::NameAttrList { name: function.into(), ..tf::NameAttrList::default() };
    let attrs = [("Tin", types(&[INT32])), ("Tout", types(&[INT32])), ("f", Attr::Func(function))];
    node(name, "StatefulPartitionedCall", &[input], &attrs)
}

/// `x + added`
fn adding(name: &str, added: i32) -> tf::FunctionDef {
    function(name, vec![int32("c", added), typed("sum", "AddV2", &["x", "c:output:0"])], "sum:z:0")
}

/// `(int32 -> int32)` by calling the function.
fn calling(name: &str, functions: Vec<tf::FunctionDef>) -> Comp {
    let nodes = vec![placeholder("arg", INT32), function_call("call", name, "arg")];
    comp("(int32 -> int32)", nodes, functions, Some(tensor("arg:0")), tensor("call:0"), "")
}

/// The sums of all graphs for the argument 1, and the functions of the merged graph.
#[track_caller]
fn check_functions(comps: &[Comp]) -> (String, BTreeSet<String>) {
    let merged = build(&ty("int32"), |graph, x| {
        let results: Result<Vec<_>, _> = comps.iter().map(|comp| call(graph, comp, Some(x))).collect();
        Wire::structure(results?.into_iter().map(|result| (None::<&str>, result)))
    });
    let graph = &graph_of(&merged).0.graph;
    let any = Any { type_url: graph.type_url.as_ref().to_owned(), value: graph.value.clone() };
    let library = any.unpack::<tf::GraphDef>().unwrap().library.unwrap();
    let names = library.function.into_iter().map(|function| function.signature.unwrap().name).collect();
    (run(&merged, Some(&scalar(1))), names)
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn functions_of_one_name_are_kept_apart_where_they_differ() {
    let [one, two] = [1, 2].map(|added| calling("f", vec![adding("f", added)]));
    let again = calling("f", vec![adding("f", 1), adding("unused", 3)]);
    let (results, functions) = check_functions(&[one.clone(), two.clone(), again, two, one]);
    assert_eq!(results, "<2,3,2,3,2>");
    assert_eq!(functions, names(&["f", "f_1"]));
}

#[test]
fn a_function_is_told_apart_by_those_it_calls() {
    let call = function_call("inner", "f", "x");
    let by_name = node("inner", "f", &["x"], &[]);
    for (call, output) in [(call, "inner:output:0"), (by_name, "inner:y:0")] {
        let outer = function("outer", vec![call], output);
        let [one, two] = [1, 2].map(|added| calling("outer", vec![outer.clone(), adding("f", added)]));
        let (results, functions) = check_functions(&[one.clone(), two, one]);
        assert_eq!(results, "<2,3,2>");
        assert_eq!(functions, names(&["f", "outer", "f_1", "outer_1"]));
    }
}

#[test]
fn each_use_has_its_own_resources_in_functions() {
    let dtype = ("dtype", Attr::Type(INT32));
    let cast = [("SrcT", Attr::Type(tf::DataType::DtBool as i32)), ("DstT", Attr::Type(INT32))];
    // Tells whether the variable was there before, and makes it.
    let function = function(
        "was_there",
        vec![
            node(
                "v",
                "VarHandleOp",
                &[],
                &[dtype.clone(), ("shape", scalar_shape()), ("shared_name", Attr::S("t".into()))],
            ),
            node("was", "VarIsInitializedOp", &["v:resource:0"], &[]),
            node("assign", "AssignVariableOp", &["v:resource:0", "x", "^was"], &[dtype]),
            node("number", "Cast", &["was:is_initialized:0", "^assign"], &cast),
        ],
        "number:y:0",
    );
    let merged = build(&ty("int32"), |graph, x| {
        let comp = calling("was_there", vec![function, adding("pure", 1)]);
        let first = call(graph, &comp, Some(x))?;
        let second = call(graph, &comp, Some(&first))?;
        pair(first, second)
    });
    for _ in 0..3 {
        assert_eq!(run(&merged, Some(&scalar(3))), "<0,0>");
    }
}

#[test]
fn control_inputs_and_colocations_follow_what_is_fed() {
    let class =
        Attr::List(Box::new(ListValue { s: vec!["loc:@arg".into(), "loc:@same".into()], ..ListValue::default() }));
    let nodes = vec![
        placeholder("arg", INT32),
        node("same", "Identity", &["arg:0"], &[("T", Attr::Type(INT32))]),
        node("group", "NoOp", &["^arg", "^same"], &[]),
        node("sum", "AddV2", &["same", "arg", "^group", "^arg"], &[("T", Attr::Type(INT32)), ("_class", class)]),
    ];
    let twice = comp("(int32 -> int32)", nodes, vec![], Some(tensor("arg")), tensor("sum"), "");
    let merged = build(&ty("int32"), |graph, x| {
        let once = call(graph, &twice, Some(x))?;
        call(graph, &twice, Some(&once))
    });
    assert_eq!(run(&merged, Some(&scalar(3))), "12");
}

#[test]
fn results_that_are_parts_of_the_argument_pass_through() {
    let nodes = vec![placeholder("a", INT32), placeholder("b", INT32)];
    let both = |first, second| TensorFlowBinding::Struct(vec![tensor(first), tensor(second)]);
    let swap =
        comp("(<int32,int32> -> <int32,int32>)", nodes, vec![], Some(both("a:0", "b:0")), both("b:0", "a:0"), "");
    let merged = build(&ty("<int32,int32>"), |graph, x| {
        let swapped = call(graph, &swap, Some(x))?;
        let back = call(graph, &swap, Some(&swapped))?;
        pair(swapped, back)
    });
    assert_eq!(run(&merged, Some(&Value::structure([scalar(3), scalar(4)]))), "<<4,3>,<3,4>>");
}

/// `(int64 -> int64*)`: the numbers below the argument, serialized or not.
fn range(serialized: bool) -> Comp {
    let specs = [("output_types", types(&[INT64])), ("output_shapes", shapes())];
    let mut nodes = vec![
        placeholder("arg", INT64),
        int64("zero", 0),
        int64("one", 1),
        node("range", "RangeDataset", &["zero", "arg", "one"], &specs),
    ];
    let attrs = [("external_state_policy", Attr::I(0)), ("strip_device_assignment", Attr::B(true))];
    nodes.push(node("graph", "DatasetToGraphV2", &["range"], &attrs));
    let result = if serialized {
        SequenceBinding::GraphDef("graph:0".into())
    } else {
        SequenceBinding::Variant("range:0".into())
    };
    comp("(int64 -> int64*)", nodes, vec![], Some(tensor("arg:0")), TensorFlowBinding::Sequence(result), "")
}

/// `(int64* -> int64)`: how many elements, of a dataset serialized or not.
fn count(serialized: bool) -> Comp {
    let variant = tf::DataType::DtVariant as i32;
    let mut nodes = vec![placeholder("arg", if serialized { STRING } else { variant })];
    if serialized {
        nodes.push(node("dataset", "DatasetFromGraph", &["arg"], &[]));
    }
    let dataset = if serialized { "dataset" } else { "arg" };
    nodes.push(node("count", "DatasetCardinality", &[dataset], &[]));
    let name = "arg:0".into();
    let parameter = if serialized { SequenceBinding::GraphDef(name) } else { SequenceBinding::Variant(name) };
    comp("(int64* -> int64)", nodes, vec![], Some(TensorFlowBinding::Sequence(parameter)), tensor("count:0"), "")
}

fn shapes() -> Attr {
    Attr::List(Box::new(ListValue { shape: vec![tf::TensorShapeProto::default()], ..ListValue::default() }))
}

#[test]
fn datasets_pass_between_graphs_in_either_form() {
    for from in [false, true] {
        for to in [false, true] {
            let merged = build(&ty("int64"), |graph, x| {
                let numbers = call(graph, &range(from), Some(x))?;
                let count = call(graph, &count(to), Some(&numbers))?;
                pair(numbers, count)
            });
            assert_eq!(run(&merged, Some(&Value::scalar(Scalar::Int64(3)))), "<(0,1,2),3>", "{from} {to}");
            let merged = build(&ty("int64*"), |graph, x| call(graph, &count(to), Some(x)));
            assert_eq!(run(&merged, Some(&sample(&ty("int64*")))), "3");
        }
    }
}

#[test]
fn a_long_chain_is_no_deep_one() {
    const LENGTH: usize = 20_000;
    let mut nodes = vec![placeholder("arg", INT32), typed("n0", "Identity", &["arg"])];
    nodes.extend((1..LENGTH).map(|index| typed(&format!("n{index}"), "Identity", &[&format!("n{}", index - 1)])));
    let last = format!("n{}:0", LENGTH - 1);
    let chain = comp("(int32 -> int32)", nodes, vec![], Some(tensor("arg:0")), tensor(&last), "");
    let merged = build(&ty("int32"), |graph, x| {
        let once = call(graph, &chain, Some(x))?;
        call(graph, &chain, Some(&once))
    });
    assert_eq!(run(&merged, Some(&scalar(3))), "3");
}

#[test]
fn calls_of_generic_graphs() {
    let swap = Packing::Struct(vec![(Some("b".into()), Packing::Part(vec![1])), (None, Packing::Part(vec![0]))]);
    let swap = generic::pack(&ty("<int32,int32>"), &swap).unwrap();
    let difference = generic::binary_operator(BinaryOp::Subtract, &ty("<int32,int32>")).unwrap();
    let merged = build(&ty("<int32,int32>"), |graph, x| {
        let swapped = call(graph, &swap, Some(x))?;
        let unnamed = Wire::structure(swapped.elements()?.into_iter().map(|it| (None::<&str>, it)))?;
        call(graph, &difference, Some(&unnamed))
    });
    assert_eq!(run(&merged, Some(&Value::structure([scalar(3), scalar(10)]))), "7");
}
