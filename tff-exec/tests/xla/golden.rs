//! The computations that TFF's JAX frontend serialized, with the results that JAX computed.

use crate::runtime;
use crate::support::*;
use std::sync::Arc;
use tff_exec::leaf::Keep;
use tff_exec::leaf::xla::XlaOptions;
use tff_exec::{Clients, Value, Xla};
use tff_ir::{Comp, Scalar};
use tff_types::{DType, Type};

const RECORDED: [&str; 8] = ["add_i32", "dtypes", "kw", "mm_reduce", "nested", "noarg", "sgd", "unused"];

#[test]
fn results_are_those_of_the_reference() {
    for name in RECORDED {
        let (comp, ty) = xla(&computation(name));
        let recorded = recorded(name, &ty);
        let prepared = leaf().prepare(&comp, &ty).unwrap_or_else(|error| panic!("{name}: {error}"));
        for _ in 0..3 {
            let value = prepared.call(recorded.argument.as_ref()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_close(name, &value, &recorded.result);
        }
    }
}

#[test]
fn modules_are_compiled_once() {
    let prepare = |leaf: &Xla, name: &str| {
        // Another tree each time, of the same content.
        let (comp, ty) = xla(&computation(name));
        leaf.prepare(&comp, &ty).unwrap()
    };
    let leaf = Xla::new(XlaOptions { keep: Keep { max_values: 1, ..Keep::default() }, ..runtime::options() });
    let first = prepare(&leaf, "add_i32");
    assert!(Arc::ptr_eq(&first, &prepare(&leaf, "add_i32")));
    prepare(&leaf, "kw");
    assert!(!Arc::ptr_eq(&first, &prepare(&leaf, "add_i32")), "the store holds one");
}

/// Numbers that are not all alike, and whose sums of products are exact.
fn small_integers(step: usize) -> Vec<f32> {
    (0..512 * 512).map(|index| ((index * step) % 7) as f32 - 3.0).collect()
}

#[test]
fn large_product_is_exact() {
    let (comp, ty) = xla(&computation("mm512"));
    let (a, b) = (small_integers(5), small_integers(3));
    let argument = Value::structure([floats(&[512, 512], &a), floats(&[512, 512], &b)]);
    let product = leaf().prepare(&comp, &ty).unwrap().call(Some(&argument)).unwrap();
    let [product] = &arrays(&product)[..] else { panic!("{product:?}") };
    assert_eq!((product.dtype(), product.dims()), (DType::Float32, &[512, 512][..]));
    // Some of the quarter of a million, in every row and every column.
    for (row, column) in (0..512).map(|row| (row, row * 37 % 512)) {
        let expected = (0..512).map(|k| a[row * 512 + k] * b[k * 512 + column]).sum();
        assert_eq!(product.get(row * 512 + column), Some(Scalar::Float32(expected)), "{row}, {column}");
    }
}

/// `federated_map` of a function over a parameter of the lambda; without a parameter,
/// `federated_eval`.
fn mapped(function: Comp) -> Comp {
    let ty = function.ty().as_function().unwrap().clone();
    let result = Type::at_clients(ty.result.clone()).unwrap();
    let Some(parameter) = ty.parameter else {
        let ty = Type::function(Some(function.ty().clone()), result).unwrap();
        return Comp::call(Comp::intrinsic("federated_eval_at_clients", ty).unwrap(), Some(function)).unwrap();
    };
    let clients = Type::at_clients(parameter).unwrap();
    let argument = Comp::tuple([function, Comp::reference("values", clients.clone()).unwrap()]).unwrap();
    let ty = Type::function(Some(argument.ty().clone()), result).unwrap();
    let call = Comp::call(Comp::intrinsic("federated_map", ty).unwrap(), Some(argument)).unwrap();
    Comp::lambda(Some(("values", clients)), call).unwrap()
}

#[test]
fn results_are_the_same_at_every_client() {
    for name in RECORDED {
        let comp = computation(name);
        let recorded = recorded(name, comp.ty().as_function().unwrap());
        let program = executor().prepare(&mapped(comp)).unwrap();
        for n_clients in [0, 1, 100] {
            let argument = recorded.argument.clone();
            let argument = argument.map(|argument| Value::at_clients(vec![argument; n_clients]));
            let value = program.call(argument, Some(n_clients)).unwrap_or_else(|error| panic!("{name}: {error}"));
            let Value::Clients(Clients::Each(values)) = value else { panic!("{name}: {value:?}") };
            assert_eq!(values.len(), n_clients, "{name}");
            for value in values.iter() {
                assert_close(name, value, &recorded.result);
            }
        }
    }
}
