//! The `tff` command.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // SAFETY: the process begins here, with one thread.
    #[expect(unsafe_code, reason = "the libraries are told in no other way")]
    unsafe {
        tff_cli::quiet();
    }
    tff_cli::tff(std::env::args_os())
}
