//! Values from and to Rust's types, and as text.
#![allow(clippy::unwrap_used, reason = "a test that cannot read its input must stop")]

use tff_exec::{Clients, Sequence, Value};
use tff_ir::{Array, Scalar};
use tff_types::DType;

fn matrix() -> Value {
    let scalars: Vec<Scalar> = (0..4).map(|index| Scalar::Float32(index as f32 / 2.0)).collect();
    Value::array(Array::from_scalars(DType::Float32, [2, 2], &scalars).unwrap())
}

#[test]
fn scalars_come_and_go_as_the_same_type_only() {
    assert_eq!(f32::try_from(&Value::from(1.5_f32)).unwrap(), 1.5);
    assert!(bool::try_from(&Value::from(true)).unwrap());
    assert_eq!(String::try_from(&Value::from("text")).unwrap(), "text");
    assert_eq!(Vec::<f32>::try_from(&matrix()).unwrap(), [0.0, 0.5, 1.0, 1.5]);
    let error = |refused: Result<f32, tff_exec::ExecError>| refused.unwrap_err().to_string();
    assert_eq!(error(f32::try_from(&Value::from(1_i32))), "expected float32, found int32");
    assert_eq!(error(f32::try_from(&matrix())), "expected float32, found float32[2,2]");
    assert_eq!(error(f32::try_from(&Value::structure([]))), "expected float32, found a struct of 0 elements");
    let error = Vec::<i64>::try_from(&matrix()).unwrap_err();
    assert_eq!(error.to_string(), "expected a tensor of int64, found float32[2,2]");
    let bytes = Value::scalar(Scalar::String(vec![0xff].into()));
    assert!(String::try_from(&bytes).is_err());
}

#[test]
fn parts_are_found_by_position() {
    let value = Value::structure([Value::at_server(1_i32.into()), Value::at_clients([Value::from(2_i32)])]);
    assert_eq!(value.element(0).and_then(Value::as_server).and_then(Value::as_scalar), Some(Scalar::Int32(1)));
    let members = value.element(1).and_then(Value::as_clients).and_then(|clients| clients.get(0));
    assert_eq!(members.and_then(Value::as_scalar), Some(Scalar::Int32(2)));
    assert!(value.element(2).is_none() && value.as_tensor().is_none() && matrix().as_scalar().is_none());
}

#[test]
fn text_is_one_line_and_short() {
    let sequence = Sequence::from_elements("int32".parse().unwrap(), vec![Value::from(1_i32), Value::from(2_i32)]);
    let value = Value::structure([
        matrix(),
        Value::from("a\n\"b\""),
        Value::Sequence(sequence),
        Value::at_server(Value::scalar(Scalar::Complex64(1.0, -2.0))),
        Value::at_clients([Value::from(true), Value::from(false)]),
        Value::Clients(Clients::AllEqual(Value::from(7_u8).into())),
        Value::Placement(tff_types::Placement::Clients),
    ]);
    let expected =
        r#"<[[0.0,0.5],[1.0,1.5]],"a\n\"b\"",[1,2],1.0+-2.0i@SERVER,{true,false}@CLIENTS,7@CLIENTS,CLIENTS>"#;
    assert_eq!(value.to_string(), expected);
    let long = Value::structure(std::iter::repeat_n(value, 1_000_000));
    assert_eq!(long.to_string().chars().count(), 1000);
    let empty = Value::array(Array::dense(DType::Int8, [u64::MAX, 0], Vec::new().into()).unwrap());
    assert_eq!(empty.to_string().chars().count(), 1000);
}

#[test]
fn an_error_tells_the_path_to_what_is_wrong() {
    let ty = "<a=int32,b={<x=int32,int32>}@CLIENTS>".parse().unwrap();
    let member = |x: Value| Value::structure([x, Value::from(2_i32)]);
    let argument = Value::structure([
        Value::from(1_i32),
        Value::at_clients([member(Value::from(3_i32)), member(Value::from(1.5_f32))]),
    ]);
    let comp = tff_ir::Comp::reference("x", ty).unwrap();
    let comp = tff_ir::Comp::lambda(Some(("x", comp.ty().clone())), comp).unwrap();
    let program = tff_exec::Executor::new(tff_exec::Options::default()).prepare(&comp).unwrap();
    let error = program.call(Some(argument), None).unwrap_err();
    assert_eq!(error.to_string(), "argument: .b[1].x: expected int32, found float32");
    assert_eq!(error.path().to_string(), ".b[1].x");
    assert!(program.call(None, None).unwrap_err().path().steps().is_empty());
}
