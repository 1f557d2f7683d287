//! `spanbridge token`: creates and lists tokens for senders and readers.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::out;
use crate::access::{Project, Right, Secret};

const EXAMPLES: &str = "\
The token is printed to standard output, once. The entry for the configuration file is printed to standard error; it matches \
a hash of the token. spanbridge does not store the token itself.

Examples:
  spanbridge token new --name agents --right ingest
  spanbridge token new --name web-ci --right ingest --right read --project acme/web
  spanbridge token new --name prometheus --right admin";

/// Create tokens for senders and readers.
#[derive(Debug, Args)]
pub(super) struct Token {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(New),
}

/// Create a token.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct New {
    /// A name for the token, such as who uses it.
    #[arg(long, value_name = "NAME")]
    name: String,
    /// What the token allows: ingest (send spans), read (traces and documents), annotate (notes, labels and scores), delete (traces and sessions), admin (/metrics). Repeatable.
    #[arg(long = "right", value_name = "RIGHT", default_value = "ingest", value_parser = right)]
    rights: Vec<Right>,
    /// The project that the token gives access to.
    #[arg(long, value_name = "ORG/PROJECT", default_value_t = Project::default())]
    project: Project,
}

fn right(text: &str) -> Result<Right, String> {
    let known = Right::ALL.into_iter().find(|right| right.name() == text);
    known.ok_or_else(|| "the rights are ingest, read, annotate, delete and admin".to_owned())
}

impl Token {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let Command::New(new) = self.command;
        let secret = Secret::new().map_err(|error| Failure::usage(format!("cannot get random numbers from the system: {error}")))?;
        let rights: Vec<&str> = new.rights.iter().map(|right| right.name()).collect();
        let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
        out::plain(&format!(
            "# Add this to the configuration file. The token itself is printed only once.\n\n\
             [[tokens]]\nname = {}\nhash = {}\nrights = [{}]\nproject = {}\n",
            text(&new.name),
            text(&secret.hash().to_string()),
            rights.into_iter().map(text).collect::<Vec<_>>().join(", "),
            text(&new.project.to_string()),
        ));
        if !new.rights.contains(&Right::Read) {
            out::plain("# This token cannot read traces: `ls`, `show` and `export` need one with --right read.");
        }
        out::line(secret.text())?;
        Ok(ExitCode::SUCCESS)
    }
}
