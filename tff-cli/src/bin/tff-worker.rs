//! The `tff-worker` command.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // SAFETY: the process begins here, with one thread.
    #[expect(unsafe_code, reason = "the libraries are told in no other way")]
    unsafe {
        tff_cli::quiet();
    }
    tff_cli::worker(std::env::args())
}
