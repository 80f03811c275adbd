//! How names are written.

use std::fmt::{self, Write};

/// Whether it is a letter or `_`, followed by any number of letters, digits and `_`, all ASCII.
#[must_use]
pub fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
        && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

/// Whether it is an identifier that the notation of computations keeps for itself.
#[must_use]
pub fn is_keyword(name: &str) -> bool {
    matches!(name, "let" | "in" | "lit" | "as")
}

/// A name as the notation writes it: as it is if it can be read back, otherwise in backquotes.
///
/// ```
/// use tff_types::syntax::Name;
///
/// assert_eq!(Name("loss_2").to_string(), "loss_2");
/// assert_eq!(Name("let").to_string(), "`let`");
/// assert_eq!(Name("<lambda> `x`\n").to_string(), r"`<lambda> \`x\`\n`");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a>(pub &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_identifier(self.0) && !is_keyword(self.0) { f.write_str(self.0) } else { write_quoted(self.0, f) }
    }
}

/// Writes any text in backquotes; line breaks and other control characters are escaped.
pub(crate) fn write_quoted<W: Write>(name: &str, f: &mut W) -> fmt::Result {
    f.write_char('`')?;
    for char in name.chars() {
        match char {
            '`' => f.write_str("\\`")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            control if control.is_control() => write!(f, "\\u{{{:x}}}", u32::from(control))?,
            other => f.write_char(other)?,
        }
    }
    f.write_char('`')
}
