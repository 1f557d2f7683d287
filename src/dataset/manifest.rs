//! `manifest.json`: what a data set contains and what was left out.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::selection::{Selection, Skipped};
use crate::formats::{AnyFormat, Loss, LossReason, Options};
use crate::trace::{Finding, FindingKind};

/// The content of `manifest.json`. It does not contain the time of writing, so the same spans and arguments yield the same bytes.
#[derive(Debug, Serialize)]
pub struct Manifest {
    /// The version of the program.
    spanbridge: &'static str,
    /// The documents' format.
    pub(super) format: &'static str,
    /// The chosen options of the format.
    options: BTreeMap<String, String>,
    /// The stored traces that were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    /// The expression that selects runs.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub(super) filter: Option<String>,
    /// The sides.
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<Sides>,
    /// Whether only the first of several equal runs is kept.
    pub(super) dedup: bool,
    /// Redactions by rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) redacted: Option<Redacted>,
    runs: Runs,
    /// The number of documents.
    documents: u64,
    /// The content of each side, by name.
    splits: BTreeMap<String, Side>,
    /// Losses of the documents, by reason.
    losses: BTreeMap<LossReason, u64>,
    /// Findings about the selected runs' data, by kind.
    findings: BTreeMap<FindingKind, u64>,
}

/// The stored traces that were read.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Source {
    /// Those that started at or after this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Those that started before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Those of this service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Those with these words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// These.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<String>,
}

/// The number of matches of each redaction rule, by name.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Redacted(pub BTreeMap<String, u64>);

#[derive(Debug, Serialize)]
struct Sides {
    by: &'static str,
    ratios: Map<String, Value>,
}

#[derive(Debug, Default, Serialize)]
struct Runs {
    /// All runs that were read.
    read: u64,
    /// Runs for which documents were written.
    selected: u64,
    /// Other runs, by reason.
    skipped: BTreeMap<Skipped, u64>,
    /// Traces that are damaged or could not be read.
    damaged: u64,
}

#[derive(Debug, Default, Serialize)]
struct Side {
    runs: u64,
    documents: u64,
    /// The files that contain all documents of the side.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<RowFile>,
}

/// A file with one row per document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct RowFile {
    /// Its path, relative to the manifest's directory.
    pub(super) file: String,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub(super) sha256: String,
}

fn number(decimal: &str) -> Value {
    decimal.parse::<f64>().map_or(Value::Null, Value::from)
}

impl Manifest {
    /// The manifest of a data set to be written.
    #[must_use]
    pub fn new(format: &AnyFormat, options: &Options, selection: &Selection) -> Self {
        let split = selection.split.as_ref().map(|(split, by)| Sides {
            by: by.name(),
            ratios: split.ratios().map(|(name, ratio)| (name.to_owned(), number(&ratio))).collect(),
        });
        let of_format = format!("{}.", format.id);
        let options = options.iter().filter(|(name, _)| name.starts_with(&of_format));
        Self {
            spanbridge: env!("CARGO_PKG_VERSION"),
            format: format.id,
            options: options.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            source: None,
            filter: selection.filter.as_ref().map(ToString::to_string),
            split,
            dedup: selection.drops_duplicates(),
            redacted: None,
            runs: Runs::default(),
            documents: 0,
            splits: BTreeMap::new(),
            losses: BTreeMap::new(),
            findings: BTreeMap::new(),
        }
    }

    /// Sets which traces are read.
    pub fn set_source(&mut self, source: Source) {
        self.source = Some(source);
    }

    /// Sets the matches of the redaction rules.
    pub fn set_redacted(&mut self, redacted: Redacted) {
        self.redacted = Some(redacted);
    }

    /// Counts a trace that is damaged or could not be read.
    pub fn damaged(&mut self) {
        self.runs.damaged += 1;
    }

    /// Counts a run that is left out.
    pub fn skipped(&mut self, why: Skipped) {
        self.runs.read += 1;
        *self.runs.skipped.entry(why).or_default() += 1;
    }

    /// Counts a run for which documents were written.
    pub fn run<'a>(&mut self, side: &str, findings: &[&Finding], documents: impl Iterator<Item = &'a [Loss]>) {
        self.runs(side, 1, findings, documents);
    }

    /// Counts `count` runs for which documents were written.
    pub fn runs<'a>(&mut self, side: &str, count: u64, findings: &[&Finding], documents: impl Iterator<Item = &'a [Loss]>) {
        self.runs.read += count;
        self.runs.selected += count;
        let entry = self.splits.entry(side.to_owned()).or_default();
        entry.runs += count;
        for losses in documents {
            entry.documents += 1;
            self.documents += 1;
            for loss in losses {
                *self.losses.entry(loss.reason).or_default() += 1;
            }
        }
        for finding in findings {
            *self.findings.entry(finding.kind).or_default() += 1;
        }
    }

    /// Adds a side, which may have no documents.
    pub(super) fn side(&mut self, side: &str) {
        self.splits.entry(side.to_owned()).or_default();
    }

    /// Adds a file with documents of a side.
    pub(super) fn file(&mut self, side: &str, file: RowFile) {
        self.splits.entry(side.to_owned()).or_default().files.push(file);
    }

    /// The files with rows, each with its side.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &RowFile)> {
        self.splits
            .iter()
            .flat_map(|(name, side)| side.files.iter().map(move |file| (name.as_str(), file)))
    }

    /// Whether a side has no runs.
    #[must_use]
    pub fn is_empty(&self, side: &str) -> bool {
        self.splits.get(side).is_none_or(|side| side.runs == 0)
    }

    /// The number of runs read and selected, and of the others by reason.
    pub fn counts(&self) -> (u64, u64, impl Iterator<Item = (Skipped, u64)>) {
        let skipped = self.runs.skipped.iter().map(|(why, count)| (*why, *count));
        (self.runs.read, self.runs.selected, skipped)
    }
}
