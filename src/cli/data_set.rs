//! Documents as a data set: selection, split and files.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::failure::Failure;
use super::out;
use super::redaction::{self, Redaction};
use super::time::moment;
use crate::dataset::{
    Expression, Hub, Layout, Manifest, Output, Redacted, Selection, Skipped, Source, Split, SplitBy, Verdict, has_foreign_card, parquet,
};
use crate::formats::{AnyFormat, Options};
use crate::redact::Rules;
use crate::redact::secrets::Scan;
use crate::run::Run;
use crate::span::{LogRecord, Span};

/// The page of `--where`, for the help of commands.
pub(super) const EXPRESSIONS: &str = "\
Expressions (--where): FIELD OPERATOR VALUE, combined by and, or, not and brackets. The operators are = != < <= > >= and ~, which compares \
with a pattern (* any text, ? any letter, case does not matter). A comparison with a missing field is false; has(FIELD) tests whether the field is present.
  status                               ok, error, cancelled or running
  agent, model, tool, tag              all names of the run
  service, version, session, user, trace, framework, error, question, answer
  annotator                            who judged the run or a step of it; has(annotator): somebody did
  score.NAME, label.NAME               judgements: their number, their label; score.'two words' for such a name
  reward, cost (US dollars), tokens.in, tokens.out, tokens.total
  model_calls, tool_calls, failures
  duration                             200ms, 1.5s, 2m, 1h
  start                                2026-11-21T10:00:00Z, 2026-11-21, or how long ago: 2h, 7d";

const HEADING: &str = "Data sets";

/// The format whose rows are written for the Hub.
const ROWS: &str = "messages";

/// What makes a data set of documents.
#[derive(Debug, Args)]
pub(super) struct Flags {
    /// Write a folder for the Hugging Face Hub: rows with arguments and tools as JSON text, one file per side, and a card with their
    /// types and counts. The rows must not contain secrets of known forms.
    #[arg(long, value_name = "DIR", group = "place", conflicts_with_all = ["output", "jsonl"], help_heading = HEADING)]
    pub(super) hub: Option<PathBuf>,
    /// Let the rows for the Hub contain secrets of this form, by the name that the scan reports. Repeatable.
    #[arg(long, value_name = "NAME", requires = "hub", help_heading = HEADING)]
    allow_secret: Vec<String>,
    /// Only runs for which this is true, for example "status = ok and reward > 0". The end of this help lists fields and operators.
    #[arg(long = "where", value_name = "EXPRESSION", help_heading = HEADING)]
    filter: Option<String>,
    /// Divide the runs by a hash, for example train:0.9,test:0.1. The same run is always on the same side.
    #[arg(long, value_name = "NAME:RATIO,...", requires = "place", help_heading = HEADING)]
    split: Option<Split>,
    /// What keeps runs on one side.
    #[arg(long, value_name = "KEY", value_enum, default_value_t = By::Session, requires = "split", help_heading = HEADING)]
    split_by: By,
    /// Keep only the first of several equal runs: those with the same messages and calls, whatever their ids and times.
    #[arg(long, help_heading = HEADING)]
    dedup: bool,
    /// Write one file per side with a document a line, train.jsonl without --split, instead of a file per document.
    #[arg(long, requires = "output", help_heading = HEADING)]
    jsonl: bool,
    /// Write the rows of `messages` as Parquet, too or alone. Needs a program that is built with the feature `parquet`.
    #[arg(long, requires = "place", help_heading = HEADING)]
    parquet: bool,
    #[command(flatten)]
    redaction: Redaction,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// The session; the trace of a run without one.
    Session,
    /// The trace.
    Trace,
    /// The words of the run's question.
    Question,
}

impl Flags {
    /// Whether runs are handled one by one, which a session's document does not allow.
    pub(super) fn are_for_single_runs(&self) -> bool {
        self.filter.is_some() || self.split.is_some() || self.dedup || self.jsonl || self.parquet || self.hub.is_some()
    }

    fn layout(&self) -> Layout {
        match (self.jsonl || self.hub.is_some(), self.parquet) {
            (false, false) => Layout::Documents,
            (true, false) => Layout::Jsonl,
            (false, true) => Layout::Parquet,
            (true, true) => Layout::JsonlAndParquet,
        }
    }

    /// The data set; `None` if no flag asks for one.
    pub(super) fn open(self, format: &AnyFormat, options: &Options, directory: Option<&PathBuf>) -> Result<Option<DataSet>, Failure> {
        let rules = self.redaction.rules()?;
        if !self.are_for_single_runs() && rules.is_none() {
            return Ok(None);
        }
        let layout = self.layout();
        if self.parquet {
            parquet::offers(format).map_err(|error| Failure::usage(format!("--parquet: {error}")))?;
        }
        let hub = self.hub.is_some().then(|| self.for_hub(format)).transpose()?;
        let by = match self.split_by {
            By::Session => SplitBy::Session,
            By::Trace => SplitBy::Trace,
            By::Question => SplitBy::Question,
        };
        let filter = self.filter.as_deref().map(|text| expression("--where", text)).transpose()?;
        let mut selection = Selection::new(filter, self.split.map(|split| (split, by)));
        if self.dedup {
            selection = selection.without_duplicates();
        }
        let create = |directory: &PathBuf| Output::create(directory, layout, format, options, &selection.sides());
        let output = directory.map(create).transpose()?;
        if let (Some(output), Some(directory)) = (&output, directory)
            && let others @ [_, ..] = &*output.others()
        {
            let directory = directory.display();
            out::note(&format!(
                "{directory} has files of another data set, which loaders may read too: {}",
                others.join(", ")
            ));
        }
        Ok(Some(DataSet {
            manifest: Manifest::new(format, options, &selection),
            selection,
            rules,
            layout,
            output,
            hub,
        }))
    }

    /// The scan for secrets and the card.
    fn for_hub(&self, format: &AnyFormat) -> Result<Hub, Failure> {
        if format.id != ROWS {
            return Err(Failure::usage(format!(
                "--hub writes rows of `{ROWS}`: pass --to {ROWS}, not {}",
                format.id
            )));
        }
        if let Some(folder) = self.hub.as_deref().filter(|folder| has_foreign_card(folder)) {
            return Err(Failure::usage(format!(
                "--hub: {} has a README.md that spanbridge did not write, and the card would replace it: name another folder",
                folder.display()
            )));
        }
        let scan = Scan::new().map_err(|error| Failure::usage(format!("--hub: {}", out::with_causes(&error))))?;
        if let Some(unknown) = self.allow_secret.iter().find(|allowed| !scan.names().any(|name| name == **allowed)) {
            let names: Vec<&str> = scan.names().collect();
            return Err(Failure::usage(format!(
                "--allow-secret: there is no form `{unknown}`; the forms are {}",
                names.join(", ")
            )));
        }
        Ok(Hub::new(scan, self.allow_secret.iter().cloned().collect()))
    }

    /// Default format options for rows for the Hub: all rows have the same columns.
    pub(super) fn options(&self) -> Options {
        let same = [
            ("messages.flavour", "openai"),
            ("messages.tools", "text"),
            ("messages.origin", "ids"),
        ];
        let same = same.map(|(name, value)| (name.to_owned(), value.to_owned()));
        match &self.hub {
            Some(_) => Options::of(same).unwrap_or_default(),
            None => Options::default(),
        }
    }
}

/// Parses the expression of a flag or argument with this name.
pub(super) fn expression(of: &str, text: &str) -> Result<Expression, Failure> {
    Expression::parse(text, &moment).map_err(|error| Failure::usage(format!("{of}: {error}")))
}

/// A data set that is being written.
#[derive(Debug)]
pub(super) struct DataSet {
    selection: Selection,
    rules: Option<Rules>,
    layout: Layout,
    /// `None`: the documents go to standard output.
    output: Option<Output>,
    hub: Option<Hub>,
    pub(super) manifest: Manifest,
}

impl DataSet {
    /// Whether documents are rows of a file.
    pub(super) fn has_rows(&self) -> bool {
        self.layout != Layout::Documents
    }

    /// Sets which traces are read.
    pub(super) fn set_source(&mut self, source: Source) {
        self.manifest.set_source(source);
    }

    /// The documents of a session represent several runs, so there is no manifest.
    pub(super) fn is_of_session(&mut self) {
        self.output = None;
    }

    /// Redacts spans and log records.
    pub(super) fn redacted(&self, spans: Vec<Span>, logs: Vec<LogRecord>) -> Result<(Vec<Span>, Vec<LogRecord>), Failure> {
        redaction::redacted(self.rules.as_ref(), spans, logs)
    }

    /// The side of a run; else why it is left out.
    pub(super) fn take(&mut self, run: &Run) -> Result<usize, Skipped> {
        match self.selection.take(run) {
            Verdict::Taken(side) => Ok(side),
            Verdict::Skipped(why) => {
                self.manifest.skipped(why);
                Err(why)
            }
        }
    }

    /// The name of a side.
    pub(super) fn side(&self, side: usize) -> String {
        self.output.as_ref().map_or_else(String::new, |output| output.name(side).to_owned())
    }

    /// The folder for documents of a side.
    pub(super) fn folder(&self, side: usize) -> Option<PathBuf> {
        Some(self.output.as_ref()?.folder(side).to_owned())
    }

    /// Writes a document as a row. `run`: the run it represents.
    pub(super) fn row(&mut self, side: usize, run: &str, text: &str) -> Result<(), Failure> {
        if let Some(hub) = &mut self.hub {
            hub.row(run, text);
        }
        match &mut self.output {
            None => Ok(()),
            Some(output) => Ok(output.row(side, text)?),
        }
    }

    /// Finishes the files, and reports what was left out.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let (read, selected, skipped) = self.manifest.counts();
        let skipped: Vec<String> = skipped.map(|(why, count)| format!("{count} {}", why.words())).collect();
        let left_out = if skipped.is_empty() {
            String::new()
        } else {
            format!("; left out: {}", skipped.join(", "))
        };
        // That there are no runs was reported already.
        if read > 0 {
            let runs = out::many(read, "run");
            out::note(&format!("selected {selected} of {runs}{left_out}"));
        }
        if let Some(rules) = &self.rules {
            self.manifest.set_redacted(Redacted(rules.found().into_iter().collect()));
        }
        let Some(output) = self.output else { return Ok(()) };
        let empty: Vec<String> = self
            .selection
            .sides()
            .into_iter()
            .flatten()
            .filter(|side| self.manifest.is_empty(side))
            .collect();
        if selected > 0 && !empty.is_empty() {
            out::note(&format!(
                "the split has no runs in {}: pass other ratios, or --split-by trace if all runs belong to a few sessions",
                empty.join(", ")
            ));
        }
        let Some(hub) = self.hub else {
            return Ok(output.finish(self.manifest, None)?);
        };
        let secrets = hub.secrets();
        if !secrets.is_empty() {
            output.abandon()?;
            return Err(Failure::Secrets {
                list: secrets.join("\n  "),
            });
        }
        if let mixed @ [_, ..] = &*hub.mixed() {
            out::note(&format!(
                "`datasets` cannot load columns with values of several types: {}",
                mixed.join(", ")
            ));
        }
        Ok(output.finish(self.manifest, Some(&hub))?)
    }
}
