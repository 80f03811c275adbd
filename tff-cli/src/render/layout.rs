//! Text that is written on one line if it fits, and on several otherwise.

use std::fmt;

/// The width of a line.
const WIDTH: usize = 100;
/// How far what is inside of brackets is indented.
const INDENT: usize = 2;

/// A text, or a list of texts in brackets.
#[derive(Clone, Debug)]
pub(super) enum Doc {
    Text(String),
    Group(Group),
}

#[derive(Clone, Debug)]
pub(super) struct Group {
    open: String,
    items: Vec<Doc>,
    close: String,
    style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Commas; one item a line where it breaks.
    List,
    /// Spaces; as many items a line as fit.
    Words,
    /// Spaces; one item a line where it breaks.
    Rows,
}

impl Doc {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Items separated by commas.
    pub(super) fn list(open: impl Into<String>, items: Vec<Self>, close: impl Into<String>) -> Self {
        Self::Group(Group { open: open.into(), items, close: close.into(), style: Style::List })
    }

    /// Items separated by spaces that fill lines.
    pub(super) fn words(open: impl Into<String>, items: Vec<Self>, close: impl Into<String>) -> Self {
        Self::Group(Group { open: open.into(), items, close: close.into(), style: Style::Words })
    }

    /// Items separated by spaces, or one a line.
    pub(super) fn rows(open: impl Into<String>, items: Vec<Self>, close: impl Into<String>) -> Self {
        Self::Group(Group { open: open.into(), items, close: close.into(), style: Style::Rows })
    }

    pub(super) fn preceded_by(self, text: impl fmt::Display) -> Self {
        match self {
            Self::Text(own) => Self::Text(format!("{text}{own}")),
            Self::Group(group) => Self::Group(Group { open: format!("{text}{}", group.open), ..group }),
        }
    }

    pub(super) fn followed_by(self, text: impl fmt::Display) -> Self {
        match self {
            Self::Text(own) => Self::Text(format!("{own}{text}")),
            Self::Group(group) => Self::Group(Group { close: format!("{}{text}", group.close), ..group }),
        }
    }

    /// The width on one line, up to a limit beyond which it does not matter.
    fn width(&self, limit: usize) -> usize {
        match self {
            Self::Text(text) => text.chars().take(limit + 1).count(),
            Self::Group(group) => {
                let mut width = group.open.chars().count() + group.close.chars().count();
                for item in &group.items {
                    if width > limit {
                        break;
                    }
                    width += item.width(limit) + 1;
                }
                width.saturating_sub(usize::from(!group.items.is_empty()))
            }
        }
    }

    /// Writes it where `indent` columns are taken to the left, and `reserved` after it.
    fn write(&self, f: &mut fmt::Formatter<'_>, indent: usize, reserved: usize) -> fmt::Result {
        let room = WIDTH.saturating_sub(indent + reserved);
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Group(group) if group.items.is_empty() || self.width(room) <= room => group.write_flat(f, indent),
            Self::Group(group) => group.write_broken(f, indent + INDENT),
        }
    }
}

impl Group {
    fn separator(&self) -> &'static str {
        if self.style == Style::List { "," } else { " " }
    }

    fn write_flat(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        f.write_str(&self.open)?;
        for (index, item) in self.items.iter().enumerate() {
            if index > 0 {
                f.write_str(self.separator())?;
            }
            item.write(f, indent, 0)?;
        }
        f.write_str(&self.close)
    }

    fn write_broken(&self, f: &mut fmt::Formatter<'_>, indent: usize) -> fmt::Result {
        f.write_str(&self.open)?;
        let comma = if self.style == Style::List { "," } else { "" };
        let mut column = WIDTH;
        for (index, item) in self.items.iter().enumerate() {
            let width = item.width(WIDTH);
            if self.style == Style::Words && column + 1 + width <= WIDTH {
                f.write_str(" ")?;
                column += 1 + width;
            } else {
                write!(f, "\n{:indent$}", "")?;
                column = indent + width;
            }
            let comma = if index + 1 == self.items.len() { "" } else { comma };
            item.write(f, indent, comma.len())?;
            f.write_str(comma)?;
        }
        write!(f, "\n{:outer$}{}", "", self.close, outer = indent - INDENT)
    }
}

impl fmt::Display for Doc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0, 0)
    }
}
