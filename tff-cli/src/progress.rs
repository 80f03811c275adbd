//! The progress of rounds: a bar on stderr, if that is a terminal.

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::time::Duration;

/// A bar that shows how many rounds are done and how many are done in a second.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for this many rounds; an invisible one unless it is wanted and stderr is a terminal.
    pub(crate) fn new(rounds: u64, is_wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(rounds), ProgressDrawTarget::stderr());
        if !is_wanted || !io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
            return Self(bar);
        }
        // A template that does not parse leaves the default one.
        if let Ok(style) = ProgressStyle::with_template("{bar:40} round {pos}/{len}, {rate}, {eta} left") {
            let rate = |state: &ProgressState, out: &mut dyn Write| {
                // What cannot be written is not shown.
                let _ = write!(out, "{:.2} rounds/s", state.per_sec());
            };
            bar.set_style(style.with_key("rate", rate));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// Moves the bar to where a run goes on.
    pub(crate) fn skip(&self, rounds_done: u64) {
        self.0.set_position(rounds_done);
    }

    /// Prints while the bar is out of the way.
    pub(crate) fn show(&self, print: impl FnOnce() -> Result<()>) -> Result<()> {
        self.0.suspend(print)
    }

    /// Prints while the bar is out of the way, and moves it on by a round.
    pub(crate) fn advance(&self, print: impl FnOnce() -> Result<()>) -> Result<()> {
        let result = self.show(print);
        self.0.inc(1);
        result
    }
}

/// Takes the bar away, also where a round fails.
impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
