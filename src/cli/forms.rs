//! `spanbridge forms`: the forms that are read by tables; and the flag that names one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use super::decompress::read_plain;
use super::failure::Failure;
use super::input::DEFAULT_LIMIT;
use super::out;
use crate::forms::{Form, Forms, table_of, unknown};

const EXAMPLES: &str = "\
A form is a table: by what a value is recognised, where its messages are, and what each says. `spanbridge forms NAME` prints one, to \
begin with a table of your own; the page \"Reading a format of your own\" of the documentation says what a table may have. --form FILE of \
convert, import, show, compare and check reads files by it.

Examples:
  spanbridge forms
  spanbridge forms langchain > own.yaml
  spanbridge forms --try own.yaml agent.jsonl      what becomes of each line
  spanbridge show agent.jsonl --form own.yaml";

/// List the forms of messages, rows and logs that are read, or print the table of one.
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
        let output = |source| Failure::Output { source };
        if let [form, file] = self.tried.as_slice() {
            let form = form_of(&form.to_string_lossy()).map_err(Failure::usage)?;
            return tried(&form, file);
        }
        match self.name {
            Some(name) => {
                let names = Forms::built_in().iter().map(|form| form.name.as_str());
                let table = table_of(&name).ok_or_else(|| Failure::usage(unknown("form", &name, names)))?;
                out::line(table.trim_end()).map_err(output)?;
            }
            None => {
                let width = Forms::built_in().iter().map(|form| form.name.len()).max().unwrap_or(0);
                for form in Forms::built_in().iter() {
                    match self.json {
                        true => out::json(json!({"name": form.name, "reads": form.reads(), "log": form.is_log()}).to_string()),
                        false => out::line(&format!("{:width$}  {}", form.name, form.reads())),
                    }
                    .map_err(output)?;
                }
            }
        }
        out::flush().map_err(output)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn tried(form: &Form, path: &Path) -> Result<ExitCode, Failure> {
    let (file, bytes) = read_plain(path, DEFAULT_LIMIT);
    let bytes = bytes.map_err(|problem| Failure::missing(out::with_causes(&problem)))?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Failure::missing(format!("{file}: it is not UTF-8")))?;
    let mut failed = None;
    form.try_text(text, &mut |line| {
        failed = failed.take().or_else(|| out::line(&out::harmless(&line)).err());
    });
    let written = failed.map_or(Ok(()), Err).and_then(|()| out::flush());
    written.map_err(|source| Failure::Output { source })?;
    Ok(ExitCode::SUCCESS)
}

/// The flag that names a form.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct OwnForm {
    /// Read the files by this table: a file in the form of `spanbridge forms NAME`, or such a name.
    #[arg(long, value_name = "FILE|NAME", value_parser = form_of)]
    form: Option<Arc<Form>>,
}

impl OwnForm {
    pub(super) fn get(&self) -> Option<&Arc<Form>> {
        self.form.as_ref()
    }
}

/// A table of a file, or a form that is known.
fn form_of(word: &str) -> Result<Arc<Form>, String> {
    let read = |name: &str, text: &str| Form::of(name, text).map(Arc::new).map_err(|error| error.to_string());
    match std::fs::read_to_string(word) {
        Ok(text) => {
            let name = Path::new(word).file_stem().map_or(word.into(), |stem| stem.to_string_lossy());
            read(&name, &text)
        }
        Err(error) => match table_of(word) {
            Some(table) => read(word, table),
            None if word.contains(['.', '/']) => Err(format!("cannot read it: {error}")),
            None => Err(unknown(
                "file or form",
                word,
                Forms::built_in().iter().map(|form| form.name.as_str()),
            )),
        },
    }
}
