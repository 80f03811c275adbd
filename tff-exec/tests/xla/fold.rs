//! A fold over a sequence in one run gives what a call for each element gives, to the last bit.

use crate::hlo::*;
use crate::support::*;
use std::sync::Arc;
use tff_exec::leaf::{Prepared, Until};
use tff_exec::{CallOptions, Cancel, ExecError, Sequence, Value};
use tff_ir::{Array, Comp, CompiledComputation, XlaBinding};
use tff_proto::xla::PrimitiveType;
use tff_types::{DType, Shape, Type};

fn int32() -> Type {
    Type::scalar(DType::Int32)
}

fn float32(n: u64) -> Type {
    Type::tensor(DType::Float32, Shape::fixed([n]))
}

/// `<float32[n],int32>`, the state.
fn state_ty(n: u64) -> Type {
    Type::tuple([float32(n), int32()]).unwrap()
}

/// `(<<float32[n],int32>,float32[n]> -> <float32[n],int32>)`: the product with the element and then the sum with it, which
/// rounds differently in any other order; the count doubled. Parameters and results of the module are not in the
/// order of the type.
fn step(n: u64) -> Comp {
    let (floats, int) = (shape(PrimitiveType::F32, &[n as i64]), shape(PrimitiveType::S32, &[]));
    let ops = [
        ("multiply", floats.clone(), &[2, 0][..], &[][..]),
        ("add", floats.clone(), &[3, 0], &[]),
        ("add", int.clone(), &[1, 1], &[]),
    ];
    let module = module(&[floats.clone(), int, floats], &ops, &[5, 4]);
    let parameter = XlaBinding::Struct(vec![tensors(&[2, 1]), tensor(0)]);
    let parameter_ty = Type::tuple([state_ty(n), float32(n)]).unwrap();
    let ty = Type::function(Some(parameter_ty), state_ty(n)).unwrap();
    let comp = comp(&module, Some(parameter), tensors(&[1, 0]));
    Comp::compiled(CompiledComputation::Xla(Arc::new(comp)), ty).unwrap()
}

fn prepared(comp: &Comp) -> Arc<dyn Prepared> {
    let (xla, ty) = xla(comp);
    leaf().prepare(&xla, &ty).unwrap()
}

fn zero(n: u64) -> Value {
    Value::structure([floats(&[n], &vec![1.5; n as usize]), int(1)])
}

/// An element whose numbers are no round ones.
fn element(n: u64, index: usize) -> Value {
    let numbers: Vec<f32> = (0..n).map(|at| ((index * 31 + at as usize * 7) % 97) as f32 / 89.0 - 0.4).collect();
    floats(&[n], &numbers)
}

fn one_by_one(step: &dyn Prepared, zero: Value, elements: &[Value]) -> Value {
    let next = |state, element: &Value| step.call(Some(&Value::structure([state, element.clone()]))).unwrap();
    elements.iter().fold(zero, next)
}

#[test]
fn as_many_calls() {
    // Of few numbers, the run has room for 64 elements; of many, for 8.
    for n in [1, 3, 20_000] {
        let step = prepared(&step(n));
        for n_elements in [2, 7, 8, 9, 63, 64, 65, 200].into_iter().filter(|&it| n < 100 || it < 20) {
            let elements: Vec<Value> = (0..n_elements).map(|index| element(n, index)).collect();
            let folded = step.fold(&zero(n), &elements, &Until::default()).unwrap().unwrap();
            let stepped = one_by_one(&*step, zero(n), &elements);
            assert_eq!(arrays(&folded), arrays(&stepped), "{n_elements} of {n}");
        }
    }
}

/// `sequence_reduce` of a function that is the step, or does nothing but call it, or calls it with something else.
#[test]
fn of_what_calls_the_step() {
    let n = 3;
    let step = step(n);
    let elements: Vec<Value> = (0..20).map(|index| element(n, index)).collect();
    let expected = one_by_one(&*prepared(&step), zero(n), &elements);
    let pair = step.ty().as_function().unwrap().parameter.clone().unwrap();
    let a = || Comp::reference("a", pair.clone()).unwrap();
    let lambda = |body: Comp| Comp::lambda(Some(("a", pair.clone())), body).unwrap();
    let call = |argument: Comp| Comp::call(step.clone(), Some(argument)).unwrap();
    let taken_apart = Comp::tuple([Comp::selection(a(), 0).unwrap(), Comp::selection(a(), 1).unwrap()]).unwrap();
    let twice = call(Comp::tuple([call(a()), Comp::selection(a(), 1).unwrap()]).unwrap());
    let by_name = Comp::block([("f", step.clone())], Comp::reference("f", step.ty().clone()).unwrap()).unwrap();
    let block = Comp::block([("v", call(a()))], Comp::reference("v", state_ty(n)).unwrap()).unwrap();
    let every_one_twice: Vec<Value> = elements.iter().flat_map(|it| [it.clone(), it.clone()]).collect();
    let expected_twice = one_by_one(&*prepared(&step), zero(n), &every_one_twice);
    for (function, expected) in [
        (step.clone(), &expected),
        (by_name, &expected),
        (lambda(call(a())), &expected),
        (lambda(block), &expected),
        (lambda(call(taken_apart)), &expected),
        (lambda(twice), &expected_twice),
    ] {
        let reduced = reduce(&function, n, &elements).call(None).unwrap();
        assert_eq!(arrays(&reduced), arrays(expected), "{function}");
    }
}

/// What a program of `sequence_reduce` is called with.
struct Reduce {
    program: tff_exec::Program,
    argument: Value,
}

impl Reduce {
    fn call(self, cancel: Option<Cancel>) -> Result<Value, ExecError> {
        let mut options = CallOptions::default();
        options.cancel = cancel;
        self.program.call_with(Some(self.argument), None, &options)
    }
}

fn reduce(function: &Comp, n: u64, elements: &[Value]) -> Reduce {
    let sequence = Type::sequence(float32(n)).unwrap();
    let ty = Type::tuple([sequence.clone(), state_ty(n)]).unwrap();
    let at = |index| Comp::selection(Comp::reference("p", ty.clone()).unwrap(), index).unwrap();
    let arguments = Comp::tuple([at(0), at(1), function.clone()]).unwrap();
    let intrinsic_ty = Type::function(Some(arguments.ty().clone()), state_ty(n)).unwrap();
    let reduce = Comp::call(Comp::intrinsic("sequence_reduce", intrinsic_ty).unwrap(), Some(arguments)).unwrap();
    let program = executor().prepare(&Comp::lambda(Some(("p", ty.clone())), reduce).unwrap()).unwrap();
    let sequence = Value::Sequence(Sequence::from_elements(float32(n), elements.to_vec()));
    Reduce { program, argument: Value::structure([sequence, zero(n)]) }
}

#[test]
fn what_is_no_step_is_called_for_each_element() {
    let until = Until::default();
    let two = [element(3, 0), element(3, 1)];
    // A result that is no state.
    let add = prepared(&computation("add_i32"));
    assert!(add.fold(&int(1), &[int(2), int(3)], &until).is_some());
    let sgd = prepared(&computation("sgd"));
    assert!(sgd.fold(&zero(3), &two, &until).is_none());
    let step = prepared(&step(3));
    // One call is as good; an element of another shape is found by the call that takes it.
    assert!(step.fold(&zero(3), &two[..1], &until).is_none());
    assert!(step.fold(&zero(3), &[element(3, 0), element(4, 1)], &until).is_none());
    assert!(step.fold(&zero(4), &two, &until).is_none());
    // Numbers that the device makes itself must not be made more or less often.
    let floats = shape(PrimitiveType::F32, &[3]);
    let bounds = shape(PrimitiveType::F32, &[]);
    let effects = module(
        &[floats.clone(), bounds.clone()],
        &[("rng-get-and-update-state", shape(PrimitiveType::U64, &[1]), &[], &[])],
        &[0],
    );
    let ty =
        Type::function(Some(Type::tuple([float32(3), Type::scalar(DType::Float32)]).unwrap()), float32(3)).unwrap();
    let comp = comp(&effects, Some(tensors(&[0, 1])), tensor(0));
    let effects = leaf().prepare(&Arc::new(comp), ty.as_function().unwrap()).unwrap();
    assert!(effects.fold(&element(3, 0), &[element(3, 1), element(3, 2)], &until).is_none());
}

#[test]
fn an_element_of_another_shape_is_named() {
    let mut elements: Vec<Value> = (0..5).map(|index| element(3, index)).collect();
    elements[3] = Value::array(Array::dense(DType::Float32, [4], vec![0; 16].into()).unwrap());
    let reduce = reduce(&step(3), 3, &elements);
    let step = prepared(&step(3));
    assert!(step.fold(&zero(3), &elements, &Until::default()).is_none());
    insta::assert_snapshot!(reduce.call(None).unwrap_err(), @"sequence_reduce: element 3: [1]: expected float32[3], found float32[4]");
}

#[test]
fn ends_between_two_runs() {
    let elements: Vec<Value> = (0..200).map(|index| element(3, index)).collect();
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(matches!(reduce(&step(3), 3, &elements).call(Some(cancel)).unwrap_err().cause(), ExecError::GivenUp));
    let deadline = Until { deadline: Some(std::time::Instant::now()), ..Until::default() };
    let ended = prepared(&step(3)).fold(&zero(3), &elements, &deadline).unwrap();
    assert!(matches!(ended.unwrap_err(), ExecError::Deadline));
}
