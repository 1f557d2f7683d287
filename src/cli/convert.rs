//! `spanbridge convert`: files in, documents out, no server.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::data_set::{DataSet, EXPRESSIONS, Flags};
use super::failure::Failure;
use super::input::{Batch, Files};
use super::offer::{formats, offering, options};
use super::{out, status};
use crate::dataset::{Skipped, Source};
use crate::documents::{self, Document, Outcome, UnknownFormat, Vocabulary};
use crate::formats::{self, AnyFormat, Disassembled, Layout, Options};
use crate::span::{LogRecord, Span, hex};
use crate::web::percent_encoded;

const EXAMPLES: &str = "\
The input is detected by its content, not by its name: OTLP protobuf (the body of an export request) or OTLP/JSON (one \
object, or one per line as the OpenTelemetry Collector's file exporter writes), traces or logs, plain, gzip or zstd. \
Several files are read as one set of spans. A log record is joined to its span even if they are in different files. \
A document (ContextForge, Reflex, OpenReward, Synth, Invariant, chat messages or ATIF) is converted to spans first; use --from if its \
content does not tell its format. Files that an ATIF document names (continuations, sub-agents) are read from its folder.

Examples:
  spanbridge convert --to reflex spans.json                     one compact document per line
  spanbridge convert --to contextforge --output out/ *.bin      one file per document
  zcat spans.jsonl.gz | spanbridge convert --to synth -         from standard input
  spanbridge convert --from invariant --to reflex chat.json     from another format
  spanbridge convert --to messages agent/trajectory.json        from ATIF, with the files that it names
  spanbridge convert --to invariant --losses lost.ndjson a.bin  also list what is lost";

/// The examples, and the formats with their options.
fn help() -> String {
    let mut help = format!("{EXAMPLES}\n\nFormats and their options (--option NAME=VALUE):\n");
    for format in formats::FORMATS {
        help.push_str(&format!("  {}: {}\n", format.id, format.holds));
        for choice in format.options {
            help.push_str(&format!("    {choice}\n"));
        }
    }
    help.push_str(&format!("\n{EXPRESSIONS}"));
    help
}

/// Convert files to documents, without a server.
#[derive(Debug, Args)]
#[command(after_help = help())]
pub(super) struct Convert {
    #[command(flatten)]
    pub(super) target: Target,
    #[command(flatten)]
    files: Files,
}

/// What is written, and where.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// The document format; `spanbridge formats` describes each.
    #[arg(long, value_name = "FORMAT", value_parser = offering(format_of, formats()), hide_possible_values = true)]
    to: &'static AnyFormat,
    /// Write each document, indented, to a file in this directory instead of standard output.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Write to this file what the documents cannot hold and which problems the data has, one JSON object per line.
    #[arg(long, value_name = "FILE")]
    losses: Option<PathBuf>,
    /// Set an option of the format, for example `openreward.subagents=inline`. Repeatable; `spanbridge formats` lists them
    /// all.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = offering(option_of, options()), hide_possible_values = true)]
    options: Vec<(String, String)>,
    #[command(flatten)]
    set: Flags,
}

pub(super) fn format_of(id: &str) -> Result<&'static AnyFormat, String> {
    documents::format(id).map_err(|_| format!("the formats are {}", UnknownFormat::known()))
}

pub(super) fn option_of(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let option = (name.to_owned(), value.to_owned());
    Options::of([option.clone()]).map_err(|error| error.to_string())?;
    Ok(option)
}

impl Convert {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let vocabulary = self.files.vocabulary()?;
        let mut writer = self.target.open()?;
        let mut failed = None;
        let mut rows = |file: &Path, read: Disassembled| {
            if failed.is_none() {
                failed = row(&mut writer, &vocabulary, file, read).err();
            }
        };
        let batch = self.files.read_rows(&mut rows);
        let Batch {
            mut spans,
            mut logs,
            problems,
            documents,
            ..
        } = batch;
        if let Some(failed) = failed {
            return Err(failed);
        }
        for problem in &problems {
            writer.note_loss(|| json!({ "kind": "unreadable", "what": out::with_causes(problem) }))?;
        }
        for (file, note) in &documents {
            writer
                .note_loss(|| json!({ "file": file, "kind": "import", "what": note.path, "reason": note.kind, "detail": note.detail }))?;
        }
        let clean = problems.is_empty();
        if spans.is_empty() && writer.written == 0 && clean {
            out::note("the input has no spans, so there are no documents");
        }
        writer.redact(&mut spans, &mut logs)?;
        let mut runs = vocabulary.runs(spans, logs);
        if writer.needs_order() {
            runs.sort_by_key(|run| (run.started_at, run.trace_id));
        }
        for run in runs {
            writer.run(&run)?;
        }
        writer.finish()?;
        Ok(status(clean))
    }
}

/// Writes what is made of a row.
fn row(writer: &mut Writer, vocabulary: &Vocabulary, file: &Path, read: Disassembled) -> Result<(), Failure> {
    for note in &read.notes {
        let file = file.display().to_string();
        writer.note_loss(|| json!({ "file": file, "kind": "import", "what": note.path, "reason": note.kind, "detail": note.detail }))?;
    }
    let (mut spans, mut logs) = (read.spans, Vec::new());
    writer.redact(&mut spans, &mut logs)?;
    vocabulary.runs(spans, logs).iter().try_for_each(|run| writer.run(run))
}

/// How a session's files are named. A name that would be too long for a file system is cut, and its hash tells it from others.
fn file_stem(session: &str) -> String {
    const LONGEST: usize = 180;
    const KEPT: usize = 120;
    let mut name = percent_encoded(session);
    if name.len() > LONGEST {
        // Not within `%XX`.
        let end = (KEPT - 2..KEPT).find(|at| name.as_bytes().get(*at) == Some(&b'%')).unwrap_or(KEPT);
        name.truncate(end);
        let digest = Sha256::digest(session.as_bytes());
        name.push('-');
        name.push_str(&hex(digest.split_at(16).0));
    }
    name
}

/// The built-in dialects and, if given, the user's own keys.
pub(super) fn vocabulary(semconv: Option<&Path>) -> Result<Vocabulary, Failure> {
    let built_in = Vocabulary::built_in();
    let Some(path) = semconv else { return Ok(built_in) };
    let text = fs::read_to_string(path).map_err(|source| Failure::Read {
        path: path.to_owned(),
        source,
    })?;
    built_in
        .with_file_text(&text)
        .map_err(|error| Failure::usage(format!("{}: {}", path.display(), out::with_causes(&error))))
}

/// What variables of the environment choose.
pub(super) fn options_of_environment() -> Result<Options, Failure> {
    Options::of_variables(|name| std::env::var(name).ok()).map_err(|error| Failure::usage(format!("in the environment: {error}")))
}

impl Target {
    /// Whether the flags are for runs one by one.
    pub(super) fn is_for_single_runs(&self) -> bool {
        self.set.are_for_single_runs()
    }

    /// Makes the directory and the losses file, before any work is done.
    pub(super) fn open(self) -> Result<Writer, Failure> {
        let given = Options::of(self.options).map_err(|error| Failure::usage(error.to_string()))?;
        let mut options = options_of_environment()?.with(given);
        if let Some(directory) = &self.output {
            fs::create_dir_all(directory).map_err(|source| Failure::Write {
                path: directory.clone(),
                source,
            })?;
            if let Some(files) = self.to.beside {
                let (name, value) = files.option;
                let default = Options::of([(name.to_owned(), value.to_owned())]).unwrap_or_default();
                options = default.with(options);
            }
        }
        let losses = match self.losses {
            None => None,
            Some(path) => match fs::File::create(&path) {
                Ok(file) => Some((path, io::BufWriter::new(file))),
                Err(source) => return Err(Failure::Write { path, source }),
            },
        };
        let set = self.set.open(self.to, &options, self.output.as_ref())?;
        Ok(Writer {
            format: self.to,
            set,
            options,
            output: self.output,
            losses,
            written: 0,
        })
    }
}

/// Writes documents and losses as the flags say.
#[derive(Debug)]
pub(super) struct Writer {
    format: &'static AnyFormat,
    options: Options,
    set: Option<DataSet>,
    output: Option<PathBuf>,
    losses: Option<(PathBuf, io::BufWriter<fs::File>)>,
    pub(super) written: usize,
}

impl Writer {
    /// Writes the document of one run.
    pub(super) fn run(&mut self, run: &crate::run::Run) -> Result<(), Failure> {
        let name = run.trace_id.to_string();
        let side = match self.set.as_mut().map_or(Ok(0), |set| set.take(run)) {
            Ok(side) => side,
            Err(Skipped::NoAgentWork) => return self.note_loss(|| json!({ "trace_id": name, "kind": "no_agent_work" })),
            Err(why) => return self.note_loss(|| json!({ "trace_id": name, "kind": "left_out", "reason": why })),
        };
        self.files(side, std::slice::from_ref(run))?;
        let outcome = documents::of_run(run, self.format, &self.options);
        if let Some(set) = &mut self.set {
            if outcome.documents.is_empty() {
                set.manifest.skipped(Skipped::NoDocument);
                self.note_loss(|| json!({ "trace_id": name, "kind": "left_out", "reason": Skipped::NoDocument }))?;
            } else {
                let losses = outcome.documents.iter().map(|document| &*document.losses);
                let side = set.side(side);
                set.manifest.run(&side, &outcome.findings, losses);
            }
        }
        self.outcome(&name, side, &outcome)
    }

    /// Says which of the stored traces are read.
    pub(super) fn set_source(&mut self, source: Source) {
        if let Some(set) = &mut self.set {
            set.set_source(source);
        }
    }

    /// Counts a trace that is damaged or could not be read.
    pub(super) fn damaged(&mut self) {
        if let Some(set) = &mut self.set {
            set.manifest.damaged();
        }
    }

    /// Whether the runs have to come in the order of their start.
    pub(super) fn needs_order(&self) -> bool {
        self.set.as_ref().is_some_and(DataSet::needs_order)
    }

    /// Takes out of spans and log records what must not get out.
    pub(super) fn redact(&self, spans: &mut Vec<Span>, logs: &mut Vec<LogRecord>) -> Result<(), Failure> {
        if let Some(set) = &self.set {
            (*spans, *logs) = set.redacted(std::mem::take(spans), std::mem::take(logs))?;
        }
        Ok(())
    }

    /// Writes the files that the documents of these runs name.
    fn files(&self, side: usize, runs: &[crate::run::Run]) -> Result<(), Failure> {
        let (Some(directory), Some(files)) = (&self.output, self.format.beside) else {
            return Ok(());
        };
        if !self.options.is(files.option.0, files.option.1) {
            return Ok(());
        }
        // Rows stand in one file of the directory, documents in a folder for each side.
        let set = self.set.as_ref().filter(|set| !set.has_rows());
        let directory = set.and_then(|set| set.folder(side)).unwrap_or_else(|| directory.clone());
        for (name, bytes) in (files.of)(runs) {
            let path = directory.join(name);
            let folder = path.parent().unwrap_or(&directory);
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes));
            written.map_err(|source| Failure::Write { path, source })?;
        }
        Ok(())
    }

    /// Writes the documents of a session's runs together.
    pub(super) fn session(&mut self, session: &str, mut runs: Vec<crate::run::Run>) -> Result<(), Failure> {
        if let Some(set) = &mut self.set {
            set.is_of_session();
        }
        self.files(0, &runs)?;
        let Some(outcome) = documents::of_session(&mut runs, self.format, &self.options) else {
            out::note(&format!("session {session} has no agent operations, so there is no document"));
            return self.note_loss(|| json!({ "session_id": session, "kind": "no_agent_work" }));
        };
        self.outcome(&file_stem(session), 0, &outcome)
    }

    fn outcome(&mut self, name: &str, side: usize, outcome: &Outcome<'_>) -> Result<(), Failure> {
        let trace_id = outcome.trace_id.to_string();
        if !outcome.agent_work {
            out::note(&format!("trace {trace_id} has no agent operations, so there is no document"));
            self.note_loss(|| json!({ "trace_id": trace_id, "kind": "no_agent_work" }))?;
        }
        if outcome.agent_work && outcome.documents.is_empty() {
            let format = self.format.id;
            out::note(&format!(
                "trace {trace_id} has no messages and no tool calls, so there is no document of format {format}"
            ));
            self.note_loss(|| json!({ "trace_id": trace_id, "kind": "no_document", "format": format }))?;
        }
        for finding in &outcome.findings {
            self.note_loss(|| {
                let span_id = finding.span_id.map(|id| id.to_string());
                json!({ "trace_id": trace_id, "kind": "finding", "span_id": span_id, "what": finding.detail, "reason": finding.kind })
            })?;
        }
        for document in &outcome.documents {
            for loss in &document.losses {
                let format = self.format.id;
                self.note_loss(|| {
                    let span_id = loss.span_id.map(|id| id.to_string());
                    json!({ "trace_id": trace_id, "kind": "loss", "format": format, "span_id": span_id, "what": loss.what, "reason": loss.reason })
                })?;
            }
            self.document(name, side, document)?;
        }
        Ok(())
    }

    fn document(&mut self, name: &str, side: usize, document: &Document<'_>) -> Result<(), Failure> {
        self.written += 1;
        if let Some(set) = self.set.as_mut().filter(|set| set.has_rows()) {
            let text = document.text(Layout::Compact);
            return set.row(side, &text.map_err(|source| Failure::Output { source })?);
        }
        let Some(directory) = &self.output else {
            let text = document.text(Layout::Compact);
            return text.and_then(out::json).map_err(|source| Failure::Output { source });
        };
        let container = self.format.container;
        let folder = self.set.as_ref().and_then(|set| set.folder(side));
        let path = folder.as_ref().unwrap_or(directory).join(document.file_name(name, container));
        let written = fs::File::create(&path).and_then(|file| document.write_file(container, file));
        written.map_err(|source| Failure::Write { path, source })
    }

    pub(super) fn note_loss(&mut self, line: impl FnOnce() -> serde_json::Value) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.losses else { return Ok(()) };
        writeln!(file, "{}", line()).map_err(|source| Failure::Write {
            path: path.clone(),
            source,
        })
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        out::flush().map_err(|source| Failure::Output { source })?;
        if let Some(directory) = &self.output {
            let documents = out::many(self.written, "document");
            out::note(&format!("wrote {documents} ({}) to {}", self.format.id, directory.display()));
        }
        if let Some(set) = self.set.take() {
            set.finish()?;
        }
        match &mut self.losses {
            None => Ok(()),
            Some((path, file)) => file.flush().map_err(|source| Failure::Write {
                path: path.clone(),
                source,
            }),
        }
    }
}
