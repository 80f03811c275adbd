//! The evaluator, by text: what computations without graphs give, and what they are refused for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its input must stop")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tff_exec::{Clients, DataBackend, ExecError, Executor, Function, Options, Sequence, Value, leaf::Prepared};
use tff_ir::text::{Environment, parse};
use tff_ir::{Array, DataContent, Scalar};
use tff_testing::comp;
use tff_types::{DType, Type};

/// Shows a value: `1`, `<1,2>`, `[1,2]` for a sequence, `{1,2}@CLIENTS`, `1@CLIENTS` for all-equal.
fn show(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(show).collect::<Vec<_>>().join(",");
    match value {
        Value::Tensor(tensor) => {
            let scalars = tensor.array().scalars().map(|scalar| match scalar {
                Scalar::Int32(value) => value.to_string(),
                other => format!("{other:?}"),
            });
            scalars.collect::<Vec<_>>().join(" ")
        }
        Value::Sequence(sequence) => format!("[{}]", list(sequence.known_elements().unwrap())),
        Value::Struct(elements) => format!("<{}>", list(elements)),
        Value::Server(member) => format!("{}@SERVER", show(member)),
        Value::Clients(Clients::AllEqual(member)) => format!("{}@CLIENTS", show(member)),
        Value::Clients(Clients::Each(members)) => format!("{{{}}}@CLIENTS", list(members)),
        Value::Function(_) => "function".to_owned(),
        Value::Placement(placement) => placement.to_string(),
    }
}

/// Runs a computation; shows the result or the error.
#[track_caller]
fn run(text: &str, argument: Option<Value>, n_clients: Option<usize>) -> String {
    let program = Executor::new(Options::default()).prepare(&comp(text));
    match program.and_then(|program| program.call(argument, n_clients)) {
        Ok(value) => show(&value),
        Err(error) => format!("error: {error}"),
    }
}

fn int(value: i32) -> Value {
    Value::scalar(Scalar::Int32(value))
}

fn ints(values: &[i32]) -> Value {
    let scalars: Vec<_> = values.iter().copied().map(Scalar::Int32).collect();
    Value::array(Array::from_scalars(DType::Int32, [values.len() as u64], &scalars).unwrap())
}

fn clients(values: &[i32]) -> Option<Value> {
    Some(Value::at_clients(values.iter().copied().map(int)))
}

fn sequence(values: &[i32]) -> Value {
    let elements: Arc<[Value]> = values.iter().copied().map(int).collect();
    Value::Sequence(Sequence::from_elements(Type::scalar(DType::Int32), elements))
}

#[test]
fn names_refer_to_the_innermost_binding() {
    let cases = [
        ("(let x=lit int32 1,y=<x,lit int32 2> in y)", "<1,2>"),
        ("(let x=lit int32 1,x=<x,x>,x=<x,lit int32 3> in x)", "<<1,1>,3>"),
        ("(let x=lit int32 1 in <(let x=lit int32 2 in x),x>)", "<2,1>"),
        ("(let x=lit int32 1 in (x:int32 -> x)(lit int32 2))", "2"),
        ("(let a=<lit int32 1,b=lit int32 2> in <a.b,a[0]>)", "<2,1>"),
        ("(let f=( -> lit int32 7) in <f(),f()>)", "<7,7>"),
    ];
    for (text, expected) in cases {
        assert_eq!(run(text, None, None), expected, "{text}");
    }
}

#[test]
fn closures_keep_what_they_captured() {
    let cases = [
        ("(let f=(x:int32 -> (y:int32 -> <x,y>)) in f(lit int32 1)(lit int32 2))", "<1,2>"),
        ("(let x=lit int32 1,f=( -> x),x=lit int32 2 in <f(),x>)", "<1,2>"),
        (
            "(let g=(let z=lit int32 5 in (x:int32 -> (y:int32 -> <x,y,z>)))(lit int32 6) in <g(lit int32 7),g(lit int32 8)>)",
            "<<6,7,5>,<6,8,5>>",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(run(text, None, None), expected, "{text}");
    }
}

#[test]
fn functions_are_mapped_over_clients_with_what_they_captured() {
    let text = "(v:{int32}@CLIENTS -> (let k=lit int32 9 in federated_map(<(x:int32 -> <x,k>),v>)))";
    assert_eq!(run(text, clients(&[1, 2, 3]), None), "{<1,9>,<2,9>,<3,9>}@CLIENTS");
    assert_eq!(run(text, clients(&[]), None), "{}@CLIENTS");
    let all_equal = Some(Value::at_clients_all_equal(int(4)));
    assert_eq!(run(text, all_equal.clone(), Some(2)), "{<4,9>,<4,9>}@CLIENTS");
    assert_eq!(
        run(text, all_equal, None),
        "error: federated_map: the number of clients is not known from the argument: it must be given"
    );
}

#[test]
fn all_equal_stays_all_equal_where_the_type_says_so() {
    let text = "(v:int32@CLIENTS -> federated_map_all_equal(<(x:int32 -> <x,x>),v>))";
    assert_eq!(run(text, Some(Value::at_clients_all_equal(int(1))), None), "<1,1>@CLIENTS");
    assert_eq!(run("federated_value_at_clients(lit int32 1)", None, None), "1@CLIENTS");
    let text = "(v:int32@SERVER -> federated_broadcast(v))";
    assert_eq!(run(text, Some(Value::at_server(int(2))), Some(0)), "2@CLIENTS");
}

#[test]
fn values_are_placed_and_evaluated_where_they_belong() {
    let cases = [
        ("federated_value_at_server(<lit int32 1,lit int32 2>)", "<1,2>@SERVER"),
        ("federated_eval_at_clients(( -> lit int32 3))", "{3,3}@CLIENTS"),
        ("federated_eval_at_server(( -> lit int32 3))", "3@SERVER"),
        ("federated_apply(<(x:int32 -> <x>),federated_value_at_server(lit int32 1)>)", "<1>@SERVER"),
    ];
    for (text, expected) in cases {
        assert_eq!(run(text, None, Some(2)), expected, "{text}");
    }
}

#[test]
fn zips_mirror_the_nesting() {
    let text = "(v:{int32}@CLIENTS -> federated_zip_at_clients(<a=v,<v,federated_value_at_clients(lit int32 7)>>))";
    assert_eq!(run(text, clients(&[1, 2]), None), "{<1,<1,7>>,<2,<2,7>>}@CLIENTS");
    let text = "(v:int32@SERVER -> federated_zip_at_server(<v,<v>>))";
    assert_eq!(run(text, Some(Value::at_server(int(1))), None), "<1,<1>>@SERVER");
    let all_equal = "federated_zip_at_clients(<federated_value_at_clients(lit int32 1)>)";
    assert_eq!(run(all_equal, None, Some(3)), "{<1>,<1>,<1>}@CLIENTS");
}

#[test]
fn aggregation_folds_from_zero_in_client_order() {
    // The accumulator keeps its last two clients, so the order shows.
    let text = "(v:{int32}@CLIENTS -> federated_aggregate(<v,<lit int32 0,lit int32 0>,\
        (p:<<int32,int32>,int32> -> <p[0][1],p[1]>),(p:<<int32,int32>,<int32,int32>> -> p[0]),\
        (u:<int32,int32> -> <first=u[0],second=u[1]>)>))";
    assert_eq!(run(text, clients(&[1, 2, 3, 4]), None), "<3,4>@SERVER");
    assert_eq!(run(text, clients(&[5]), None), "<0,5>@SERVER");
    assert_eq!(run(text, clients(&[]), None), "<0,0>@SERVER");
    assert_eq!(run(text, Some(Value::at_clients_all_equal(int(6))), Some(2)), "<6,6>@SERVER");
}

#[test]
fn each_client_gets_the_slices_it_asks_for() {
    let text = "(a:<k={int32[?]}@CLIENTS,m=int32@SERVER,s=int32@SERVER> -> \
        federated_select(<a.k,a.m,a.s,(p:<int32,int32> -> <p[0],p[1]>)>))";
    let keys = Value::at_clients([ints(&[3, 1, 3]), ints(&[]), ints(&[1])]);
    let argument = Value::structure([keys, Value::at_server(int(10)), Value::at_server(int(5))]);
    assert_eq!(run(text, Some(argument), None), "{[<5,3>,<5,1>,<5,3>],[],[<5,1>]}@CLIENTS");
}

#[test]
fn sequences_are_mapped_and_reduced_in_order() {
    let map = "(s:int32* -> sequence_map(<(x:int32 -> <x,x>),s>))";
    assert_eq!(run(map, Some(sequence(&[1, 2])), None), "[<1,1>,<2,2>]");
    assert_eq!(run(map, Some(sequence(&[])), None), "[]");
    let reduce = "(s:int32* -> sequence_reduce(<s,<lit int32 0,lit int32 0>,\
        (p:<<int32,int32>,int32> -> <p[0][1],p[1]>)>))";
    assert_eq!(run(reduce, Some(sequence(&[1, 2, 3])), None), "<2,3>");
    assert_eq!(run(reduce, Some(sequence(&[])), None), "<0,0>");
    // A zero may be used more than once.
    let twice = "(s:int32* -> (let z=lit int32 0 in <sequence_reduce(<s,z,(p:<int32,int32> -> p[1])>),\
        sequence_reduce(<s,z,(p:<int32,int32> -> p[0])>)>))";
    assert_eq!(run(twice, Some(sequence(&[4, 5])), None), "<5,0>");
}

#[test]
fn arguments_are_checked_with_their_path() {
    let pair = "(a:<x={int32}@CLIENTS,y=<int32,z=int32>> -> a)";
    let unplaced = |second: Value| Value::structure([int(1), second]);
    let cases = [
        (None, "error: missing argument: the function takes <x={int32}@CLIENTS,y=<int32,z=int32>>"),
        (Some(int(1)), "error: argument: expected <x={int32}@CLIENTS,y=<int32,z=int32>>, found int32"),
        (
            Some(Value::structure([clients(&[1]).unwrap(), unplaced(ints(&[1, 2]))])),
            "error: argument: .y.z: expected int32, found int32[2]",
        ),
        (
            Some(Value::structure([Value::at_clients([int(1), ints(&[2])]), unplaced(int(1))])),
            "error: argument: .x[1]: expected int32, found int32[1]",
        ),
    ];
    for (argument, expected) in cases {
        assert_eq!(run(pair, argument, None), expected);
    }
    assert_eq!(run("( -> lit int32 1)", Some(int(1)), None), "error: unexpected argument: the function takes none");
}

#[test]
fn numbers_of_clients_must_agree() {
    let text = "(a:<{int32}@CLIENTS,{int32}@CLIENTS> -> a)";
    let argument = Value::structure([clients(&[1, 2]).unwrap(), clients(&[1]).unwrap()]);
    assert_eq!(run(text, Some(argument), None), "error: argument: [1]: expected 2 values at CLIENTS, found 1");
    let text = "(a:{int32}@CLIENTS -> a)";
    assert_eq!(run(text, clients(&[1]), Some(2)), "error: argument: expected 2 values at CLIENTS, found 1");
}

#[test]
fn what_cannot_run_is_said_with_its_place() {
    let cases = [
        ("(let a=lit int32 1,b=<a,c:int32> in b)", "error: local `b`: element 1: unbound reference `c`"),
        (
            "(v:{int32}@CLIENTS -> federated_sum(v))",
            "error: the intrinsic `federated_sum` runs only in a compiled computation: compile this one first",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(run(text, clients(&[1]).filter(|_| text.starts_with("(v")), None), expected, "{text}");
    }
}

#[test]
fn the_first_client_that_fails_is_named_whichever_thread_ran_it() {
    let text = "(v:{int32}@CLIENTS -> federated_map(<(x:int32 -> federated_sum(x)),v>))";
    // Ill-typed on purpose: the evaluator sees only that the intrinsic cannot run.
    let Err(error) = parse(text, &Environment::default()) else { panic!("{text} should be ill-typed") };
    assert!(error.to_string().contains("federated_sum"), "{error}");
    let text = "(v:{int32*}@CLIENTS -> federated_map(<(s:int32* -> sequence_sum(s)),v>))";
    let argument = Value::at_clients((0..50).map(|_| sequence(&[1])));
    assert_eq!(
        run(text, Some(argument), None),
        "error: federated_map: client 0: the intrinsic `sequence_sum` runs only in a compiled computation: compile this one first"
    );
}

/// Data that counts how often it is asked for: `ok` is 7, everything else fails.
#[derive(Default)]
struct Counted(AtomicUsize);

impl DataBackend for Counted {
    fn resolve(&self, data: &DataContent, _: &Type) -> Result<Value, ExecError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match data {
            DataContent::Uri(uri) if **uri == *"ok" => Ok(int(7)),
            _ => Err(ExecError::Unsupported("this".to_owned())),
        }
    }
}

/// The result or the error, and how many times data was asked for.
fn run_counting(text: &str, argument: Option<Value>) -> (String, usize) {
    let data = Arc::new(Counted::default());
    let mut options = Options::default();
    options.data = Some(data.clone());
    let result = Executor::new(options).prepare(&comp(text)).unwrap().call(argument, Some(2));
    (result.map_or_else(|error| format!("error: {error}"), |value| show(&value)), data.0.load(Ordering::Relaxed))
}

#[test]
fn what_nobody_needs_is_not_evaluated() {
    let bad = "data \"u\":int32";
    let cases = [
        // Locals, elements, arguments, results of functions, what closures captured.
        "(let d=BAD in lit int32 5)",
        "(let d=BAD,e=<d,d> in lit int32 5)",
        "<BAD,lit int32 5>[1]",
        "(let s=<BAD,lit int32 5> in s[1])",
        "(let s=<BAD,<lit int32 5,BAD>>,t=s[1] in t[0])",
        "(x:int32 -> lit int32 5)(BAD)",
        "(p:<int32,int32> -> p[1])(<BAD,lit int32 5>)",
        "(let f=(x:int32 -> <x,lit int32 5>) in f(BAD)[1])",
        "(let f=(x:int32 -> <x,lit int32 5>),r=f(BAD) in r[1])",
        "(let d=BAD,f=(x:int32 -> <d,x>) in f(lit int32 5)[1])",
        "(let d=BAD,f=(x:int32 -> (let unused=d in x)) in f(lit int32 5))",
        "(let f=(g:(int32 -> int32) -> g(BAD)) in f((x:int32 -> lit int32 5)))",
        "(let f=(p:<int32,<int32,int32>> -> p[1]) in f(<BAD,<BAD,lit int32 5>>)[1])",
    ];
    for text in cases {
        let (result, _) = run_counting(&text.replace("BAD", bad), None);
        assert_eq!(result, "5", "{text}");
    }
    let mapped = "federated_value_at_server((let d=BAD,f=(p:<int32,int32> -> p[0]) in f(<lit int32 5,d>)))";
    assert_eq!(run_counting(&mapped.replace("BAD", bad), None), ("5@SERVER".to_owned(), 0));
    // What is needed fails as before.
    assert_eq!(
        run_counting("(let a=lit int32 1,d=data \"u\":int32,e=<a,d> in e)", None).0,
        "error: local `d`: this is not supported"
    );
    assert_eq!(
        run_counting("(let e=<lit int32 1,data \"u\":int32> in e[1])", None).0,
        "error: local `e`: this is not supported"
    );
}

#[test]
fn what_is_needed_is_evaluated_once() {
    let cases = [
        "(let d=data \"ok\":int32 in <d,<d,d>>)",
        "(let s=<data \"ok\":int32,data \"u\":int32> in <s[0],<s[0],s[0]>>)",
        "(p:<int32,int32> -> <p[0],<p[0],p[0]>>)(<data \"ok\":int32,data \"u\":int32>)",
        "(let f=(x:int32 -> <x,lit int32 1>),r=f(data \"ok\":int32) in <r[0],<r[0],r[0]>>)",
    ];
    for text in cases {
        assert_eq!(run_counting(text, None), ("<7,<7,7>>".to_owned(), 1), "{text}");
    }
}

/// A function of the program that counts its calls.
#[derive(Debug, Default)]
struct Calls(AtomicUsize);

impl Prepared for Calls {
    fn call(&self, argument: Option<&Value>) -> Result<Value, ExecError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        argument.cloned().ok_or(ExecError::UnexpectedArgument)
    }
}

#[test]
fn long_chains_of_functions_are_evaluated_in_order_and_each_call_once() {
    let chain = |n: usize| -> String {
        let locals: String = (1..=n).map(|it| format!(",x{it}=f(x{})", it - 1)).collect();
        format!("(f:(int32 -> int32) -> (let x0=lit int32 3{locals} in x{n}))")
    };
    for n in [1, 150, 500, 3000] {
        let calls = Arc::new(Calls::default());
        let ty = "(int32 -> int32)".parse().unwrap();
        let function = Value::Function(Function::from_prepared(calls.clone(), ty).unwrap());
        assert_eq!(run(&chain(n), Some(function), None), "3");
        assert_eq!(calls.0.load(Ordering::Relaxed), n);
        // One whose need of its argument nothing shows before it is called.
        let lazy = comp("(x:int32 -> (let k=(y:int32 -> y) in k(x)))");
        let lazy = Value::Function(Function::from_comp(&lazy).unwrap());
        assert_eq!(run(&chain(n), Some(lazy), None), "3");
        let nested = format!("(f:(int32 -> int32) -> {}lit int32 3{})", "f(".repeat(80), ")".repeat(80));
        let lazy = Value::Function(Function::from_comp(&comp("(x:int32 -> <x,x>[1])")).unwrap());
        assert_eq!(run(&nested, Some(lazy), None), "3");
    }
}
