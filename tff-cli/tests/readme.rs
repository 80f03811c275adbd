//! What the READMEs show of the command line is what it does: every command with `tff` that they give output for is run and compared.
#![cfg(unix)]

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// The commands of a text and the lines below each, as indented blocks show them.
fn examples(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut examples: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        let Some(line) = line.strip_prefix("    ") else {
            is_open = false;
            continue;
        };
        if let Some(command) = line.strip_prefix("$ ") {
            examples.push((command, Vec::new()));
            is_open = true;
        } else if let (true, Some((_, output))) = (is_open, examples.last_mut()) {
            output.push(line);
        }
    }
    let runs_tff = |command: &str| command.split('|').any(|part| part.trim().starts_with("tff "));
    examples.retain(|(command, output)| runs_tff(command) && !output.is_empty());
    examples
}

/// What the shell prints for the command at the root of the repository.
fn run(command: &str) -> Result<String, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_BIN_EXE_tff")).parent().ok_or("the binary is in no folder")?;
    let path = format!("{}:{}", folder.display(), std::env::var("PATH")?);
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let shell =
        Command::new("sh").args(["-c", &format!("{command} 2>&1")]).env("PATH", path).current_dir(root).output()?;
    Ok(String::from_utf8(shell.stdout)?)
}

#[track_caller]
fn check(file: &str, n_examples: usize) -> Result<(), Box<dyn Error>> {
    let text = std::fs::read_to_string(format!("{}/../{file}", env!("CARGO_MANIFEST_DIR")))?;
    let examples = examples(&text);
    assert_eq!(examples.len(), n_examples, "examples in {file}");
    for (command, expected) in examples {
        let output = run(command)?;
        assert_eq!(output.lines().collect::<Vec<_>>(), expected, "{file}: {command}");
    }
    Ok(())
}

#[test]
fn readme_of_the_repository() -> Result<(), Box<dyn Error>> {
    check("README.md", 6)
}

#[test]
fn readme_of_the_temperatures() -> Result<(), Box<dyn Error>> {
    check("examples/temperatures/README.md", 2)
}

#[test]
fn commands_with_output_are_found() {
    let text =
        "    $ tff a\n    1\n    2\n\n    $ tff b\n\n    make\n    $ ls\n    x\n    $ tff c\n    3\n\ntext\n    4\n";
    assert_eq!(examples(text), [("tff a", vec!["1", "2"]), ("tff c", vec!["3"])]);
}
