//! The `spanbridge` command.

/// Keeps the memory of requests instead of giving it back and asking for it again, page by page.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // The allocator asks for huge pages: 10 MB of an idle bridge, and 2 MB to be cleared before a short command's first work.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    spanbridge::cli::main()
}
