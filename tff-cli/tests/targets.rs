//! `tff check --for TARGET`: what a target will refuse, said before it is tried.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

mod recorded;

use recorded::{compiling_executor, records};
use std::process::Command;
use tff_exec::{Value, value_from_proto};
use tff_proto::v0 as pb;
use tff_testing::{bytes, comp_of, message};

/// Runs `tff` in a folder that holds this text as `comp.tff`; what it printed, and its exit code.
#[track_caller]
fn tff(text: &str, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("comp.tff"), text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tff")).args(args).current_dir(folder.path()).output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    format!("{stdout}{stderr}exit {}", output.status.code().unwrap())
}

#[track_caller]
fn check(text: &str, args: &[&str]) -> String {
    tff(text, &[&["check", "comp.tff", "--for"], args].concat())
}

const SECURE: &str = "(v:{int32}@CLIENTS -> %federated_secure_sum_bitwidth(<v,lit int32 8>))";

#[test]
fn secure_sums_need_the_flag() {
    insta::assert_snapshot!(check(SECURE, &["run"]), @r"
    error[refused]: `federated_secure_sum_bitwidth` is a secure aggregation, which this runtime cannot do; where its promise need not be kept, it can be compiled to an ordinary sum: --allow-insecure-secure-sum does that
     --> comp.tff:1:23
      |
    1 | (v:{int32}@CLIENTS -> %federated_secure_sum_bitwidth(<v,lit int32 8>))
      |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    exit 1
    ");
    assert_eq!(check(SECURE, &["worker"]), check(SECURE, &["run"]));
    insta::assert_snapshot!(check(SECURE, &["run", "--allow-insecure-secure-sum"]), @"exit 0");
    insta::assert_snapshot!(check(SECURE, &["map-reduce"]), @r"
    comp.tff: error[refused] at .: map_reduce_form at .: expected a computation that takes two arguments, found {int32}@CLIENTS
    exit 1
    ");
}

#[test]
fn means_of_integers_and_sums_of_strings_have_no_value() {
    let mean = "(v:{int32}@CLIENTS -> %federated_mean(v))";
    insta::assert_snapshot!(check(mean, &["run"]), @r"
    warning[doubtful-operand]: federated_mean takes floating-point or complex numbers, found {int32}@CLIENTS
     --> comp.tff:1:23
      |
    1 | (v:{int32}@CLIENTS -> %federated_mean(v))
      |                       ^^^^^^^^^^^^^^^
    error[refused]: cannot compile the computation: reduce_intrinsics at .lambda.result.call.function: federated_mean cannot be computed as ({int32}@CLIENTS -> int32@SERVER): only floating and complex numbers have a mean of their type
     --> comp.tff:1:23
      |
    1 | (v:{int32}@CLIENTS -> %federated_mean(v))
      |                       ^^^^^^^^^^^^^^^
    exit 1
    ");
    let sum = "(v:{str}@CLIENTS -> %federated_sum(v))";
    insta::assert_snapshot!(check(sum, &["run"]), @r"
    warning[doubtful-operand]: federated_sum: cannot sum: str is not numeric at @
     --> comp.tff:1:21
      |
    1 | (v:{str}@CLIENTS -> %federated_sum(v))
      |                     ^^^^^^^^^^^^^^
    error[refused]: cannot compile the computation: reduce_intrinsics at .lambda.result.call.function: str does not have a zero number
     --> comp.tff:1:21
      |
    1 | (v:{str}@CLIENTS -> %federated_sum(v))
      |                     ^^^^^^^^^^^^^^
    exit 1
    ");
}

#[test]
fn unknown_intrinsics_are_refused_with_the_nearest_name() {
    let text = "(v:{int32}@CLIENTS -> %federated_sun:({int32}@CLIENTS -> int32@SERVER)(v))";
    insta::assert_snapshot!(check(text, &["run"]), @r"
    warning[unknown-intrinsic]: no known intrinsic is named `federated_sun`; did you mean `federated_sum`?
     --> comp.tff:1:23
      |
    1 | (v:{int32}@CLIENTS -> %federated_sun:({int32}@CLIENTS -> int32@SERVER)(v))
      |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    error[refused]: cannot compile the computation: reduce_intrinsics at .lambda.result.call.function: no intrinsic is named `federated_sun`; did you mean `federated_sum`?
     --> comp.tff:1:23
      |
    1 | (v:{int32}@CLIENTS -> %federated_sun:({int32}@CLIENTS -> int32@SERVER)(v))
      |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    exit 1
    ");
}

#[test]
fn data_needs_a_source() {
    let text = "<data \"numbers/a\":int32*,data \"numbers/gone\":int32*>";
    insta::assert_snapshot!(check(text, &["run"]), @r#"
    error[refused]: data that the computation only names, the uri "numbers/a" of type int32*, is not supported
     --> comp.tff:1:2
      |
    1 | <data "numbers/a":int32*,data "numbers/gone":int32*>
      |  ^^^^^^^^^^^^^^^^^^^^^^^
    error[refused]: data that the computation only names, the uri "numbers/gone" of type int32*, is not supported
     --> comp.tff:1:26
      |
    1 | <data "numbers/a":int32*,data "numbers/gone":int32*>
      |                          ^^^^^^^^^^^^^^^^^^^^^^^^^^
    exit 1
    "#);
    insta::assert_snapshot!(check(text, &["run", "--json"]), @r#"
    [{"severity":"error","code":"refused","path":".struct.element[0]","message":"data that the computation only names, the uri \"numbers/a\" of type int32*, is not supported","line":1,"column":2},{"severity":"error","code":"refused","path":".struct.element[1]","message":"data that the computation only names, the uri \"numbers/gone\" of type int32*, is not supported","line":1,"column":26}]
    exit 1
    "#);
}

#[test]
fn forms_refuse_with_the_words_of_compile() {
    let text = "(x:int32 -> x)";
    insta::assert_snapshot!(check(text, &["map-reduce"]), @r"
    comp.tff: error[refused] at .: map_reduce_form at .: expected a computation that takes two arguments, found int32
    exit 1
    ");
    insta::assert_snapshot!(check(text, &["distribute-aggregate"]), @r"
    comp.tff: error[refused] at .: distribute_aggregate_form at .: expected a computation that takes two arguments, found int32
    exit 1
    ");
    insta::assert_snapshot!(check(text, &["mergeable"]), @"exit 0");
    insta::assert_snapshot!(check(text, &["broadcast"]), @r"
    comp.tff: error[refused] at .: broadcast_form at .: expected a computation that takes two arguments, at the server and at clients, and returns a result at clients, found (int32 -> int32)
    exit 1
    ");
    insta::assert_snapshot!(check(text, &["run"]), @"exit 0");
}

#[test]
fn what_is_wrong_in_itself_is_not_tried() {
    insta::assert_snapshot!(check("(x:int32 -> y)", &["run"]), @r"
    error[unbound-reference]: unknown name `y`; a free name needs a type: `x:int32`
     --> comp.tff:1:13
      |
    1 | (x:int32 -> y)
      |             ^
    exit 1
    ");
}

#[test]
fn what_a_target_may_use_needs_a_target() {
    insta::assert_snapshot!(tff(SECURE, &["check", "comp.tff", "--allow-insecure-secure-sum"]), @r"
    error: --allow-insecure-secure-sum, --data and --data-config need --for

    Usage: tff check [OPTIONS] <FILE>

    For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn messages_deeper_than_a_worker_reads_are_refused() {
    let text = format!("{}lit int32 1{}", "(let a=".repeat(60), " in a)".repeat(60));
    let refused = check(&text, &["worker"]);
    assert!(refused.starts_with("comp.tff: error[refused] at "), "{refused}");
    assert!(refused.contains("nests more than 100 messages, more than protobuf reads"), "{refused}");
    assert_eq!(check(&text, &["run"]), "exit 0");
}

#[test]
fn nothing_is_refused_of_recorded_computations_that_run() {
    let executor = compiling_executor();
    let mut ran = 0;
    for record in ["comps.jsonl", "comps_random.jsonl"].into_iter().flat_map(records) {
        let comp = comp_of(&record, "proto");
        let parameter = comp.ty().as_function().and_then(|function| function.parameter.clone());
        if parameter.is_some() && record["args"].is_null() {
            continue;
        }
        let argument: Option<Value> = parameter
            .map(|parameter| value_from_proto(&message::<pb::Value>(bytes(&record, "args")), &parameter).unwrap());
        let clients = record["clients"].as_u64().map(|clients| usize::try_from(clients).unwrap());
        let refusals = executor.refusals(&comp);
        let result = executor.prepare(&comp).and_then(|program| program.call(argument, clients));
        match (refusals.first(), result) {
            (None, Ok(_)) => ran += 1,
            (refusal, result) => panic!("{}: said {refusal:?}, the run gave {result:?}", record["name"]),
        }
    }
    assert!(ran > 80, "only {ran} ran");
}

#[test]
fn recorded_computations_are_refused_by_check_as_by_compile() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("comp.pb");
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tff")).args(args).current_dir(folder.path()).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
        (output.status.success(), stdout + &stderr)
    };
    let (mut taken, mut refused) = (0, 0);
    let records = records("forms.jsonl").into_iter().filter(|record| record["kind"] == "map_reduce");
    for (number, record) in records.enumerate() {
        std::fs::write(&file, bytes(&record, "proto")).unwrap();
        for form in ["map-reduce", "distribute-aggregate", "mergeable", "broadcast"] {
            let output = format!("{form}{number}");
            let (compiles, said_by_compile) = run(&["compile", "comp.pb", "--to", form, "-o", &output]);
            let (passes, said_by_check) = run(&["check", "comp.pb", "--for", form]);
            assert_eq!(passes, compiles, "{} {form}: {said_by_check} {said_by_compile}", record["name"]);
            if compiles {
                taken += 1;
            } else {
                let (_, reason) = said_by_compile.trim_end().split_once("comp.pb: ").unwrap();
                assert!(said_by_check.contains(reason), "{said_by_check}, not {reason}");
                refused += 1;
            }
        }
    }
    assert!(taken >= 20 && refused >= 12, "{taken} taken, {refused} refused");
}
