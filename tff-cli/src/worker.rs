//! The `tff-worker` command: a drop-in for TFF's own worker binary.
//!
//! It takes the flags that TFF's launcher passes, in all the spellings of absl: `--port=8000`,
//! `--port 8000`, `-port=8000`.

use crate::executor::{CompilationArgs, executor};
use crate::log::{self, LogArgs};
use crate::named_data::NamedDataArgs;
use crate::server::{self, ServerArgs};
use clap::Parser;

/// Serves tensorflow_federated.v0.ExecutorGroup: runs federated computations for TFF's clients.
#[derive(Debug, Parser)]
#[command(name = "tff-worker", version, after_help = EXAMPLES)]
struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// The largest message in either direction, in megabytes; 2048 and more stand for 2147483647 bytes, the
    /// most that a message can have.
    #[arg(long, value_name = "MB", conflicts_with = "max_message_bytes", value_parser = clap::value_parser!(u32).range(1..))]
    grpc_max_message_length_megabytes: Option<u32>,
    /// How many threads compute; if less than 1, one for each core.
    #[arg(long, default_value_t = -1, allow_hyphen_values = true, value_name = "N")]
    max_concurrent_computation_calls: i32,
    #[command(flatten)]
    compilation: CompilationArgs,
    #[command(flatten)]
    data: NamedDataArgs,
    #[command(flatten)]
    log: LogArgs,
}

const EXAMPLES: &str = "\
Examples:
  tff-worker --port=8000
  tff-worker --port=8000 --max_concurrent_computation_calls=4
  tff-worker --port=8000 --host=0.0.0.0
  tff-worker --port=8000 --data=mine=examples.sqlite";

/// Spells flags as clap knows them: two dashes, hyphens between words.
fn respell(arg: String) -> String {
    let Some(flag) = arg.strip_prefix('-') else { return arg };
    let flag = flag.strip_prefix('-').unwrap_or(flag);
    // Values such as -1 and the one-letter flags, also several in one as -vv, stay as they are.
    let is_word = flag.len() > 1 && flag.starts_with(|first: char| first.is_ascii_alphabetic());
    if !is_word || flag.chars().all(|letter| matches!(letter, 'v' | 'q' | 'h' | 'V')) {
        return arg;
    }
    let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
    let name = name.replace('_', "-");
    value.map_or_else(|| format!("--{name}"), |value| format!("--{name}={value}"))
}

/// Runs the `tff-worker` command with these arguments, the name of the program first; ends the process.
pub fn worker(args: impl IntoIterator<Item = String>) -> ! {
    let args = Args::parse_from(args.into_iter().map(respell));
    if let Err(error) = log::start(&args.log, log::Kind::Server) {
        server::end(Err(error));
    }
    let data = args.data.sources().unwrap_or_else(|error| server::end(Err(error)));
    let threads = usize::try_from(args.max_concurrent_computation_calls).ok();
    let executor = executor(threads, &args.compilation, None, data);
    server::run(&args.server.with_message_limit(args.grpc_max_message_length_megabytes), executor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn flags_are_respelled_and_values_are_not() {
        let cases = [
            ("--port=8000", "--port=8000"),
            ("-port=8000", "--port=8000"),
            ("-port", "--port"),
            ("--grpc_max_message_length_megabytes=1", "--grpc-max-message-length-megabytes=1"),
            ("-max_concurrent_computation_calls", "--max-concurrent-computation-calls"),
            ("--tls-cert=a_b.pem", "--tls-cert=a_b.pem"),
            ("--data=a_b=c_d", "--data=a_b=c_d"),
            ("a_b.pem", "a_b.pem"),
            ("-1", "-1"),
            ("-v", "-v"),
            ("-vv", "-vv"),
            ("--", "--"),
        ];
        for (given, expected) in cases {
            assert_eq!(respell(given.to_owned()), expected);
        }
    }
}
