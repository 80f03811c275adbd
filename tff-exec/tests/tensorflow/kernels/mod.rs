//! Graphs that are run without TensorFlow give what TensorFlow gives, bit for bit.

mod left;
mod random;

use crate::support::*;
use bytes::Bytes;
use prost::Message;
use std::sync::{Arc, LazyLock};
use tff_exec::leaf::Prepared;
use tff_exec::leaf::tensorflow::TensorFlowOptions;
use tff_exec::{ExecError, Executor, Options, TensorFlow, Value};
use tff_ir::{Array, Comp, CompiledComputation, TensorFlowBinding};
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::tensor_shape_proto::Dim;
use tff_proto::tensorflow::{
    AttrValue, FunctionDef, FunctionDefLibrary, GraphDef, NodeDef, OpDef, TensorProto, TensorShapeProto, VersionDef,
};
use tff_types::{DType, FunctionType, Shape, Type};

/// The same computation, run by kernels if they know it.
fn prepare_kernels(comp: &Arc<tff_ir::TensorFlow>, ty: &FunctionType) -> Result<Arc<dyn Prepared>, ExecError> {
    static LEAF: LazyLock<TensorFlow> = LazyLock::new(|| leaf_with(TensorFlowOptions::default()));
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
            vec![0, 1, 2, 3, top - 1, top, top + 1, 2 * top - 2, 2 * top - 1, top / 2, top | (top / 2)]
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

#[test]
fn denormal_numbers_stay_at_every_size() {
    let (comp, ty) = binary("AddV2", DType::Float32);
    let ours = prepare_kernels(&comp, &ty).unwrap();
    for n in [1, 100, 1 << 20] {
        let smallest = bits(DType::Float32, &[n], &vec![1; usize::try_from(n).unwrap()]);
        let sum = ours.call(Some(&Value::structure([smallest.clone(), smallest]))).unwrap();
        assert!(array(&sum).as_dense().unwrap().chunks(4).all(|element| element == [2, 0, 0, 0]));
    }
}

/// `federated_aggregate` that adds vectors, from a literal zero.
#[test]
fn an_aggregation_changes_neither_its_zero_nor_its_members() {
    let (add, _) = binary("AddV2", DType::Float32);
    let vector = ty(DType::Float32, &[Some(3)]);
    let add_ty = Type::function(Some(Type::tuple([vector.clone(), vector.clone()]).unwrap()), vector.clone()).unwrap();
    let add = Comp::compiled(CompiledComputation::TensorFlow(add), add_ty).unwrap();
    let zero = array(&floats(&[3], &[0.5, 0.0, -0.0])).clone();
    let clients = Type::at_clients(vector.clone()).unwrap();
    let report = Comp::lambda(Some(("x", vector.clone())), Comp::reference("x", vector.clone()).unwrap()).unwrap();
    let members = Comp::reference("members", clients.clone()).unwrap();
    let argument = Comp::tuple([members, Comp::literal(zero), add.clone(), add, report]).unwrap();
    let ty = Type::function(Some(argument.ty().clone()), Type::at_server(vector).unwrap()).unwrap();
    let call = Comp::call(Comp::intrinsic("federated_aggregate", ty).unwrap(), Some(argument)).unwrap();
    let program =
        Executor::new(Options::default()).prepare(&Comp::lambda(Some(("members", clients)), call).unwrap()).unwrap();

    // Members that nobody else holds, and one that several clients share.
    let shared = floats(&[3], &[1.0, 2.0, 3.0]);
    let members = || Value::at_clients([shared.clone(), floats(&[3], &[10.0, 20.0, 30.0]), shared.clone()]);
    let kept = members();
    for _ in 0..2 {
        for argument in [members(), kept.clone()] {
            let Value::Server(sum) = program.call(Some(argument), None).unwrap() else { panic!("no value at SERVER") };
            assert_eq!(array(&sum), array(&floats(&[3], &[12.5, 24.0, 36.0])));
        }
    }
    assert_eq!(array(&shared), array(&floats(&[3], &[1.0, 2.0, 3.0])));
}
