//! `tff fmt`: texts of computations in the layout of `tff print`.

use crate::computation::{Text, TextArgs};
use crate::input::Source;
use crate::output;
use anyhow::{Result, bail};
use std::process::ExitCode;
use tff_ir::text::{self, Environment, PrintOptions};
use tff_types::syntax::{Lexer, Position, SyntaxError, TokenKind};

const EXAMPLES: &str = "\
Examples:
  tff fmt next.tff
  tff fmt --check examples/*/*.tff
  echo '( x:int32->x )' | tff fmt -";

/// Lays out texts of computations as `tff print` does, in place; `-` from stdin to stdout.
///
/// Types that follow from others are left out, and labels become hashes. Graphs, modules and data
/// stay where they are, in the text or in NAME.bodies beside NAME.tff. Comments at the beginning
/// are kept; a text with comments elsewhere is left alone, with an error.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Texts of computations; `-` for stdin.
    #[arg(required = true)]
    files: Vec<Source>,
    /// Change nothing, but print the names of the files that would change; exit with 1 if there are
    /// any.
    #[arg(long)]
    check: bool,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut code = ExitCode::SUCCESS;
        for source in &self.files {
            let text = Text::read(source, &TextArgs::default())?;
            let formatted = format(&text)?;
            let changes = formatted != text.content;
            match source {
                _ if self.check && changes => {
                    output::line(&text.name)?;
                    code = ExitCode::FAILURE;
                }
                Source::Stdin if !self.check => output::bytes(formatted.as_bytes())?,
                Source::File(path) if changes => output::file(path, formatted.as_bytes())?,
                _ => {}
            }
        }
        Ok(code)
    }
}

/// The text as it should be.
fn format(text: &Text) -> Result<String> {
    let comp = text.parse()?.comp;
    let header = header(text)?;
    // What the text defines itself, it still does.
    let bodies_aside = text::parse(&text.content, &Environment::default()).is_err();
    let printed = text::print(&comp, &PrintOptions { bodies_aside, ..PrintOptions::default() })?;
    let formatted = format!("{header}{}", printed.text);
    match text::parse(&formatted, &text.environment) {
        Ok(again) if again.comp == comp => Ok(formatted),
        Ok(_) => bail!("{}: its layout cannot be changed without changing the computation", text.name),
        Err(error) => bail!("{}: cannot be formatted: {}", text.name, error.problem),
    }
}

/// The comments at the beginning. Those after the first token would be lost, so that they are
/// refused.
fn header(text: &Text) -> Result<String> {
    let content = &text.content;
    let mut ends = Vec::new();
    if collect(content, &mut ends).is_err() {
        bail!("{}: cannot be formatted: write its texts as `lit str \"...\"`", text.name);
    }
    let mut header = String::new();
    for (index, (end, next)) in ends.iter().enumerate() {
        let gap = content.get(*end..*next).unwrap_or_default();
        let Some(comment) = gap.find("//") else { continue };
        if index > 0 {
            let position = Position::of(content, end + comment);
            bail!("{}:{position}: a comment after the beginning would be lost", text.name);
        }
        for line in gap.trim().lines() {
            header.push_str(line.trim());
            header.push('\n');
        }
    }
    Ok(header)
}

/// What is between tokens: where each ends, from the beginning on, and where the next one starts.
fn collect(content: &str, gaps: &mut Vec<(usize, usize)>) -> Result<(), SyntaxError> {
    let mut lexer = Lexer::new(content);
    loop {
        let end = lexer.last_end();
        let token = lexer.advance()?;
        gaps.push((end, token.span.start));
        match token.kind {
            TokenKind::End => return Ok(()),
            // A label is no sequence of tokens.
            TokenKind::Symbol('#') => drop(lexer.label()?),
            _ => {}
        }
    }
}
