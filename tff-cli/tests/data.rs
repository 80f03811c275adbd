//! Clients' data of every format in simulations, and `tff data`, which shows how it is divided.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn tff(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tff")).args(args).env_remove("TFF_LOG").output().unwrap()
}

#[track_caller]
fn stdout(args: &[&str]) -> String {
    let output = tff(args);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// The configuration of the digits with another section `[data]`.
fn config(folder: &Path, data: &str) -> String {
    let text = std::fs::read_to_string(root("examples/digits-jax/digits.toml")).unwrap();
    let (before, _) = text.split_once("[data]").unwrap();
    let absolute = |line: &str| match line.split_once(" = \"") {
        Some((key, name)) if name.ends_with(".pb\"") => {
            format!("{key} = \"{}/{name}", std::fs::canonicalize(root("examples/digits-jax")).unwrap().display())
        }
        _ => line.to_owned(),
    };
    let before: Vec<String> = before.lines().map(absolute).collect();
    let path = folder.join("digits.toml");
    std::fs::write(&path, format!("{}\n[data]\n{data}\n", before.join("\n"))).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The lines of a history without the seconds.
fn history(folder: &Path, data: &str) -> String {
    let (config, history) = (config(folder, data), folder.join("history.jsonl"));
    stdout(&["simulate", &config, "--rounds", "2", "--clients-per-round", "5", "--history", history.to_str().unwrap()]);
    let text = std::fs::read_to_string(history).unwrap();
    text.lines().map(|line| line.split_once(",\"seconds\"").unwrap().0.to_owned() + "\n").collect()
}

/// Where the data is, and the columns of the pixels and the label.
fn digits(file: &str, columns: &str, clients: &str) -> String {
    let file = root(file);
    let file = std::fs::canonicalize(file).unwrap();
    let sizes = "batch_size = 10\ndrop_remainder = true";
    format!("file = \"{}\"\ncolumns = {columns}\n{clients}\n{sizes}", file.display())
}

#[test]
fn training_on_every_format_gives_the_same_history() {
    let folder = tempfile::tempdir().unwrap();
    let modulo = "clients = { modulo = 20 }";
    let cells = "[\"p0..p63\", \"label\"]";
    let lists = "[\"x\", \"label\"]";
    let expected = history(folder.path(), &digits("examples/digits/digits.csv", cells, modulo));
    assert_eq!(expected.lines().count(), 3);
    for (file, columns) in [("digits.parquet", cells), ("digits.feather", lists), ("digits.npz", lists)] {
        let found = history(folder.path(), &digits(&format!("testdata/formats/{file}"), columns, modulo));
        assert_eq!(found, expected, "{file}");
    }
    // Here clients have names.
    let named = history(folder.path(), &digits("testdata/formats/digits.sqlite", lists, ""));
    let without_clients = |text: &str| {
        let line = |line: &str| line.split_once("\"metrics\"").map_or(line, |it| it.1).to_owned();
        text.lines().map(line).collect::<Vec<_>>()
    };
    assert_eq!(without_clients(&named), without_clients(&expected));
    for (file, clients) in [("digits.tfrecord", "clients = { column = \"client\" }"), ("digits", "")] {
        let found = history(folder.path(), &digits(&format!("testdata/formats/{file}"), lists, clients));
        assert_eq!(without_clients(&found), without_clients(&expected), "{file}");
    }
}

#[test]
fn a_test_source_or_a_held_out_share_is_what_the_evaluation_sees() {
    let folder = tempfile::tempdir().unwrap();
    let evaluation = |text: &str| text.lines().last().unwrap().to_owned();
    let lists = "[\"x\", \"label\"]";
    let base = digits("testdata/formats/digits.npz", lists, "clients = { modulo = 20 }");
    let all = evaluation(&history(folder.path(), &base));
    let held_out = evaluation(&history(folder.path(), &format!("{base}\nheld_out = 0.5")));
    assert_ne!(all, held_out);
    assert!(held_out.contains("\"num_examples\":800.0"), "{held_out}");
    let other = digits(
        "testdata/formats/digits.npz",
        lists,
        "clients = { list = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]] }",
    );
    let separate = evaluation(&history(folder.path(), &format!("{base}\n[evaluate.data]\n{other}")));
    assert!(separate.contains("\"num_examples\":20.0"), "{separate}");
}

#[test]
fn the_division_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let clients = "clients = { dirichlet = { clients = 4, alpha = 0.5, label = \"label\" } }\nlabel = \"label\"\nseed = 1\nheld_out = 0.1";
    let config = config(folder.path(), &digits("testdata/formats/digits.npz", "[\"x\", \"label\"]", clients));
    insta::assert_snapshot!(stdout(&["data", &config]), @r#"client  rows  held out    0    1    2   3   4    5    6   7    8    9
0        407        45  110    1    2  46  62    5    4  70  107    0
1        406        45   22  103    1  34  45  153    1   5   42    0
2        408        45   11   24  110  17  51    0  131  55    9    0
3        397        44   19   46   44  65   7    0   26  31    0  159
4 clients, 1797 rows"#);
    let json: serde_json::Value = serde_json::from_str(&stdout(&["data", &config, "--json"])).unwrap();
    assert_eq!(json["classes"].as_array().unwrap().len(), 10);
    let clients = json["clients"].as_array().unwrap();
    let sum = |key: &str| clients.iter().map(|client| client[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("rows") + sum("held_out"), 1797);
    let plot = folder.path().join("division.svg");
    stdout(&["data", &config, "--plot", plot.to_str().unwrap()]);
    let svg = std::fs::read_to_string(plot).unwrap();
    // A bar has a part for each class that the client has; the background is a rectangle, too.
    assert!(svg.starts_with("<svg") && svg.matches("<rect").count() > 30, "{svg}");
}

#[test]
fn what_is_wrong_with_the_data_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let lists = "[\"x\", \"label\"]";
    let error = |data: &str| {
        let output = tff(&["data", &config(folder.path(), data)]);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
        let text = String::from_utf8(output.stderr).unwrap();
        let text = text.replace(&folder.path().display().to_string(), "");
        text.replace(&std::fs::canonicalize(root("testdata")).unwrap().display().to_string(), "")
    };
    let npz = |clients: &str| digits("testdata/formats/digits.npz", lists, clients);
    let cases = [
        error(&npz("clients = { iid = 2000 }")),
        error(&npz("clients = { shards = { clients = 3, shards = 2, label = \"y\" } }")),
        error(&npz("clients = { modulo = 2 }\nheld_out = 1.5")),
        error(&npz("clients = { modulo = 2, iid = 2 }")),
        error(&npz("")),
        error(&npz("clients = { modulo = 2 }\nformat = \"sqlite\"")),
        error(&npz("clients = { modulo = 2 }\nlabel = \"x\"")),
    ];
    assert!(cases.iter().all(|case| case.lines().count() == 1), "{cases:?}");
    insta::assert_snapshot!(cases.concat(), @r#"error: /digits.toml: data.clients.iid: expected at most 1797, the rows of /formats/digits.npz, found 2000
error: /digits.toml: /formats/digits.npz: data.clients.shards.label: no column `y`, found x, label
error: /digits.toml: data.held_out: expected a number from 0 to below 1, found 1.5
error: /digits.toml:19: expected one way to divide rows, found data.clients.modulo and data.clients.iid
error: /digits.toml: data.clients: missing, and /formats/digits.npz does not say itself which rows belong to which client
error: /digits.toml: /formats/digits.npz: file is not a database
error: /digits.toml: /formats/digits.npz: array x: expected one value in a row, found 64"#);
}

#[test]
fn data_in_a_computation_comes_from_a_named_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("d.csv"), "id,x\nann,1\nbob,2\nann,3\n").unwrap();
    std::fs::write(path("data.toml"), "[people]\ncsv = \"d.csv\"\nclients = {column = \"id\"}\ncolumns = \"x\"\n")
        .unwrap();
    std::fs::write(path("sum.tff"), "(let d=data \"people/ann\":int32* in %sequence_sum(d))").unwrap();
    assert_eq!(stdout(&["run", &path("sum.tff"), "--data-config", &path("data.toml"), "--json"]), "4\n");
    std::fs::write(path("first.tff"), "data \"digits/03?split=train\":<label=int32>*").unwrap();
    let sqlite = format!("digits={}", root("testdata/formats/digits.sqlite").display());
    let rows = stdout(&["run", &path("first.tff"), "--data", &sqlite, "--json"]);
    assert_eq!(rows.matches("label").count(), 81);
    // What a run finds, `check --for run` finds, and what not, not.
    let check = |file: &str| tff(&["check", &path(file), "--for", "run", "--data-config", &path("data.toml")]);
    assert!(check("sum.tff").status.success());
    std::fs::write(path("eve.tff"), "data \"people/eve\":int32*").unwrap();
    let refused = check("eve.tff");
    let said = String::from_utf8(refused.stdout).unwrap();
    assert!(refused.status.code() == Some(1) && said.starts_with("error[refused]: ") && said.contains("eve"), "{said}");
    // Nothing was named: nothing is opened.
    let output = tff(&["run", &path("sum.tff")]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("the uri \"people/ann\" of type int32*"), "{error}");
}
