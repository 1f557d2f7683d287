//! `spanbridge check`: checks documents against the rules of their format.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::decompress::{affordable, read_plain};
use super::failure::{Failure, exit_status};
use super::format_options::{format_of, option_of, options_of_environment};
use super::input::DEFAULT_LIMIT;
use super::own_form::OwnForm;
use super::problem::Problem;
use super::{foreign, out};
use crate::formats::check::Checked;
use crate::formats::{self, AnyFormat, DisassembleError, Options};
use crate::forms::AnyForm;
use crate::sessions;

const EXAMPLES: &str = "\
check reads documents and prints every place where one breaks a rule of its format, with the reason and how to fix it: the rules of \
the format's page and of the software that loads it. A file is one document, a list of documents, or one document per line. \
Violations go to standard output, one per line; the exit status is 1 if there are any, or if a file cannot be read.

The limits of OpenReward blocks are options (openreward.limit_msg_bytes=65536) or the variables LIMIT_MSG_BYTES and so on.

Examples:
  spanbridge check run.json                   detect the format by content
  spanbridge check --format messages *.jsonl
  spanbridge convert --to atif spans.bin | spanbridge check --format atif -";

/// Check documents against the rules of their format.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    /// The format of the documents [default: detected by content].
    #[arg(long, value_name = "FORMAT", value_parser = format_of)]
    format: Option<&'static AnyFormat>,
    /// Set an option of the format, for example `openreward.limit_msg_bytes=100000`. Repeatable.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = option_of)]
    options: Vec<(String, String)>,
    /// Print one JSON object per violation.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    form: OwnForm,
    /// The maximum size of a file after decompression.
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_LIMIT)]
    max_bytes: usize,
    /// The maximum memory for reading one file [default: 1 GiB, or 8 times its size if that is more].
    #[arg(long, value_name = "BYTES")]
    max_memory: Option<usize>,
    /// The files to check; `-` is standard input.
    #[arg(required = true, value_name = "FILE|-")]
    files: Vec<PathBuf>,
}

impl Check {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let given = Options::of(self.options).map_err(|error| Failure::usage(error.to_string()))?;
        let options = options_of_environment()?.with(given);
        if let Some(AnyForm::Spans(form)) = self.form.get().map(|form| &**form) {
            let name = &form.name;
            return Err(Failure::usage(format!(
                "--form: {name} describes exported spans, and `check` reads documents"
            )));
        }
        let (mut documents, mut violations, mut unreadable) = (0, 0, 0);
        for path in &self.files {
            let (file, bytes) = read_plain(path, self.max_bytes);
            let checked = bytes.and_then(|bytes| {
                let text = std::str::from_utf8(&bytes).map_err(|source| Problem::Text {
                    file: file.clone(),
                    offset: source.valid_up_to(),
                })?;
                let text = text.strip_prefix('\u{feff}').unwrap_or(text);
                let needed = formats::memory_of_check(self.format, text.as_bytes());
                affordable(&file, text.as_bytes(), needed, self.max_memory)?;
                let (mut format, mut read) = (self.format, Cow::Borrowed(text));
                if let Some(AnyForm::Rows(form)) = self.form.get().map(|form| &**form) {
                    let rows = formats::rows_by(form, text).map_err(|source| Problem::Document {
                        file: file.clone(),
                        source,
                    })?;
                    (format, read) = (format.or_else(|| formats::by_id("messages")), rows.0.into());
                }
                formats::check(format, &read, &options).map_err(|source| problem(self.format, (path, &file), &read, source))
            });
            match checked {
                Ok(checked) => {
                    documents += checked.documents;
                    violations += checked.violations.len() + checked.more;
                    print(&file, &checked, self.json)?;
                }
                Err(problem) => {
                    unreadable += 1;
                    out::error(&problem);
                }
            }
        }
        out::note(&format!(
            "{} checked, {}",
            out::many(documents, "document"),
            out::many(violations, "violation")
        ));
        Ok(exit_status(violations == 0 && unreadable == 0))
    }
}

/// Why a file cannot be checked; if its format is unknown, also what the file is.
fn problem(format: Option<&AnyFormat>, (path, file): (&Path, &str), text: &str, source: DisassembleError) -> Problem {
    let file = file.to_owned();
    let is_unknown = format.is_none() && matches!(source, DisassembleError::Unrecognised { .. });
    let session = || sessions::recognised(path).map(|_| "a session of a coding agent; `convert` makes documents of it".to_owned());
    let what = || match formats::is_export_request(text.as_bytes()) {
        true => Some("OTLP; `convert` makes documents of it".to_owned()),
        false => session().or_else(|| foreign::json(text.as_bytes())),
    };
    match is_unknown.then(what).flatten() {
        Some(what) => Problem::NoDocument { file, what },
        None => Problem::Document { file, source },
    }
}

fn print(file: &str, checked: &Checked, as_json: bool) -> Result<(), Failure> {
    if checked.more > 0 {
        let shown = out::many(checked.violations.len(), "violation");
        out::note(&format!("{file}: the first {shown} of {}", checked.violations.len() + checked.more));
    }
    for violation in &checked.violations {
        if as_json {
            let line = json!({ "file": file, "path": violation.path, "message": violation.message });
            out::json(line.to_string())?;
        } else {
            out::line(&out::harmless(&format!("{file}: {violation}")))?;
        }
    }
    Ok(())
}
