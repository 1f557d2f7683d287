//! The `spanbridge` command.

/// Keeps the memory of requests instead of giving it back and asking for it again, page by page.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    spanbridge::cli::main()
}
