//! The command line: one file a command.

mod convert;
mod failure;
mod input;
mod out;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  spanbridge convert --to contextforge spans.json
  spanbridge convert --to openreward --output out/ *.bin

Documents go to standard output, messages to standard error.
Exit status: 0 done, 1 the input or the data is at fault, 2 the call is.";

#[derive(Debug, Parser)]
#[command(name = "spanbridge", version, about = "OpenTelemetry spans of LLM agents in, documents out", after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Convert(convert::Convert),
}

/// Runs the command that the process was called with.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output with status 0, usage errors to standard error with status 2.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let result = match cli.command {
        Command::Convert(convert) => convert.run(),
    };
    match result {
        Ok(code) => code,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            out::error(&failure);
            failure.exit_code()
        }
    }
}

/// Status 1 if anything of the input or the data was at fault.
fn status(clean: bool) -> ExitCode {
    if clean { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
