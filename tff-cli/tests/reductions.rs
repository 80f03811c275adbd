//! What the bodies of intrinsics compute, also of no clients and at the limits.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

mod recorded;

use prost::Message;
use recorded::{executor, near, same};
use tff_compiler::BinaryOp;
use tff_compiler::graph::generic;
use tff_compiler::{CompileOptions, compile_to_native, hlo};
use tff_exec::{Clients, Executor, Value};
use tff_ir::text::{Environment, parse};
use tff_ir::{Array, Comp, Scalar};
use tff_types::{DType, Type};

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
    let mut options = CompileOptions::default();
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

/// The value of a function of this parameter for each argument. In it `comp#square` multiplies two values of type `ty` in
/// one leaf, and nothing is of the other one.
fn in_leaf(executor: &Executor, is_xla: bool, text: &str, ty: &str, arguments: &[Value]) -> Vec<Value> {
    let pair: Type = format!("<{ty},{ty}>").parse().unwrap();
    let square = match is_xla {
        true => hlo::binary_operator(BinaryOp::Multiply, &pair).unwrap(),
        false => generic::binary_operator(BinaryOp::Multiply, &pair).unwrap(),
    };
    let mut environment = Environment::default();
    environment.bodies.insert_comp("square", square.to_proto().unwrap().encode_to_vec().into());
    let comp = parse(text, &environment).unwrap().comp;
    let mut options = CompileOptions::default();
    options.insecure_aggregation = true;
    let compiled = compile_to_native(&comp, &options).unwrap().comp;
    let other = if is_xla { "tensorflow" } else { "xla" };
    assert!(compiled.preorder().map(Comp::kind_name).all(|kind| kind != other), "{compiled}");
    let program = executor.prepare(&compiled).unwrap();
    arguments.iter().map(|argument| program.call(Some(argument.clone()), None).unwrap()).collect()
}

/// Numbers of a dtype: the positive ones of an integer, those around zero of others.
fn array(dtype: DType, n_elements: u64, start: i8) -> Value {
    let scalar = |number: i8| match dtype {
        DType::Int8 => Scalar::Int8(number),
        DType::Int32 => Scalar::Int32(number.into()),
        DType::UInt64 => Scalar::UInt64(number.unsigned_abs().into()),
        DType::Float16 => Scalar::Float16(number.into()),
        DType::BFloat16 => Scalar::BFloat16(number.into()),
        DType::Float32 => Scalar::Float32(f32::from(number) / 3.0),
        DType::Float64 => Scalar::Float64(f64::from(number) / 3.0),
        DType::Complex64 => Scalar::Complex64(number.into(), 0.5),
        other => panic!("no numbers of {other}"),
    };
    let scalars: Vec<_> = (0..n_elements).map(|index| scalar(start + 3 * index as i8)).collect();
    let dims = if n_elements == 1 { vec![] } else { vec![n_elements] };
    Value::array(Array::from_scalars(dtype, dims, &scalars).unwrap())
}

#[test]
fn values_of_xla_are_aggregated_in_xla_as_those_of_tensorflow_in_tensorflow() {
    let executor = executor();
    let numbers = [DType::Int8, DType::Int32, DType::UInt64];
    let floats = [DType::Float16, DType::BFloat16, DType::Float32, DType::Float64];
    for dtype in numbers.into_iter().chain(floats).chain([DType::Complex64]) {
        let ty = format!("<a={dtype}[2],b=<{dtype}>>");
        let arguments = [0, 1, 7].map(|n_clients| {
            let member = |client| {
                let value =
                    Value::structure([array(dtype, 2, client - 2), Value::structure([array(dtype, 1, client)])]);
                pair(value, int(i32::from(client)))
            };
            clients((0..n_clients).map(member))
        });
        let mut calls = vec!["%federated_sum(v)", "%federated_map(<(x:T -> %generic_plus(<x,x>)),v>)"];
        if !dtype.is_complex() {
            calls.extend(["%federated_min(v)", "%federated_max(v)"]);
        }
        if dtype.is_integer() {
            calls.push("%federated_secure_modular_sum(<v,lit int32 7>)");
            calls.push(
                "%federated_apply(<(x:T -> %generic_divide:(<T,T> -> <a=Q[2],b=<Q>>)(<x,x>)),%federated_sum(v)>)",
            );
        } else if dtype != DType::BFloat16 {
            calls.extend(["%federated_mean(v)", "%federated_weighted_mean(<v,w>)"]);
        }
        let quotient = if dtype == DType::Int8 { "float32" } else { "float64" };
        let result = calls.join(",");
        let text = format!(
            "(c:{{<T,int32>}}@CLIENTS -> (let v=%federated_map(<(x:<T,int32> -> comp#square(<x[0],x[0]>)),c>),\
             w=%federated_map(<(x:<T,int32> -> x[1]),c>) in <{result}>))"
        );
        let text = text.replace("Q", quotient).replace("<T,", &format!("<{ty},")).replace("x:T", &format!("x:{ty}"));
        let text = text.replace(",T>", &format!(",{ty}>"));
        let [by_xla, by_tensorflow] = [true, false].map(|is_xla| in_leaf(&executor, is_xla, &text, &ty, &arguments));
        for (by_xla, by_tensorflow) in by_xla.iter().zip(&by_tensorflow) {
            let is_same = if dtype.is_integer() { same } else { near };
            assert!(is_same(by_xla, by_tensorflow), "{ty}: {by_xla:?} {by_tensorflow:?}");
        }
    }
}

#[test]
fn a_sequence_is_summed_in_either_leaf() {
    let executor = executor();
    let elements: Vec<_> = (1..4).map(|start| array(DType::Float32, 2, start)).collect();
    let sequence = tff_exec::Sequence::from_elements("float32[2]".parse().unwrap(), elements);
    let text = "(s:float32[2]* -> (let sum=%sequence_sum(s) in <sum,comp#square(<sum,sum>)>))";
    let arguments = [Value::Sequence(sequence)];
    let [by_xla, by_tensorflow] =
        [true, false].map(|is_xla| in_leaf(&executor, is_xla, text, "float32[2]", &arguments));
    assert!(same(&by_xla[0], &by_tensorflow[0]));
}

#[test]
fn values_of_both_leaves_meet_in_one_computation() {
    let pair_ty: Type = "<float32,float32>".parse().unwrap();
    let mut environment = Environment::default();
    let bodies = [
        ("xla", hlo::binary_operator(BinaryOp::Multiply, &pair_ty).unwrap()),
        ("tf", generic::binary_operator(BinaryOp::Multiply, &pair_ty).unwrap()),
    ];
    for (label, comp) in bodies {
        environment.bodies.insert_comp(label, comp.to_proto().unwrap().encode_to_vec().into());
    }
    let text = "(v:{float32}@CLIENTS -> (let xs=%federated_map(<(x:float32 -> comp#xla(<x,x>)),v>),\
                ts=%federated_map(<(x:float32 -> comp#tf(<x,x>)),v>) in \
                <%federated_mean(xs),%federated_mean(ts),%generic_plus(<%federated_sum(xs),%federated_sum(ts)>)>))";
    let compiled =
        compile_to_native(&parse(text, &environment).unwrap().comp, &CompileOptions::default()).unwrap().comp;
    let program = executor().prepare(&compiled).unwrap();
    let result = program.call(Some(clients([1.0, 2.0, 4.0].map(float))), None).unwrap();
    assert_eq!(numbers(&result), "<7.0,7.0,42.0>");
}
