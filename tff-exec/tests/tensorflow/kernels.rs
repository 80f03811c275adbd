//! Graphs that are run without TensorFlow give what TensorFlow gives, bit for bit.

use crate::support::*;
use bytes::Bytes;
use prost::Message;
use std::sync::{Arc, LazyLock};
use tff_exec::leaf::Prepared;
use tff_exec::leaf::tensorflow::Options;
use tff_exec::{ExecError, TensorFlow, Value};
use tff_ir::{Array, TensorFlowBinding};
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::tensor_shape_proto::Dim;
use tff_proto::tensorflow::{
    AttrValue, FunctionDef, FunctionDefLibrary, GraphDef, NodeDef, OpDef, TensorProto, TensorShapeProto, VersionDef,
};
use tff_types::{DType, FunctionType, Shape, Type};

/// The same computation, run by kernels if they know it.
fn prepare_kernels(comp: &Arc<tff_ir::TensorFlow>, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
    static LEAF: LazyLock<TensorFlow> = LazyLock::new(|| leaf_with(Options::default()));
    LEAF.prepare(comp, ty)
}

fn is_taken(prepared: &Arc<dyn Prepared>) -> bool {
    format!("{prepared:?}").starts_with("Kernels")
}

/// xorshift64
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bits(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }
}

/// Bit patterns in which elements of this dtype differ in kind.
fn special(dtype: DType) -> Vec<u128> {
    let halves = |sign: u32, mantissa: u32| -> Vec<u128> {
        let (sign, exponent) = (1u128 << sign, ((1u128 << (sign - mantissa)) - 1) << mantissa);
        let one = (exponent >> 1) & exponent;
        let quiet = 1u128 << (mantissa - 1);
        let positive = [
            0,
            1,
            quiet,
            2 * quiet - 1,
            2 * quiet,
            one,
            one | 1,
            one + quiet,
            exponent - 1,
            exponent,
            exponent | 1,
            exponent | quiet,
            exponent | quiet | 5,
            exponent | (2 * quiet - 1),
        ];
        positive.iter().flat_map(|&bits| [bits, bits | sign]).collect()
    };
    let pairs = |parts: Vec<u128>, width: u32| -> Vec<u128> {
        let rotated = parts.iter().cycle().skip(7);
        parts.iter().zip(rotated).map(|(re, im)| re | im << width).collect()
    };
    match dtype {
        DType::Float16 => halves(15, 10),
        DType::BFloat16 => halves(15, 7),
        DType::Float32 => halves(31, 23),
        DType::Float64 => halves(63, 52),
        DType::Complex64 => pairs(halves(31, 23), 32),
        DType::Complex128 => pairs(halves(63, 52), 64),
        DType::Bool | DType::String => vec![0, 1],
        _ => {
            let bits = 8 * dtype.size().unwrap() as u32;
            let top = 1u128 << (bits - 1);
            vec![0, 1, 2, 3, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1, top / 2, top | top / 2]
        }
    }
}

const BINARY: [&str; 7] = ["Add", "AddV2", "Sub", "Mul", "RealDiv", "Minimum", "Maximum"];

/// Every element type whose elements are numbers.
fn numbers() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|&dtype| dtype != DType::String && dtype != DType::Bool)
}

fn any(dtype: DType) -> Type {
    Type::tensor(dtype, Shape::unknown_rank())
}

/// A tensor of these elements, as bit patterns.
fn bits(dtype: DType, dims: &[u64], patterns: &[u128]) -> Value {
    let size = dtype.size().unwrap();
    let mask = if dtype == DType::Bool { 1 } else { u128::MAX };
    let bytes: Bytes = patterns.iter().flat_map(|bits| (bits & mask).to_le_bytes()[..size].to_vec()).collect();
    Value::array(Array::dense(dtype, dims, bytes).unwrap())
}

/// An element per line: where two arrays differ, this says in which element of what.
fn hex(value: &Value) -> Vec<String> {
    let array = array(value);
    let size = array.dtype().size().unwrap();
    let hex = |bytes: &[u8]| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
    array.as_dense().unwrap().chunks(size).map(hex).collect()
}

fn is_nan(dtype: DType, bits: u128) -> bool {
    let (exponent, sign) = match dtype {
        DType::Float16 => (0x7c00, 15),
        DType::BFloat16 => (0x7f80, 15),
        DType::Float32 => (0x7f80_0000, 31),
        DType::Float64 => (0x7ff0_0000_0000_0000, 63),
        DType::Complex64 => return [bits, bits >> 32].iter().any(|part| is_nan(DType::Float32, part & 0xffff_ffff)),
        DType::Complex128 => return [bits, bits >> 64].iter().any(|&part| is_nan(DType::Float64, part << 64 >> 64)),
        _ => return false,
    };
    bits & ((1 << sign) - 1) > exponent
}

/// `z = op(x, y)` for tensors of any shape.
fn binary(op: &str, dtype: DType) -> (Arc<tff_ir::TensorFlow>, FunctionType) {
    let number = dtype.number();
    let nodes = vec![
        placeholder("x", number),
        placeholder("y", number),
        node("z", op, &["x", "y"], &[("T", Attr::Type(number))]),
    ];
    let pair = TensorFlowBinding::Struct(vec![tensor("x"), tensor("y")]);
    let ty = function(Some(Type::tuple([any(dtype), any(dtype)]).unwrap()), any(dtype));
    (Arc::new(comp(&graph(nodes), Some(pair), tensor("z"))), ty)
}

/// The special patterns in all pairs, then random ones. Not two different NaNs, of which processors
/// keep the one or the other, except where they are compared.
fn pairs(op: &str, dtype: DType, random: &mut Random) -> (Vec<u128>, Vec<u128>) {
    let special = special(dtype);
    let all = special.iter().flat_map(|&left| special.iter().map(move |&right| (left, right)));
    let others = (0..1001).map(|_| (random.bits(), random.bits()));
    let compares = ["Minimum", "Maximum"].contains(&op);
    let both_nan = |&(left, right): &(u128, u128)| is_nan(dtype, left) && is_nan(dtype, right);
    all.chain(others).filter(|pair| compares || !both_nan(pair)).unzip()
}

#[test]
fn arithmetic_is_that_of_tensorflow() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (op, dtype) in BINARY.into_iter().flat_map(|op| numbers().map(move |dtype| (op, dtype))) {
        let (comp, ty) = binary(op, dtype);
        let is_known = match op {
            "Add" => ![DType::UInt16, DType::UInt32, DType::UInt64].contains(&dtype),
            "AddV2" | "Sub" => true,
            "RealDiv" => dtype.is_floating(),
            _ => !dtype.is_complex(),
        };
        if !is_known {
            assert!(!prepare_kernels(&comp, &ty).is_ok_and(|it| is_taken(&it)), "{op} {dtype}");
            continue;
        }
        let (theirs, ours) = (leaf().prepare(&comp, &ty).unwrap(), prepare_kernels(&comp, &ty).unwrap());
        assert!(is_taken(&ours), "{op} {dtype}");
        let (left, right) = pairs(op, dtype, &mut random);
        // As long as packets are, shorter and longer.
        for n in [left.len(), 33, 16, 9, 8, 7, 1, 0] {
            let (left, right) = (&left[left.len() - n..], &right[..n]);
            let argument = Value::structure([bits(dtype, &[n as u64], left), bits(dtype, &[n as u64], right)]);
            let expected = theirs.call(Some(&argument)).unwrap();
            assert_eq!(hex(&ours.call(Some(&argument)).unwrap()), hex(&expected), "{op} {dtype} {n}");
            assert_eq!(hex(&ours.consume(Some(argument)).unwrap()), hex(&expected), "{op} {dtype} {n}");
        }
    }
}

#[test]
fn a_scalar_meets_every_element() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for (op, dtype) in BINARY.into_iter().flat_map(|op| numbers().map(move |dtype| (op, dtype))) {
        let (comp, ty) = binary(op, dtype);
        let Ok(theirs) = leaf().prepare(&comp, &ty) else { continue };
        let ours = prepare_kernels(&comp, &ty).unwrap();
        let mut others = special(dtype);
        others.extend((0..20).map(|_| random.bits()));
        for scalar in special(dtype) {
            // Of two different NaNs TensorFlow keeps now the one, now the other.
            let others: Vec<u128> =
                others.iter().copied().filter(|&bits| !is_nan(dtype, bits) || !is_nan(dtype, scalar)).collect();
            let vector = bits(dtype, &[1, others.len() as u64], &others);
            let scalar = bits(dtype, &[], &[scalar]);
            for argument in [[vector.clone(), scalar.clone()], [scalar.clone(), vector.clone()]] {
                let argument = Value::structure(argument);
                let Ok(expected) = theirs.call(Some(&argument)) else { continue };
                let result = ours.call(Some(&argument)).unwrap();
                assert_eq!(hex(&result), hex(&expected), "{op} {dtype} {argument:?}");
                assert_eq!(array(&result).dims(), array(&expected).dims());
            }
        }
    }
}

#[test]
fn conversions_are_those_of_tensorflow() {
    let mut random = Random(0x0bad_cafe_0bad_cafe);
    let fixed = || DType::ALL.into_iter().filter(|dtype| dtype.size().is_some());
    let mut taken = 0;
    for (from, to) in fixed().flat_map(|from| fixed().map(move |to| (from, to))) {
        let attrs = [("SrcT", Attr::Type(from.number())), ("DstT", Attr::Type(to.number()))];
        let nodes = vec![placeholder("x", from.number()), node("y", "Cast", &["x"], &attrs)];
        let comp = Arc::new(comp(&graph(nodes), Some(tensor("x")), tensor("y")));
        let ty = function(Some(any(from)), any(to));
        let ours = prepare_kernels(&comp, &ty).unwrap();
        if !is_taken(&ours) {
            continue;
        }
        taken += 1;
        let theirs = leaf().prepare(&comp, &ty).unwrap();
        let patterns: Vec<u128> = special(from).into_iter().chain((0..500).map(|_| random.bits())).collect();
        for n in [patterns.len(), 33, 15, 8, 7, 1, 0] {
            let argument = bits(from, &[n as u64], &patterns[..n]);
            let expected = theirs.call(Some(&argument)).unwrap();
            assert_eq!(hex(&ours.call(Some(&argument)).unwrap()), hex(&expected), "{from} to {to}, {n}");
        }
    }
    // Between integers, from truth values and integers to floats, between floats; all to themselves.
    assert_eq!(taken, 8 * 8 + 8 + 9 * 4 + 4 * 4 + 1 + 2);
}

/// A graph of known ops on tensors `p0`, `p1`, … and what is bound to it.
struct RandomGraph {
    nodes: Vec<NodeDef>,
    /// The tensors so far: name, dtype and dimensions.
    tensors: Vec<(String, DType, Vec<u64>)>,
}

impl RandomGraph {
    const DTYPES: [DType; 7] =
        [DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int32, DType::Int64, DType::UInt8];

    fn push(&mut self, op: &str, inputs: &[&str], attrs: &[(&str, Attr)], dtype: DType, dims: &[u64]) {
        // Every other input is written with the number of the output.
        let inputs: Vec<String> = inputs
            .iter()
            .enumerate()
            .map(|(index, input)| if index % 2 == 0 { format!("{input}:0") } else { (*input).to_owned() })
            .collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let name = format!("scope/n{}", self.nodes.len());
        self.nodes.push(node(&name, op, &inputs, attrs));
        self.tensors.push((name, dtype, dims.to_vec()));
    }

    fn any(&self, random: &mut Random) -> (String, DType, Vec<u64>) {
        self.tensors[random.below(self.tensors.len())].clone()
    }

    /// Adds an op on tensors that are there.
    fn grow(&mut self, random: &mut Random) {
        let (left, dtype, dims) = self.any(random);
        let ty = Attr::Type(dtype.number());
        match random.below(6) {
            0 => self.push("Identity", &[&left], &[("T", ty)], dtype, &dims),
            1 => {
                let to = Self::DTYPES[random.below(4)];
                let attrs = [("SrcT", ty), ("DstT", Attr::Type(to.number())), ("Truncate", Attr::B(false))];
                self.push("Cast", &[&left], &attrs, to, &dims);
            }
            2 => {
                let mut wide = vec![2; random.below(2)];
                wide.extend(dims.iter().map(|&dim| if dim == 1 { 3 } else { dim }));
                let shape = format!("shape{}", self.nodes.len());
                let content: Vec<u8> = wide.iter().flat_map(|dim| dim.to_le_bytes()).collect();
                self.nodes.push(constant(&shape, tensor_proto(DType::Int64, &[wide.len() as u64], content)));
                let attrs = [("T", ty), ("Tidx", Attr::Type(INT64))];
                self.push("BroadcastTo", &[&left, &shape], &attrs, dtype, &wide);
            }
            _ => {
                let others = self.tensors.iter().filter(|(_, other, shape)| {
                    *other == dtype && (*shape == dims || shape.is_empty() || dims.is_empty())
                });
                let others: Vec<_> = others.cloned().collect();
                let (right, _, shape) = &others[random.below(others.len())];
                let ops =
                    if dtype.is_floating() { &BINARY[1..] } else { &["AddV2", "Sub", "Mul", "Minimum", "Maximum"] };
                let op = ops[random.below(ops.len())];
                let result = if dims.is_empty() { shape } else { &dims };
                self.push(op, &[&left, right], &[("T", ty)], dtype, result);
            }
        }
    }
}

fn tensor_proto(dtype: DType, dims: &[u64], content: Vec<u8>) -> TensorProto {
    let dim = dims.iter().map(|&dim| Dim { size: dim.try_into().unwrap(), name: String::new() }).collect();
    TensorProto {
        dtype: dtype.number(),
        tensor_shape: Some(TensorShapeProto { dim, unknown_rank: false }),
        tensor_content: content.into(),
        ..TensorProto::default()
    }
}

/// Elements without NaNs, most of them neither small nor large.
fn plain_elements(dtype: DType, dims: &[u64], random: &mut Random) -> Vec<u128> {
    let special: Vec<u128> = special(dtype).into_iter().filter(|&bits| !is_nan(dtype, bits)).collect();
    let count = dims.iter().product::<u64>();
    (0..count).map(|_| special[random.below(special.len())]).collect()
}

#[test]
fn random_graphs_give_what_tensorflow_gives() {
    let mut random = Random(0xdead_beef_0001_0203);
    let mut ran = 0;
    for case in 0..150 {
        let mut made = RandomGraph { nodes: Vec::new(), tensors: Vec::new() };
        let (mut names, mut types, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..1 + random.below(4) {
            let dtype = RandomGraph::DTYPES[random.below(7)];
            let dims = [&[][..], &[1], &[5], &[2, 3], &[17]][random.below(5)];
            let name = format!("p{index}");
            made.nodes.push(placeholder(&name, dtype.number()));
            made.tensors.push((name.clone(), dtype, dims.to_vec()));
            names.push(tensor(&name));
            // The type leaves some sizes open.
            let open = random.below(3) == 0;
            let shape = Shape::new(dims.iter().map(|&dim| if open { None } else { Some(dim) }));
            types.push(Type::tensor(dtype, shape));
            values.push(bits(dtype, dims, &plain_elements(dtype, dims, &mut random)));
        }
        let dtype = RandomGraph::DTYPES[random.below(7)];
        let content = bits(dtype, &[5], &plain_elements(dtype, &[5], &mut random));
        let content = array(&content).as_dense().unwrap().to_vec();
        made.nodes.push(constant("c", tensor_proto(dtype, &[5], content)));
        made.tensors.push(("c".to_owned(), dtype, vec![5]));
        for _ in 0..1 + random.below(8) {
            made.grow(&mut random);
        }
        let results: Vec<_> = (0..1 + random.below(3)).map(|_| made.any(&mut random)).collect();
        let result = TensorFlowBinding::Struct(results.iter().map(|(name, ..)| tensor(name)).collect());
        let result_ty = Type::tuple(results.iter().map(|(_, dtype, _)| any(*dtype))).unwrap();
        // In any order.
        for index in (1..made.nodes.len()).rev() {
            made.nodes.swap(index, random.below(index + 1));
        }
        let comp = Arc::new(comp(&graph(made.nodes), Some(TensorFlowBinding::Struct(names)), result));
        let ty = function(Some(Type::tuple(types).unwrap()), result_ty);
        let ours = prepare_kernels(&comp, &ty).unwrap();
        if !is_taken(&ours) {
            continue;
        }
        ran += 1;
        let theirs = leaf().prepare(&comp, &ty).unwrap();
        // Of two NaNs that a step makes of these, both are the same.
        let argument = || Value::structure(values.clone());
        let expected: Vec<_> = elements(&theirs.call(Some(&argument())).unwrap()).iter().map(hex).collect();
        let check = |result: Value| {
            let result: Vec<_> = elements(&result).iter().map(hex).collect();
            assert_eq!(result, expected, "case {case}: {comp:?}");
        };
        let before: Vec<_> = values.iter().map(hex).collect();
        check(ours.call(Some(&argument())).unwrap());
        check(ours.consume(Some(argument())).unwrap());
        // What somebody else holds is as it was; what nobody else holds may be overwritten.
        assert_eq!(values.iter().map(hex).collect::<Vec<_>>(), before, "case {case}");
        let copies = values.iter().map(|value| {
            let array = array(value);
            let bytes = Bytes::from(array.as_dense().unwrap().to_vec());
            Value::array(Array::dense(array.dtype(), array.dims(), bytes).unwrap())
        });
        check(ours.consume(Some(Value::structure(copies.collect::<Vec<_>>()))).unwrap());
    }
    assert!(ran > 100, "{ran}");
}

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
