//! Constants, operators, identity and packing, for every dtype.

use crate::{build, run, sample, small, try_run, ty};
use tff_compiler::graph::GraphBuilder;
use tff_compiler::graph::generic::{self, Packing};
use tff_compiler::{BinaryOp, Fill};
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
    insta::assert_snapshot!(table, @"
    Add: float32:9.0 float64:9.0 int32:9 uint8:9 int16:9 int8:9 complex64:9.0+2.0i int64:9 bfloat16:9.0 uint16:9 complex128:9.0+2.0i float16:9.0 uint32:9 uint64:9
    Subtract: float32:5.0 float64:5.0 int32:5 uint8:5 int16:5 int8:5 complex64:5.0+0.0i int64:5 bfloat16:5.0 uint16:5 complex128:5.0+0.0i float16:5.0 uint32:5 uint64:5
    Multiply: float32:14.0 float64:14.0 int32:14 uint8:14 int16:14 int8:14 complex64:13.0+9.0i int64:14 bfloat16:14.0 uint16:14 complex128:13.0+9.0i float16:14.0 uint32:14 uint64:14
    Divide: float32:3.5 float64:3.5 int32:3.5 uint8:3.5 int16:3.5 int8:3.5 complex64:3.0+-1.0i int64:3.5 bfloat16:3.5 uint16:3.5 complex128:3.0+-1.0i float16:3.5 uint32:3.5 uint64:3.5
    Minimum: float32:2.0 float64:2.0 int32:2 uint8:2 int16:2 int8:2 int64:2 bfloat16:2.0 uint16:2 float16:2.0 uint32:2 uint64:2
    Maximum: float32:7.0 float64:7.0 int32:7 uint8:7 int16:7 int8:7 int64:7 bfloat16:7.0 uint16:7 float16:7.0 uint32:7 uint64:7
    FloorMod: float32:1.0 float64:1.0 int32:1 uint8:1 int16:1 int8:1 int64:1 bfloat16:1.0 uint16:1 float16:1.0 uint32:1 uint64:1
    LeftShift: int32:28 uint8:28 int16:28 int8:28 int64:28 uint16:28 uint32:28 uint64:28
    LessEqual: float32:false float64:false int32:false uint8:false int16:false int8:false int64:false bfloat16:false uint16:false float16:false uint32:false uint64:false
    ");
}

#[test]
fn structs_and_shapes() {
    insta::assert_snapshot!(check(BinaryOp::Add, "<<a=int32[3],b=<float32>>,<a=int32[3],b=<float32>>>"), @"(<<a=int32[3],b=<float32>>,<a=int32[3],b=<float32>>> -> <a=int32[3],b=<float32>>) <[3]{2 4 6},<2.0>>");
    insta::assert_snapshot!(check(BinaryOp::Multiply, "<<a=int32[3],b=int32>,int32>"), @"(<<a=int32[3],b=int32>,int32> -> <a=int32[3],b=int32>) <[3]{1 2 3},1>");
    insta::assert_snapshot!(check(BinaryOp::Add, "<float32[?],float32>"), @"(<float32[?],float32> -> float32[?]) [2]{2.0 3.0}");
    insta::assert_snapshot!(check(BinaryOp::Add, "<int64[2,1],int64[3]>"), @"(<int64[2,1],int64[3]> -> int64[2,3]) [2,3]{2 3 4 3 4 5}");
    insta::assert_snapshot!(check(BinaryOp::Divide, "<<a=int32,b=uint8>,<a=int32,b=uint8>>"), @"(<<a=int32,b=uint8>,<a=int32,b=uint8>> -> <a=float64,b=float32>) <1.0,1.0>");
    insta::assert_snapshot!(check(BinaryOp::Add, "<<>,<>>"), @"(<<>,<>> -> <>) <>");
}

#[test]
fn upcasts() {
    insta::assert_snapshot!(check_upcast(BinaryOp::Multiply, "<float32,int32>"), @"(<float32,int32> -> float32) 1.0");
    insta::assert_snapshot!(check_upcast(BinaryOp::Divide, "<int32,int32>"), @"(<int32,int32> -> float64) 1.0");
    insta::assert_snapshot!(check_upcast(BinaryOp::Multiply, "<<a=float32[2],b=<bfloat16,int8>>,float64>"), @"(<<a=float32[2],b=<bfloat16,int8>>,float64> -> <a=float32[2],b=<bfloat16,int8>>) <[2]{1.0 2.0},<1.0,1>>");
    insta::assert_snapshot!(check_upcast(BinaryOp::Divide, "<<float32[2,3],float64[3]>,int32[3]>"), @"(<<float32[2,3],float64[3]>,int32[3]> -> <float32[2,3],float64[3]>) <[2,3]{1.0 1.0 1.0 4.0 2.5 0.33333334},[3]{1.0 1.0 1.0}>");
    insta::assert_snapshot!(check_upcast(BinaryOp::Add, "<float32[?],float32[2]>"), @"(<float32[?],float32[2]> -> float32[2]) [2]{2.0 4.0}");
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
    insta::assert_snapshot!(table, @"
    Zero: float32:<0.0,[3]{0.0 0.0 0.0}> float64:<0.0,[3]{0.0 0.0 0.0}> int32:<0,[3]{0 0 0}> uint8:<0,[3]{0 0 0}> int16:<0,[3]{0 0 0}> int8:<0,[3]{0 0 0}> complex64:<0.0+0.0i,[3]{0.0+0.0i 0.0+0.0i 0.0+0.0i}> int64:<0,[3]{0 0 0}> bool:<false,[3]{false false false}> bfloat16:<0.0,[3]{0.0 0.0 0.0}> uint16:<0,[3]{0 0 0}> complex128:<0.0+0.0i,[3]{0.0+0.0i 0.0+0.0i 0.0+0.0i}> float16:<0.0,[3]{0.0 0.0 0.0}> uint32:<0,[3]{0 0 0}> uint64:<0,[3]{0 0 0}>
    Lowest: float32:<-3.4028235e38,[3]{-3.4028235e38 -3.4028235e38 -3.4028235e38}> float64:<-1.7976931348623157e308,[3]{-1.7976931348623157e308 -1.7976931348623157e308 -1.7976931348623157e308}> int32:<-2147483648,[3]{-2147483648 -2147483648 -2147483648}> uint8:<0,[3]{0 0 0}> int16:<-32768,[3]{-32768 -32768 -32768}> int8:<-128,[3]{-128 -128 -128}> int64:<-9223372036854775808,[3]{-9223372036854775808 -9223372036854775808 -9223372036854775808}> bfloat16:<-3.3895314e38,[3]{-3.3895314e38 -3.3895314e38 -3.3895314e38}> uint16:<0,[3]{0 0 0}> float16:<-65504.0,[3]{-65504.0 -65504.0 -65504.0}> uint32:<0,[3]{0 0 0}> uint64:<0,[3]{0 0 0}>
    Highest: float32:<3.4028235e38,[3]{3.4028235e38 3.4028235e38 3.4028235e38}> float64:<1.7976931348623157e308,[3]{1.7976931348623157e308 1.7976931348623157e308 1.7976931348623157e308}> int32:<2147483647,[3]{2147483647 2147483647 2147483647}> uint8:<255,[3]{255 255 255}> int16:<32767,[3]{32767 32767 32767}> int8:<127,[3]{127 127 127}> int64:<9223372036854775807,[3]{9223372036854775807 9223372036854775807 9223372036854775807}> bfloat16:<3.3895314e38,[3]{3.3895314e38 3.3895314e38 3.3895314e38}> uint16:<65535,[3]{65535 65535 65535}> float16:<65504.0,[3]{65504.0 65504.0 65504.0}> uint32:<4294967295,[3]{4294967295 4294967295 4294967295}> uint64:<18446744073709551615,[3]{18446744073709551615 18446744073709551615 18446744073709551615}>
    Number(Int64(3)): float32:<3.0,[3]{3.0 3.0 3.0}> float64:<3.0,[3]{3.0 3.0 3.0}> int32:<3,[3]{3 3 3}> uint8:<3,[3]{3 3 3}> int16:<3,[3]{3 3 3}> int8:<3,[3]{3 3 3}> complex64:<3.0+0.0i,[3]{3.0+0.0i 3.0+0.0i 3.0+0.0i}> int64:<3,[3]{3 3 3}> bfloat16:<3.0,[3]{3.0 3.0 3.0}> uint16:<3,[3]{3 3 3}> complex128:<3.0+0.0i,[3]{3.0+0.0i 3.0+0.0i 3.0+0.0i}> float16:<3.0,[3]{3.0 3.0 3.0}> uint32:<3,[3]{3 3 3}> uint64:<3,[3]{3 3 3}>
    ");
}

#[test]
fn literals() {
    let literal = |array: &Array| {
        let mut graph = GraphBuilder::new();
        let constant = graph.constant(array).unwrap();
        graph.finish(&constant).unwrap()
    };
    for dtype in DType::ALL {
        let array = crate::sample_array(ty(&format!("{dtype}[2,3]")).as_tensor().unwrap());
        assert_eq!(run(&literal(&array), None), crate::show_array(&array));
    }
    let empty = Array::from_scalars(DType::Float32, [0, 2], &[]).unwrap();
    insta::assert_snapshot!(run(&literal(&empty), None), @"[0,2]{}");
    insta::assert_snapshot!(run(&generic::zero(&ty("<a=float32[0],b=<>>")).unwrap(), None), @"<[0]{},<>>");
    insta::assert_snapshot!(run(&generic::zero(&ty("<>")).unwrap(), None), @"<>");
}

#[test]
fn identity_and_packing() {
    let argument = ty("<a=int32,b=<float32[2],str>,c=int32*,d=<>>");
    let value = sample(&argument);
    insta::assert_snapshot!(run(&generic::identity(&argument).unwrap(), Some(&value)), @r#"<1,<[2]{1.0 2.0},"s1">,(1,1,1),<>>"#);
    insta::assert_snapshot!(run(&generic::identity(&ty("int32*")).unwrap(), Some(&sample(&ty("int32*")))), @"(1,1,1)");
    let packing = Packing::Struct(vec![
        (Some("x".into()), Packing::Part(vec![1, 0])),
        (None, Packing::Struct(vec![(None, Packing::Part(vec![2])), (None, Packing::Part(vec![0]))])),
        (None, Packing::Part(vec![0])),
        (None, Packing::Part(vec![1])),
    ]);
    let comp = generic::pack(&argument, &packing).unwrap();
    insta::assert_snapshot!(format!("{} {}", comp.ty(), run(&comp, Some(&value))), @r#"(<a=int32,b=<float32[2],str>,c=int32*,d=<>> -> <x=float32[2],<int32*,int32>,int32,<float32[2],str>>) <[2]{1.0 2.0},<(1,1,1),1>,1,<[2]{1.0 2.0},"s1">>"#);
}

#[test]
fn assertions_let_pass_or_fail() {
    let comp = build(&ty("<int32[3],int32>"), |graph, argument| {
        let [value, limit] = [argument.element(0)?, argument.element(1)?];
        let holds = graph.binary(BinaryOp::LessEqual, &value, &limit)?;
        graph.assert(&holds, "client value larger than maximum", &value)
    });
    let with_limit = |limit| Value::structure([sample(&ty("int32[3]")), Value::scalar(Scalar::Int32(limit))]);
    insta::assert_snapshot!(run(&comp, Some(&with_limit(3))), @"[3]{1 2 3}");
    let error = try_run(&comp, Some(&with_limit(2))).unwrap_err();
    assert!(format!("{error:?}").contains("client value larger than maximum"), "{error:?}");
}
