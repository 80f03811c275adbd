//! How types and names appear in messages: on one line and of bounded length.

use std::fmt::{self, Write};
use tff_types::Type;

/// A type in compact notation, cut off where it is long.
pub(crate) struct Shown<'a>(pub(crate) &'a Type);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cut = Cut { text: String::new(), left: 200 };
        // The only error is that of `Cut` itself: there is more to come.
        let whole = write!(cut, "{}", self.0).is_ok();
        f.write_str(&cut.text)?;
        if whole { Ok(()) } else { f.write_str("...") }
    }
}

/// The first line of what may print several: what it says in brief.
pub(crate) struct FirstLine<'a, T>(pub(crate) &'a T);

impl<T: fmt::Display> fmt::Display for FirstLine<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.to_string().lines().next().unwrap_or_default())
    }
}

/// What repeats what someone sent: on one line, cut off where it is long.
pub(crate) struct OneLine<'a, T>(pub(crate) &'a T);

impl<T: fmt::Display> fmt::Display for OneLine<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cut = Cut { text: String::new(), left: 400 };
        let whole = write!(cut, "{}", self.0).is_ok();
        f.write_str(&cut.text)?;
        if whole { Ok(()) } else { f.write_str("...") }
    }
}

/// Takes a limited number of characters and then refuses, so that nothing more is printed.
struct Cut {
    text: String,
    left: usize,
}

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for char in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            if char.is_control() { self.text.extend(char.escape_default()) } else { self.text.push(char) }
        }
        Ok(())
    }
}
