//! Constants, operators, identity and packing, for every dtype.

use crate::{build, run, sample, small, try_run, ty};
use tff_compiler::graph::generic::{self, Packing};
use tff_compiler::graph::{BinaryOp, Fill};
use tff_exec::Value;
use tff_ir::{Array, Scalar};
use tff_types::{DType, Type};

/// Runs with small numbers as the argument.
#[track_caller]
fn check(op: BinaryOp, argument: &str) -> String {
    let comp = generic::binary_operator(op, &ty(argument)).unwrap();
    format!("{} {}", comp.ty(), run(&comp, Some(&sample(&ty(argument)))))
}

#[track_caller]
fn check_upcast(op: BinaryOp, argument: &str) -> String {
    let comp = generic::binary_operator_with_upcast(op, &ty(argument)).unwrap();
    format!("{} {}", comp.ty(), run(&comp, Some(&sample(&ty(argument)))))
}

#[test]
fn operators_run_for_each_dtype_they_take() {
    use BinaryOp as Op;
    let ops = [
        Op::Add,
        Op::Subtract,
        Op::Multiply,
        Op::Divide,
        Op::Minimum,
        Op::Maximum,
        Op::FloorMod,
        Op::LeftShift,
        Op::LessEqual,
    ];
    let mut table = String::new();
    for op in ops {
        table.push_str(&format!("{op:?}:"));
        for dtype in DType::ALL {
            let pair = Type::tuple([Type::scalar(dtype), Type::scalar(dtype)]).unwrap();
            let Ok(comp) = generic::binary_operator(op, &pair) else { continue };
            let argument = [7, 2].map(|number| Value::scalar(small(number, dtype)));
            table.push_str(&format!(" {dtype}:{}", run(&comp, Some(&Value::structure(argument)))));
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table, @"");
}

#[test]
fn structs_and_shapes() {
    insta::assert_snapshot!(check(BinaryOp::Add, "<<a=int32[3],b=<float32>>,<a=int32[3],b=<float32>>>"), @"");
    insta::assert_snapshot!(check(BinaryOp::Multiply, "<<a=int32[3],b=int32>,int32>"), @"");
    insta::assert_snapshot!(check(BinaryOp::Add, "<float32[?],float32>"), @"");
    insta::assert_snapshot!(check(BinaryOp::Add, "<int64[2,1],int64[3]>"), @"");
    insta::assert_snapshot!(check(BinaryOp::Divide, "<<a=int32,b=uint8>,<a=int32,b=uint8>>"), @"");
    insta::assert_snapshot!(check(BinaryOp::Add, "<<>,<>>"), @"");
}

#[test]
fn upcasts() {
    insta::assert_snapshot!(check_upcast(BinaryOp::Multiply, "<float32,int32>"), @"");
    insta::assert_snapshot!(check_upcast(BinaryOp::Divide, "<int32,int32>"), @"");
    insta::assert_snapshot!(check_upcast(BinaryOp::Multiply, "<<a=float32[2],b=<bfloat16,int8>>,float64>"), @"");
    insta::assert_snapshot!(check_upcast(BinaryOp::Divide, "<<float32[2,3],float64[3]>,int32[3]>"), @"");
    insta::assert_snapshot!(check_upcast(BinaryOp::Add, "<float32[?],float32[3]>"), @"");
}

#[test]
fn constants_of_each_dtype() {
    let mut table = String::new();
    let ty_of = |dtype| Type::structure([(Some("s"), Type::scalar(dtype)), (Some("v"), ty(&format!("{dtype}[3]")))]);
    for fill in [Fill::Zero, Fill::Lowest, Fill::Highest, Fill::Number(Scalar::Int64(3))] {
        table.push_str(&format!("{fill:?}:"));
        for dtype in DType::ALL {
            let Ok(comp) = generic::constant(&fill, &ty_of(dtype).unwrap()) else { continue };
            table.push_str(&format!(" {dtype}:{}", run(&comp, None)));
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table, @"");
}

#[test]
fn literals_and_broadcast_arrays() {
    for dtype in DType::ALL {
        let array = crate::sample_array(ty(&format!("{dtype}[2,3]")).as_tensor().unwrap());
        assert_eq!(run(&generic::literal(&array).unwrap(), None), crate::show_array(&array));
    }
    let row = Array::from_scalars(DType::Int32, [3], &[1, 2, 3].map(Scalar::Int32)).unwrap();
    let comp = generic::broadcast_constant(&row, &ty("<a=float32[2,3],b=int64[3]>")).unwrap();
    insta::assert_snapshot!(run(&comp, None), @"");
    let empty = Array::from_scalars(DType::Float32, [0, 2], &[]).unwrap();
    insta::assert_snapshot!(run(&generic::literal(&empty).unwrap(), None), @"");
    insta::assert_snapshot!(run(&generic::zero(&ty("<a=float32[0],b=<>>")).unwrap(), None), @"");
    insta::assert_snapshot!(run(&generic::zero(&ty("<>")).unwrap(), None), @"");
}

#[test]
fn identity_and_packing() {
    let argument = ty("<a=int32,b=<float32[2],str>,c=int32*,d=<>>");
    let value = sample(&argument);
    insta::assert_snapshot!(run(&generic::identity(&argument).unwrap(), Some(&value)), @"");
    insta::assert_snapshot!(run(&generic::identity(&ty("int32*")).unwrap(), Some(&sample(&ty("int32*")))), @"");
    let packing = Packing::Struct(vec![
        (Some("x".into()), Packing::Part(vec![1, 0])),
        (None, Packing::Struct(vec![(None, Packing::Part(vec![2])), (None, Packing::Part(vec![0]))])),
        (None, Packing::Part(vec![0])),
        (None, Packing::Part(vec![1])),
    ]);
    let comp = generic::pack(&argument, &packing).unwrap();
    insta::assert_snapshot!(format!("{} {}", comp.ty(), run(&comp, Some(&value))), @"");
}

#[test]
fn assertions_let_pass_or_fail() {
    let comp = build(&ty("<int32[3],int32>"), |graph, argument| {
        let [value, limit] = [argument.element(0)?, argument.element(1)?];
        let holds = graph.binary(BinaryOp::LessEqual, &value, &limit)?;
        graph.assert(&holds, "client value larger than maximum", &value)
    });
    let with_limit = |limit| Value::structure([sample(&ty("int32[3]")), Value::scalar(Scalar::Int32(limit))]);
    insta::assert_snapshot!(run(&comp, Some(&with_limit(3))), @"");
    let error = try_run(&comp, Some(&with_limit(2))).unwrap_err();
    assert!(format!("{error:?}").contains("client value larger than maximum"), "{error:?}");
}
