//! Simulations that are stopped at any moment go on as if nothing had happened.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must stop")]

mod process;

use process::{Process, TFF};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// As many as take some seconds, with an evaluation in between.
const ROUNDS: usize = 12;

/// The digits with dropouts and evaluations, in a folder.
fn config(folder: &Path) -> PathBuf {
    let digits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/digits-jax");
    let digits = std::fs::canonicalize(digits).unwrap();
    let text = std::fs::read_to_string(digits.join("digits.toml")).unwrap();
    let absolute = |line: &str| match line.split_once(" = \"") {
        Some((key, name)) if name.ends_with(".pb\"") || name.ends_with(".csv\"") => {
            format!("{key} = \"{}/{name}\n", digits.display())
        }
        _ => format!("{line}\n"),
    };
    let text: String = text.lines().map(absolute).collect();
    let text = text.replacen("rounds = ", "dropout = 0.3\nclients_per_round = 4\nseed = 5\nrounds = ", 1);
    let path = folder.join("digits.toml");
    std::fs::write(&path, text.replacen("[evaluate]\n", "[evaluate]\nevery = 5\n", 1)).unwrap();
    path
}

fn simulate(folder: &Path, history: &str, args: &[&str]) -> Command {
    let mut command = Command::new(TFF);
    command.arg("simulate").arg(config(folder)).args(["--rounds", &ROUNDS.to_string()]);
    command.args(["--history", folder.join(history).to_str().unwrap()]).args(args).env_remove("TFF_LOG");
    command
}

#[track_caller]
fn success(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The history without the seconds.
fn history(folder: &Path, name: &str) -> String {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    text.lines().map(|line| line.split_once(",\"seconds\"").unwrap().0.to_owned() + "\n").collect()
}

#[test]
fn a_simulation_that_is_killed_again_and_again_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    success(
        &simulate(folder, "whole.jsonl", &["--save", folder.join("whole.npz").to_str().unwrap()]).output().unwrap(),
    );
    let expected = history(folder, "whole.jsonl");
    // 12 rounds, and evaluations after 5, 10 and all.
    assert_eq!(expected.lines().count(), ROUNDS + 3);
    assert!(expected.contains("\"dropped\":["), "{expected}");

    let state = folder.join("state");
    let checkpoint = ["--checkpoint", state.to_str().unwrap(), "--resume", "--every", "2"];
    let mut n_killed = 0;
    loop {
        let mut process = Process::start(&mut simulate(folder, "killed.jsonl", &checkpoint)).unwrap();
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        // Killed in the middle of the third round that it computes, or while it writes what it has.
        let is_done = lines.by_ref().take(3).filter(|line| line.as_ref().unwrap().starts_with("round ")).count() < 3;
        if is_done {
            assert!(process.wait().unwrap().0.success());
            break;
        }
        process.0.kill().unwrap();
        process.wait().unwrap();
        n_killed += 1;
        assert!(n_killed < ROUNDS, "it does not get on");
    }
    assert!(n_killed >= 1, "{n_killed}");
    assert_eq!(history(folder, "killed.jsonl"), expected);
    // From the last checkpoint nothing is left to do, and the state is that of the whole run.
    let save = folder.join("killed.npz");
    let resumed = [&checkpoint[..], &["--save", save.to_str().unwrap()]].concat();
    success(&simulate(folder, "again.jsonl", &resumed).output().unwrap());
    assert_eq!(history(folder, "again.jsonl"), expected);
    assert!(std::fs::read(save).unwrap() == std::fs::read(folder.join("whole.npz")).unwrap());
}

#[test]
fn the_last_state_outlives_all_workers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    success(&simulate(folder, "whole.jsonl", &[]).output().unwrap());
    let state = folder.join("state");
    let (worker, port) = Process::worker(&[]).unwrap();
    let worker_address = format!("127.0.0.1:{port}");
    // It is written at the end alone, or where a round fails.
    let args = ["--checkpoint", state.to_str().unwrap(), "--every", "1000", "--workers", &worker_address];
    let mut process = Process::start(&mut simulate(folder, "lost.jsonl", &args)).unwrap();
    let stdout = BufReader::new(process.0.stdout.take().unwrap());
    assert_eq!(stdout.lines().take(2).map(Result::unwrap).filter(|line| line.starts_with("round ")).count(), 2);
    drop(worker);
    assert_eq!(process.wait().unwrap().0.code(), Some(1));
    let resume = ["--checkpoint", state.to_str().unwrap(), "--resume"];
    success(&simulate(folder, "lost.jsonl", &resume).output().unwrap());
    assert_eq!(history(folder, "lost.jsonl"), history(folder, "whole.jsonl"));
}

#[test]
fn another_simulation_does_not_go_on_from_here() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let state = folder.join("state");
    let args = ["--checkpoint", state.to_str().unwrap(), "--rounds", "1"];
    let mut first = Command::new(TFF);
    success(&first.arg("simulate").arg(config(folder)).args(args).env_remove("TFF_LOG").output().unwrap());
    let output = simulate(folder, "h.jsonl", &["--checkpoint", state.to_str().unwrap(), "--resume", "--seed", "6"])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.lines().count() == 1, "{error}");
    assert!(error.contains("state/checkpoint: expected a checkpoint of this simulation, {\"seed\":6,"), "{error}");
    assert!(!folder.join("h.jsonl").exists());
}

#[test]
fn the_state_is_saved_for_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let save = |name: &str, part: &str| {
        let path = folder.join(name);
        let args = ["--save", path.to_str().unwrap(), "--save-part", part, "--rounds", "1"];
        let mut command = Command::new(TFF);
        (command.arg("simulate").arg(config(folder)).args(args).env_remove("TFF_LOG").output().unwrap(), path)
    };
    let (output, path) = save("model.safetensors", "");
    success(&output);
    let bytes = std::fs::read(path).unwrap();
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk().unwrap())).unwrap();
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    assert_eq!(header["output_bias"]["dtype"], "F32", "{header}");
    let (output, _) = save("model.npz", "no.such.part");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("found `no.such.part`"), "{error}");
}
