//! `tff type`, `print` and `run` as a user meets them: output, errors, exit codes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A folder with recorded computations and arguments, in which commands run.
struct Folder(TempDir);

impl Folder {
    /// With `NAME.pb` and, where arguments were recorded, `NAME.arg.pb` for each of the names.
    fn with(names: &[&str]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for record in tff_testing::records("testdata/golden/comps.jsonl") {
            let name = record["name"].as_str().unwrap();
            let decode = |key: &str| record[key].as_str().map(tff_testing::decode_base64);
            if names.contains(&name) {
                folder.write(&format!("{name}.pb"), &decode("native_proto").unwrap());
                if let Some(argument) = decode("args") {
                    folder.write(&format!("{name}.arg.pb"), &argument);
                }
            }
        }
        folder
    }

    fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.0.path().join(name), content).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tff"));
        command.args(args).current_dir(self.0.path()).envs(tff_testing::native_libraries()).env_remove("TFF_LOG");
        command
    }

    /// Runs a command and tells how it ended: what it printed, or its code and its error.
    #[track_caller]
    fn run(&self, args: &[&str]) -> String {
        self.run_with(args, b"")
    }

    #[track_caller]
    fn run_with(&self, args: &[&str], stdin: &[u8]) -> String {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that fails early does not read all of it.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        let output = child.wait_with_output().unwrap();
        let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        match output.status.code() {
            Some(0) => {
                assert_eq!(stderr, "");
                stdout
            }
            code => {
                assert_eq!(stdout, "");
                format!("{}: {stderr}", code.unwrap())
            }
        }
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn wrong_usage_that_a_command_finds_shows_its_own_usage() {
    let folder = Folder::with(&[]);
    let usage = |args: &[&str]| {
        let output = folder.command(args).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}");
        String::from_utf8(output.stderr).unwrap().lines().take(3).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(usage(&["compile", "x.pb", "-o", "y"]), @r"
    error: -o must end in .pb or .tff, unless --to is a form

    Usage: tff compile [OPTIONS] --output <OUT> <FILE>
    ");
    insta::assert_snapshot!(usage(&["compile", "x.pb", "--to", "mergeable", "-o", "y.pb"]), @r"
    error: -o must be a folder, as a form has several parts

    Usage: tff compile [OPTIONS] --output <OUT> <FILE>
    ");
    insta::assert_snapshot!(usage(&["simulate", "x.toml", "--history", "-"]), @r"
    error: --history must be a file: the rounds are printed to stdout anyway

    Usage: tff simulate [OPTIONS] <CONFIG>
    ");
    insta::assert_snapshot!(usage(&["run", "-", "--arg", "-"]), @r"
    error: FILE and --arg cannot both be read from stdin

    Usage: tff run [OPTIONS] <FILE>
    ");
    insta::assert_snapshot!(usage(&["print", "x.pb", "--form", "compact", "--bodies", "labels"]), @r"
    error: --bodies is for --form text

    Usage: tff print [OPTIONS] <FILE>
    ");
}

#[test]
fn intrinsics_are_listed_with_who_runs_them() {
    let folder = Folder::with(&[]);
    let rows: serde_json::Value = serde_json::from_str(&folder.run(&["intrinsics", "--json"])).unwrap();
    let rows = rows.as_array().unwrap();
    let uris: Vec<&str> = rows.iter().map(|row| row["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, tff_ir::Intrinsic::ALL.iter().map(|it| it.uri()).collect::<Vec<_>>());
    for row in rows {
        assert!(row["doc"].as_str().unwrap().ends_with('.'), "{row}");
        // What is secure is never replaced unless the user says so, and everything else runs.
        let expected: &[&str] = if row["secure"] == true { &["insecure"] } else { &["native", "reduced"] };
        assert!(expected.contains(&row["run"].as_str().unwrap()), "{row}");
    }
    let table = folder.run(&["intrinsics"]);
    assert_eq!(table.lines().count(), rows.len() + 1);
    let of = |uri: &str| table.lines().find(|line| line.starts_with(&format!("{uri} "))).unwrap().to_owned();
    let lines = ["uri", "federated_aggregate", "federated_sum", "federated_secure_select", "generic_zero"].map(of);
    insta::assert_snapshot!(lines.join("\n"), @r"
    uri                            communication       run       signature
    federated_aggregate            aggregation         native    (<{T}@CLIENTS,U,(<U,T> -> U),(<U,U> -> U),(U -> R)> -> R@SERVER)
    federated_sum                  aggregation         reduced   ({T}@CLIENTS -> T@SERVER)
    federated_secure_select        secure broadcast    insecure  (<{Ks}@CLIENTS,int32@SERVER,T@SERVER,(<T,int32> -> U)> -> {U*}@CLIENTS)
    generic_zero                   none                reduced   T
    ");
}

#[test]
fn a_result_is_written_in_the_form_that_the_name_of_the_file_says() {
    let folder = Folder::with(&[]);
    folder.write("sum.tff", b"(x:{int32}@CLIENTS -> %federated_sum(x))");
    assert_eq!(folder.run(&["run", "sum.tff", "--arg", "[1, 2]", "-o", "sum.json"]), "");
    assert_eq!(std::fs::read_to_string(folder.0.path().join("sum.json")).unwrap(), "3\n");
    folder.write("id.tff", b"(x:int32@SERVER -> x)");
    assert_eq!(folder.run(&["run", "sum.tff", "--arg", "[1, 2]", "-o", "sum.pb"]), "");
    for argument in ["sum.json", "sum.pb"] {
        assert_eq!(folder.run(&["run", "id.tff", "--json", "--arg", argument]).trim_end(), "3", "{argument}");
    }
}

#[test]
fn a_computation_is_no_configuration() {
    let folder = Folder::with(&["fed_map"]);
    let expected = "1: error: fed_map.pb: expected a configuration in TOML, found binary data";
    assert_eq!(folder.run(&["simulate", "fed_map.pb"]).trim_end(), expected);
}

#[test]
fn a_folder_that_is_no_form_says_so() {
    let folder = Folder::with(&[]);
    std::fs::create_dir(folder.0.path().join("dir")).unwrap();
    let expected = "1: error: dir: expected the folder of a form, found no index.toml in it";
    for command in ["print", "type", "check", "run"] {
        assert_eq!(folder.run(&[command, "dir"]).trim_end(), expected, "{command}");
    }
}

#[test]
fn type_and_print() {
    let folder = Folder::with(&["temp_above", "fed_map"]);
    insta::assert_snapshot!(folder.run(&["type", "temp_above.pb"]), @"(<x={float32}@CLIENTS,t=float32@SERVER> -> float32@SERVER)");
    insta::assert_snapshot!(folder.run(&["print", "fed_map.pb", "--form", "compact"]), @"(<lambda>_arg -> (let _var1=federated_map(<comp#f62957f4,<lambda>_arg>) in _var1))");
    insta::assert_snapshot!(folder.run(&["print", "fed_map.pb", "--bodies", "labels"]), @r"
    (`<lambda>_arg`:{int32}@CLIENTS -> (let
      _var1=%federated_map(<comp#bbe2f4fdabfe8de4,`<lambda>_arg`>)
     in _var1))
    ");
    assert_eq!(folder.run(&["print", "fed_map.pb", "--form", "text"]), folder.run(&["print", "fed_map.pb"]));
    let bytes = std::fs::read(folder.0.path().join("fed_map.pb")).unwrap();
    insta::assert_snapshot!(folder.run_with(&["type", "-"], &bytes), @"({int32}@CLIENTS -> {int32}@CLIENTS)");
}

#[test]
fn run_takes_and_gives_values_in_every_form() {
    let folder = Folder::with(&["affine_struct", "fed_map", "noarg_const", "fed_value", "strings"]);
    folder.write("arg.json", br#"{"b": [0.5, -1], "w": [[1, 2], [3, 4], [5, 6]]}"#);
    insta::assert_snapshot!(folder.run(&["run", "affine_struct.pb", "--arg", "arg.json"]), @"<w=[[2 4] [6 8] [10 12]],b=[-0.5 -2],n=21>");
    insta::assert_snapshot!(folder.run(&["run", "affine_struct.pb", "--arg", "arg.json", "--json"]), @r#"{"w":[[2.0,4.0],[6.0,8.0],[10.0,12.0]],"b":[-0.5,-2.0],"n":21.0}"#);
    insta::assert_snapshot!(folder.run(&["run", "fed_map.pb", "--arg", "[1, 2, 3]"]), @"{2,3,4}@CLIENTS");
    insta::assert_snapshot!(folder.run(&["run", "fed_map.pb", "--arg", "[]"]), @"{}@CLIENTS");
    insta::assert_snapshot!(folder.run(&["run", "fed_map.pb", "--arg", "fed_map.arg.pb", "--clients", "2"]), @"{2,3}@CLIENTS");
    insta::assert_snapshot!(folder.run(&["run", "noarg_const.pb"]), @"10");
    insta::assert_snapshot!(folder.run(&["run", "fed_value.pb", "--arg", "[7, 8]"]), @"<3@CLIENTS,4@SERVER,{7,8}@CLIENTS>");
    insta::assert_snapshot!(folder.run_with(&["run", "strings.pb", "--arg", "-"], b"\"abc\"\n"), @r#""abc-x""#);
    let argument = std::fs::read(folder.0.path().join("fed_map.arg.pb")).unwrap();
    insta::assert_snapshot!(folder.run_with(&["run", "fed_map.pb", "--arg", "-"], &argument), @"{2,3}@CLIENTS");
    // What -o writes is an argument again.
    assert_eq!(folder.run(&["run", "fed_map.pb", "--arg", "[1, 2, 3]", "-o", "out.pb"]), "");
    insta::assert_snapshot!(folder.run(&["run", "fed_map.pb", "--arg", "out.pb", "--json"]), @"[3,4,5]");
}

#[test]
fn run_takes_modules_of_xla() {
    let folder = Folder::with(&[]);
    let golden = repository().join("testdata/golden/xla");
    let run = |plugin: &Path, name: &str, argument: &str| {
        let mut command = folder.command(&["run"]);
        command.arg(golden.join(name)).args(["--arg", argument]).env("TFF_PJRT_PLUGIN", plugin);
        let output = command.output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        text.replace(golden.to_str().unwrap(), "xla").replace(folder.0.path().to_str().unwrap(), "FOLDER")
    };
    let [_, (_, plugin)] = tff_testing::native_libraries();
    insta::assert_snapshot!(run(&plugin, "add_i32.pb", "[3, 4]"), @"7");
    insta::assert_snapshot!(run(&plugin, "nested.pb", r#"{"b": {"z": 5, "a": [1, 2]}, "a": 10}"#), @"<q=<y=[10 20],x=6>,p=9>");
    insta::assert_snapshot!(run(&plugin, "add_i32.pb", "[3, 4.5]"), @"error: --arg: .y: expected int32, found 4.5");
    let nowhere = folder.0.path().join("none.so");
    insta::assert_snapshot!(
        run(&nowhere, "add_i32.pb", "[3, 4]"),
        @"error: xla/add_i32.pb: a PJRT plugin for XLA is not available: FOLDER/none.so cannot be opened: No such file or directory (os error 2); run scripts/native.sh pjrt, or set TFF_PJRT_PLUGIN to a plugin"
    );
}

#[test]
fn bad_inputs_are_one_line_and_exit_with_1() {
    let folder = Folder::with(&["affine_struct", "fed_map", "fed_wmean", "noarg_const", "strings"]);
    let bytes = std::fs::read(folder.0.path().join("fed_map.pb")).unwrap();
    folder.write("cut.pb", &bytes[..bytes.len() / 2]);
    folder.write("text.pb", b"no computation");
    folder.write("empty.pb", b"");
    folder.write("bad.json", b"{\"w\": 1,");
    let cases: [&[&str]; 18] = [
        &["type", "missing.pb"],
        &["type", "cut.pb"],
        &["print", "text.pb"],
        &["run", "empty.pb"],
        &["run", "fed_map.pb"],
        &["run", "noarg_const.pb", "--arg", "1"],
        &["run", "fed_map.pb", "--arg", "missing.pb"],
        &["run", "fed_map.pb", "--arg", "text.pb"],
        &["run", "fed_map.pb", "--arg", "affine_struct.arg.pb"],
        &["run", "affine_struct.pb", "--arg", "bad.json"],
        &["run", "affine_struct.pb", "--arg", "{\"w\": [[1, 2], [3, 4], [5, 6]]}"],
        &["run", "affine_struct.pb", "--arg", "{\"w\": [[1, 2], [3, 4], [5, null]], \"b\": [0, 0]}"],
        &["run", "fed_map.pb", "--arg", "[1, 2147483648]"],
        &["run", "fed_map.pb", "--arg", "[1, 2]", "--clients", "3"],
        &["run", "fed_wmean.pb", "--arg", "{\"x\": [1, 2], \"w\": [1]}"],
        &["run", "strings.pb", "--arg", "abc"],
        &["run", "strings.pb", "--arg", "\"a\"", "-o", "missing/out.pb"],
        &["simulate", "missing.toml"],
    ];
    let errors: String = cases.iter().map(|case| folder.run(case)).collect();
    assert_eq!(errors.lines().count(), cases.len(), "{errors}");
    insta::assert_snapshot!(errors, @r"
    1: error: missing.pb: No such file or directory (os error 2)
    1: error: cut.pb: tensorflow_federated.v0.Computation is cut off at byte 352, inside a field: failed to decode Protobuf message: Computation.computation: buffer underflow
    1: error: text.pb: not a valid tensorflow_federated.v0.Computation (14 bytes): failed to decode Protobuf message: invalid wire type value: 6
    1: error: empty.pb: expected a computation, found nothing
    1: error: fed_map.pb: expected an argument (--arg) of type {int32}@CLIENTS
    1: error: noarg_const.pb: expected no argument, as the type is ( -> float32), found --arg
    1: error: missing.pb: No such file or directory (os error 2)
    1: error: text.pb: not a valid tensorflow_federated.v0.Value (14 bytes): failed to decode Protobuf message: invalid wire type value: 6
    1: error: affine_struct.arg.pb: expected {int32}@CLIENTS, found a struct of 2 elements
    1: error: bad.json: EOF while parsing a value at line 1 column 8
    1: error: --arg: expected <w=float32[3,2],b=float32[2]>, found an object without member `b`
    1: error: --arg: .w[2][1]: expected float32, found null
    1: error: --arg: [1]: expected int32, found 2147483648
    1: error: --arg: expected 3 values at CLIENTS, as --clients says, found 2
    1: error: --arg: .w: expected 2 values at CLIENTS, as before, found 1
    1: error: --arg: expected JSON, or a file whose name ends in .pb or .json: expected value at line 1 column 1
    1: error: missing/out.pb: expected a folder missing, found none
    1: error: missing.toml: No such file or directory (os error 2)
    ");
}

#[test]
fn wrong_usage_exits_with_2() {
    let folder = Folder::with(&[]);
    let cases: [&[&str]; 6] = [
        &[],
        &["frobnicate"],
        &["type"],
        &["print", "a.pb", "--form", "none"],
        &["run", "-", "--arg", "-"],
        &["simulate", "a.toml", "--clients-per-round", "0"],
    ];
    for case in cases {
        let result = folder.run(case);
        assert!(result.starts_with("2: "), "{case:?} {result}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = Folder::with(&["temp_above"]);
    let mut child =
        folder.command(&["print", "temp_above.pb"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn help_shows_what_json_and_keys_mean() {
    let folder = Folder::with(&[]);
    assert!(folder.run(&["run", "--help"]).contains("{T}@CLIENTS"));
    assert!(folder.run(&["simulate", "--help"]).contains("evaluate.get_model_weights"));
    assert!(folder.run(&["--version"]).starts_with("tff 0."));
}
