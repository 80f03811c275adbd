//! `tff compile`, `tff passes` and `tff run` of forms as a user meets them: files, folders, what is
//! printed, and what is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

mod recorded;

use prost::Message;
use recorded::{decode, records};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;
use tff_compiler::graph::generic;
use tff_ir::{Comp, CompiledComputation, TensorFlow, TensorFlowBinding};
use tff_testing::{comp_with, module};
use tff_types::Type;

/// A folder in which commands run.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// With `NAME.pb` for every computation that was recorded with its forms.
    fn with_rounds() -> (Self, Vec<Json>) {
        let (folder, records) = (Self::new(), records("forms.jsonl"));
        for record in &records {
            folder.write(&format!("{}.pb", record["name"].as_str().unwrap()), &decode(record, "proto"));
        }
        (folder, records)
    }

    fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.0.path().join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn replace(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{text}");
        self.write(name, text.replacen(from, to, 1).as_bytes());
    }

    /// What a command printed, or its code and its error.
    fn run(&self, args: &[&str]) -> Result<String, String> {
        let output = self.command(args).output().unwrap();
        let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        if output.status.success() { Ok(stdout) } else { Err(format!("{}: {stderr}", output.status.code().unwrap())) }
    }

    fn command(&self, args: &[&str]) -> Command {
        let native = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.native/tensorflow");
        let native = std::env::var_os("TENSORFLOW_DIR").unwrap_or_else(|| native.into());
        let mut command = Command::new(env!("CARGO_BIN_EXE_tff"));
        command.args(args).current_dir(self.0.path()).env("TENSORFLOW_DIR", native).env_remove("TFF_LOG");
        command
    }

    /// What a command printed, and what it logged.
    #[track_caller]
    fn both(&self, args: &[&str]) -> (String, String) {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        self.run(args).unwrap_or_else(|error| panic!("{args:?}: {error}"))
    }

    #[track_caller]
    fn fails(&self, args: &[&str]) -> String {
        let error = self.run(args).unwrap_err();
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    }

    #[track_caller]
    fn json(&self, args: &[&str]) -> Json {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    /// The roles and types that the index of a form says.
    fn index(&self, form: &str) -> BTreeMap<String, String> {
        let index: toml::Table = self.read(&format!("{form}/index.toml")).parse().unwrap();
        let text = |part: &toml::Value, key: &str| part[key].as_str().unwrap().to_owned();
        index["parts"].as_array().unwrap().iter().map(|part| (text(part, "role"), text(part, "type"))).collect()
    }
}

/// What the recorded reasons have in common with ours.
const REASONS: [(&str, &str); 4] = [
    ("same placement", "same placement"),
    ("unbound references", "unbound reference"),
    ("broadcast dependent on aggregate", "broadcast dependent on aggregate"),
    ("two arguments", "two arguments"),
];

#[test]
fn forms_have_the_recorded_parts_or_are_refused_for_the_recorded_reason() {
    let (folder, records) = Folder::with_rounds();
    let mut problems = Vec::new();
    let (mut written, mut refused) = (0, 0);
    for record in &records {
        let (name, kind) = (record["name"].as_str().unwrap(), record["kind"].as_str().unwrap());
        let to = if kind == "distribute_aggregate" { "distribute-aggregate" } else { "map-reduce" };
        let form = format!("{name}.{kind}");
        let result = folder.run(&["compile", &format!("{name}.pb"), "--to", to, "-o", &form]);
        match (result, record["error"].as_str()) {
            (Ok(_), None) => {
                let expected: BTreeMap<String, String> = serde_json::from_value(record["parts"].clone()).unwrap();
                if folder.index(&form) != expected {
                    problems.push(format!("{form}: expected {expected:?}, found {:?}", folder.index(&form)));
                }
                for (role, ty) in &expected {
                    assert_eq!(folder.ok(&["type", &format!("{form}/{role}.pb")]).trim_end(), ty, "{form} {role}");
                }
                assert_eq!(folder.ok(&["type", &form]).trim_end(), record["type"].as_str().unwrap(), "{form}");
                written += 1;
            }
            (Err(found), Some(expected)) => {
                let reason = REASONS.iter().find(|(theirs, _)| expected.contains(theirs)).unwrap().1;
                if !found.contains(reason) || !found.starts_with("1: error: ") {
                    problems.push(format!("{form}: expected {expected}, found {found}"));
                }
                assert!(!folder.0.path().join(&form).exists(), "{form}");
                refused += 1;
            }
            (found, expected) => problems.push(format!("{form}: expected {expected:?}, found {found:?}")),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(written >= 20 && refused >= 5, "{written} written, {refused} refused");
}

/// Arguments for 0, 1 and 7 clients.
fn arguments(name: &str) -> [Json; 3] {
    let of = |server: Json, client: fn(usize) -> Json| {
        [0, 1, 7].map(|clients| json!([server, (1..=clients).map(client).collect::<Vec<_>>()]))
    };
    match name {
        "bcast_mean" | "two_aggs" => of(json!(1.5), |client| json!(2 * client)),
        "struct_round" => of(json!({"w": [1, 2, 3], "n": 4}), |client| {
            json!((0..client % 3).map(|row| json!([row, client, 1])).collect::<Vec<_>>())
        }),
        _ => of(json!(10), |client| json!(client)),
    }
}

/// Runs one computation and its forms on each of the arguments, and counts the runs of forms.
fn run_forms(folder: &Folder, name: &str) -> usize {
    const INSECURE: &str = "--allow-insecure-secure-sum";
    let comp = format!("{name}.pb");
    let forms = ["map-reduce", "distribute-aggregate", "mergeable"].map(|to| {
        let form = format!("{name}.{to}");
        let compiled = folder.run(&["compile", &comp, "--to", to, "-o", &form, INSECURE]);
        compiled.is_ok().then_some((to, form))
    });
    let mut runs = 0;
    for argument in arguments(name).map(|argument| argument.to_string()) {
        let args = ["--json", "--arg", &argument, INSECURE];
        let expected = folder.json(&[&["run", &comp], &args[..]].concat());
        for (to, form) in forms.iter().flatten() {
            let sub_rounds: &[Option<&str>] = match *to {
                "distribute-aggregate" => &[None],
                _ => &[None, Some("1"), Some("2"), Some("3")],
            };
            for sub_rounds in sub_rounds {
                let more = sub_rounds.map_or(Vec::new(), |count| vec!["--sub-rounds", count]);
                let found = folder.json(&[&["run", form], &args[..], &more].concat());
                assert_eq!(found, expected, "{form} of {argument} {more:?}");
                runs += 1;
            }
        }
    }
    runs
}

#[test]
fn forms_compute_what_computations_compute_also_in_sub_rounds() {
    let (folder, records) = Folder::with_rounds();
    let is_round = |record: &&Json| record["kind"] == "map_reduce" && record["name"] != "one_arg";
    let names: Vec<_> = records.iter().filter(is_round).map(|record| record["name"].as_str().unwrap()).collect();
    let runs: usize = std::thread::scope(|scope| {
        // Most of the time is that in which TensorFlow's library is loaded, by one thread.
        let threads: Vec<_> = names
            .chunks(3)
            .map(|names| scope.spawn(|| names.iter().map(|name| run_forms(&folder, name)).sum::<usize>()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(runs >= 100, "only {runs} runs");
}

#[test]
fn clients_are_split_without_an_argument_too() {
    let folder = Folder::new();
    folder.write("count.tff", b"( -> %federated_sum(%federated_value_at_clients(lit int32 1)))");
    folder.ok(&["compile", "count.tff", "--to", "mergeable", "-o", "count"]);
    assert_eq!(folder.json(&["run", "count", "--clients", "7", "--sub-rounds", "3", "--json"]), json!(7));
    assert_eq!(folder.json(&["run", "count", "--clients", "0", "--sub-rounds", "3", "--json"]), json!(0));
}

/// Also where what is at the server comes last, each client is in one sub-round, and those of a result at
/// clients stay in order.
#[test]
fn every_client_is_in_one_sub_round() {
    let folder = Folder::new();
    let round =
        "(a:<{float32}@CLIENTS,float32@SERVER> -> <%federated_sum(a[0]),a[1],%federated_zip_at_clients(<a[0]>)>)";
    folder.write("round.tff", round.as_bytes());
    folder.ok(&["compile", "round.tff", "--to", "mergeable", "-o", "round"]);
    for clients in [0, 1, 2, 5, 7] {
        let values: Vec<f64> = (0..clients).map(|client| f64::from(1 << client)).collect();
        let argument = json!([values, 0.5]).to_string();
        let expected = folder.json(&["run", "round.tff", "--json", "--arg", &argument]);
        for sub_rounds in ["1", "2", "3"] {
            let found = folder.json(&["run", "round", "--json", "--arg", &argument, "--sub-rounds", sub_rounds]);
            assert_eq!(found, expected, "{clients} clients in {sub_rounds} sub-rounds");
        }
    }
}

/// Names that have to be quoted, and names of results, are the same in every form.
#[test]
fn names_are_the_same_in_every_form() {
    let folder = Folder::new();
    let insecure = "--allow-insecure-secure-sum";
    let rounds = [
        "(p:<s=<`a/b`=int32>@SERVER,c={int32}@CLIENTS> -> <p.s,%federated_sum(p.c)>)",
        "(p:<s=int32@SERVER,c={int32}@CLIENTS> -> <state=p.s,metrics=%federated_secure_sum_bitwidth(<p.c,lit int32 8>)>)",
    ];
    for (number, (round, argument)) in
        rounds.iter().zip([r#"{"s":{"a/b":1},"c":[1,2]}"#, r#"{"s":1,"c":[1,2]}"#]).enumerate()
    {
        folder.write("round.tff", round.as_bytes());
        let expected = folder.json(&["run", "round.tff", "--json", insecure, "--arg", argument]);
        for target in ["map-reduce", "distribute-aggregate", "mergeable"] {
            let form = format!("{target}-{number}");
            folder.ok(&["compile", "round.tff", "--to", target, "-o", &form, insecure]);
            folder.ok(&["check", &form]);
            let found = folder.json(&["run", &form, "--json", insecure, "--arg", argument]);
            assert_eq!(found, expected, "{form}");
        }
    }
}

#[test]
fn a_form_that_aggregates_nothing_needs_no_clients() {
    let folder = Folder::new();
    folder.write("hello.tff", b"( -> lit str \"Hello, World!\")");
    folder.ok(&["compile", "hello.tff", "--to", "mergeable", "-o", "hello"]);
    assert_eq!(folder.json(&["run", "hello", "--json"]), json!("Hello, World!"));
}

/// `comp#xla`, a module of another system, in what is read from `NAME.bodies`.
fn write_with_module(folder: &Folder, name: &str, text: &str) {
    let comp = comp_with(text, &[("xla", module())]);
    folder.write(name, &comp.to_proto().unwrap().encode_to_vec());
}

/// Modules stay what they are wherever no graph is made of them: forms of graphs say so.
#[test]
fn modules_of_other_systems_go_to_every_target_that_takes_them() {
    let folder = Folder::new();
    let map = "%federated_map(<(x:int32 -> comp#xla(x)),a[1]>)";
    let round = format!("(a:<int32@SERVER,{{int32}}@CLIENTS> -> <a[0],%federated_sum({map})>)");
    write_with_module(&folder, "round.pb", &round);
    write_with_module(&folder, "send.pb", &format!("(a:<int32@SERVER,{{int32}}@CLIENTS> -> {map})"));
    let modules = |file: &str| {
        let bytes = std::fs::read(folder.0.path().join(file)).unwrap();
        let comp = Comp::from_proto(&tff_proto::v0::Computation::decode(bytes.as_slice()).unwrap()).unwrap();
        let is_it = |part: &&Comp| matches!(part.as_compiled(), Some(CompiledComputation::Xla(xla)) if *xla.hlo_module.value == [1, 2, 3]);
        comp.preorder().filter(is_it).count()
    };
    for to in ["native", "call-dominant"] {
        folder.ok(&["compile", "round.pb", "--to", to, "-o", "out.pb"]);
        assert_eq!(modules("out.pb"), 1, "{to}");
    }
    folder.ok(&["compile", "round.pb", "--to", "distribute-aggregate", "-o", "distribute"]);
    assert_eq!(modules("distribute/client_work.pb"), 1);
    folder.ok(&["compile", "round.pb", "--to", "mergeable", "-o", "mergeable"]);
    assert_eq!(modules("mergeable/up_to_merge.pb"), 1);
    let errors = [
        folder.fails(&["compile", "round.pb", "--to", "map-reduce", "-o", "out"]),
        folder.fails(&["compile", "send.pb", "--to", "broadcast", "-o", "out"]),
    ];
    insta::assert_snapshot!(errors.concat(), @r"
    1: error: round.pb: map_reduce_form at .: in work: a call of a computation in xla cannot be part of a graph
    1: error: send.pb: broadcast_form at .: in client_processing: a call of a computation in xla cannot be part of a graph
    ");
}

#[test]
fn literals_keep_their_dtypes_and_values_in_graphs() {
    let folder = Folder::new();
    let literals = "<%generic_plus(<x,x>),lit int64 9007199254740993,lit uint8 200,lit float16 1.5,lit bool true>";
    folder.write(
        "literals.tff",
        format!("(v:{{int32}}@CLIENTS -> %federated_map(<(x:int32 -> {literals}),v>))").as_bytes(),
    );
    folder.ok(&["compile", "literals.tff", "-o", "native.pb"]);
    assert!(folder.ok(&["print", "native.pb"]).matches("lit ").count() == 0, "{}", folder.ok(&["print", "native.pb"]));
    let found = folder.json(&["run", "native.pb", "--json", "--arg", "[4]"]);
    assert_eq!(found, json!([[8, 9_007_199_254_740_993_i64, 200, 1.5, true]]));
    assert_eq!(
        folder.ok(&["type", "native.pb"]).trim_end(),
        "({int32}@CLIENTS -> {<int32,int64,uint8,float16,bool>}@CLIENTS)"
    );
}

#[test]
fn a_mean_over_no_weight_is_nan_with_a_warning() {
    let folder = Folder::new();
    folder.write("mean.tff", b"(v:{float32}@CLIENTS -> %federated_mean(v))");
    folder.write("weighted.tff", b"(x:<{float32}@CLIENTS,{float32}@CLIENTS> -> %federated_weighted_mean(x))");
    let cases = [
        ("mean.tff", "[]", "\"nan\""),
        ("mean.tff", "[1, 2]", "1.5"),
        ("weighted.tff", "[[], []]", "\"nan\""),
        ("weighted.tff", "[[1, 2], [0, 0]]", "\"nan\""),
        ("weighted.tff", "[[1, 2], [0, 1]]", "2.0"),
    ];
    for (file, arg, expected) in cases {
        let (printed, logged) = folder.both(&["run", file, "--json", "--arg", arg]);
        assert_eq!(printed.trim_end(), expected);
        let warning = format!("{file}: the result has nan, as a mean does over no clients or weights that add up to 0");
        assert_eq!(logged.contains(&warning), expected == "\"nan\"", "{logged}");
    }
}

/// The one warning that a run has, without the name of the file.
#[track_caller]
fn warning(folder: &Folder, file: &str, arg: &str) -> String {
    let (_, logged) = folder.both(&["run", file, "--json", "--arg", arg]);
    assert_eq!(logged.matches("the result has").count(), 1, "{logged}");
    let warning = logged.trim_end().split_once(&format!("{file}: ")).unwrap().1.to_owned();
    // What it warns of is an error where the user wants that, and nothing is printed.
    let error = folder.fails(&["run", file, "--json", "--trap-nan", "--arg", arg]);
    assert_eq!(error.trim_end(), format!("1: error: {file}: {warning}"));
    warning
}

#[test]
fn what_is_not_finite_is_told_once_with_its_cause() {
    let folder = Folder::new();
    folder.write("mean.tff", b"(v:{float32}@CLIENTS -> %federated_mean(v))");
    folder.write("weighted.tff", b"(x:<{float32}@CLIENTS,{float32}@CLIENTS> -> %federated_weighted_mean(x))");
    let square = "(x:float32 -> %generic_multiply(<x,x>))";
    let squares = format!("(v:{{float32}}@CLIENTS -> %federated_sum(%federated_map(<{square},v>)))");
    folder.write("squares.tff", squares.as_bytes());
    folder.ok(&["compile", "mean.tff", "-o", "mean.pb"]);
    folder.ok(&["compile", "weighted.tff", "-o", "weighted.pb"]);
    folder.ok(&["compile", "mean.tff", "--to", "mergeable", "-o", "mean.form"]);
    folder.ok(&["compile", "squares.tff", "-o", "squares.pb"]);
    let no_weight = "the result has nan, as a mean does over no clients or weights that add up to 0";
    for file in ["mean.tff", "mean.pb", "mean.form"] {
        assert_eq!(warning(&folder, file, "[]"), no_weight, "{file}");
        let argument = "the result has nan, as the argument is not finite at client 1";
        assert_eq!(warning(&folder, file, "[1, \"nan\"]"), argument, "{file}");
        let infinite = "the result has inf, as the argument is not finite at clients 0, 2";
        assert_eq!(warning(&folder, file, "[\"inf\", 1, \"inf\"]"), infinite, "{file}");
    }
    assert_eq!(warning(&folder, "weighted.tff", "[[1], [0]]"), no_weight);
    // A compiled mean is a quotient as others are.
    let unknown = "the result has nan, though the argument is finite: the cause is not known";
    assert_eq!(warning(&folder, "weighted.pb", "[[1], [0]]"), unknown);
    for file in ["squares.tff", "squares.pb"] {
        let computed = "the result has inf, as what was computed for client 1 is not finite";
        assert_eq!(warning(&folder, file, "[1, 1e30]"), computed, "{file}");
    }
    // In sub-rounds, too, the whole is told of, and not its parts.
    let (printed, logged) = folder.both(&["run", "mean.form", "--json", "--sub-rounds", "2", "--arg", "[1, \"nan\"]"]);
    assert_eq!(printed.trim_end(), "\"nan\"");
    assert_eq!(logged.matches("the result has nan, as the argument is not finite at client 1").count(), 1, "{logged}");
    assert_eq!(folder.json(&["run", "mean.form", "--json", "--trap-nan", "--arg", "[1, 2]"]), json!(1.5));
}

#[test]
fn forms_are_checked_part_by_part() {
    let (folder, _) = Folder::with_rounds();
    folder.ok(&["compile", "sum_round.pb", "--to", "map-reduce", "-o", "form"]);
    assert_eq!(folder.ok(&["check", "form"]), "");
    assert_eq!(folder.json(&["check", "form", "--json"]), json!([]));
    let errors = |args: &[&str]| {
        let output = folder.command(args).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).unwrap()
    };
    folder.replace("form/index.toml", "-> <int32@SERVER,int32@SERVER>)", "-> <int32@SERVER,bool@SERVER>)");
    insta::assert_snapshot!(errors(&["check", "form"]), @"form: error[malformed] at .: form/index.toml: what update returns: not assignable: expected bool, found int32");
    folder.write("form/zero.pb", b"\xff\xff");
    insta::assert_snapshot!(errors(&["check", "form"]), @"form/zero.pb: error[malformed] at .: tensorflow_federated.v0.Computation is cut off at byte 2, inside a field: failed to decode Protobuf message: invalid varint");
    insta::assert_snapshot!(errors(&["check", "form", "--json"]), @r#"[{"severity":"error","code":"malformed","path":".","message":"tensorflow_federated.v0.Computation is cut off at byte 2, inside a field: failed to decode Protobuf message: invalid varint","line":null,"column":null,"part":"zero"}]"#);
}

#[test]
fn broadcast_form_runs() {
    let folder = Folder::new();
    folder.write(
        "send.tff",
        b"(a:<s=int32@SERVER,c={float32}@CLIENTS> -> %federated_zip_at_clients(<a.c,%federated_broadcast(a.s)>))",
    );
    folder.ok(&["compile", "send.tff", "--to", "broadcast", "-o", "send"]);
    let args = |file| ["run", file, "--json", "--arg", "[3, [0.5, 1.5]]"];
    assert_eq!(folder.json(&args("send")), json!([[0.5, 3], [1.5, 3]]));
    assert_eq!(folder.json(&args("send")), folder.json(&args("send.tff")));
}

/// The accuracy, loss and number of examples of every line that tells of a round or an evaluation.
fn metrics(printed: &str) -> Vec<[f64; 3]> {
    let value = |line: &str, name: &str| {
        let pair = line.split(' ').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        pair.unwrap_or_else(|| panic!("no {name} in {line}")).parse().unwrap()
    };
    let lines = printed.lines().filter(|line| line.starts_with("round ") || line.starts_with("evaluation "));
    lines.map(|line| ["accuracy", "loss", "num_examples"].map(|name| value(line, name))).collect()
}

#[test]
fn federated_averaging_trains_from_what_the_frontend_wrote_and_from_forms() {
    let (folder, digits) = (Folder::new(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/digits"));
    for entry in std::fs::read_dir(&digits).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), folder.0.path().join(entry.file_name())).unwrap();
    }
    let config = folder.read("digits.toml").replace(".native.pb", ".pb");
    folder.write("digits.toml", config.as_bytes());
    let found = metrics(&folder.ok(&["simulate", "digits.toml"]));
    let recorded: Json = serde_json::from_str(&folder.read("history.json")).unwrap();
    let expected = recorded["rounds"].as_array().unwrap().iter().chain([&recorded["evaluation"]]);
    let expected: Vec<_> =
        expected.map(|it| ["accuracy", "loss", "num_examples"].map(|name| it[name].as_f64().unwrap())).collect();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-4);
        assert!(is_near, "expected {expected:?}, found {found:?}");
    }

    for to in ["map-reduce", "distribute-aggregate", "mergeable"] {
        folder.ok(&["compile", "next.pb", "--to", to, "-o", to]);
        assert!(config.contains("\"next.pb\""));
        folder.write("form.toml", config.replace("\"next.pb\"", &format!("\"{to}\"")).as_bytes());
        let of_form = metrics(&folder.ok(&["simulate", "form.toml", "--rounds", "2"]));
        assert_eq!(of_form[..2], found[..2], "{to}");
    }
}

#[test]
fn training_in_jax_runs_from_forms_that_may_hold_modules() {
    let (folder, examples) = (Folder::new(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples"));
    for entry in std::fs::read_dir(examples.join("digits-jax")).unwrap().map(Result::unwrap) {
        std::fs::copy(entry.path(), folder.0.path().join(entry.file_name())).unwrap();
    }
    std::fs::copy(examples.join("digits/digits.csv"), folder.0.path().join("digits.csv")).unwrap();
    let config = folder.read("digits.toml").replace("../digits/digits.csv", "digits.csv");
    folder.write("digits.toml", config.as_bytes());
    let found = metrics(&folder.ok(&["simulate", "digits.toml", "--rounds", "2"]));
    for to in ["distribute-aggregate", "mergeable"] {
        folder.ok(&["compile", "next.pb", "--to", to, "-o", to]);
        assert!(config.contains("\"next.pb\""));
        folder.write("form.toml", config.replace("\"next.pb\"", &format!("\"{to}\"")).as_bytes());
        assert_eq!(metrics(&folder.ok(&["simulate", "form.toml", "--rounds", "2"])), found, "{to}");
    }
}

#[test]
fn secure_sums_are_kept_unless_asked_for() {
    let (folder, _) = Folder::with_rounds();
    folder.ok(&["compile", "secure_max.pb", "--to", "map-reduce", "-o", "form"]);
    assert_eq!(folder.index("form")["work"], "(<int32,<>> -> <<>,<>,<int32>,<>>)");
    let run = ["run", "form", "--arg", "[1, [2, 3]]", "--json"];
    let refused = folder.fails(&run);
    assert!(refused.contains("secure"), "{refused}");
    insta::assert_snapshot!(folder.fails(&[&run[..], &["--sub-rounds", "2"]].concat()), @"1: error: form: expected --allow-insecure-secure-sum with --sub-rounds, as the form sums securely");
    let insecure = [&run[..], &["--allow-insecure-secure-sum"]].concat();
    assert_eq!(folder.json(&insecure), json!([1, 5]));
    assert_eq!(folder.json(&[&insecure[..], &["--sub-rounds", "2"]].concat()), json!([1, 5]));
}

#[test]
fn compiled_files_are_messages_or_text_and_say_what_was_done() {
    let (folder, _) = Folder::with_rounds();
    assert_eq!(folder.ok(&["compile", "bcast_mean.pb", "-o", "native.pb"]), "");
    let print = |file| folder.ok(&["print", file, "--bodies", "labels"]);
    let printed = folder.ok(&["compile", "bcast_mean.pb", "-o", "native.tff", "--print-after", "add_cache_ids"]);
    assert_eq!(printed, format!("// after add_cache_ids\n{}", print("native.pb")));
    assert_eq!(print("native.tff"), print("native.pb"));
    folder.ok(&["compile", "bcast_mean.pb", "--to", "call-dominant", "-o", "again.tff"]);
    assert!(print("again.tff").contains("federated_mean"));

    let printed = folder.ok(&["compile", "bcast_mean.pb", "-o", "native.pb", "--print-after", "all"]);
    let stats = folder.ok(&["compile", "bcast_mean.pb", "-o", "native.pb", "--stats"]);
    let after: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("// after ")).collect();
    let passes: Vec<_> = stats.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(passes, [&["pass"], &after[..], &["all"]].concat());
    let stats = folder.ok(&["compile", "bcast_mean.pb", "--to", "map-reduce", "-o", "form", "--stats"]);
    let first: Vec<_> = stats.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let parts = first.iter().position(|word| *word == "part").unwrap();
    assert_eq!((first[parts + 1], first[parts + 10], first[parts + 11]), ("prepare", "update", "all"));
    let again = ["compile", "bcast_mean.pb", "--to", "map-reduce", "-o", "again", "--print-after", "all"];
    let printed = folder.ok(&again);
    let after: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("// after ")).collect();
    assert_eq!(first[..parts], [&["pass"], &after[..]].concat());
    for pass in ["reduce_intrinsics", "to_call_dominant"] {
        assert!(after.contains(&pass), "{after:?}");
    }
    // One for each part.
    assert_eq!(after.iter().filter(|pass| **pass == "add_cache_ids").count(), 10);
}

#[test]
fn passes_have_one_line_each() {
    let passes = Folder::new().ok(&["passes"]);
    assert_eq!(passes.lines().count(), tff_compiler::passes::ALL.len());
    for (line, pass) in passes.lines().zip(tff_compiler::passes::ALL) {
        let (name, description) = line.split_once(' ').unwrap();
        assert_eq!((name, description.trim()), (pass.name(), pass.description()));
    }
}

#[test]
fn bad_inputs_are_one_line() {
    let (folder, _) = Folder::with_rounds();
    folder.write("uri.tff", b"(v:{int32}@CLIENTS -> %federated_sun:({int32}@CLIENTS -> int32@SERVER)(v))");
    folder.write("free.tff", b"(v:int32 -> <v,w:int32>)");
    let compile = |file: &str, to: &str| {
        let output = if ["native", "call-dominant"].contains(&to) { "out.pb" } else { "out" };
        folder.fails(&["compile", file, "--to", to, "-o", output])
    };
    let errors = [
        compile("missing.pb", "native"),
        compile("uri.tff", "native"),
        compile("uri.tff", "map-reduce"),
        compile("free.tff", "call-dominant"),
        compile("broadcast_after_aggregate.pb", "map-reduce"),
        compile("broadcast_after_aggregate.pb", "distribute-aggregate"),
        compile("broadcast_after_aggregate.pb", "mergeable"),
        compile("sum_round.pb", "broadcast"),
        compile("client_out.pb", "map-reduce"),
        compile("one_arg.pb", "map-reduce"),
        compile("secure_max.pb", "mergeable"),
        folder.fails(&["compile", "sum_round.pb", "-o", "missing/out.pb"]),
        folder.fails(&["compile", "sum_round.pb", "--to", "map-reduce", "-o", "sum_round.pb"]),
        folder.fails(&["compile", "sum_round.pb", "--to", "map-reduce", "-o", "."]),
        folder.fails(&["run", "sum_round.pb", "--arg", "[1, [2]]", "--sub-rounds", "2"]),
    ];
    insta::assert_snapshot!(errors.concat(), @r"
    1: error: missing.pb: No such file or directory (os error 2)
    1: error: uri.tff: reduce_intrinsics at .lambda.result.call.function: no intrinsic is named `federated_sun`; did you mean `federated_sum`?
    1: error: uri.tff: map_reduce_form at .: expected a computation that takes two arguments, found {int32}@CLIENTS
    1: error: free.tff: the computation is not valid: error[unbound-reference] at .lambda.result.struct.element[1]: the name `w` is used here and defined nowhere around it
    1: error: broadcast_after_aggregate.pb: map_reduce_form at .: broadcast dependent on aggregate: federated_broadcast (`_var3`) needs the result of federated_aggregate (`_var2`)
    1: error: broadcast_after_aggregate.pb: distribute_aggregate_form at .: broadcast dependent on aggregate: federated_broadcast (`_var2`) needs the result of federated_sum (`_var1`)
    1: error: broadcast_after_aggregate.pb: mergeable_comp_form at .: aggregate dependent on aggregate: federated_aggregate (`_var8`) needs the result of federated_aggregate (`_var2`)
    1: error: sum_round.pb: broadcast_form at .: expected a computation that takes two arguments, at the server and at clients, and returns a result at clients, found (<s=int32@SERVER,c={int32}@CLIENTS> -> <int32@SERVER,int32@SERVER>)
    1: error: client_out.pb: map_reduce_form at .: expected values of the same placement to zip, found {int32}@CLIENTS
    1: error: one_arg.pb: map_reduce_form at .: expected a computation that takes two arguments, found {int32}@CLIENTS
    1: error: secure_max.pb: mergeable_comp_form at .: expected no aggregation in after_merge, found federated_secure_sum: (<{int32}@CLIENTS,int32> -> int32@SERVER)
    1: error: missing/out.pb: expected a folder missing, found none
    1: error: sum_round.pb: expected a folder that is new or empty
    1: error: .: expected a folder that is new or empty
    1: error: sum_round.pb: expected the folder of a form for --sub-rounds, found a computation
    ");
}

/// `(x:int32 -> g(g(x)))`, serialized, with a graph `g` that was the identity before the change.
fn twice(change: impl FnOnce(&mut TensorFlow)) -> Vec<u8> {
    let int: Type = "int32".parse().unwrap();
    let identity = generic::identity(&int).unwrap();
    let Some(CompiledComputation::TensorFlow(graph)) = identity.as_compiled() else { panic!("{identity} is no graph") };
    let mut graph = graph.as_ref().clone();
    change(&mut graph);
    let graph = CompiledComputation::TensorFlow(Arc::new(graph));
    let graph = Comp::compiled(graph, identity.ty().clone()).unwrap();
    let call = |argument| Comp::call(graph.clone(), Some(argument)).unwrap();
    let result = call(call(Comp::reference("x", int.clone()).unwrap()));
    Comp::lambda(Some(("x", int)), result).unwrap().to_proto().unwrap().encode_to_vec()
}

#[test]
fn bad_graphs_are_refused_with_pass_and_path() {
    let folder = Folder::new();
    folder.write("good.pb", &twice(|_| {}));
    folder.write("no_graph.pb", &twice(|graph| graph.graph.value = vec![255, 255].into()));
    folder.write("no_node.pb", &twice(|graph| graph.result = TensorFlowBinding::Tensor("gone:0".into())));
    folder.ok(&["compile", "good.pb", "-o", "out.pb"]);
    let errors = ["no_graph.pb", "no_node.pb"].map(|file| folder.fails(&["compile", file, "-o", "out.pb"]));
    insta::assert_snapshot!(errors.concat(), @r"
    1: error: no_graph.pb: disable_call_rewriting at .lambda.result.call.function: the computation holds no graph: tensorflow.GraphDef is cut off at byte 2, inside a field: failed to decode Protobuf message: invalid varint
    1: error: no_node.pb: compile_local_subcomputations at .lambda.result.block.local[0](_var1): `the binding of the result` refers to the node `gone`, which is not in the graph
    ");
}

#[test]
fn bad_forms_are_one_line() {
    let (folder, _) = Folder::with_rounds();
    let mut errors = Vec::new();
    let mut check = |name: &str, change: &dyn Fn(&str)| {
        folder.ok(&["compile", "sum_round.pb", "--to", "map-reduce", "-o", name]);
        change(name);
        errors.push(folder.fails(&["run", name, "--arg", "[1, [2, 3]]"]));
    };
    let index = |name: &str| format!("{name}/index.toml");
    check("no_index", &|name| std::fs::remove_file(folder.0.path().join(index(name))).unwrap());
    check("no_part", &|name| std::fs::remove_file(folder.0.path().join(name).join("zero.pb")).unwrap());
    check("other_form", &|name| folder.replace(&index(name), "map-reduce", "reduce-map"));
    check("mergeable", &|name| folder.replace(&index(name), "map-reduce", "mergeable"));
    check("other_role", &|name| folder.replace(&index(name), "\"zero\"", "\"../zero\""));
    check("other_type", &|name| folder.replace(&index(name), "-> <int32,int32>)\"", "-> <int32,bool>)\""));
    check("whole_type", &|name| {
        folder.replace(&index(name), "<int32@SERVER,int32@SERVER>", "<int32@SERVER,bool@SERVER>")
    });
    check("no_type", &|name| folder.replace(&index(name), "( -> <int32>)", "( -> "));
    check("twice", &|name| {
        let again = "\n[[parts]]\nrole = \"zero\"\ntype = \"( -> <int32>)\"\n";
        folder.write(&index(name), (folder.read(&index(name)) + again).as_bytes());
    });
    check("not_binary", &|name| folder.write(&format!("{name}/zero.pb"), b"\xff\xff"));
    check("other_part", &|name| {
        std::fs::copy(folder.0.path().join(name).join("prepare.pb"), folder.0.path().join(name).join("zero.pb"))
            .unwrap();
    });
    insta::assert_snapshot!(errors.concat(), @r#"
    1: error: no_index: expected the folder of a form, found no index.toml in it
    1: error: no_part/zero.pb: No such file or directory (os error 2)
    1: error: other_form/index.toml:1: unknown variant `reduce-map`, expected one of `map-reduce`, `distribute-aggregate`, `mergeable`, `broadcast`
    1: error: mergeable/index.toml: expected a part up_to_merge of the form mergeable, found none
    1: error: other_role/index.toml: expected the role of a part, found "../zero"
    1: error: other_type/update.pb: expected a computation of type (<int32,<<int32>,<>,<>,<>>> -> <int32,bool>), found (<int32,<<int32>,<>,<>,<>>> -> <int32,int32>)
    1: error: whole_type/index.toml: what update returns: not assignable: expected bool, found int32
    1: error: no_type/index.toml: the type of the part zero: 1:6: expected a type, found the end
    1: error: twice/index.toml: expected one part zero, found several
    1: error: not_binary/zero.pb: tensorflow_federated.v0.Computation is cut off at byte 2, inside a field: failed to decode Protobuf message: invalid varint
    1: error: other_part/zero.pb: expected a computation of type ( -> <int32>), found (int32 -> <>)
    "#);
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = Folder::new();
    let cases: [&[&str]; 5] = [
        &["compile", "a.pb"],
        &["compile", "a.pb", "-o", "out"],
        &["compile", "a.pb", "-o", "out.pb", "--to", "xla"],
        &["compile", "a.pb", "-o", "out.pb", "--print-after", "no_pass"],
        &["run", "a", "--sub-rounds", "0"],
    ];
    for case in cases {
        let error = folder.run(case).unwrap_err();
        assert!(error.starts_with("2: "), "{case:?} {error}");
    }
}
