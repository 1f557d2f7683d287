//! `spanbridge forms`: the forms that are read by tables.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::decompress::read_plain;
use super::failure::Failure;
use super::input::DEFAULT_LIMIT;
use super::out;
use super::own_form::form_of;
use crate::forms::{AnyForm, Kind, listed, names, table_of, unknown};

const EXAMPLES: &str = "\
A form is a table: by what a value is recognised, where its messages or spans are, and how each is read. `spanbridge forms NAME` prints one, to \
begin with a table of your own; the page \"Reading a format of your own\" of the documentation says what a table may have. --form FILE of \
convert, import, show, compare and check reads files by it.

Examples:
  spanbridge forms
  spanbridge forms langchain > own.yaml
  spanbridge forms --try own.yaml agent.jsonl      what becomes of each line
  spanbridge show agent.jsonl --form own.yaml";

/// List the forms of messages, logs and spans that are read, or print the table of one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct FormsOf {
    /// Print the table of this form.
    #[arg(value_name = "NAME", conflicts_with = "tried")]
    name: Option<String>,
    /// Say what a table makes of each line or item of a file: read, ignored, not understood.
    #[arg(long = "try", value_names = ["FORM", "FILE"], num_args = 2)]
    tried: Vec<PathBuf>,
    /// Print one JSON object per form.
    #[arg(long, conflicts_with_all = ["name", "tried"])]
    json: bool,
}

impl FormsOf {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        if let [form, file] = self.tried.as_slice() {
            let form = form_of(&form.to_string_lossy()).map_err(Failure::usage)?;
            return tried(&form, file);
        }
        match self.name {
            Some(name) => {
                let table = table_of(&name).ok_or_else(|| Failure::usage(unknown("form", &name, names())))?;
                out::line(table.trim_end())?;
            }
            None => {
                let width = names().map(str::len).max().unwrap_or(0);
                for (name, reads, kind) in listed() {
                    match self.json {
                        true => out::json(json!({"name": name, "reads": reads, "kind": kind.word()}).to_string()),
                        // Databases are recognised by their tables, and cannot be named.
                        false if kind == Kind::Messages => out::line(&format!("{:width$}  {reads}", name.unwrap_or_default())),
                        false => out::line(&format!("{:width$}  {reads} ({})", name.unwrap_or("-"), kind.word())),
                    }?;
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn tried(form: &AnyForm, path: &Path) -> Result<ExitCode, Failure> {
    let (file, bytes) = read_plain(path, DEFAULT_LIMIT);
    let bytes = bytes.map_err(|problem| Failure::missing(out::with_causes(&problem)))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Failure::missing(format!("{file}: it is not UTF-8")))?;
    let mut failed = None;
    form.try_text(text, &mut |line| {
        failed = failed.take().or_else(|| out::line(&out::harmless(&line)).err());
    });
    failed.map_or(Ok(ExitCode::SUCCESS), Err)
}
