//! `tff simulate` on the digits: the recorded metrics, the same twice, and errors before the first
//! round.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

fn digits(name: &str) -> PathBuf {
    example("digits").join(name)
}

fn tff(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tff")).arg("simulate").args(args).env_remove("TFF_LOG").output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The metrics of a line such as `round 1 accuracy=0.5 loss=1.25`.
fn metric(line: &str, name: &str) -> f64 {
    let value = line.split(' ').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name} in {line}")).parse().unwrap()
}

#[track_caller]
fn assert_near(line: &str, expected: &Json) {
    for name in ["accuracy", "loss", "num_examples"] {
        let (found, expected) = (metric(line, name), expected[name].as_f64().unwrap());
        assert!((found - expected).abs() < 1e-4, "{name}: expected {expected}, found {line}");
    }
}

/// The lines with what depends on the clock taken out.
fn without_seconds(text: &str) -> String {
    let is_timed = |line: &&str| !line.starts_with("seconds") && !line.contains("rounds/s");
    let cut = |line: &str| match line.find("seconds") {
        Some(start) => line[..start].to_owned(),
        None => line.to_owned(),
    };
    text.lines().filter(is_timed).map(|line| cut(line) + "\n").collect()
}

/// Simulates an example and compares each round and the evaluation with its recorded history.
fn check_history(folder: &str, accuracy: f64) {
    let history = std::fs::read(example(folder).join("history.json")).unwrap();
    let recorded: Json = serde_json::from_slice(&history).unwrap();
    let output = stdout(&tff(&[example(folder).join("digits.toml").to_str().unwrap()]));
    let rounds: Vec<&str> = output.lines().filter(|line| line.starts_with("round ")).collect();
    let expected = recorded["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), expected.len());
    for (index, (line, expected)) in rounds.iter().zip(expected).enumerate() {
        assert!(line.starts_with(&format!("round {} accuracy=", index + 1)), "{line}");
        assert_near(line, expected);
    }
    let last = output.lines().last().unwrap();
    assert!(last.starts_with("evaluation ") && metric(last, "accuracy") >= accuracy, "{last}");
    assert_near(last, &recorded["evaluation"]);
}

#[test]
fn training_in_tensorflow_gives_the_recorded_metrics() {
    check_history("digits", 0.954);
}

#[test]
fn training_in_jax_gives_what_jax_alone_does() {
    check_history("digits-jax", 0.95);
}

#[test]
fn training_in_jax_needs_no_tensorflow() {
    let empty = tempfile::tempdir().unwrap();
    let simulate = |folder: &str| {
        let config = example(folder).join("digits.toml");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tff"));
        command.arg("simulate").arg(config).args(["--rounds", "2"]).env("TENSORFLOW_DIR", empty.path());
        command.env_remove("TFF_LOG").output().unwrap()
    };
    assert_eq!(stdout(&simulate("digits-jax")).lines().filter(|line| line.starts_with("round ")).count(), 2);
    // Where it is needed, it is missed.
    assert_eq!(simulate("digits").status.code(), Some(1));
}

#[test]
fn sampled_rounds_are_the_same_twice_and_leave_a_history() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let config = digits("digits.toml").to_str().unwrap().to_owned();
    let run = |name: &str, seed: &str| {
        let (history, plot) = (path(&format!("{name}.jsonl")), path(&format!("{name}.svg")));
        let sizes = ["--rounds", "3", "--clients-per-round", "4", "--batch-size", "16"];
        let outputs = ["--seed", seed, "--history", &history, "--plot", &plot];
        let printed = stdout(&tff(&[&[config.as_str()], &sizes[..], &outputs[..]].concat()));
        let history = std::fs::read_to_string(history).unwrap();
        (without_seconds(&printed), without_seconds(&history), std::fs::read(plot).unwrap())
    };
    let first = run("first", "1");
    // The title of the picture is that of the configuration: nothing tells the runs apart.
    assert!(first == run("second", "1"));
    let other = run("other", "2");
    assert_ne!(first.1, other.1);
    assert!(String::from_utf8(first.2).unwrap().starts_with("<svg"));

    let text = std::fs::read_to_string(path("first.jsonl")).unwrap();
    let lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    for (index, line) in lines[..3].iter().enumerate() {
        assert_eq!(line["round"], index + 1);
        assert_eq!(line["clients"].as_array().unwrap().len(), 4);
        assert!(line["metrics"]["loss"].is_f64() && line["seconds"].is_f64());
    }
    assert!(lines[3]["evaluation"]["accuracy"].is_f64());
}

/// Runs the configuration of the digits with a part of it exchanged.
#[track_caller]
fn error(from: &str, to: &str, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(digits("digits.toml")).unwrap();
    assert!(text.contains(from));
    std::fs::write(folder.path().join("digits.toml"), text.replace(from, to)).unwrap();
    for entry in std::fs::read_dir(digits("")).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|extension| extension == "pb" || extension == "csv") {
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tff"));
    command.args(["simulate", "digits.toml"]).args(args).current_dir(folder.path()).env_remove("TFF_LOG");
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn what_does_not_fit_is_found_before_the_first_round() {
    let cases = [
        error("next = \"next.native.pb\"", "next = \"get_model_weights.pb\"", &[]),
        error("initialize = \"initialize.native.pb\"", "initialize = \"evaluate.initialize.native.pb\"", &[]),
        error(
            "set_model_weights = \"evaluate.set_model_weights.pb\"",
            "set_model_weights = \"get_model_weights.pb\"",
            &[],
        ),
        error("csv = \"digits.csv\"", "csv = \"rows.csv\"", &[]),
        error("\"p0..p63\"", "\"p0..p62\"", &[]),
        error("metrics = [\"client_work.train\"]", "metrics = [\"client_work.test\"]", &[]),
        error("batch_size = 20", "batchsize = 20", &[]),
        error("batch_size = 20", "", &[]),
        error("batch_size = 20", "", &["--clients-per-round", "21", "--batch-size", "5"]),
        error("rounds = 20", "rounds = 20", &["--plot", "rounds.png"]),
        error("rounds = 20", "rounds = 20", &["--history", "missing/rounds.jsonl"]),
    ];
    assert!(cases.iter().all(|case| case.lines().count() == 1), "{cases:?}");
    insta::assert_snapshot!(cases.concat(), @r"
    error: get_model_weights.pb: expected (<S@SERVER,{D*}@CLIENTS> -> <state=S@SERVER,metrics=M@SERVER>), found (<global_model_weights=<trainable=<float32[64,32],float32[32],float32[32,10],float32[10]>,non_trainable=<>>,distributor=<>,client_work=<>,aggregator=<value_sum_process=<>,weight_sum_process=<>>,finalizer=<learning_rate=float32>> -> <trainable=<float32[64,32],float32[32],float32[32,10],float32[10]>,non_trainable=<>>)
    error: evaluate.initialize.native.pb: the state that it returns, for next.native.pb: not assignable: expected length 0, found 2 at @.client_work; as a whole, expected <global_model_weights=<trainable=<float32[64,32],float32[32],float32[32,10],float32[10]>,non_trainable=<>>,distributor=<>,client_work=<>,aggregator=<value_sum_process=<>,weight_sum_process=<>>,finalizer=<learning_rate=float32>>@SERVER, found <global_model_weights=<trainable=<float32[64,32],float32[32],float32[32,10],float32[10]>,non_trainable=<>>,distributor=<>,client_work=<<>,<correct=float32,loss_sum=float32,n=float32>>,aggregator=<value_sum_process=<>,weight_sum_process=<>>,finalizer=<>>@SERVER
    error: get_model_weights.pb: expected a function of the evaluation state and the weights, (<E,W> -> E), found (<global_model_weights=<trainable=<float32[64,32],float32[32],float32[32,10],float32[10]>,non_trainable=<>>,distributor=<>,client_work=<>,aggregator=<value_sum_process=<>,weight_sum_process=<>>,finalizer=<learning_rate=float32>> -> <trainable=<float32[64,32],float32[32],float32[32,10],float32[10]>,non_trainable=<>>)
    error: digits.toml: rows.csv: No such file or directory (os error 2)
    error: digits.toml: digits.csv: data.columns[0]: expected 64 columns for a row of float32[?,64], found 63
    error: digits.toml: metrics: expected the path of a number in <distributor=<>,client_work=<train=<accuracy=float32,loss=float32,num_examples=float32>>,aggregator=<mean_value=<>,mean_weight=<>>,finalizer=<update_non_finite=int32>>, found `client_work.test`
    error: digits.toml:39: unknown field `batchsize`, expected one of `csv`, `file`, `format`, `split`, `delimiter`, `quote`, `header`, `missing`, `fill`, `categories`, `clients`, `seed`, `min_rows`, `held_out`, `label`, `batch_size`, `drop_remainder`, `epochs`, `columns`
    error: digits.toml: data.batch_size: missing, and <float32[?,64],int32[?]> has a batch dimension
    error: digits.toml: clients_per_round: expected at most 20, all clients, found 21
    error: rounds.png: expected a name that ends in .svg
    error: missing/rounds.jsonl: No such file or directory (os error 2)
    ");
}

#[test]
fn a_client_that_is_not_finite_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("initialize.tff", "( -> %federated_value_at_server(lit float32 0))");
    let square = "(rows:float32* -> (let sum=%sequence_sum(rows) in %generic_multiply(<sum,sum>)))";
    let next = format!(
        "(x:<state=float32@SERVER,clients={{float32*}}@CLIENTS> -> \
         (let least=%federated_min(%federated_map(<{square},x.clients>)) in \
         <state=least,metrics=%federated_zip_at_server(<least=least>)>))"
    );
    write("next.tff", &next);
    write("rows.csv", "client,x\na,3\nb,1e30\nc,2\n");
    let config = "rounds = 3\n[process]\ninitialize = \"initialize.tff\"\nnext = \"next.tff\"\n\
                  [data]\ncsv = \"rows.csv\"\nclients = { column = \"client\" }\ncolumns = \"x\"\n";
    write("config.toml", config);
    let config = folder.path().join("config.toml");
    let config = config.to_str().unwrap();
    let output = tff(&[config]);
    let (printed, logged) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success() && printed.contains("round 3 least=4"), "{printed}{logged}");
    // Once, as the later rounds have the same.
    let warning = "round 1: not finite: what was computed for client \"b\"";
    assert_eq!((logged.matches(warning).count(), logged.matches("not finite").count()), (1, 1), "{logged}");
    let output = tff(&[config, "--trap-nan"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("error: {warning}\n"));
}
