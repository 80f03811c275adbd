//! `tff fmt`: texts of computations in the layout of `tff print`.

use crate::input::Source;
use crate::output;
use anyhow::{Result, anyhow, bail};
use std::process::ExitCode;
use tff_ir::text::{self, Environment, Parsed, PrintOptions};
use tff_sim::computation::{Text, TextOptions};
use tff_sim::files::write_bytes;
use tff_types::syntax::{Lexer, SyntaxError, TokenKind};

const EXAMPLES: &str = "\
Examples:
  tff fmt next.tff
  tff fmt --check examples/*/*.tff
  echo '( x:int32->x )' | tff fmt -";

/// Lays out texts of computations as `tff print` does, in place; `-` reads stdin, writes stdout.
///
/// Types that can be inferred are left out, and labels become hashes. Graphs, modules and data stay
/// where they are: in the text, or in NAME.bodies beside NAME.tff. Comments are kept; each moves to
/// its own lines above the line that it describes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Texts of computations; `-` for stdin.
    #[arg(required = true)]
    files: Vec<Source>,
    /// Change nothing; print the names of the files that would change, and exit with 1 if there are
    /// any.
    #[arg(long)]
    check: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut code = ExitCode::SUCCESS;
        for source in &self.files {
            let text = source.read_text(&TextOptions::default())?;
            let formatted = format(&text)?;
            let changes = formatted != text.content;
            match source {
                _ if self.check && changes => {
                    output::line(&text.name)?;
                    code = ExitCode::FAILURE;
                }
                Source::Stdin if !self.check => output::bytes(formatted.as_bytes())?,
                Source::File(path) if changes => write_bytes(path, formatted.as_bytes())?,
                _ => {}
            }
        }
        Ok(code)
    }
}

/// The text as it should be.
fn format(text: &Text) -> Result<String> {
    let parsed = text.parse()?;
    let comments = Comments::of(text)?;
    // What the text defines itself, it still does.
    let bodies_aside = text::parse(&text.content, &Environment::default()).is_err();
    let printed = text::print(&parsed.comp, &PrintOptions { bodies_aside, ..PrintOptions::default() })?;
    let formatted = comments.insert(&parsed, &printed.text, text)?;
    if reparse(&formatted, text)?.comp == parsed.comp {
        Ok(formatted)
    } else {
        bail!("{}: its layout cannot be changed without changing the computation", text.name)
    }
}

fn reparse(formatted: &str, text: &Text) -> Result<Parsed> {
    text::parse(formatted, &text.environment)
        .map_err(|error| anyhow!("{}: cannot be formatted: {}", text.name, error.problem))
}

/// The comments of a text, in their order.
#[derive(Debug, Default)]
struct Comments {
    /// Those before the first token, with the empty lines among them.
    header: String,
    others: Vec<(Anchor, String)>,
}

/// What a comment is about.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    /// The part that begins here or next: the comment has lines of its own.
    Next(usize),
    /// The last part that began before here: the comment is behind it, on its line.
    Last(usize),
}

impl Comments {
    fn of(text: &Text) -> Result<Self> {
        let content = &text.content;
        let Ok(gaps) = gaps(content) else {
            bail!("{}: cannot be formatted: write its texts as `lit str \"...\"`", text.name);
        };
        let mut comments = Self::default();
        for (index, (end, next)) in gaps.into_iter().enumerate() {
            let gap = content.get(end..next).unwrap_or_default();
            let is_header = index == 0 && gap.contains("//");
            let lines = if is_header { gap.trim() } else { gap }.lines().enumerate();
            for (number, line) in lines {
                let line = line.trim();
                if is_header {
                    comments.header += &format!("{line}\n");
                } else if line.starts_with("//") {
                    let anchor = if number == 0 { Anchor::Last(end) } else { Anchor::Next(next) };
                    comments.others.push((anchor, line.to_owned()));
                }
            }
        }
        Ok(comments)
    }

    /// Puts the comments of `parsed` into the same computation as it is printed.
    fn insert(&self, parsed: &Parsed, printed: &str, text: &Text) -> Result<String> {
        let mut lines: Vec<String> = printed.lines().map(str::to_owned).collect();
        let n_lines = lines.len();
        if !self.others.is_empty() {
            // The parts of equal computations are in the same order.
            let (old, new) = (parsed.spans(), reparse(printed, text)?.spans());
            let mut parts: Vec<(usize, usize)> = old
                .iter()
                .zip(&new)
                .filter_map(|(old, new)| Some((old.as_ref()?.start, new.as_ref()?.start)))
                .collect();
            parts.sort_by_key(|&(old, _)| old);
            for (anchor, comment) in self.others.iter().rev() {
                let part = match *anchor {
                    Anchor::Next(start) => parts.get(parts.partition_point(|&(old, _)| old < start)),
                    Anchor::Last(end) => {
                        let n_before = parts.partition_point(|&(old, _)| old < end);
                        parts.get(n_before.saturating_sub(1))
                    }
                };
                let before = part.map(|&(_, new)| printed.get(..new).unwrap_or_default());
                let line = before.map_or(usize::MAX, |before| before.matches('\n').count());
                match lines.get_mut(line) {
                    Some(line) => {
                        let indent = line.len() - line.trim_start().len();
                        *line = format!("{:indent$}{comment}\n{line}", "");
                    }
                    None => lines.insert(n_lines, comment.clone()),
                }
            }
        }
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        Ok(format!("{}{lines}", self.header))
    }
}

/// What is between tokens: where each ends, from the beginning on, and where the next one starts.
fn gaps(content: &str) -> Result<Vec<(usize, usize)>, SyntaxError> {
    let mut gaps = Vec::new();
    let mut lexer = Lexer::new(content);
    loop {
        let end = lexer.last_end();
        let token = lexer.advance()?;
        gaps.push((end, token.span.start));
        match token.kind {
            TokenKind::End => return Ok(gaps),
            // A label is no sequence of tokens.
            TokenKind::Symbol('#') => drop(lexer.label()?),
            _ => {}
        }
    }
}
