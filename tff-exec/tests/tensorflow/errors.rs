//! What is wrong is said in one line, with the place.

use crate::support::*;
use tff_exec::{ExecError, LeafError, Value};
use tff_ir::{Array, Opaque, TensorFlowBinding};
use tff_proto::tensorflow::GraphDef;
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_types::{DType, FunctionType, Type};

fn pass(name: &str) -> GraphDef {
    graph(vec![placeholder("x", FLOAT), node(name, "Identity", &["x"], &[("T", Attr::Type(FLOAT))])])
}

/// `(<a=float32,b=<float32[2,?],int32>> -> float32)`
fn nested() -> (tff_ir::TensorFlow, FunctionType) {
    let nodes = vec![
        placeholder("a", FLOAT),
        placeholder("m", FLOAT),
        placeholder("n", INT32),
        node("y", "Identity", &["a"], &[("T", Attr::Type(FLOAT))]),
    ];
    let inner = TensorFlowBinding::Struct(vec![tensor("m:0"), tensor("n:0")]);
    let parameter = TensorFlowBinding::Struct(vec![tensor("a:0"), inner]);
    let float32 = Type::scalar(DType::Float32);
    let pair = Type::tuple([ty(DType::Float32, &[Some(2), None]), Type::scalar(DType::Int32)]).unwrap();
    let structure = Type::structure([(Some("a"), float32.clone()), (Some("b"), pair)]).unwrap();
    (comp(&graph(nodes), Some(parameter), tensor("y:0")), function(Some(structure), float32))
}

#[test]
fn arguments_are_checked_before_the_run() {
    let (comp, ty) = nested();
    let prepared = prepare(comp, &ty).unwrap();
    let check = |argument: Option<Value>| prepared.call(argument.as_ref()).unwrap_err().to_string();
    let good = || floats(&[2, 1], &[1.0, 2.0]);
    let argument = |a, b: Vec<Value>| Some(Value::structure([a, Value::structure(b)]));
    assert!(prepared.call(argument(float(1.0), vec![good(), int(3)]).as_ref()).is_ok());

    insta::assert_snapshot!(check(argument(int(1), vec![good(), int(3)])), @".a: expected float32, found int32");
    insta::assert_snapshot!(
        check(argument(floats(&[1], &[1.0]), vec![good(), int(3)])),
        @".a: expected float32, found float32[1]"
    );
    insta::assert_snapshot!(
        check(argument(float(1.0), vec![floats(&[3, 1], &[1.0, 2.0, 3.0]), int(3)])),
        @".b[0]: expected float32[2,?], found float32[3,1]"
    );
    insta::assert_snapshot!(
        check(argument(float(1.0), vec![good(), float(3.0)])),
        @".b[1]: expected int32, found float32"
    );
    insta::assert_snapshot!(
        check(argument(float(1.0), vec![good()])),
        @".b: expected a struct of 2 elements, found a struct of 1 elements"
    );
    insta::assert_snapshot!(
        check(argument(Value::structure([]), vec![good(), int(3)])),
        @".a: expected float32, found a struct of 0 elements"
    );
    insta::assert_snapshot!(check(Some(float(1.0))), @"expected a struct of 2 elements, found float32");
    insta::assert_snapshot!(check(None), @"missing argument: the function takes <a=float32,b=<float32[2,?],int32>>");
}

#[test]
fn argument_without_parameter() {
    let comp = comp(&graph(vec![float_const("y", 1.0)]), None, tensor("y:0"));
    let error = run(comp, &function(None, Type::scalar(DType::Float32)), Some(&float(1.0))).unwrap_err();
    assert!(matches!(error, ExecError::UnexpectedArgument), "{error}");
}

#[test]
fn dimensions_beyond_tensorflow_are_refused() {
    let vast = Array::dense(DType::Float32, [1 << 62, 1 << 62, 0], bytes::Bytes::new()).unwrap();
    let deep = Array::dense(DType::Float32, vec![1; 255], bytes::Bytes::from_static(&[0; 4])).unwrap();
    let any = Type::tensor(DType::Float32, tff_types::Shape::unknown_rank());
    let prepared = prepare(comp(&pass("y"), Some(tensor("x")), tensor("y")), &function(Some(any.clone()), any));
    let prepared = prepared.unwrap();
    for array in [vast, deep] {
        let error = prepared.call(Some(&Value::array(array))).unwrap_err().to_string();
        assert!(error.ends_with("is too large"), "{error}");
    }
}

#[test]
fn result_of_another_shape_is_an_error() {
    let float32 = Type::scalar(DType::Float32);
    let any = Type::tensor(DType::Float32, tff_types::Shape::unknown_rank());
    let pair = TensorFlowBinding::Struct(vec![tensor("y")]);
    let result = Type::structure([(Some("r"), float32)]).unwrap();
    let error =
        run(comp(&pass("y"), Some(tensor("x")), pair), &function(Some(any), result), Some(&floats(&[2], &[1.0, 2.0])));
    insta::assert_snapshot!(
        error.unwrap_err(),
        @".r: TensorFlow failed: the graph gave another type: expected float32, found float32[2]"
    );
}

#[test]
fn failing_graph_says_why_on_one_line() {
    let nodes = vec![placeholder("x", INT32), node("y", "FloorDiv", &["x", "x"], &[("T", Attr::Type(INT32))])];
    let int32 = Type::scalar(DType::Int32);
    let error =
        run(comp(&graph(nodes), Some(tensor("x")), tensor("y")), &function(Some(int32.clone()), int32), Some(&int(0)));
    insta::assert_snapshot!(error.unwrap_err(), @"TensorFlow failed: InvalidArgument: Integer division by zero [[{{node y}}]]");

    let message = Attr::S("w is\n  broken".into());
    let nodes = vec![
        placeholder("x", FLOAT),
        node("y", "CheckNumerics", &["x"], &[("T", Attr::Type(FLOAT)), ("message", message)]),
    ];
    let float32 = Type::scalar(DType::Float32);
    let ty = function(Some(float32.clone()), float32);
    let error = run(comp(&graph(nodes), Some(tensor("x")), tensor("y")), &ty, Some(&float(f32::NAN)));
    let error = error.unwrap_err();
    insta::assert_snapshot!(
        error,
        @"TensorFlow failed: InvalidArgument: w is broken : Tensor had NaN values [[{{node y}}]]"
    );
    let ExecError::Run { reason: LeafError::Native { code, .. }, .. } = error else { panic!("{error:?}") };
    assert_eq!(code, "INVALID_ARGUMENT");
}

#[test]
fn damaged_graphs_are_refused() {
    let float32 = function(None, Type::scalar(DType::Float32));
    let refuse = |type_url: &str, value: &[u8]| {
        let mut comp = comp(&graph(vec![]), None, tensor("y"));
        comp.graph = Opaque { type_url: type_url.into(), value: bytes::Bytes::copy_from_slice(value) };
        let error = prepare(comp, &float32).unwrap_err();
        assert!(matches!(error.cause(), ExecError::Prepare { .. }), "{error}");
        error.to_string()
    };
    let url = "type.googleapis.com/tensorflow.GraphDef";
    insta::assert_snapshot!(
        refuse("type.googleapis.com/xla.HloModuleProto", b""),
        @"TensorFlow refuses the computation: expected a tensorflow.GraphDef, found `type.googleapis.com/xla.HloModuleProto`"
    );
    let garbage = refuse(url, b"no graph at all");
    assert!(garbage.starts_with("TensorFlow refuses the computation: "), "{garbage}");
    assert!(!garbage.contains('\n'), "{garbage}");
    insta::assert_snapshot!(refuse(url, b""), @"result: TensorFlow refuses the computation: the graph has no op `y`");
    let unknown = prost::Message::encode_to_vec(&graph(vec![node("y", "NoSuchOp", &[], &[])]));
    let unknown = refuse(url, &unknown);
    assert!(unknown.contains("NoSuchOp"), "{unknown}");
}

#[test]
fn names_and_element_types_are_checked_when_prepared() {
    let float32 = || Type::scalar(DType::Float32);
    let check = |comp, parameter, result| prepare(comp, &function(parameter, result)).unwrap_err().to_string();
    let of = |parameter, result| comp(&pass("y"), parameter, result);

    insta::assert_snapshot!(
        check(of(Some(tensor("z:0")), tensor("y:0")), Some(float32()), float32()),
        @"parameter: TensorFlow refuses the computation: the graph has no op `z`"
    );
    insta::assert_snapshot!(
        check(of(Some(tensor("x:1")), tensor("y:0")), Some(float32()), float32()),
        @"parameter: TensorFlow refuses the computation: the op `x` has no output 1"
    );
    insta::assert_snapshot!(
        check(of(Some(tensor("^x")), tensor("y:0")), Some(float32()), float32()),
        @"parameter: TensorFlow refuses the computation: `^x` names no tensor"
    );
    insta::assert_snapshot!(
        check(of(Some(tensor("x:0")), tensor("y:0")), Some(float32()), Type::scalar(DType::Int32)),
        @"result: TensorFlow refuses the computation: the tensor `y:0` is of float32, not of int32"
    );
    insta::assert_snapshot!(
        check(of(Some(tensor("x:0")), tensor("y:0")), Some(Type::tuple([float32()]).unwrap()), float32()),
        @"parameter: TensorFlow refuses the computation: a binding of a tensor for the type <float32>"
    );
    let two = Type::structure([(Some("a"), float32()), (Some("b"), float32())]).unwrap();
    let one = TensorFlowBinding::Struct(vec![tensor("x:0")]);
    insta::assert_snapshot!(
        check(of(Some(one), tensor("y:0")), Some(two.clone()), float32()),
        @"parameter: TensorFlow refuses the computation: a binding of 1 elements for the type <a=float32,b=float32>"
    );
    let twice = TensorFlowBinding::Struct(vec![tensor("x:0"), tensor("x")]);
    insta::assert_snapshot!(
        check(of(Some(twice), tensor("y:0")), Some(two), float32()),
        @"parameter.b: TensorFlow refuses the computation: two parts of the parameter are bound to `x:0`"
    );
    insta::assert_snapshot!(
        check(of(None, tensor("y:0")), Some(float32()), float32()),
        @"TensorFlow refuses the computation: no binding of the parameter of type float32"
    );
    insta::assert_snapshot!(
        check(of(Some(tensor("x:0")), tensor("y:0")), None, float32()),
        @"TensorFlow refuses the computation: a binding of a parameter for a type without one"
    );
    insta::assert_snapshot!(
        check(of(Some(variant("x:0")), tensor("y:0")), Some(Type::sequence(float32()).unwrap()), float32()),
        @"parameter: TensorFlow refuses the computation: the sequence is bound to `x:0`, which is not a placeholder of a dataset"
    );
    let mut initialized = of(Some(tensor("x:0")), tensor("y:0"));
    initialized.initialize_op = "init".into();
    insta::assert_snapshot!(
        check(initialized, Some(float32()), float32()),
        @"initialize_op: TensorFlow refuses the computation: the graph has no op `init`"
    );
}
