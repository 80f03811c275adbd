//! Logs go to stderr, at the level that the user asks for.

use anyhow::{Context, Result};
use std::io::{self, IsTerminal};
use tracing_subscriber::EnvFilter;

/// How much is logged.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Messages")]
pub(crate) struct LogArgs {
    /// Log more to stderr: progress of the work, with -vv details, with -vvv everything.
    ///
    /// If TFF_LOG is set, it decides instead: a level (`debug`) or levels by module
    /// (`warn,tff_exec=trace`).
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Show neither a progress bar nor warnings.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// How logs are written.
    #[arg(long, global = true, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    log_format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One JSON object on each line, for log collectors.
    Json,
}

/// Whose logs these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A command that someone waits for.
    Command,
    /// A server: its logs have the time.
    Server,
}

/// Sends what the libraries and the commands log to stderr.
pub(crate) fn start(args: &LogArgs, kind: Kind) -> Result<()> {
    let level = match (args.quiet, args.verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "warn,tff=info",
        (false, 2) => "warn,tff=debug",
        (false, _) => "trace",
    };
    let directives = std::env::var("TFF_LOG").ok().filter(|value| !value.trim().is_empty());
    let filter = EnvFilter::builder().parse(directives.as_deref().unwrap_or(level)).context("TFF_LOG")?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false);
    match (args.log_format, kind) {
        (Format::Json, _) => subscriber.json().flatten_event(true).with_span_list(false).init(),
        (Format::Text, Kind::Server) => subscriber.init(),
        (Format::Text, Kind::Command) => subscriber.without_time().init(),
    }
    Ok(())
}
