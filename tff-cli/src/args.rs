//! The command line as a whole; each command has its own arguments in `commands/`.

use crate::commands::Command;
use crate::log::LogArgs;
use clap::Parser;

const EXAMPLES: &str = "\
Examples:
  tff type next.pb
  tff print next.pb > next.tff
  tff parse next.tff -o next.pb
  tff check next.tff
  tff fmt next.tff
  tff compile next.pb --to map-reduce -o next.mrf
  tff run add.pb --arg '{\"x\": 2, \"y\": 3}'
  tff simulate examples/digits/digits.toml
  tff data examples/digits/digits.toml
  tff intrinsics
  tff serve --port 8000

A FILE of `-` is read from stdin. A name that ends in neither .pb nor .tff leaves it to the content.
Exit codes: 0 success, 1 bad input, failed run or problems found, 2 wrong usage.";

/// Inspects, checks, converts, compiles, runs, simulates and serves federated computations.
///
/// A computation is a message `tensorflow_federated.v0.Computation`, as TensorFlow Federated
/// serializes it, in a file .pb, or its text form in a file .tff.
#[derive(Debug, Parser)]
#[command(name = "tff", version, propagate_version = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
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
    fn every_command_has_examples() {
        for command in Args::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains(&format!("tff {}", command.get_name())), "{}", command.get_name());
        }
    }
}
