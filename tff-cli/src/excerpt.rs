//! Prints a problem with the lines of the text that it is in, as compilers do.

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use std::io::{self, IsTerminal};
use tff_ir::Severity;
use tff_types::syntax::{Position, Span};

/// How many characters of a line are shown.
const SHOWN: usize = 120;
/// How many of them may be before the place.
const SHOWN_BEFORE: usize = 80;

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
        let excerpt = self.excerpt();
        let start = excerpt.before.len();
        let snippet = Snippet::source([excerpt.before, excerpt.place.clone(), excerpt.after].concat())
            .line_start(position.line)
            .annotation(AnnotationKind::Primary.span(start..start + excerpt.place.len()));
        let title = level.primary_title(self.message).id(self.code);
        let group = if excerpt.is_whole {
            title.element(snippet.path(self.name))
        } else {
            // The column is not that of what is shown.
            let origin = Origin::path(self.name).line(position.line).char_column(position.column);
            title.element(origin).element(snippet)
        };
        renderer.render(&[group])
    }

    fn excerpt(&self) -> Excerpt {
        let (head, tail) = self.source.split_at_checked(self.span.start).unwrap_or((self.source, ""));
        let before = head.rsplit('\n').next().unwrap_or_default();
        let line = tail.split('\n').next().unwrap_or_default();
        let len = self.span.end.saturating_sub(self.span.start);
        let (place, after) = line.split_at_checked(len).unwrap_or((line, ""));
        let cut = before.char_indices().rev().nth(SHOWN_BEFORE - 1).map_or(0, |(start, _)| start);
        let before = visible(before.get(cut..).unwrap_or_default(), SHOWN_BEFORE);
        let place = visible(place, SHOWN - before.chars().count());
        let after = visible(after, SHOWN - before.chars().count() - place.chars().count());
        Excerpt { before, place, after, is_whole: cut == 0 }
    }
}

/// What is shown of the line on which the place begins.
#[derive(Debug)]
struct Excerpt {
    before: String,
    /// As much of the place as is on the line.
    place: String,
    after: String,
    /// Whether it begins where the line does.
    is_whole: bool,
}

/// The beginning of the text, without what would change how a terminal shows it. Unlike in a message, each character
/// stays one, since the mark below must begin and end where the place does.
fn visible(text: &str, most: usize) -> String {
    text.chars().take(most).map(|char| if char.is_control() { ' ' } else { char }).collect()
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
        plain(&annotated)
    }

    fn plain(annotated: &Annotated<'_>) -> String {
        let text = annotated.render_with(&Renderer::plain());
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn one_line_is_shown() {
        insta::assert_snapshot!(check("(let\n\tä=x:int32\nin y)", "x:int32\nin"), @r"
        error[a-rule]: no such thing
         --> a.tff:2:4
          |
        2 |  ä=x:int32
          |    ^^^^^^^
        ");
        insta::assert_snapshot!(check("(x:int32 -> ", ""), @r"
        error[a-rule]: no such thing
         --> a.tff:1:1
          |
        1 | (x:int32 ->
          | ^
        ");
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
        insta::assert_snapshot!(plain(&annotated(Span { start: 2, end: 2 })), @r"
        warning[a-rule]: it ends
         --> a.tff:2:1
          |
        2 |
          | ^
        ");
        let beyond = plain(&annotated(Span { start: 9, end: 12 }));
        assert_eq!(beyond, plain(&annotated(Span { start: 2, end: 2 })));
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let (left, right) = ("ä".repeat(100_000), "b".repeat(100_000));
        insta::assert_snapshot!(check(&format!("{left}<x>{right}"), "<x>"), @r"
        error[a-rule]: no such thing
         --> a.tff:1:100001
          |
         :::
        1 | ääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää<x>bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
          |                                                                                 ^^^
        ");
        insta::assert_snapshot!(check(&format!("{left}{right}"), &right), @r"
        error[a-rule]: no such thing
         --> a.tff:1:100001
          |
         :::
        1 | ääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
          |                                                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        ");
    }

    #[test]
    fn terminals_are_safe() {
        insta::assert_snapshot!(check("a\x1b[31m\u{9b}\rx", "\rx"), @r"
        error[a-rule]: no such thing
         --> a.tff:1:8
          |
        1 | a [31m  x
          |        ^^
        ");
    }
}
