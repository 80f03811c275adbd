//! What is left to TensorFlow, and errors, which are the same.

use super::*;

/// `y = x + x` on a vector of floats, which is taken, before it is changed.
fn doubled() -> (tff_ir::TensorFlow, FunctionType) {
    let nodes = vec![
        placeholder("x", FLOAT),
        float_const("c", 1.0),
        node("y", "AddV2", &["x", "x"], &[("T", Attr::Type(FLOAT))]),
    ];
    let vector = ty(DType::Float32, &[Some(2)]);
    (comp(&graph(nodes), Some(tensor("x")), tensor("y")), function(Some(vector.clone()), vector))
}

#[track_caller]
fn is_left_to_tensorflow(comp: tff_ir::TensorFlow, ty: &FunctionType) {
    // What TensorFlow refuses it refuses here, too.
    let comp = Arc::new(comp);
    match (prepare_kernels(&comp, ty), leaf().prepare(&comp, ty)) {
        (Ok(ours), Ok(_)) => assert!(!is_taken(&ours)),
        (Err(ours), Err(theirs)) => assert_eq!(ours.to_string(), theirs.to_string()),
        (ours, theirs) => panic!("{ours:?} {theirs:?}"),
    }
}

#[test]
fn graphs_with_anything_unknown_are_left_to_tensorflow() {
    let change = |change: &dyn Fn(&mut GraphDef)| {
        let (mut comp, ty) = doubled();
        let mut graph = GraphDef::decode(comp.graph.value.clone()).unwrap();
        change(&mut graph);
        comp.graph.value = graph.encode_to_vec().into();
        (comp, ty)
    };
    let check = |f: &dyn Fn(&mut GraphDef)| {
        let (comp, ty) = change(f);
        is_left_to_tensorflow(comp, &ty);
    };
    let (comp, ty) = change(&|_| {});
    assert!(is_taken(&prepare_kernels(&Arc::new(comp), &ty).unwrap()));
    // Versions.
    check(&|graph| graph.versions = None);
    check(&|graph| graph.versions = Some(VersionDef { producer: 5, ..VersionDef::default() }));
    check(&|graph| {
        graph.versions = Some(VersionDef { producer: 999_999, min_consumer: 999_999, ..VersionDef::default() });
    });
    // Names.
    check(&|graph| graph.node[1].name = "x".into());
    check(&|graph| graph.node[1].name = "_c".into());
    check(&|graph| graph.node[1].name = String::new());
    // Inputs.
    check(&|graph| graph.node[2].input = vec!["x".into()]);
    check(&|graph| graph.node[2].input = vec!["x".into(), "z".into()]);
    check(&|graph| graph.node[2].input = vec!["x".into(), "x:1".into()]);
    check(&|graph| graph.node[2].input = vec!["x".into(), "y".into()]);
    check(&|graph| graph.node[2].input = vec!["x".into(), "x".into(), "^c".into()]);
    check(&|graph| graph.node[2].input = vec!["x".into(), "x".into(), "c".into()]);
    // Attributes.
    check(&|graph| graph.node[2].attr.clear());
    check(&|graph| graph.node[2] = node("y", "AddV2", &["x", "x"], &[("T", Attr::Type(INT32))]));
    check(&|graph| {
        graph.node[2] = node("y", "AddV2", &["x", "x"], &[("T", Attr::Type(FLOAT)), ("_more", Attr::B(true))]);
    });
    check(&|graph| graph.node[0] = placeholder("x", INT32));
    check(&|graph| {
        let shape = TensorShapeProto { dim: vec![Dim { size: 3, name: String::new() }], unknown_rank: false };
        graph.node[0].attr.insert("shape".into(), AttrValue { value: Some(Attr::Shape(shape)) });
    });
    check(&|graph| graph.node[2].device = "/device:CPU:0".into());
    // Ops, also where the result does not need them.
    check(&|graph| graph.node[2].op = "SquaredDifference".into());
    check(&|graph| graph.node.push(node("z", "NoSuchOp", &[], &[])));
    check(&|graph| graph.node.push(node("z", "Sqrt", &["x"], &[("T", Attr::Type(FLOAT))])));
    check(&|graph| graph.node.push(node("z", "Mul", &["x", "w"], &[("T", Attr::Type(FLOAT))])));
    // A placeholder that nothing feeds.
    check(&|graph| {
        graph.node.push(placeholder("z", FLOAT));
        graph.node[2].input = vec!["x".into(), "z".into()];
    });
    // A tensor that is fed although it is computed.
    check(&|graph| graph.node[0] = node("x", "Identity", &["c"], &[("T", Attr::Type(FLOAT))]));
    // Functions.
    check(&|graph| {
        let signature = OpDef { name: "f".into(), ..OpDef::default() };
        let function = FunctionDef { signature: Some(signature), ..FunctionDef::default() };
        graph.library = Some(FunctionDefLibrary { function: vec![function], ..FunctionDefLibrary::default() });
    });
}

#[test]
fn computations_with_anything_unknown_are_left_to_tensorflow() {
    let check = |change: &dyn Fn(&mut tff_ir::TensorFlow, &mut FunctionType)| {
        let (mut comp, mut ty) = doubled();
        change(&mut comp, &mut ty);
        is_left_to_tensorflow(comp, &ty);
    };
    check(&|comp, _| comp.initialize_op = "c".into());
    check(&|comp, _| comp.session_token = "x".into());
    check(&|comp, _| comp.session_token = "none".into());
    check(&|comp, _| comp.parameter = Some(tensor("y")));
    check(&|comp, _| comp.parameter = Some(tensor("x:1")));
    check(&|comp, _| comp.parameter = Some(tensor("none")));
    check(&|comp, _| comp.result = tensor("y:1"));
    check(&|comp, _| comp.result = tensor("none"));
    check(&|comp, ty| (comp.parameter, ty.parameter) = (None, None));
    check(&|_, ty| ty.result = Type::scalar(DType::Int32));
    check(&|_, ty| ty.parameter = Some(Type::scalar(DType::Int32)));
    check(&|comp, ty| {
        comp.parameter = Some(TensorFlowBinding::Struct(vec![tensor("x"), tensor("x")]));
        ty.parameter = Some(Type::tuple([ty.result.clone(), ty.result.clone()]).unwrap());
    });
    // A sequence.
    check(&|comp, ty| {
        let nodes = vec![placeholder("x", STRING), node("y", "Identity", &["x"], &[("T", Attr::Type(STRING))])];
        comp.graph.value = graph(nodes).encode_to_vec().into();
        (comp.parameter, comp.result) = (Some(graph_string("x")), graph_string("y"));
        let sequence = Type::sequence(Type::scalar(DType::Int32)).unwrap();
        (ty.parameter, ty.result) = (Some(sequence.clone()), sequence);
    });
    // Shapes that do not go together, or only as numpy broadcasts them.
    for (left, right) in [(2, 3), (2, 1)] {
        check(&|comp, ty| {
            let nodes = vec![
                placeholder("x", FLOAT),
                placeholder("z", FLOAT),
                node("y", "AddV2", &["x", "z"], &[("T", Attr::Type(FLOAT))]),
            ];
            comp.graph.value = graph(nodes).encode_to_vec().into();
            comp.parameter = Some(TensorFlowBinding::Struct(vec![tensor("x"), tensor("z")]));
            let of = |n| crate::support::ty(DType::Float32, &[Some(n)]);
            ty.parameter = Some(Type::tuple([of(left), of(right)]).unwrap());
        });
    }
    // A tensor that no memory holds.
    check(&|comp, ty| {
        let huge = tensor_proto(DType::Int64, &[3], [1u64 << 20; 3].iter().flat_map(|dim| dim.to_le_bytes()).collect());
        let nodes = vec![
            placeholder("x", FLOAT),
            constant("shape", huge),
            node("y", "BroadcastTo", &["x", "shape"], &[("T", Attr::Type(FLOAT)), ("Tidx", Attr::Type(INT64))]),
        ];
        comp.graph.value = graph(nodes).encode_to_vec().into();
        (ty.parameter, ty.result) = (Some(Type::scalar(DType::Float32)), any(DType::Float32));
    });
}

#[test]
fn shapes_that_a_call_shows_are_left_to_tensorflow() {
    let (comp, ty) = binary("AddV2", DType::Float32);
    let (theirs, ours) = (leaf().prepare(&comp, &ty).unwrap(), prepare_kernels(&comp, &ty).unwrap());
    assert!(is_taken(&ours));
    let check = |left: Value, right: Value| {
        let argument = Value::structure([left, right]);
        let both = [theirs.call(Some(&argument)), ours.call(Some(&argument)), ours.consume(Some(argument))];
        let [expected, first, second] = both.map(|result| match result {
            Ok(value) => Ok((array(&value).dims().to_vec(), hex(&value))),
            Err(error) => Err(error.to_string()),
        });
        assert_eq!(first, expected);
        assert_eq!(second, expected);
        expected
    };
    let column = || floats(&[2, 1], &[1.0, 2.0]);
    assert!(check(column(), floats(&[1, 2], &[10.0, 20.0])).is_ok());
    insta::assert_snapshot!(
        check(column(), floats(&[3, 2], &[0.0; 6])).unwrap_err(),
        @"TensorFlow failed: InvalidArgument: Incompatible shapes: [2,1] vs. [3,2] [[{{node z}}]]"
    );
}

#[test]
fn errors_are_those_of_tensorflow() {
    let (comp, ty) = binary("AddV2", DType::Float32);
    let result = ty.result.clone();
    let vector = crate::support::ty(DType::Float32, &[Some(2)]);
    let parameter = Type::structure([(Some("a"), result), (None, vector.clone())]).unwrap();
    let ty = function(Some(parameter), vector);
    let (theirs, ours) = (leaf().prepare(&comp, &ty).unwrap(), prepare_kernels(&comp, &ty).unwrap());
    assert!(is_taken(&ours));
    let good = || floats(&[2], &[1.0, 2.0]);
    let vast = Array::dense(DType::Float32, [1 << 62, 1 << 62, 0], Bytes::new()).unwrap();
    for argument in [
        None,
        Some(good()),
        Some(Value::structure([good()])),
        Some(Value::structure([good(), float(1.0)])),
        Some(Value::structure([int(1), good()])),
        Some(Value::structure([good(), Value::structure([])])),
        Some(Value::structure([Value::array(vast), good()])),
    ] {
        let expected = theirs.call(argument.as_ref()).unwrap_err().to_string();
        assert_eq!(ours.call(argument.as_ref()).unwrap_err().to_string(), expected);
        assert_eq!(ours.consume(argument).unwrap_err().to_string(), expected);
    }
    // The result is not of its type.
    let (comp, _) = binary("AddV2", DType::Float32);
    let ty = function(Some(Type::tuple([any(DType::Float32), any(DType::Float32)]).unwrap()), any(DType::Float32));
    let scalar = FunctionType { result: Type::scalar(DType::Float32), ..ty };
    let (theirs, ours) = (leaf().prepare(&comp, &scalar).unwrap(), prepare_kernels(&comp, &scalar).unwrap());
    assert!(is_taken(&ours));
    let argument = Value::structure([good(), good()]);
    let expected = theirs.call(Some(&argument)).unwrap_err().to_string();
    assert_eq!(ours.call(Some(&argument)).unwrap_err().to_string(), expected);
}
