//! How types and names appear in messages: on one line and of bounded length.

use std::fmt;
use tff_types::{Brief, Type};

/// A name.
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Brief::start(&self.0, 60).fmt(f)
    }
}

/// A type in compact notation.
pub(crate) struct Shown<'a>(pub(crate) &'a Type);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Brief::start(self.0, 200).fmt(f)
    }
}

/// What repeats what someone sent.
pub(crate) struct OneLine<'a, T>(pub(crate) &'a T);

impl<T: fmt::Display> fmt::Display for OneLine<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Brief::start(self.0, 400).fmt(f)
    }
}

/// The first line of what may print several: what it says in brief.
pub(crate) struct FirstLine<'a, T>(pub(crate) &'a T);

impl<T: fmt::Display> fmt::Display for FirstLine<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.to_string().lines().next().unwrap_or_default())
    }
}
