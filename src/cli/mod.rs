//! The command line: one file for each command.

mod address;
mod begin;
mod check;
mod compare;
mod complete;
mod convert;
mod data_dir;
mod data_set;
mod decompress;
mod delete;
mod doctor;
mod explain;
mod export;
mod failure;
mod file_runs;
mod foreign;
mod format_options;
mod formats;
mod forms;
mod forward;
#[doc(hidden)]
pub mod fuzzing;
mod grep;
mod held;
mod home;
mod import;
mod input;
mod label;
mod listed;
mod log;
mod ls;
mod mcp;
mod new_file;
mod offer;
mod out;
mod own_form;
mod pages;
mod parts;
mod problem;
mod redaction;
mod reindex;
mod select;
mod send;
mod serve;
mod session_store;
mod settings;
mod settings_file;
mod settings_help;
mod settings_sources;
mod show;
mod source;
mod spool;
mod store;
mod table;
mod tail;
mod target;
mod time;
mod token;
mod units;
mod variables;
mod vocabulary;
mod watch;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  spanbridge serve                                        receive OTLP on 4317 and 4318
  spanbridge ls                                           list recent traces
  spanbridge show 5b8e                                    show what the agent did in one trace
  spanbridge export --to contextforge --since 1h          export the documents of the last hour
  spanbridge convert --to openreward --output out/ *.bin  convert files, without a server
  spanbridge doctor                                       find problems and say how to fix them

Documents go to standard output, messages to standard error. \
Exit status: 0 on success, 1 if the input or the stored data is bad, 2 for a usage error.";

#[derive(Debug, Parser)]
#[command(name = "spanbridge", version, about = "Receive OpenTelemetry spans of LLM agents and turn them into documents", after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(mut_args(settings_help::under_headings))]
    Serve(serve::Serve),
    Convert(convert::Convert),
    Check(check::Check),
    #[command(mut_arg("files", |files| files.required(false).required_unless_present("sessions")))]
    Import(import::Import),
    Export(export::Export),
    Ls(ls::Ls),
    Mcp(mcp::Mcp),
    Show(show::Show),
    Grep(grep::Grep),
    Compare(compare::Compare),
    Tail(tail::Tail),
    Label(label::Label),
    Delete(delete::Delete),
    Send(send::Send),
    Formats(formats::Formats),
    Forms(forms::FormsOf),
    Forward(forward::Forward),
    Reindex(reindex::Reindex),
    Store(store::Stores),
    Token(token::Token),
    #[command(mut_args(settings_help::long_help_only))]
    Doctor(doctor::Doctor),
    Man(pages::Man),
    Completions(pages::Completions),
    Packaging(pages::Packaging),
}

impl Command {
    /// Whether its output contains nobody's data.
    fn is_public(&self) -> bool {
        matches!(self, Self::Man(_) | Self::Completions(_) | Self::Packaging(_))
    }
}

/// Files contain what people told agents: new ones are accessible only to this user.
fn keep_private() {
    let others = rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO;
    let given = rustix::process::umask(others);
    let _ = rustix::process::umask(given | others);
}

/// Runs the command given on the command line.
#[must_use]
pub fn main() -> ExitCode {
    complete::complete(Cli::command);
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output with status 0, usage errors to standard error with status 2.
            if error.use_stderr() {
                // They repeat the user's input, so they are printed without clap's colours: those could not be distinguished
                // from colours in the input.
                out::plain(error.render().to_string().trim_end());
            } else {
                let _ = error.print();
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    if !cli.command.is_public() {
        keep_private();
    }
    let result = match cli.command {
        Command::Serve(serve) => serve.run(&Cli::command()),
        Command::Convert(convert) => convert.run(),
        Command::Check(check) => check.run(),
        Command::Import(import) => import.run(),
        Command::Export(export) => export.run(),
        Command::Ls(ls) => ls.run(),
        Command::Mcp(mcp) => mcp.run(),
        Command::Show(show) => show.run(),
        Command::Grep(grep) => grep.run(),
        Command::Compare(compare) => compare.run(),
        Command::Tail(tail) => tail.run(),
        Command::Label(label) => label.run(),
        Command::Delete(delete) => delete.run(),
        Command::Send(send) => send.run(),
        Command::Formats(formats) => formats.run(),
        Command::Forms(forms) => forms.run(),
        Command::Forward(forward) => forward.run(),
        Command::Reindex(reindex) => reindex.run(),
        Command::Store(store) => store.run(),
        Command::Token(token) => token.run(),
        Command::Doctor(doctor) => doctor.run(&Cli::command()),
        Command::Man(man) => man.run(Cli::command()),
        Command::Completions(completions) => completions.run(),
        Command::Packaging(packaging) => packaging.run(),
    };
    match result.and_then(|code| out::flush().map(|()| code)) {
        Ok(code) => code,
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            out::error(&failure);
            failure.exit_code()
        }
    }
}
