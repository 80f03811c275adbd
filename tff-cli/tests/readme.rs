//! The pages are true: the commands in them are run and what they print is compared, and the files that they name exist.
//!
//! `UPDATE=1` writes what the commands print into the pages instead.
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

/// The folder that the examples call `$out`.
const OUT: &str = "out";

/// A folder in which commands find what they find at the root of the repository, and leave behind what they write.
fn scratch() -> Result<tempfile::TempDir> {
    let scratch = tempfile::tempdir()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    for name in ["examples", ".native"] {
        std::os::unix::fs::symlink(root.join(name), scratch.path().join(name))?;
    }
    std::fs::create_dir(scratch.path().join(OUT))?;
    Ok(scratch)
}

/// What the shell prints for the command in this folder.
fn run(command: &str, folder: &Path) -> Result<String> {
    let binaries = Path::new(env!("CARGO_BIN_EXE_tff")).parent().ok_or("the binary is in no folder")?;
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH")?);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{command} 2>&1")]).env("PATH", path).env("out", OUT).current_dir(folder);
    let shell = shell.output()?;
    Ok(String::from_utf8(shell.stdout)?)
}

#[track_caller]
fn check(file: &str, n_examples: usize) -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let text = std::fs::read_to_string(&file)?;
    let scratch = scratch()?;
    let mut updated = text.clone();
    let mut examples = examples(&text);
    // The others, such as servers, are not run; `tff compile` prints nothing, and those below it read what it writes.
    examples.retain(|example| !example.output.is_empty() || example.command.starts_with("tff compile "));
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
    check("README.md", 8)
}

#[test]
fn readme_of_the_temperatures() -> Result<()> {
    check("examples/temperatures/README.md", 2)
}

#[test]
fn guide() -> Result<()> {
    check("docs/GUIDE.md", 10)
}

/// The intrinsics as a page: what `tff intrinsics --json` prints, as a table.
fn intrinsics_page() -> Result<String> {
    let rows: Vec<serde_json::Value> = serde_json::from_str(&run("tff intrinsics --json", Path::new("."))?)?;
    let mut page = String::from(INTRINSICS);
    for row in &rows {
        let cell = |column: &str| row.get(column).and_then(serde_json::Value::as_str).unwrap_or("-");
        let secure = if row.get("secure") == Some(&true.into()) { "secure " } else { "" };
        let doc = cell("doc").split_whitespace().collect::<Vec<_>>().join(" ");
        let (uri, signature, communication, run) = (cell("uri"), cell("signature"), cell("communication"), cell("run"));
        page.push_str(&format!("| `{uri}` | `{signature}` | {secure}{communication} | {run} | {doc} |\n"));
    }
    Ok(page)
}

const INTRINSICS: &str = "\
# The intrinsics

An intrinsic is a function that the system knows by its uri; a text writes `%federated_sum`. This page is what `tff intrinsics` prints.
A test compares the two; after a change, `UPDATE=1 cargo test -p tff-cli --test readme` writes the page anew.

- *communication*: an `aggregation` brings values from the clients to the server, a `broadcast` sends values from the server to the clients,
  and `none` sends nothing. With `secure`, the server must not see the value or the request of a single client.
- *run*: the evaluator runs a `native` intrinsic itself. The compiler replaces a `reduced` one by its body. An `insecure` one is refused, unless
  `--allow-insecure-secure-sum` allows the compiler to replace it by the same without security. Nothing here runs one with `-`.
- *signature*: the type; capital letters stand for any type.

| uri | signature | communication | run | meaning |
|---|---|---|---|---|
";

#[test]
fn intrinsics() -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/INTRINSICS.md");
    let page = intrinsics_page()?;
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &page)?;
    }
    assert_eq!(std::fs::read_to_string(&file)?, page, "write docs/INTRINSICS.md anew with UPDATE=1");
    Ok(())
}

/// The texts in backquotes that look like a file or a folder of the repository: of letters, digits and `._-/`, with a
/// slash or with an end of those that our files have.
fn paths(text: &str) -> Vec<&str> {
    let is_path = |code: &&str| {
        let has_end = [".rs", ".md", ".toml", ".sh", ".proto", ".jsonl"].iter().any(|end| code.ends_with(end));
        (has_end || code.contains('/'))
            && code.starts_with(|c: char| c.is_ascii_lowercase() || c == '.')
            && code.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c))
            && !["NAME", "TARGET"].iter().any(|placeholder| code.contains(placeholder))
    };
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).filter(is_path).collect()
}

/// Pages name a file by its path from the root, from a crate, from its `src/`, or from a folder that the page is about.
#[test]
fn files_that_pages_name_exist() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()?;
    let listed = String::from_utf8(listed.stdout)?;
    let exists = |path: &str| {
        let path = path.trim_start_matches("../").trim_end_matches('/');
        listed.lines().any(|file| format!("/{file}/").contains(&format!("/{path}/")))
    };
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/DEBUGGING.md", "docs/GUIDE.md"] {
        let text = std::fs::read_to_string(root.join(page))?;
        let missing: Vec<&str> = paths(&text).into_iter().filter(|path| !is_made(path) && !exists(path)).collect();
        assert_eq!(missing, Vec::<&str>::new(), "{page} names files that do not exist");
    }
    Ok(())
}

/// Whether a path is of what commands make, or of another project.
fn is_made(path: &str) -> bool {
    ["target", ".native", "fuzz/target"].iter().any(|made| path.starts_with(made))
}

#[test]
fn paths_are_found() {
    let text =
        "`a/b.rs`, `lib.rs` and `tests/`\n`float32`, `x.a`, `a b/c`, `passes/NAME.rs`, `scripts/native.sh --help`";
    assert_eq!(paths(text), ["a/b.rs", "lib.rs", "tests/"]);
}

#[test]
fn commands_and_their_output_are_found() {
    let text =
        "    $ tff a\n    1\n    2\n\n    $ tff b\n\n    make\n    $ ls\n    x\n    $ tff c\n    3\n\ntext\n    4\n";
    let example = |command, output: &[&'static str]| Example { command, output: output.to_vec() };
    assert_eq!(examples(text), [example("tff a", &["1", "2"]), example("tff b", &[]), example("tff c", &["3"])]);
}
