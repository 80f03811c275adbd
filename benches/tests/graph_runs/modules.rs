//! Modules give what graphs give: constants, operators and conversions, for every dtype.

use crate::{sample, try_run, ty};
use std::sync::LazyLock;
use tff_compiler::graph::generic;
use tff_compiler::hlo;
use tff_compiler::{BinaryOp, Fill};
use tff_exec::leaf::xla::{Library, Plugin, XlaOptions};
use tff_exec::{Value, Xla};
use tff_ir::{Array, Comp, CompKind, CompiledComputation, Scalar};
use tff_types::{DType, Type};

static LEAF: LazyLock<Xla> = LazyLock::new(|| {
    let plugin = tff_benches::repository_file(".native/pjrt/pjrt_c_api_cpu_plugin.so");
    Xla::new(XlaOptions { library: Library::Plugin(Plugin::new(vec![plugin])), ..XlaOptions::default() })
});

fn run_module(comp: &Comp, argument: Option<&Value>) -> Value {
    let (CompKind::CompiledComputation(CompiledComputation::Xla(module)), Some(ty)) =
        (comp.kind(), comp.ty().as_function())
    else {
        panic!("{comp} is no module")
    };
    let prepared = LEAF.prepare(module, ty).unwrap_or_else(|error| panic!("{}: {error}", comp.ty()));
    prepared.call(argument).unwrap_or_else(|error| panic!("{}: {error}", comp.ty()))
}

/// Checks that graph and module are of the same type, and give the same.
#[track_caller]
fn check(graph: &Comp, module: &Comp, argument: Option<&Value>) {
    assert_eq!(graph.ty(), module.ty());
    let results = [try_run(graph, argument).unwrap(), run_module(module, argument)];
    let [by_graph, by_module] = results.map(|value| {
        let mut scalars = Vec::new();
        collect(&value, &mut scalars);
        scalars
    });
    assert_eq!(by_graph.len(), by_module.len());
    for (index, (by_graph, by_module)) in by_graph.iter().zip(&by_module).enumerate() {
        let ty = graph.ty();
        assert!(
            is_same(by_graph, by_module),
            "{ty} at {index}: {by_graph:?} of the graph, {by_module:?} of the module"
        );
    }
}

/// The elements of all tensors.
fn collect(value: &Value, scalars: &mut Vec<Scalar>) {
    match value {
        Value::Tensor(tensor) => scalars.extend(tensor.array().scalars()),
        Value::Struct(elements) => elements.iter().for_each(|element| collect(element, scalars)),
        other => panic!("{}", other.describe()),
    }
}

/// Equal but for the last bit: TensorFlow divides by a scalar as it multiplies with its reciprocal. Of complex numbers a
/// graph gives no quotient by zero, nor where the square of the divisor is too large.
fn is_same(by_graph: &Scalar, by_module: &Scalar) -> bool {
    let (bits, left, right) = match (by_graph, by_module) {
        (Scalar::Float16(left), Scalar::Float16(right)) => (10, real(*left), real(*right)),
        (Scalar::BFloat16(left), Scalar::BFloat16(right)) => (7, real(*left), real(*right)),
        (Scalar::Float32(left), Scalar::Float32(right)) => (23, real(*left), real(*right)),
        (Scalar::Float64(left), Scalar::Float64(right)) => (52, real(*left), real(*right)),
        (Scalar::Complex64(re, im), _) if re.is_nan() && im.is_nan() => return true,
        (Scalar::Complex128(re, im), _) if re.is_nan() && im.is_nan() => return true,
        (Scalar::Complex64(a, b), Scalar::Complex64(c, d)) => {
            (22, [a, b].map(|&it| it.into()), [c, d].map(|&it| it.into()))
        }
        (Scalar::Complex128(a, b), Scalar::Complex128(c, d)) => (51, [*a, *b], [*c, *d]),
        _ => return by_graph == by_module,
    };
    let size = |[re, im]: [f64; 2]| re.hypot(im);
    let slack = size(left).max(size(right)) * 0.5f64.powi(bits);
    let is_near = |left: f64, right: f64| {
        // What is too small for a normal number may be zero.
        let is_close = (left - right).abs() <= slack.max(f32::MIN_POSITIVE.into());
        left == right || left.is_nan() && right.is_nan() || left.is_finite() && right.is_finite() && is_close
    };
    is_near(left[0], right[0]) && is_near(left[1], right[1])
}

fn real(number: impl Into<f64>) -> [f64; 2] {
    [number.into(), 0.0]
}

/// Numbers of a dtype, its least and its greatest one among them.
fn numbers(dtype: DType) -> Vec<Scalar> {
    let floats = [0.0, -0.0, 1.0, -1.0, 2.5, -7.0, 0.1, 300.0, 257.0, 1e-3, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let complex = [(0.0, 0.0), (1.0, 0.0), (2.0, -3.0), (-0.5, 0.25), (100.0, 1.0)];
    let family: Vec<_> = match dtype {
        DType::String => return Vec::new(),
        dtype if dtype.is_floating() => floats.map(Scalar::Float32).to_vec(),
        dtype if dtype.is_complex() => complex.map(|(re, im)| Scalar::Complex64(re, im)).to_vec(),
        DType::Bool => [false, true].map(Scalar::Bool).to_vec(),
        _ => [0, 1, 2, 3, 7, 100, -1, -2, -100].map(Scalar::Int8).to_vec(),
    };
    let family = Array::from_scalars(family[0].dtype(), [family.len() as u64], &family).unwrap();
    let cast = crate::build(&family.ty(), |graph, numbers| graph.cast(numbers, dtype));
    let ends = [Fill::Lowest, Fill::Highest].map(|fill| generic::constant(&fill, &Type::scalar(dtype)));
    let values = [try_run(&cast, Some(&Value::array(family)))].into_iter();
    let values = values.chain(ends.into_iter().flatten().map(|comp| try_run(&comp, None)));
    let scalars = values.flat_map(|value| match value.unwrap() {
        Value::Tensor(tensor) => tensor.array().scalars().collect::<Vec<_>>(),
        other => panic!("{}", other.describe()),
    });
    scalars.collect()
}

/// Every number of one dtype with every number of another one: two vectors.
fn pairs(left: DType, right: DType, is_right: impl Fn(&Scalar) -> bool) -> Value {
    let rights: Vec<_> = numbers(right).into_iter().filter(is_right).collect();
    let lefts = numbers(left);
    let both = lefts.iter().flat_map(|left| rights.iter().map(move |right| (left.clone(), right.clone())));
    let (lefts, rights): (Vec<_>, Vec<_>) = both.unzip();
    let vector =
        |dtype, elements: &[_]| Value::array(Array::from_scalars(dtype, [elements.len() as u64], elements).unwrap());
    Value::structure([vector(left, &lefts), vector(right, &rights)])
}

fn ty_of(value: &Value) -> Type {
    match value {
        Value::Tensor(tensor) => tensor.array().ty(),
        Value::Struct(elements) => Type::tuple(elements.iter().map(ty_of).collect::<Vec<_>>()).unwrap(),
        other => panic!("{}", other.describe()),
    }
}

const OPS: [BinaryOp; 7] = [
    BinaryOp::Add,
    BinaryOp::Subtract,
    BinaryOp::Multiply,
    BinaryOp::Divide,
    BinaryOp::Minimum,
    BinaryOp::Maximum,
    BinaryOp::FloorMod,
];

#[test]
fn operators_give_what_graphs_give() {
    let mut n_checked = 0;
    for op in OPS {
        for dtype in DType::ALL {
            // A graph of integers fails modulo zero.
            let is_divisor = |scalar: &Scalar| op != BinaryOp::FloorMod || crate::show_scalar(scalar) != "0";
            let argument = pairs(dtype, dtype, is_divisor);
            let ty = ty_of(&argument);
            match (generic::binary_operator(op, &ty), hlo::binary_operator(op, &ty)) {
                (Ok(graph), Some(module)) => check(&graph, &module, Some(&argument)),
                (graph, module) => {
                    assert_eq!(graph.is_ok(), module.is_some(), "{op:?} {dtype}");
                    continue;
                }
            }
            n_checked += 1;
        }
    }
    assert_eq!(n_checked, 4 * 14 + 3 * 12);
}

#[test]
fn modulo_zero_an_integer_stays() {
    let ty = ty("<int32[2],int32[2]>");
    let module = hlo::binary_operator(BinaryOp::FloorMod, &ty).unwrap();
    let vector = |elements: [i32; 2]| {
        Value::array(Array::from_scalars(DType::Int32, [2], &elements.map(Scalar::Int32)).unwrap())
    };
    let argument = Value::structure([vector([5, -5]), vector([0, 3])]);
    assert_eq!(crate::show(&run_module(&module, Some(&argument))), "[2]{5 1}");
}

#[test]
fn conversions_give_what_graphs_give() {
    let mut n_checked = 0;
    for left in DType::ALL {
        for right in DType::ALL {
            let argument = pairs(left, right, |_| true);
            let ty = ty_of(&argument);
            let op = BinaryOp::Multiply;
            let graph = generic::binary_operator_with_upcast(op, &ty);
            let module = hlo::binary_operator_with_upcast(op, &ty);
            let becomes_other = left.is_integer() && !right.is_integer() || right == DType::Bool;
            match (graph, module) {
                (Ok(graph), Some(module)) => check(&graph, &module, Some(&argument)),
                (graph, module) => {
                    let is_left_to_graphs = becomes_other || !left.is_complex() && right.is_complex();
                    assert_eq!(graph.is_ok() && !is_left_to_graphs, module.is_some(), "{left} {right}");
                    continue;
                }
            }
            n_checked += 1;
        }
    }
    // To integers from integers, to floats from these and floats, to complex numbers from all numbers.
    assert_eq!(n_checked, 8 * 8 + 4 * 12 + 2 * 14);
}

#[test]
fn constants_give_what_graphs_give() {
    for fill in [Fill::Zero, Fill::Lowest, Fill::Highest, Fill::Number(Scalar::Int64(3))] {
        for dtype in DType::ALL.into_iter().filter(|dtype| *dtype != DType::String) {
            let ty = ty(&format!("<s={dtype},v=<{dtype}[2,3],{dtype}[0]>>"));
            match (generic::constant(&fill, &ty), hlo::constant(&fill, &ty)) {
                (Ok(graph), Some(module)) => check(&graph, &module, None),
                (graph, module) => assert_eq!(graph.is_ok(), module.is_some(), "{fill:?} {dtype}"),
            }
        }
    }
    check(&generic::zero(&ty("<>")).unwrap(), &hlo::constant(&Fill::Zero, &ty("<>")).unwrap(), None);
}

#[test]
fn structs_and_shapes_give_what_graphs_give() {
    let check = |op, text: &str| {
        let ty = ty(text);
        let graph = generic::binary_operator_with_upcast(op, &ty).unwrap();
        check(&graph, &hlo::binary_operator_with_upcast(op, &ty).unwrap(), Some(&sample(&ty)));
    };
    check(BinaryOp::Add, "<<a=int32[3],b=<float32>>,<a=int32[3],b=<float32>>>");
    check(BinaryOp::Multiply, "<<a=int32[3],b=int32>,int32>");
    check(BinaryOp::Divide, "<<a=int32,b=uint8>,<a=int32,b=uint8>>");
    check(BinaryOp::Add, "<<>,<>>");
    check(BinaryOp::Multiply, "<<a=float32[2],b=<bfloat16,int8>>,int64>");
    check(BinaryOp::Divide, "<<float32[2,3],float64[3]>,int32[3]>");
    check(BinaryOp::Divide, "<float32[2,3,4],float32[3,1]>");
    check(BinaryOp::Add, "<<float32[0,2]>,<float32[0,2]>>");
    let check = |op, text: &str| {
        let ty = ty(text);
        let graph = generic::binary_operator(op, &ty).unwrap();
        crate::modules::check(&graph, &hlo::binary_operator(op, &ty).unwrap(), Some(&sample(&ty)));
    };
    check(BinaryOp::Add, "<int64[2,1],int64[3]>");
    check(BinaryOp::Subtract, "<float64[1,1,2],float64[4,3,1]>");
    check(BinaryOp::Subtract, "<float64,float64[4,3,1]>");
}
