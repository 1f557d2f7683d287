//! The runs in files, for commands that need no store.

use std::path::{Path, PathBuf};

use super::begin::Begin;
use super::failure::Failure;
use super::input::Files;
use super::own_form::OwnForm;
use super::redaction::redacted;
use super::source::Where;
use super::vocabulary::priced;
use crate::documents::Vocabulary;
use crate::hash::HashMap;
use crate::redact::Rules;
use crate::run::Run;
use crate::sessions::{join, logs};
use crate::span::{LogRecord, Span, TraceId};

/// The content of files.
pub(super) struct FileRuns {
    vocabulary: Vocabulary,
    /// Including spans built from log records.
    spans: Vec<Span>,
    /// Spans of session files, and of log records joined like those.
    sessions: Vec<Span>,
    pub(super) logs: Vec<LogRecord>,
    /// Position of each document's trace in its file.
    places: HashMap<TraceId, usize>,
}

impl FileRuns {
    /// Reads files as one set, recognised by content; `-` is standard input. `false`: part of it could not be read, which
    /// was reported on standard error.
    pub(super) fn read(files: &[PathBuf], from: &Where, form: &OwnForm, rules: Option<&Rules>) -> Result<(Self, bool), Failure> {
        let files = Files::of(files, from.semconv(), form);
        let vocabulary = priced(files.vocabulary()?, from.prices())?;
        let mut batch = files.read(Begin::Unknown, true);
        let sessions = batch.sessions();
        let clean = batch.problems.is_empty();
        let (spans, logs) = redacted(rules, batch.spans, batch.logs)?;
        let (sessions, _) = redacted(rules, sessions, Vec::new())?;
        Ok((Self::of(vocabulary, spans, sessions, logs, &batch.in_order), clean))
    }

    /// From spans, spans of session files, and log records. `in_order`: the traces of documents.
    pub(super) fn of(
        vocabulary: Vocabulary,
        mut spans: Vec<Span>,
        mut sessions: Vec<Span>,
        mut logs: Vec<LogRecord>,
        in_order: &[TraceId],
    ) -> Self {
        let mut places = HashMap::default();
        for (place, id) in in_order.iter().enumerate() {
            places.entry(*id).or_insert(place);
        }
        let of_logs = logs::of_records(&logs, &vocabulary.sessions_of(&spans));
        spans.extend(of_logs.alone);
        let of_events = logs::of_call_events(&mut logs, &spans);
        spans.extend(of_events);
        let have_files = vocabulary.sessions_of(&sessions);
        let whole = of_logs.whole.into_iter().filter(|(session, _)| !have_files.contains(session));
        sessions.extend(whole.flat_map(|(_, spans)| spans));
        Self {
            vocabulary,
            spans,
            sessions,
            logs,
            places,
        }
    }

    /// One run per trace, by start; runs of rows, which have no times, in their order. Sessions are joined with what was
    /// exported of them.
    pub(super) fn into_runs(self) -> Vec<Run> {
        let mut runs = self.vocabulary.runs(self.spans, self.logs);
        if !self.sessions.is_empty() {
            let joined = join(self.sessions, &runs, self.vocabulary.registry());
            runs.retain(|run| !joined.traces.contains(&run.trace_id));
            runs.extend(self.vocabulary.runs(joined.spans, Vec::new()));
        }
        runs.sort_by_key(|run| (run.started_at, self.places.get(&run.trace_id).copied(), run.trace_id));
        runs
    }

    pub(super) fn spans(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().chain(&self.sessions)
    }

    /// The spans and log records of each trace. A record without a trace belongs to the only trace, if there is just one.
    pub(super) fn traces(&self) -> HashMap<TraceId, (Vec<Span>, Vec<LogRecord>)> {
        let mut traces: HashMap<TraceId, (Vec<Span>, Vec<LogRecord>)> = HashMap::default();
        for span in self.spans() {
            traces.entry(span.trace_id).or_default().0.push(span.clone());
        }
        let only = traces.keys().next().copied().filter(|_| traces.len() == 1);
        for record in &self.logs {
            if let Some(trace) = record.trace_id.or(only).and_then(|id| traces.get_mut(&id)) {
                trace.1.push(record.clone());
            }
        }
        traces
    }
}

/// Whether `show` and `compare` read this from the disk: what exists there is no trace, even if its name could be an id.
pub(super) fn is_input(text: &str) -> bool {
    let path = Path::new(text);
    text == "-" || path.is_file() || path.is_dir()
}

/// The error for something that is neither a file nor a run but looks like a path.
pub(super) fn missing_file(text: &str) -> Option<Failure> {
    let path = Path::new(text);
    let is_path = path.extension().is_some() || path.components().count() > 1;
    (is_path && !path.exists()).then(|| Failure::missing(format!("there is no file {text}, and no trace has this name")))
}
