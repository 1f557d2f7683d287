//! `spanbridge man`, `completions`, `packaging`: files for packagers.

use std::process::ExitCode;

use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

use super::failure::Failure;
use super::{complete, out};

/// Print the manual page of the program or of one command.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  spanbridge man | man -l -
  spanbridge man | sudo tee /usr/local/share/man/man1/spanbridge.1
  spanbridge man serve | sudo tee /usr/local/share/man/man1/spanbridge-serve.1")]
pub(super) struct Man {
    /// The command to document.
    command: Option<String>,
}

/// Print a shell completion script.
#[derive(Debug, Args)]
#[command(
    after_help = "Completions offer commands, flags, formats and their options, and the latest traces and sessions of the store.

Examples:
  spanbridge completions bash > ~/.local/share/bash-completion/completions/spanbridge
  spanbridge completions zsh > ~/.zfunc/_spanbridge          # fpath+=~/.zfunc before compinit
  spanbridge completions fish > ~/.config/fish/completions/spanbridge.fish"
)]
pub(super) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Print a systemd unit, its user, or a Containerfile.
#[derive(Debug, Args)]
#[command(after_help = "Each file starts with instructions.

Examples:
  spanbridge packaging sysusers | sudo tee /etc/sysusers.d/spanbridge.conf
  spanbridge packaging systemd | sudo tee /etc/systemd/system/spanbridge.service
  spanbridge packaging containerfile | podman build --format docker -t spanbridge -f - .")]
pub(super) struct Packaging {
    /// The file to print.
    #[arg(value_enum)]
    file: File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum File {
    Systemd,
    Sysusers,
    Containerfile,
}

/// Bytes to standard output.
fn print(bytes: Vec<u8>) -> Result<ExitCode, Failure> {
    let text = String::from_utf8_lossy(&bytes);
    out::line(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

impl Man {
    /// `command` is the whole command line.
    pub(super) fn run(self, mut command: Command) -> Result<ExitCode, Failure> {
        // With the full names of commands: `spanbridge token new`.
        command.build();
        if let Some(name) = &self.command {
            let found = command.find_subcommand(name).cloned();
            let found = found.ok_or_else(|| Failure::usage(format!("there is no command {name}; `spanbridge help` lists them")))?;
            command = found;
        }
        let mut page = Vec::new();
        let manual = clap_mangen::Man::new(command).source(concat!("spanbridge ", env!("CARGO_PKG_VERSION")));
        out::written(manual.render(&mut page))?;
        print(page)
    }
}

impl Completions {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        print(complete::script(&self.shell.to_string())?)
    }
}

impl Packaging {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let text = match self.file {
            File::Systemd => include_str!("../packaging/spanbridge.service"),
            File::Sysusers => include_str!("../packaging/spanbridge.sysusers"),
            File::Containerfile => include_str!("../packaging/Containerfile"),
        };
        print(text.as_bytes().to_vec())
    }
}
