//! The `tff-worker` command.

fn main() {
    tff_cli::worker()
}
