//! The target of documents: standard output or a directory; and reports about them.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::data_set::{DataSet, Flags};
use super::failure::Failure;
use super::format_options::{format_of, option_of, options_of_environment};
use super::offer::{formats, offering, options};
use super::spool::Spool;
use super::{new_file, out};
use crate::dataset::{Skipped, Source};
use crate::document::loss_groups::LossGroups;
use crate::documents::{self, Document, Outcome};
use crate::formats::{AnyFormat, Layout, Options};
use crate::run::{self, Run};
use crate::span::{LogRecord, Span, hex};
use crate::web::percent_encoded;

/// What is written, and where.
#[derive(Debug, Args)]
pub(super) struct Target {
    /// The document format; `spanbridge formats` describes each.
    #[arg(long, value_name = "FORMAT", value_parser = offering(format_of, formats()), hide_possible_values = true)]
    to: &'static AnyFormat,
    /// Write each document, indented, to a file in this directory instead of standard output. Files of the same names are replaced;
    /// symbolic links are not followed. For a bucket (s3://BUCKET/PREFIX, gs://, az:// or file://), all files are written to a
    /// temporary directory first.
    #[arg(long, value_name = "DIR|URL", group = "place")]
    output: Option<PathBuf>,
    /// Write to this file what the documents cannot hold and which problems the data has, one JSON object per line. `-` is
    /// standard error.
    #[arg(long, value_name = "FILE")]
    losses: Option<PathBuf>,
    /// Let --losses replace a file that spanbridge did not write.
    #[arg(long, requires = "losses")]
    force: bool,
    /// Set an option of the format, for example `openreward.subagents=inline`. Repeatable; `spanbridge formats` lists them
    /// all.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = offering(option_of, options()), hide_possible_values = true)]
    options: Vec<(String, String)>,
    /// Cut the run behind the step with this id, or with this span's: the document is of the run as it was then, and of the runs of its session
    /// before it. As claude-code or codex, it is a session that goes on from there.
    #[arg(long, value_name = "ID")]
    until_step: Option<String>,
    #[command(flatten)]
    set: Flags,
}

impl Target {
    /// Whether the flags require runs one by one.
    pub(super) fn is_for_single_runs(&self) -> bool {
        self.set.are_for_single_runs()
    }

    /// Whether the run is cut at a step.
    pub(super) fn is_cut(&self) -> bool {
        self.until_step.is_some()
    }

    /// Makes the directory and the losses file, before any work is done.
    pub(super) fn open(mut self) -> Result<DocumentWriter, Failure> {
        if self.is_cut() && self.is_for_single_runs() {
            return Err(Failure::usage("--until-step writes one document, and no data set"));
        }
        let given = Options::of(self.options).map_err(|error| Failure::usage(error.to_string()))?;
        let mut options = options_of_environment()?.with(given);
        options = self.set.options().with(options);
        self.output = self.output.or_else(|| self.set.hub.clone());
        let spool = self.output.as_deref().map(Spool::open).transpose()?.flatten();
        if let Some(spool) = &spool {
            self.output = Some(spool.directory().to_owned());
        }
        if let Some(directory) = &self.output {
            fs::create_dir_all(directory).map_err(Failure::write(directory))?;
            if let Some(files) = self.to.beside {
                let (name, value) = files.option;
                let default = Options::of([(name.to_owned(), value.to_owned())]).unwrap_or_default();
                options = default.with(options);
            }
        }
        let losses = self.losses.map(|path| Losses::open(path, self.force)).transpose()?;
        let set = self.set.open(self.to, &options, self.output.as_ref())?;
        Ok(DocumentWriter {
            format: self.to,
            set,
            options,
            until_step: self.until_step,
            output: self.output,
            spool,
            losses,
            groups: LossGroups::default(),
            gathered: BTreeMap::new(),
            written: 0,
            replaced: 0,
            own_names: HashSet::default(),
        })
    }
}

/// The target of `--losses`.
#[derive(Debug)]
pub(super) struct Losses {
    path: PathBuf,
    /// `None`: standard error.
    file: Option<io::BufWriter<fs::File>>,
}

impl Losses {
    /// Opens the target of `--losses`; `-` is standard error.
    pub(super) fn open(path: PathBuf, force: bool) -> Result<Self, Failure> {
        let is_file = path.as_os_str() != "-";
        let file = is_file
            .then(|| new_file::named(&path, force, |head| head.starts_with(b"{\"")))
            .transpose()?;
        let file = file.map(io::BufWriter::new);
        Ok(Self { path, file })
    }

    /// Writes a JSON object on a line.
    pub(super) fn line(&mut self, line: &serde_json::Value) -> Result<(), Failure> {
        let line = format!("{line}\n");
        let written = match &mut self.file {
            Some(file) => file.write_all(line.as_bytes()),
            None => io::stderr().write_all(line.as_bytes()),
        };
        written.map_err(Failure::write(&self.path))
    }

    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        let flushed = self.file.as_mut().map_or(Ok(()), io::BufWriter::flush);
        flushed.map_err(Failure::write(&self.path))
    }
}

/// Writes documents and losses according to the flags.
#[derive(Debug)]
pub(super) struct DocumentWriter {
    format: &'static AnyFormat,
    options: Options,
    set: Option<DataSet>,
    /// The step behind which a run is cut.
    until_step: Option<String>,
    output: Option<PathBuf>,
    /// Uploads the directory once everything is written.
    spool: Option<Spool>,
    losses: Option<Losses>,
    groups: LossGroups,
    /// The runs of each side, if all of them become one document.
    gathered: BTreeMap<usize, Vec<Run>>,
    pub(super) written: usize,
    /// Number of files that were replaced.
    replaced: usize,
    /// Files written under names chosen by the format.
    own_names: HashSet<PathBuf>,
}

impl DocumentWriter {
    /// Whether it received any run.
    pub(super) fn has_runs(&self) -> bool {
        self.written > 0 || !self.gathered.is_empty()
    }

    /// Whether the documents of a run depend on earlier runs of its session.
    pub(super) fn needs_earlier(&self) -> bool {
        self.is_cut() || (self.format.needs_earlier)(&self.options)
    }

    /// Whether the run is cut at a step: it is written with those before it, as a session.
    pub(super) fn is_cut(&self) -> bool {
        self.until_step.is_some()
    }

    /// Writes the document of one run.
    pub(super) fn run(&mut self, run: &Run) -> Result<(), Failure> {
        self.last_of(std::slice::from_ref(run))
    }

    /// Writes the document of the last of a session's runs, given in order.
    pub(super) fn last_of(&mut self, runs: &[Run]) -> Result<(), Failure> {
        let Some(run) = runs.last() else { return Ok(()) };
        let name = run.trace_id.to_string();
        let side = match self.set.as_mut().map_or(Ok(0), |set| set.take(run)) {
            Ok(side) => side,
            Err(Skipped::NoAgentWork) => return self.note_loss(|| json!({ "trace_id": name, "kind": "no_agent_work" })),
            Err(why) => return self.note_loss(|| json!({ "trace_id": name, "kind": "left_out", "reason": why })),
        };
        self.files(side, std::slice::from_ref(run))?;
        if (self.format.takes_all)(&self.options) {
            self.gathered.entry(side).or_default().push(run.clone());
            return Ok(());
        }
        let Some(outcome) = documents::of_last(runs, self.format, &self.options) else {
            return Ok(());
        };
        if let Some(set) = &mut self.set {
            if outcome.documents.is_empty() {
                // `outcome` reports it, with the format.
                set.manifest.skipped(Skipped::NoDocument);
            } else {
                let losses = outcome.documents.iter().map(|document| &*document.losses);
                let side = set.side(side);
                set.manifest.run(&side, &outcome.findings, losses);
            }
        }
        self.outcome(&name, side, &outcome)
    }

    /// Sets which of the stored traces are read.
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

    /// Redacts spans and log records.
    pub(super) fn redact(&self, spans: &mut Vec<Span>, logs: &mut Vec<LogRecord>) -> Result<(), Failure> {
        if let Some(set) = &self.set {
            (*spans, *logs) = set.redacted(std::mem::take(spans), std::mem::take(logs))?;
        }
        Ok(())
    }

    /// Writes the files referenced by the documents of these runs.
    fn files(&self, side: usize, runs: &[Run]) -> Result<(), Failure> {
        let (Some(directory), Some(files)) = (&self.output, self.format.beside) else {
            return Ok(());
        };
        if !self.options.is(files.option.0, files.option.1) {
            return Ok(());
        }
        // Rows are in one file of the directory, documents in a folder for each side.
        let set = self.set.as_ref().filter(|set| !set.has_rows());
        let directory = set.and_then(|set| set.folder(side)).unwrap_or_else(|| directory.clone());
        for (name, bytes) in (files.of)(runs) {
            let path = directory.join(name);
            let folder = path.parent().unwrap_or(&directory);
            fs::create_dir_all(folder).map_err(Failure::write(folder))?;
            let mut new = new_file::in_directory(&path)?;
            new.file.write_all(&bytes).map_err(Failure::write(&path))?;
        }
        Ok(())
    }

    /// Writes the document of all runs of each side.
    fn gathered(&mut self) -> Result<(), Failure> {
        for (side, mut runs) in std::mem::take(&mut self.gathered) {
            runs.retain(Run::has_agent_work);
            let count = runs.len() as u64;
            let Some(outcome) = documents::of_session(&mut runs, self.format, &self.options) else {
                continue;
            };
            if let Some(set) = &mut self.set {
                let side = set.side(side);
                let losses = outcome.documents.iter().map(|document| &*document.losses);
                set.manifest.runs(&side, count, &outcome.findings, losses);
            }
            self.outcome("runs", side, &outcome)?;
        }
        Ok(())
    }

    /// Writes the documents of a session's runs together.
    pub(super) fn session(&mut self, session: &str, mut runs: Vec<Run>) -> Result<(), Failure> {
        if let Some(step) = &self.until_step
            && !run::cut(&mut runs, step)
        {
            return Err(Failure::missing(format!(
                "there is no step {step}; `spanbridge show TRACE --json` has the ids"
            )));
        }
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
                "trace {trace_id} has no words of a model or an agent, and no tool call that a model asked for, so there is no document of format {format}"
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
                self.groups.add(loss);
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
            return set.row(side, name, &text.map_err(|source| Failure::Output { source })?);
        }
        let Some(directory) = &self.output else {
            return out::document(document);
        };
        let container = self.format.container;
        let folder = self.set.as_ref().and_then(|set| set.folder(side));
        let directory = folder.as_ref().unwrap_or(directory);
        // Two documents of a session may have the same own name.
        let own = document.own_file_name().map(|name| directory.join(name));
        let own = own.filter(|path| self.own_names.insert(path.clone()));
        let is_own = own.is_some();
        let path = own.unwrap_or_else(|| directory.join(document.file_name(name, container)));
        let new = match is_own {
            true => new_file::not_there(&path)?,
            false => new_file::in_directory(&path)?,
        };
        self.replaced += usize::from(new.replaces);
        document.write_file(container, new.file).map_err(Failure::write(&path))
    }

    pub(super) fn note_loss(&mut self, line: impl FnOnce() -> serde_json::Value) -> Result<(), Failure> {
        self.losses.as_mut().map_or(Ok(()), |losses| losses.line(&line()))
    }

    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.gathered()?;
        let mut wrote = None;
        if let Some(directory) = &self.output {
            let documents = out::many(self.written, "document");
            let replaced = match self.replaced {
                0 => String::new(),
                count => format!("; {} replaced", out::many(count, "file")),
            };
            let place = match &self.spool {
                Some(spool) => spool.url().to_owned(),
                None => directory.display().to_string(),
            };
            wrote = Some(format!("wrote {documents} ({}) to {place}{replaced}", self.format.id));
        }
        if let Some(spool) = &self.spool {
            // Finish first: what was written is reported once it exists.
            self.set.take().map_or(Ok(()), DataSet::finish)?;
            spool.send()?;
        }
        if let Some(wrote) = wrote {
            out::note(&wrote);
        }
        if let Some(set) = self.set.take() {
            set.finish()?;
        }
        if let Some(line) = self.groups.line() {
            let list = match &self.losses {
                None => "--losses FILE lists each".to_owned(),
                Some(Losses { file: None, .. }) => "each is listed above".to_owned(),
                Some(Losses { path, .. }) => format!("{} lists each", path.display()),
            };
            out::note(&format!("not in the documents: {line}; {list}"));
        }
        self.losses.as_mut().map_or(Ok(()), Losses::finish)
    }
}

/// The file name of a session. A name too long for a file system is cut, and gets its hash to distinguish it from others.
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
