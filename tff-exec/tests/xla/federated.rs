//! Computations in XLA as parts of others: in blocks and lambdas, under intrinsics, beside TensorFlow.

use crate::hlo;
use crate::support::*;
use bytes::Bytes;
use prost::Message;
use std::collections::BTreeMap;
use std::sync::Arc;
use tff_exec::Value;
use tff_ir::{Array, Comp, CompiledComputation, Opaque, Scalar, TensorFlow, TensorFlowBinding};
use tff_proto::tensorflow::attr_value::Value as Attr;
use tff_proto::tensorflow::{AttrValue, DataType, GraphDef, NodeDef, VersionDef};
use tff_proto::xla::PrimitiveType;
use tff_types::{DType, Shape, Type};

fn int32() -> Type {
    Type::scalar(DType::Int32)
}

fn reference(name: &str, ty: Type) -> Comp {
    Comp::reference(name, ty).unwrap()
}

/// A call of an intrinsic with a struct of arguments.
fn intrinsic(uri: &str, arguments: impl IntoIterator<Item = Comp>, result: Type) -> Comp {
    let argument = Comp::tuple(arguments).unwrap();
    let ty = Type::function(Some(argument.ty().clone()), result).unwrap();
    Comp::call(Comp::intrinsic(uri, ty).unwrap(), Some(argument)).unwrap()
}

/// `(<int32,int32> -> int32)`, the sum.
fn add(compiled: CompiledComputation) -> Comp {
    let pair = Type::tuple([int32(), int32()]).unwrap();
    Comp::compiled(compiled, Type::function(Some(pair), int32()).unwrap()).unwrap()
}

fn xla_add() -> Comp {
    add(CompiledComputation::Xla(xla(&computation("add_i32")).0))
}

fn tensorflow_add() -> Comp {
    let node = |name: &str, op: &str, input: &[&str], attr: &str| NodeDef {
        name: name.to_owned(),
        op: op.to_owned(),
        input: input.iter().map(|&input| input.to_owned()).collect(),
        attr: BTreeMap::from([(attr.to_owned(), AttrValue { value: Some(Attr::Type(DataType::DtInt32.into())) })]),
        ..NodeDef::default()
    };
    let node = vec![
        node("x", "Placeholder", &[], "dtype"),
        node("y", "Placeholder", &[], "dtype"),
        node("sum", "AddV2", &["x", "y"], "T"),
    ];
    let versions = Some(VersionDef { producer: 1575, min_consumer: 12, ..VersionDef::default() });
    let graph = GraphDef { node, versions, ..GraphDef::default() };
    let tensor = |name: &str| TensorFlowBinding::Tensor(name.into());
    let compiled = TensorFlow {
        graph: Opaque {
            type_url: "type.googleapis.com/tensorflow.GraphDef".into(),
            value: Bytes::from(graph.encode_to_vec()),
        },
        parameter: Some(TensorFlowBinding::Struct(vec![tensor("x:0"), tensor("y:0")])),
        result: tensor("sum:0"),
        initialize_op: "".into(),
        session_token: "".into(),
        cache_key: None,
        layout_map: None,
    };
    add(CompiledComputation::TensorFlow(Arc::new(compiled)))
}

/// `({int32}@CLIENTS -> int32@SERVER)`, the sum, by these functions.
fn sum(accumulate: Comp, merge: Comp) -> Comp {
    let values = Type::at_clients(int32()).unwrap();
    let report = Comp::lambda(Some(("total", int32())), reference("total", int32())).unwrap();
    let zero = Comp::literal(Array::from_scalar(Scalar::Int32(0)));
    let arguments = [reference("values", values.clone()), zero, accumulate, merge, report];
    let sum = intrinsic("federated_aggregate", arguments, Type::at_server(int32()).unwrap());
    Comp::lambda(Some(("values", values)), sum).unwrap()
}

fn server_int(value: &Value) -> Option<Scalar> {
    match value {
        Value::Server(member) => arrays(member)[0].get(0),
        other => panic!("not at the server: {other:?}"),
    }
}

#[test]
fn sum_of_every_number_of_clients() {
    // Two functions of XLA, then one of each leaf.
    for (accumulate, merge) in [(xla_add(), xla_add()), (xla_add(), tensorflow_add()), (tensorflow_add(), xla_add())] {
        let program = executor().prepare(&sum(accumulate, merge)).unwrap();
        for n_clients in [0, 1, 2, 100] {
            let total = program.call(Some(Value::at_clients((0..n_clients).map(int))), None).unwrap();
            assert_eq!(server_int(&total), Some(Scalar::Int32((0..n_clients).sum())));
        }
    }
}

/// What XLA makes of the values of each client, TensorFlow takes, and the other way round.
#[test]
fn values_go_from_one_leaf_to_the_other() {
    let values = Type::at_clients(int32()).unwrap();
    // (value -> (let doubled=xla(<value,value>), again=tensorflow(<doubled,value>) in xla(<again,doubled>)))
    let pair = |a: &str, b: &str| Comp::tuple([reference(a, int32()), reference(b, int32())]).unwrap();
    let call = |function: Comp, a: &str, b: &str| Comp::call(function, Some(pair(a, b))).unwrap();
    let locals =
        [("doubled", call(xla_add(), "value", "value")), ("again", call(tensorflow_add(), "doubled", "value"))];
    let block = Comp::block(locals, call(xla_add(), "again", "doubled")).unwrap();
    let five_times = Comp::lambda(Some(("value", int32())), block).unwrap();
    let mapped = intrinsic("federated_map", [five_times, reference("values", values.clone())], values.clone());
    let total = sum(xla_add(), tensorflow_add());
    let total = Comp::lambda(Some(("values", values)), Comp::call(total, Some(mapped)).unwrap()).unwrap();
    let program = executor().prepare(&total).unwrap();
    for n_clients in [0, 1, 100] {
        let result = program.call(Some(Value::at_clients((0..n_clients).map(int))), None).unwrap();
        assert_eq!(server_int(&result), Some(Scalar::Int32(5 * (0..n_clients).sum::<i32>())));
    }
}

/// Local training: the same model for all clients, other data for each, and what one round gives is
/// what the next one begins with.
#[test]
fn broadcast_models_train_at_every_client() {
    let sgd = computation("sgd");
    let ty = sgd.ty().as_function().unwrap().clone();
    let recorded = recorded("sgd", &ty);
    let clients = Type::at_clients(ty.parameter.clone().unwrap()).unwrap();
    let results = Type::at_clients(ty.result.clone()).unwrap();
    let mapped = intrinsic("federated_map", [sgd, reference("data", clients.clone())], results);
    let program = executor().prepare(&Comp::lambda(Some(("data", clients)), mapped).unwrap()).unwrap();
    let all_equal = Value::at_clients_all_equal(recorded.argument.clone().unwrap());
    let Value::Clients(members) = program.call(Some(all_equal), Some(20)).unwrap() else { panic!("no clients") };
    for client_idx in 0..20 {
        assert_close("sgd", members.get(client_idx).unwrap(), &recorded.result);
    }
}

#[test]
fn errors_say_which_client() {
    let (xla, _) = xla(&computation("add_i32"));
    let cut = Opaque { value: xla.hlo_module.value.slice(..100), ..xla.hlo_module.clone() };
    let broken = add(CompiledComputation::Xla(Arc::new(tff_ir::Xla { hlo_module: cut, ..(*xla).clone() })));
    let map = |function: Comp| {
        let pairs = Type::at_clients(Type::tuple([int32(), int32()]).unwrap()).unwrap();
        let argument = [function, reference("pairs", pairs.clone())];
        let mapped = intrinsic("federated_map", argument, Type::at_clients(int32()).unwrap());
        let program = executor().prepare(&Comp::lambda(Some(("pairs", pairs)), mapped).unwrap()).unwrap();
        program.call(Some(Value::at_clients([Value::structure([int(1), int(2)])])), None)
    };
    insta::assert_snapshot!(
        map(broken).unwrap_err(),
        @"federated_map: client 0: XLA refuses the computation: xla.HloModuleProto is cut off at byte 100, inside a field: failed to decode Protobuf message: HloModuleProto.computations: buffer underflow"
    );
    let Value::Clients(members) = map(xla_add()).unwrap() else { panic!("no clients") };
    assert_eq!(arrays(members.get(0).unwrap()), arrays(&int(3)));
}

/// Native code is compiled and run on an ordinary stack, however deep the computation is in which it
/// is called.
#[test]
fn deep_computations() {
    // With whatever is left of the stack.
    for depth in (0..990).step_by(97) {
        // Another module each time, so that each is compiled.
        let module = hlo::double(PrimitiveType::S32, &[depth + 1]);
        let compiled = hlo::comp(&module, Some(hlo::tensor(0)), hlo::tensor(0));
        let ints = Type::tensor(DType::Int32, Shape::fixed([depth as u64 + 1]));
        let ty = Type::function(Some(ints.clone()), ints.clone()).unwrap();
        let double = Comp::compiled(CompiledComputation::Xla(Arc::new(compiled)), ty).unwrap();
        let mut result = Comp::call(double, Some(reference("x", ints.clone()))).unwrap();
        for _ in 0..depth {
            result = Comp::block([("x", reference("x", ints.clone()))], result).unwrap();
        }
        let program = executor().prepare(&Comp::lambda(Some(("x", ints)), result).unwrap()).unwrap();
        let argument =
            Array::dense(DType::Int32, [depth as u64 + 1], vec![1; (depth as usize + 1) * 4].into()).unwrap();
        let sum = program.call(Some(Value::array(argument)), None).unwrap();
        assert_eq!(arrays(&sum)[0].get(0), Some(Scalar::Int32(0x0202_0202)), "{depth}");
    }
}
