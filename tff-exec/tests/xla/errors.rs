//! What is wrong is said in one line, with the module and the place; the next call works.

use crate::hlo::*;
use crate::support::*;
use prost::Message;
use tff_exec::{ExecError, Value};
use tff_ir::{Array, XlaBinding};
use tff_proto::xla::{PrimitiveType, ShapeProto};
use tff_types::{DType, FunctionType, Shape, Type};

fn float32() -> Type {
    Type::scalar(DType::Float32)
}

fn ty(dtype: DType, dims: &[Option<u64>]) -> Type {
    Type::tensor(dtype, Shape::new(dims.iter().copied()))
}

fn pair(a: Type, b: Type) -> Type {
    Type::structure([(Some("a"), a), (Some("b"), b)]).unwrap()
}

fn function(parameter: impl Into<Option<Type>>, result: Type) -> FunctionType {
    FunctionType { parameter: parameter.into(), result }
}

/// `(f32[2], s32) -> (f32[2], s32)`, the sums of each with itself.
fn two() -> Module {
    let (floats, int) = (shape(PrimitiveType::F32, &[2]), shape(PrimitiveType::S32, &[]));
    let ops = [("add", floats.clone(), &[0, 0][..], &[][..]), ("add", int.clone(), &[1, 1], &[])];
    module(&[floats, int], &ops, &[2, 3])
}

#[track_caller]
fn refusal(comp: tff_ir::Xla, ty: &FunctionType) -> String {
    refused(prepare(comp, ty).unwrap_err())
}

#[track_caller]
fn refused(error: ExecError) -> String {
    assert!(matches!(error.cause(), ExecError::Prepare { leaf: "XLA", .. }), "{error:?}");
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn bindings_are_checked_against_type_and_module() {
    let (floats, int) = (ty(DType::Float32, &[Some(2)]), Type::scalar(DType::Int32));
    let both = || pair(floats.clone(), int.clone());
    let check = |parameter: Option<XlaBinding>, result: XlaBinding, parameter_ty: Option<Type>, result_ty: Type| {
        refusal(comp(&two(), parameter, result), &function(parameter_ty, result_ty))
    };
    let parameter = |binding, ty| check(Some(binding), tensors(&[0, 1]), Some(ty), both());
    insta::assert_snapshot!(
        parameter(tensors(&[0, 2]), both()),
        @"module `test`: parameter.b: XLA refuses the computation: parameter 2 of the module is out of range: it has 2"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[0, -1]), both()),
        @"module `test`: parameter.b: XLA refuses the computation: parameter -1 of the module is out of range: it has 2"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[0, i32::MAX]), both()),
        @"module `test`: parameter.b: XLA refuses the computation: parameter 2147483647 of the module is out of range: it has 2"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[0, 0]), pair(floats.clone(), floats.clone())),
        @"module `test`: parameter: XLA refuses the computation: 2 parts are bound to parameter 0 of the module, not one"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[1, 0]), both()),
        @"module `test`: parameter.a: XLA refuses the computation: parameter 1 of the module is int32, not float32[2]"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[0]), both()),
        @"module `test`: parameter: XLA refuses the computation: a binding of 1 elements for the type <a=float32[2],b=int32>"
    );
    insta::assert_snapshot!(
        parameter(tensor(0), both()),
        @"module `test`: parameter: XLA refuses the computation: a binding of a tensor for the type <a=float32[2],b=int32>"
    );
    insta::assert_snapshot!(
        parameter(tensor(0), floats.clone()),
        @"module `test`: parameter: XLA refuses the computation: 0 parts are bound to parameter 1 of the module, not one"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[0, 1]), floats.clone()),
        @"module `test`: parameter: XLA refuses the computation: a binding of a struct for the type float32[2]"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[0, 1]), pair(ty(DType::Float32, &[Some(3)]), int.clone())),
        @"module `test`: parameter.a: XLA refuses the computation: parameter 0 of the module is float32[2], not float32[3]"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[0, 1]), pair(ty(DType::Float32, &[None]), int.clone())),
        @"module `test`: parameter.a: XLA refuses the computation: XLA needs the size of every dimension, so float32[?] cannot be bound"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[0, 1]), pair(Type::tensor(DType::Float32, Shape::unknown_rank()), int.clone())),
        @"module `test`: parameter.a: XLA refuses the computation: XLA needs the size of every dimension, so 'float32'(shape=None) cannot be bound"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[0, 1]), pair(floats.clone(), Type::scalar(DType::String))),
        @"module `test`: parameter.b: XLA refuses the computation: XLA has no strings, so str cannot be bound"
    );
    insta::assert_snapshot!(
        parameter(tensors(&[0, 1]), pair(floats.clone(), Type::sequence(int.clone()).unwrap())),
        @"module `test`: parameter.b: XLA refuses the computation: a binding of a tensor for the type int32*"
    );
    insta::assert_snapshot!(
        check(None, tensors(&[0, 1]), Some(both()), both()),
        @"module `test`: XLA refuses the computation: no binding of the parameter of type <a=float32[2],b=int32>"
    );
    insta::assert_snapshot!(
        check(None, tensors(&[0, 1]), None, both()),
        @"module `test`: XLA refuses the computation: the module takes 2 arguments, and the type has no parameter"
    );
    insta::assert_snapshot!(
        check(Some(tensors(&[0, 1])), tensors(&[0, 1]), None, both()),
        @"module `test`: XLA refuses the computation: a binding of a parameter for a type without one"
    );
    let nested = XlaBinding::Struct(vec![tensor(1), tensors(&[0, 3])]);
    insta::assert_snapshot!(
        parameter(nested, pair(int.clone(), pair(floats.clone(), int.clone()))),
        @"module `test`: parameter.b.b: XLA refuses the computation: parameter 3 of the module is out of range: it has 2"
    );

    let result = |binding, ty| check(Some(tensors(&[0, 1])), binding, Some(both()), ty);
    insta::assert_snapshot!(
        result(tensor(2), int.clone()),
        @"module `test`: result: XLA refuses the computation: result 2 of the module is out of range: it has 2"
    );
    insta::assert_snapshot!(
        result(tensor(0), int.clone()),
        @"module `test`: result: XLA refuses the computation: result 0 of the module is float32[2], not int32"
    );
    insta::assert_snapshot!(
        result(tensors(&[0, 1]), float32()),
        @"module `test`: result: XLA refuses the computation: a binding of a struct for the type float32"
    );
}

#[test]
fn results_may_be_left_out_and_repeated() {
    let int32 = Type::scalar(DType::Int32);
    let ty = function(pair(ty(DType::Float32, &[Some(2)]), int32.clone()), pair(int32.clone(), int32));
    let prepared = prepare(comp(&two(), Some(tensors(&[0, 1])), tensors(&[1, 1])), &ty).unwrap();
    let result = prepared.call(Some(&Value::structure([floats(&[2], &[1.0, 2.0]), int(4)]))).unwrap();
    assert_eq!(arrays(&result), arrays(&Value::structure([int(8), int(8)])));
}

#[test]
fn arguments_are_checked_before_the_run() {
    let int32 = Type::scalar(DType::Int32);
    let both = pair(ty(DType::Float32, &[Some(2)]), int32);
    let prepared =
        prepare(comp(&two(), Some(tensors(&[0, 1])), tensors(&[0, 1])), &function(both.clone(), both)).unwrap();
    let good = Value::structure([floats(&[2], &[1.0, 2.0]), int(3)]);
    let check = |argument: Option<Value>| {
        let error = prepared.call(argument.as_ref()).unwrap_err().to_string();
        assert!(prepared.call(Some(&good)).is_ok());
        error
    };
    let argument = |a, b| Some(Value::structure([a, b]));
    insta::assert_snapshot!(
        check(argument(floats(&[2], &[1.0, 2.0]), floats(&[], &[1.0]))),
        @".b: expected int32, found float32"
    );
    insta::assert_snapshot!(
        check(argument(floats(&[3], &[1.0, 2.0, 3.0]), int(3))),
        @".a: expected float32[2], found float32[3]"
    );
    insta::assert_snapshot!(
        check(argument(floats(&[2, 1], &[1.0, 2.0]), int(3))),
        @".a: expected float32[2], found float32[2,1]"
    );
    insta::assert_snapshot!(
        check(argument(Value::structure([]), int(3))),
        @".a: expected float32[2], found a struct of 0 elements"
    );
    insta::assert_snapshot!(check(Some(int(3))), @"expected a struct of 2 elements, found int32");
    insta::assert_snapshot!(
        check(Some(Value::structure([int(3)]))),
        @"expected a struct of 2 elements, found a struct of 1 elements"
    );
    insta::assert_snapshot!(check(None), @"missing argument: the function takes <a=float32[2],b=int32>");

    let constant = module(&[], &[("iota", shape(PrimitiveType::S32, &[4]), &[], &[0])], &[0]);
    let ty = function(None, ty(DType::Int32, &[Some(4)]));
    let prepared = prepare(comp(&constant, None, tensor(0)), &ty).unwrap();
    insta::assert_snapshot!(
        prepared.call(Some(&int(3))).unwrap_err(),
        @"unexpected argument: the function takes none"
    );
}

#[test]
fn modules_that_take_or_give_no_tensors_are_refused() {
    let of = |parameter: ShapeProto| {
        let module = module(&[parameter], &[], &[0]);
        refusal(comp(&module, Some(tensor(0)), tensor(0)), &function(float32(), float32()))
    };
    insta::assert_snapshot!(
        of(shape(PrimitiveType::F8e5m2, &[])),
        @"module `test`: XLA refuses the computation: parameter 0 of the module is of type f8e5m2, which no tensor is"
    );
    insta::assert_snapshot!(
        of(shape(PrimitiveType::Token, &[])),
        @"module `test`: XLA refuses the computation: parameter 0 of the module is of type token, which no tensor is"
    );
    insta::assert_snapshot!(
        of(ShapeProto { element_type: 99, ..ShapeProto::default() }),
        @"module `test`: XLA refuses the computation: parameter 0 of the module is of type primitive_type_invalid, which no tensor is"
    );
    insta::assert_snapshot!(
        of(shape(PrimitiveType::F32, &[-1])),
        @"module `test`: XLA refuses the computation: parameter 0 of the module has a negative size: [-1]"
    );
    insta::assert_snapshot!(
        of(shape(PrimitiveType::F32, &[1 << 40, 0, 1 << 40])),
        @"module `test`: XLA refuses the computation: parameter 0 of the module is float32[1099511627776,0,1099511627776], which is too large"
    );
    insta::assert_snapshot!(
        of(ShapeProto { is_dynamic_dimension: vec![true], ..shape(PrimitiveType::F32, &[3]) }),
        @"module `test`: XLA refuses the computation: parameter 0 of the module has a size that is only known when it runs"
    );
    insta::assert_snapshot!(
        of(tuple(vec![tuple(vec![])])),
        @"module `test`: XLA refuses the computation: parameter 0 of the module is a tuple within a tuple"
    );
}

#[test]
fn unusual_modules() {
    let read = |name: &str| std::fs::read(file(&format!("{name}.hlo.pb"))).unwrap();
    let int32 = Type::scalar(DType::Int32);
    let nested = raw(TYPE_URL, &read("nestout"), Some(tensor(0)), tensors(&[0, 1]));
    insta::assert_snapshot!(
        refusal(nested, &function(int32.clone(), pair(int32.clone(), int32.clone()))),
        @"module `nest.6`: XLA refuses the computation: result 0 of the module is a tuple within a tuple"
    );

    // One result that is no tuple is that result.
    let ty = function(int32.clone(), int32.clone());
    let single = prepare(raw(TYPE_URL, &read("nontuple"), Some(tensor(0)), tensor(0)), &ty).unwrap();
    let result = single.call(Some(&int(4))).unwrap();
    assert_eq!(arrays(&result), arrays(&int(8)));

    // One tuple of all parameters counts as these parameters.
    let ty = function(pair(int32.clone(), int32.clone()), int32);
    let tupled = prepare(raw(TYPE_URL, &read("tuple_arg"), Some(tensors(&[0, 1])), tensor(0)), &ty).unwrap();
    let result = tupled.call(Some(&Value::structure([int(3), int(4)]))).unwrap();
    assert_eq!(arrays(&result), arrays(&int(7)));
}

#[test]
fn damaged_modules_are_refused() {
    let good = two().encode_to_vec();
    let both = pair(ty(DType::Float32, &[Some(2)]), Type::scalar(DType::Int32));
    let ty = function(both.clone(), both);
    let refuse = |url: &str, module: &[u8]| refusal(raw(url, module, Some(tensors(&[0, 1])), tensors(&[0, 1])), &ty);
    insta::assert_snapshot!(
        refuse("type.googleapis.com/tensorflow.GraphDef", &good),
        @r#"XLA refuses the computation: expected a message of type xla.HloModuleProto, found "type.googleapis.com/tensorflow.GraphDef""#
    );
    insta::assert_snapshot!(
        refuse(TYPE_URL, b""),
        @"module ``: XLA refuses the computation: the module does not say what it gives"
    );
    insta::assert_snapshot!(
        refuse(TYPE_URL, b"no module at all"),
        @"XLA refuses the computation: not a valid xla.HloModuleProto (16 bytes): failed to decode Protobuf message: invalid wire type value: 6"
    );
    // What the library refuses is refused in its words, when the module is called.
    let argument = Value::structure([floats(&[2], &[1.0, 2.0]), int(3)]);
    let call = |module: &[u8]| {
        let prepared = prepare(raw(TYPE_URL, module, Some(tensors(&[0, 1])), tensors(&[0, 1])), &ty);
        prepared.and_then(|prepared| prepared.call(Some(&argument)))
    };
    for len in 0..good.len() {
        refused(call(&good[..len]).unwrap_err());
    }
    let empty = Module { computations: vec![], ..two() }.encode_to_vec();
    for _ in 0..2 {
        assert!(refused(call(&empty).unwrap_err()).starts_with("module `test`: XLA refuses the computation: "));
    }
    assert!(call(&good).is_ok());
}

/// The signature says one thing, the code another: XLA compares them.
#[test]
fn modules_that_contradict_themselves_are_refused() {
    let (floats, ints) = (shape(PrimitiveType::F32, &[4]), shape(PrimitiveType::S32, &[4]));
    let long = shape(PrimitiveType::F32, &[400]);
    let contradict = |claimed: &ShapeProto, actual: &ShapeProto, dtype, dim| {
        let (claim, code) = (double_of(claimed), double_of(actual));
        let module = Module { shape: claim.shape, ..code };
        let ty = ty(dtype, &[Some(dim)]);
        let prepared = prepare(comp(&module, Some(tensor(0)), tensor(0)), &function(ty.clone(), ty));
        // Some are found when the module is compiled, and some when it runs.
        let argument = match dtype {
            DType::Int32 => Value::array(Array::dense(dtype, [dim], vec![0; dim as usize * 4].into()).unwrap()),
            _ => super::support::floats(&[dim], &vec![1.0; dim as usize]),
        };
        prepared.and_then(|prepared| prepared.call(Some(&argument))).map(|value| arrays(&value))
    };
    for (claimed, actual, dtype, dim) in [
        (&floats, &ints, DType::Float32, 4),
        (&ints, &floats, DType::Int32, 4),
        (&floats, &long, DType::Float32, 4),
        (&long, &floats, DType::Float32, 400),
    ] {
        let error = contradict(claimed, actual, dtype, dim).unwrap_err();
        assert!(matches!(error.cause(), ExecError::Prepare { .. } | ExecError::Run { .. }), "{error}");
    }
}

fn double_of(shape: &ShapeProto) -> Module {
    double(shape.element_type(), &shape.dimensions)
}

#[test]
fn results_beyond_memory_are_an_error() {
    // Sixteen tebibytes.
    let dims = [1 << 42];
    let module =
        module(&[shape(PrimitiveType::F32, &[])], &[("broadcast", shape(PrimitiveType::F32, &dims), &[0], &[])], &[1]);
    let ty = function(float32(), ty(DType::Float32, &[Some(1 << 42)]));
    let prepared = prepare(comp(&module, Some(tensor(0)), tensor(0)), &ty);
    let error = prepared.and_then(|prepared| prepared.call(Some(&floats(&[], &[1.0])))).unwrap_err();
    assert!(matches!(error.cause(), ExecError::Prepare { .. } | ExecError::Run { .. }), "{error}");
}
