//! Prints results to stdout, and an error as one line to stderr.

use anyhow::{Context, Result};
use std::error::Error;
use std::fmt;
use std::io::{self, StdoutLock, Write};
use tff_types::Brief;

/// The most characters of an error that are shown, with the ellipsis.
const MAX_ERROR: usize = 2001;

/// Nobody reads stdout any more. It ends the command, and is no failure.
#[derive(Debug)]
struct ClosedPipe;

impl fmt::Display for ClosedPipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stdout is closed")
    }
}

impl Error for ClosedPipe {}

/// Prints a line to stdout, at once.
pub(crate) fn line(text: impl fmt::Display) -> Result<()> {
    to_stdout(|stdout| writeln!(stdout, "{text}"))
}

/// Prints to stdout as it is.
pub(crate) fn bytes(content: &[u8]) -> Result<()> {
    to_stdout(|stdout| stdout.write_all(content))
}

fn to_stdout(write: impl FnOnce(&mut StdoutLock<'_>) -> io::Result<()>) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(ClosedPipe.into()),
        Err(error) => Err(error).context("stdout"),
    }
}

/// Columns as wide as their widest cell: the first to the left, numbers to the right.
pub(crate) fn align(rows: &[Vec<String>]) -> Vec<String> {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let count = |text: &String| text.chars().count();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(count).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let cell = |(column, (text, width)): (usize, (&String, &usize))| {
        if column == 0 { format!("{text:<width$}") } else { format!("{text:>width$}") }
    };
    rows.iter().map(|row| row.iter().zip(&widths).enumerate().map(cell).collect::<Vec<_>>().join("  ")).collect()
}

/// Whether the error only says that nobody reads stdout any more.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.is::<ClosedPipe>()
}

/// Prints the error to stderr.
pub(crate) fn report(error: &anyhow::Error) {
    // Where stderr is closed too there is nobody left to tell.
    let _ = writeln!(io::stderr(), "error: {}", one_line(error.as_ref()));
}

/// The error and its causes in one line that is safe to show on a terminal, whatever names and
/// texts of the input it repeats.
pub(crate) fn one_line(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    for cause in std::iter::successors(Some(error), |&error| error.source()) {
        let text = flatten(&cause.to_string());
        // Some errors repeat their cause in their own message.
        if line.ends_with(&text) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    Brief::start(&line, MAX_ERROR).to_string()
}

/// The text on one line, with control characters escaped.
pub(crate) fn flatten(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Brief::start(&lines.join("; "), MAX_ERROR).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn causes_follow_and_are_not_repeated() {
        #[derive(Debug)]
        struct Outer(io::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "local y: {}", self.0)
            }
        }
        impl Error for Outer {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        let error = anyhow::Error::new(Outer(io::Error::other("unbound"))).context("a.pb");
        assert_eq!(one_line(error.as_ref()), "a.pb: local y: unbound");
    }

    #[test]
    fn several_lines_become_one_without_control_characters() {
        assert_eq!(one_line(anyhow!("first\n  second\x1b[31m\n").as_ref()), "first; second\\u{1b}[31m");
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(one_line(anyhow!("ä".repeat(MAX_ERROR + 1)).as_ref()).chars().count(), MAX_ERROR);
    }
}
