//! What the bodies of intrinsics compute, also of no clients and at the limits.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

mod recorded;

use recorded::executor;
use tff_compiler::{Options, compile_to_native};
use tff_exec::{Clients, Value};
use tff_ir::text::{Environment, parse};
use tff_ir::{Array, Scalar};
use tff_types::DType;

fn int(number: i32) -> Value {
    Value::scalar(Scalar::Int32(number))
}

fn float(number: f32) -> Value {
    Value::scalar(Scalar::Float32(number))
}

fn ints(numbers: &[i32]) -> Value {
    let scalars: Vec<_> = numbers.iter().map(|&it| Scalar::Int32(it)).collect();
    Value::array(Array::from_scalars(DType::Int32, [numbers.len() as u64], &scalars).unwrap())
}

fn clients(members: impl IntoIterator<Item = Value>) -> Value {
    Value::at_clients(members)
}

fn pair(left: Value, right: Value) -> Value {
    Value::structure([left, right])
}

/// The numbers of a value, in order.
fn numbers(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => {
            let scalars = tensor.array().scalars().map(|scalar| match scalar {
                Scalar::Int32(it) => it.to_string(),
                Scalar::Float32(it) => format!("{it:?}"),
                other => format!("{other:?}"),
            });
            let scalars: Vec<_> = scalars.collect();
            if tensor.array().dims().is_empty() { scalars.concat() } else { format!("[{}]", scalars.join(" ")) }
        }
        Value::Struct(elements) => format!("<{}>", elements.iter().map(numbers).collect::<Vec<_>>().join(",")),
        Value::Server(member) => numbers(member),
        Value::Clients(Clients::AllEqual(member)) => numbers(member),
        Value::Clients(Clients::Each(members)) => {
            format!("{{{}}}", members.iter().map(numbers).collect::<Vec<_>>().join(","))
        }
        other => format!("{other:?}"),
    }
}

/// Compiles a function of one argument without security and runs it; the numbers, or what is wrong.
#[track_caller]
fn run(text: &str, argument: Value) -> String {
    let mut options = Options::default();
    options.insecure_aggregation = true;
    let comp = parse(text, &Environment::default()).unwrap().comp;
    let compiled = compile_to_native(&comp, &options).unwrap().comp;
    let result = executor().prepare(&compiled).unwrap().call(Some(argument), None);
    result.map_or_else(|error| error.to_string(), |value| numbers(&value))
}

fn of(uri: &str, ty: &str, argument: Value) -> String {
    run(&format!("(v:{ty} -> %{uri}(v))"), argument)
}

#[test]
fn sums_and_means() {
    let sum = |members: &[i32]| of("federated_sum", "{int32}@CLIENTS", clients(members.iter().map(|&it| int(it))));
    assert_eq!(sum(&[1, 2, 4]), "7");
    assert_eq!(sum(&[]), "0");
    assert_eq!(sum(&[i32::MAX, 1]), i32::MIN.to_string());
    let mean =
        |members: &[f32]| of("federated_mean", "{float32}@CLIENTS", clients(members.iter().map(|&it| float(it))));
    assert_eq!(mean(&[1.0, 2.0]), "1.5");
    assert_eq!(mean(&[]), "NaN");
    let weighted = |values: &[f32], weights: &[i32]| {
        let values = clients(values.iter().map(|&it| pair(float(it), float(-it))));
        let weights = clients(weights.iter().map(|&it| int(it)));
        of("federated_weighted_mean", "<{<float32,float32>}@CLIENTS,{int32}@CLIENTS>", pair(values, weights))
    };
    assert_eq!(weighted(&[1.0, 4.0], &[2, 1]), "<2.0,-2.0>");
    assert_eq!(weighted(&[1.0], &[0]), "<NaN,NaN>");
}

#[test]
fn extremes() {
    let check = |uri: &str, members: &[i32]| of(uri, "{int32}@CLIENTS", clients(members.iter().map(|&it| int(it))));
    assert_eq!(check("federated_min", &[3, -1, 2]), "-1");
    assert_eq!(check("federated_max", &[-3, -1, -2]), "-1");
    assert_eq!(check("federated_min", &[]), i32::MAX.to_string());
    assert_eq!(check("federated_max", &[]), i32::MIN.to_string());
    let floats = |uri: &str| of(uri, "{float32}@CLIENTS", clients([]));
    assert_eq!(floats("federated_min"), "3.4028235e38");
    assert_eq!(floats("federated_max"), "-3.4028235e38");
}

#[test]
fn generic_operators() {
    let ty = "<a=int32,b=int32>";
    let arguments = || pair(pair(int(6), int(7)), pair(int(3), int(2)));
    assert_eq!(run(&format!("(v:<{ty},{ty}> -> %generic_plus(v))"), arguments()), "<9,9>");
    assert_eq!(run(&format!("(v:<{ty},{ty}> -> %generic_multiply(v))"), arguments()), "<18,14>");
    let divide = "(v:<int32,int32> -> %generic_divide:(<int32,int32> -> float64)(v))";
    assert_eq!(run(divide, pair(int(1), int(2))), "Float64(0.5)");
    let placed = "(v:<<int32@SERVER,{int32}@CLIENTS>,<int32@SERVER,{int32}@CLIENTS>> -> %generic_plus(v))";
    let side = |server, members: [i32; 2]| pair(Value::at_server(int(server)), clients(members.map(int)));
    assert_eq!(run(placed, pair(side(1, [1, 2]), side(10, [10, 20]))), "<11,{11,22}>");
    assert_eq!(run("(v:int32 -> <v,%generic_zero:<float32,int32[2]>>)", int(5)), "<5,<0.0,[0 0]>>");
}

#[test]
fn insecure_aggregations() {
    let values = |members: &[i32]| clients(members.iter().map(|&it| int(it)));
    let with = |uri: &str, members: &[i32], parameter: i32| {
        of(uri, "<{int32}@CLIENTS,int32>", pair(values(members), int(parameter)))
    };
    assert_eq!(with("federated_secure_sum", &[5, 7], 7), "12");
    assert_eq!(with("federated_secure_sum", &[], 7), "0");
    let refused = with("federated_secure_sum", &[5, 8], 7);
    assert!(refused.contains("client value larger than maximum specified for secure sum"), "{refused}");
    assert_eq!(with("federated_secure_sum_bitwidth", &[15, 1], 4), "16");
    let refused = with("federated_secure_sum_bitwidth", &[16], 4);
    assert!(refused.contains("client value larger than maximum specified for secure sum"), "{refused}");
    let refused = with("federated_secure_sum_bitwidth", &[1], 63);
    assert!(refused.contains("bitwidth larger than 62"), "{refused}");
    assert_eq!(with("federated_secure_modular_sum", &[5, 6], 7), "4");
    assert_eq!(with("federated_secure_modular_sum", &[-5, -6], 7), "3");

    let vectors = |maximum: [i32; 2]| {
        let members = clients([pair(int(1), ints(&[2, 3])), pair(int(4), ints(&[5, 6]))]);
        let ty = "<{<int32,int32[2]>}@CLIENTS,<int32,int32>>";
        of("federated_secure_sum", ty, pair(members, pair(int(maximum[0]), int(maximum[1]))))
    };
    assert_eq!(vectors([4, 6]), "<5,[7 9]>");
    assert!(vectors([4, 5]).contains("client value larger"));
    assert!(vectors([3, 6]).contains("client value larger"));
}
