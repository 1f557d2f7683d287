//! `spanbridge convert`: files in, documents out, no server.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::begin::Begin;
use super::data_set::EXPRESSIONS;
use super::failure::{Failure, exit_status};
use super::file_runs::FileRuns;
use super::input::{Batch, Files};
use super::out;
use super::target::{DocumentWriter, Target};
use crate::documents::Vocabulary;
use crate::formats::{self, Disassembled, NoteKind};
use crate::hash::Keyed;
use crate::run::Run;

const EXAMPLES: &str = "\
The input is detected by its content, not by its name: OTLP protobuf (the body of an export request) or OTLP/JSON (one \
object, or one per line as the OpenTelemetry Collector's file exporter writes), traces or logs, plain, gzip or zstd. \
Several files are read as one set of spans. A log record is joined to its span even if they are in different files. \
A document (ContextForge, Reflex, OpenReward, Synth, Invariant, chat messages, ATIF, an Inspect log as JSON or `.eval`, a verifiers \
episode, a DeepEval test case, an ADK eval set or session) is converted to spans first; use --from if its content does not tell its format. Files that an ATIF document names (continuations, sub-agents) are read from its folder.

Examples:
  spanbridge convert --to reflex spans.json                     one compact document per line
  spanbridge convert --to contextforge --output out/ *.bin      one file per document
  zcat spans.jsonl.gz | spanbridge convert --to synth -         from standard input
  spanbridge convert --from invariant --to reflex chat.json     from another format
  spanbridge convert --to messages agent/trajectory.json        from ATIF, with the files that it names
  spanbridge convert --to claude-code --until-step 00f067aa0ba902b7 --output fork/ spans.json
  spanbridge convert --to invariant --losses lost.ndjson a.bin  also list what is lost";

/// The examples, and the formats with their options.
fn help() -> String {
    let mut help = format!("{EXAMPLES}\n\nFormats and their options (--option NAME=VALUE):\n");
    for format in formats::all() {
        help.push_str(&format!("  {}: {}\n", format.id, format.keeps));
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
        let mut batch = self.files.read_rows(Begin::Unknown, true, &mut rows);
        // A session that has just begun may have no turn yet.
        let has_sessions = batch.has_sessions();
        let mut sessions = batch.sessions();
        let Batch {
            mut spans,
            logs: mut records,
            problems,
            documents,
            in_order,
            ..
        } = batch;
        if let Some(failed) = failed {
            return Err(failed);
        }
        for problem in &problems {
            writer.note_loss(|| json!({ "kind": "unreadable", "what": out::with_causes(problem) }))?;
        }
        for (file, note) in documents.iter().filter(|(_, note)| note.kind == NoteKind::FileMissing) {
            out::note(&format!("{file}: {}", note.detail));
        }
        for (file, note) in &documents {
            writer
                .note_loss(|| json!({ "file": file, "kind": "import", "what": note.path, "reason": note.kind, "detail": note.detail }))?;
        }
        let clean = problems.is_empty();
        writer.redact(&mut spans, &mut records)?;
        writer.redact(&mut sessions, &mut Vec::new())?;
        let runs = FileRuns::of(vocabulary, spans, sessions, records, &in_order).into_runs();
        let is_nothing = runs.is_empty() && !writer.has_runs();
        if is_nothing && clean {
            out::note("the input contains neither spans nor log records of an agent, so there are no documents");
        }
        if writer.is_cut() {
            writer.session("of these files", runs)?;
        } else if writer.needs_earlier() {
            for session in by_session(runs) {
                (1..=session.len()).try_for_each(|end| writer.last_of(session.get(..end).unwrap_or_default()))?;
            }
        } else {
            runs.iter().try_for_each(|run| writer.run(run))?;
        }
        writer.finish()?;
        Ok(exit_status(clean && (!is_nothing || has_sessions)))
    }
}

/// Groups runs by session, in order; a run without a session is a group of its own.
fn by_session(runs: Vec<Run>) -> Vec<Vec<Run>> {
    let mut sessions: Keyed<String, Vec<Run>> = Keyed::default();
    for run in runs {
        let session = run.session_id.clone().unwrap_or_else(|| run.trace_id.to_string());
        sessions.get_or_insert_with(&session, Vec::new).push(run);
    }
    sessions.into_list().into_iter().map(|(_, runs)| runs).collect()
}

/// Writes the documents of a row.
fn row(writer: &mut DocumentWriter, vocabulary: &Vocabulary, file: &Path, read: Disassembled) -> Result<(), Failure> {
    for note in &read.notes {
        let file = file.display().to_string();
        writer.note_loss(|| json!({ "file": file, "kind": "import", "what": note.path, "reason": note.kind, "detail": note.detail }))?;
    }
    let (mut spans, mut logs) = (read.spans, Vec::new());
    writer.redact(&mut spans, &mut logs)?;
    vocabulary.runs(spans, logs).iter().try_for_each(|run| writer.run(run))
}
