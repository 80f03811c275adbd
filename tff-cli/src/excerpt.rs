//! A problem in a text with the place that it is about, as compilers show it.

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use std::io::{self, IsTerminal};
use tff_ir::Severity;
use tff_types::syntax::{Position, Span};

/// How many characters of a long line are shown before the place, and from there on.
const AROUND: (usize, usize) = (50, 70);

/// What is wrong, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Annotated<'a> {
    /// The text.
    pub(crate) source: &'a str,
    /// What it is called.
    pub(crate) name: &'a str,
    /// The place in it.
    pub(crate) span: Span,
    pub(crate) severity: Severity,
    /// The name of the rule.
    pub(crate) code: &'a str,
    pub(crate) message: &'a str,
}

impl Annotated<'_> {
    /// Several lines, the last without a line break; in color on a terminal.
    pub(crate) fn render(&self) -> String {
        let renderer = if io::stdout().is_terminal() { Renderer::styled() } else { Renderer::plain() };
        self.render_with(&renderer)
    }

    fn render_with(&self, renderer: &Renderer) -> String {
        let level = match self.severity {
            Severity::Warning => Level::WARNING,
            Severity::Error => Level::ERROR,
        };
        let position = Position::of(self.source, self.span.start);
        let (before, marked, after) = self.excerpt();
        let place = before.len()..before.len() + marked.len();
        let origin = Origin::path(self.name).line(position.line).char_column(position.column);
        let snippet = Snippet::source(format!("{before}{marked}{after}"))
            .line_start(position.line)
            .annotation(AnnotationKind::Primary.span(place));
        renderer.render(&[level.primary_title(self.message).id(self.code).element(origin).element(snippet)])
    }

    /// What is shown of the line on which the place begins: the part before it, the place, as far
    /// as it is on that line, and the part after it. A terminal can show all three.
    fn excerpt(&self) -> (String, String, String) {
        let (head, tail) = self.source.split_at_checked(self.span.start).unwrap_or((self.source, ""));
        let before = head.rsplit('\n').next().unwrap_or_default();
        let line = tail.split('\n').next().unwrap_or_default();
        let len = self.span.end.saturating_sub(self.span.start);
        let (marked, after) = line.split_at_checked(len).unwrap_or((line, ""));
        let start = before.char_indices().rev().nth(AROUND.0).map_or(0, |(start, char)| start + char.len_utf8());
        let dots = if start > 0 { "..." } else { "" };
        let before = format!("{dots}{}", visible(before.get(start..).unwrap_or_default()));
        let shown = |text: &str, most: usize| visible(&text.chars().take(most).collect::<String>());
        let marked = shown(marked, AROUND.1);
        let rest = AROUND.1.saturating_sub(marked.chars().count());
        let dots = if line.chars().nth(AROUND.1).is_some() { "..." } else { "" };
        (before, marked, format!("{}{dots}", shown(after, rest)))
    }
}

/// The text without what would change how a terminal shows it.
fn visible(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, part: &str) -> String {
        let start = source.find(part).unwrap();
        let span = Span { start, end: start + part.len() };
        let annotated = Annotated {
            source,
            name: "a.tff",
            span,
            severity: Severity::Error,
            code: "a-rule",
            message: "no such thing",
        };
        annotated.render_with(&Renderer::plain())
    }

    #[test]
    fn one_line_is_shown() {
        insta::assert_snapshot!(check("(let\n\tä=x:int32\nin y)", "x:int32\nin"), @"");
        insta::assert_snapshot!(check("(x:int32 -> ", ""), @"");
    }

    #[test]
    fn the_end_of_the_text_is_a_place() {
        let annotated = |span| Annotated {
            source: "<\n",
            name: "a.tff",
            span,
            severity: Severity::Warning,
            code: "a-rule",
            message: "it ends",
        };
        insta::assert_snapshot!(annotated(Span { start: 2, end: 2 }).render_with(&Renderer::plain()), @"");
        let beyond = annotated(Span { start: 9, end: 12 }).render_with(&Renderer::plain());
        assert_eq!(beyond, annotated(Span { start: 2, end: 2 }).render_with(&Renderer::plain()));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let (left, right) = ("ä".repeat(100_000), "b".repeat(100_000));
        insta::assert_snapshot!(check(&format!("{left}<x>{right}"), "<x>"), @"");
        insta::assert_snapshot!(check(&format!("{left}{right}"), &right), @"");
    }

    #[test]
    fn terminals_are_safe() {
        insta::assert_snapshot!(check("a\x1b[31m\u{9b}\rx", "\rx"), @"");
    }
}
