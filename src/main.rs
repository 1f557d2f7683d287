//! The `spanbridge` command.

fn main() -> std::process::ExitCode {
    spanbridge::cli::main()
}
