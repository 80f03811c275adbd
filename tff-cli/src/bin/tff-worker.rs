//! The `tff-worker` command.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    tff_cli::worker(std::env::args())
}
