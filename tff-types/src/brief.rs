//! Shortens texts, for messages that quote something that may be long. No other code shortens texts.

use std::fmt::{self, Write};

/// The text of something on one line, cut to a number of characters; `…` stands for what was cut, and control characters
/// are escaped.
///
/// ```
/// use tff_types::Brief;
///
/// assert_eq!(Brief::start(&"one\ntwo", 20).to_string(), r"one\ntwo");
/// assert_eq!(Brief::start(&"a long name", 7).to_string(), "a long…");
/// ```
#[derive(Debug)]
pub struct Brief {
    text: String,
    cut: bool,
}

impl Brief {
    /// The first characters, at most `limit` with the ellipsis. No more than that is formatted.
    #[must_use]
    pub fn start(value: &dyn fmt::Display, limit: usize) -> Self {
        let mut head = Head { text: String::new(), room: limit };
        let cut = write!(head, "{value}").is_err();
        let mut text = head.text;
        if cut {
            text.pop();
            text.push('…');
        }
        Self { text, cut }
    }

    /// The last characters, at most `limit` with the ellipsis.
    pub(crate) fn end(value: &dyn fmt::Display, limit: usize) -> Self {
        let whole: Vec<char> = value.to_string().chars().flat_map(printable).collect();
        match whole.len().checked_sub(limit) {
            None | Some(0) => Self { text: whole.into_iter().collect(), cut: false },
            Some(excess) => {
                let tail = whole.into_iter().skip(excess + 1);
                Self { text: std::iter::once('…').chain(tail).collect(), cut: true }
            }
        }
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    pub(crate) fn chars(&self) -> usize {
        self.text.chars().count()
    }
}

impl fmt::Display for Brief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Takes characters until there is no more room, then fails, which ends the formatting.
struct Head {
    text: String,
    room: usize,
}

impl Write for Head {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            for char in printable(char) {
                self.room = self.room.checked_sub(1).ok_or(fmt::Error)?;
                self.text.push(char);
            }
        }
        Ok(())
    }
}

/// Line breaks and other control characters, which a name may contain, do not break the line.
fn printable(char: char) -> impl Iterator<Item = char> {
    let escaped = char.is_control().then(|| char.escape_default());
    let itself = escaped.is_none().then_some(char);
    escaped.into_iter().flatten().chain(itself)
}
