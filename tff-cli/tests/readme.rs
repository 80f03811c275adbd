//! What the READMEs and the guide show of the command line is what it does: their commands are run, and what they print is compared.
//!
//! `UPDATE=1` writes what the commands print into the files instead.
#![cfg(unix)]

use std::error::Error;
use std::path::Path;
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A command of a text, and the lines below it, as indented blocks show them.
#[derive(Debug, PartialEq, Eq)]
struct Example<'a> {
    command: &'a str,
    output: Vec<&'a str>,
}

/// The examples of a text that call `tff`.
fn examples(text: &str) -> Vec<Example<'_>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let Some(line) = line.strip_prefix("    ") else {
            is_open = false;
            continue;
        };
        if let Some(command) = line.strip_prefix("$ ") {
            examples.push(Example { command, output: Vec::new() });
            is_open = true;
        } else if let (true, Some(example)) = (is_open, examples.last_mut()) {
            example.output.push(line);
        }
    }
    examples.retain(|example| example.command.split('|').any(|part| part.trim().starts_with("tff ")));
    examples
}

/// A folder in which commands find what they find at the root of the repository, and leave behind what they write.
fn scratch() -> Result<tempfile::TempDir> {
    let scratch = tempfile::tempdir()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    for name in ["examples", ".native"] {
        std::os::unix::fs::symlink(root.join(name), scratch.path().join(name))?;
    }
    Ok(scratch)
}

/// What the shell prints for the command in this folder.
fn run(command: &str, folder: &Path) -> Result<String> {
    let binaries = Path::new(env!("CARGO_BIN_EXE_tff")).parent().ok_or("the binary is in no folder")?;
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH")?);
    let shell =
        Command::new("sh").args(["-c", &format!("{command} 2>&1")]).env("PATH", path).current_dir(folder).output()?;
    Ok(String::from_utf8(shell.stdout)?)
}

/// Which examples of a file are run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    /// All of them, in order; a command without output must print nothing.
    All,
    /// Those whose output is shown.
    WithOutput,
}

#[track_caller]
fn check(file: &str, which: Run, n_examples: usize) -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let text = std::fs::read_to_string(&file)?;
    let scratch = scratch()?;
    let mut updated = text.clone();
    let mut examples = examples(&text);
    examples.retain(|example| which == Run::All || !example.output.is_empty());
    assert_eq!(examples.len(), n_examples, "examples in {}", file.display());
    for Example { command, output } in examples {
        let found = run(command, scratch.path())?;
        if std::env::var_os("UPDATE").is_none() {
            assert_eq!(found.lines().collect::<Vec<_>>(), output, "{}: {command}", file.display());
        }
        let block = |lines: &[&str]| lines.iter().map(|line| format!("    {line}\n")).collect::<String>();
        let (shown, found) = (block(&output), block(&found.lines().collect::<Vec<_>>()));
        let command = format!("    $ {command}\n");
        updated = updated.replace(&format!("{command}{shown}"), &format!("{command}{found}"));
    }
    if updated != text {
        std::fs::write(&file, updated)?;
    }
    Ok(())
}

#[test]
fn readme_of_the_repository() -> Result<()> {
    check("README.md", Run::WithOutput, 6)
}

#[test]
fn readme_of_the_temperatures() -> Result<()> {
    check("examples/temperatures/README.md", Run::WithOutput, 2)
}

#[test]
fn guide() -> Result<()> {
    check("docs/GUIDE.md", Run::All, 10)
}

#[test]
fn commands_and_their_output_are_found() {
    let text =
        "    $ tff a\n    1\n    2\n\n    $ tff b\n\n    make\n    $ ls\n    x\n    $ tff c\n    3\n\ntext\n    4\n";
    let example = |command, output: &[&'static str]| Example { command, output: output.to_vec() };
    assert_eq!(examples(text), [example("tff a", &["1", "2"]), example("tff b", &[]), example("tff c", &["3"])]);
}
