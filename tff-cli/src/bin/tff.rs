//! The `tff` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    tff_cli::tff()
}
