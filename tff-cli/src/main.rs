//! The `tff` command.
fn main() {}
