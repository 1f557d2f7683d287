//! `spanbridge import`: documents into the store, as spans.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use serde_json::json;

use super::begin::At;
use super::data_dir::default_data_dir;
use super::failure::{Failure, exit_status};
use super::held::{held, quoted};
use super::home::Home;
use super::input::{Batch, Files};
use super::out;
use super::redaction::Redaction;
use super::session_store::SessionStore;
use super::target::Losses;
use super::watch;
use crate::access::Project;
use crate::documents::Vocabulary;
use crate::formats::{self, Disassembled};
use crate::otlp;
use crate::redact::Rules;
use crate::sessions::{Watch, logs};
use crate::span::{Signal, Span, TraceId, UnixNanos};
use crate::store::{self, Chunk, OpenOptions, Receipt, Served, Store};

const EXAMPLES: &str = "\
import converts each document to spans and stores them. `export` writes the document again: unchanged in its own format, or in \
another format. The span ids are derived from the document, so importing it again changes nothing. If a document breaks a rule \
of its format, import reports the place and the reason, and stores nothing of that file.

import needs the data directory for itself. If a server is running, send it the documents instead: \
spanbridge send --to http://127.0.0.1:4318 FILE, or POST them to http://127.0.0.1:4319/api/v1/import

Session files of coding agents (Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, OpenCode, Pi, VS Code) are read too, alone or by their \
folder. They hold what people and agents wrote, and may hold secrets: --redact applies before anything is stored.

Examples:
  spanbridge import --sessions --since 7d                 what coding agents did in this home, last week
  spanbridge import --sessions --yes --watch              the same, and what they do from now on
  spanbridge import ~/.claude/projects                    the sessions below a folder
  spanbridge import chats.json  detect the format by content
  spanbridge import --from invariant a.json b.json
  spanbridge import agent/trajectory.json                 ATIF, with the files that it names
  spanbridge import blocks.json && spanbridge export --to contextforge";

/// Store documents as spans.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Import {
    /// The data directory [default: $XDG_DATA_HOME/spanbridge]. No server may be using it.
    #[arg(long, value_name = "DIR", env = "SPANBRIDGE_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// The project to store the spans in.
    #[arg(long, value_name = "ORG/PROJECT", env = "SPANBRIDGE_PROJECT", default_value_t = Project::default())]
    project: Project,
    /// Write to this file what spans cannot express as the documents do, one JSON object per line. `-` is standard error.
    #[arg(long, value_name = "FILE")]
    losses: Option<PathBuf>,
    /// Let --losses replace a file that spanbridge did not write.
    #[arg(long, requires = "losses")]
    force: bool,
    #[command(flatten)]
    home: Home,
    /// Keep running, and store what is added to these sessions and to new ones within a second. `serve --watch-sessions` does the
    /// same beside a server.
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    redaction: Redaction,
    #[command(flatten)]
    at: At,
    #[command(flatten)]
    files: Files,
}

impl Import {
    pub(super) fn run(mut self) -> Result<ExitCode, Failure> {
        let rules = self.redaction.rules()?;
        if let Some(found) = self.home.find()? {
            self.files.extend(found);
        }
        let mut losses = self.losses.clone().map(|path| Losses::open(path, self.force)).transpose()?;
        // Rows are read twice: first to check that all of a file is readable, then in parts into the store.
        let counted = Cell::new(0_usize);
        let mut counting = |_: &Path, _: Disassembled| counted.set(counted.get() + 1);
        let mut batch = if self.files.has_standard_input() {
            self.files.read(self.at.begin(), false)
        } else {
            self.files.read_rows(self.at.begin(), false, &mut counting)
        };
        batch.report_documents();
        for (file, note) in &batch.documents {
            let Some(losses) = &mut losses else { break };
            losses.line(&json!({ "file": file, "kind": "import", "what": note.path, "reason": note.kind, "detail": note.detail }))?;
        }
        losses.as_mut().map_or(Ok(()), Losses::finish)?;
        let of_logs = logs::of_records(&batch.logs, &self.files.vocabulary()?.sessions_of(&batch.spans));
        let of_events = logs::of_call_events(&mut batch.logs, &batch.spans);
        if !batch.logs.is_empty() && of_logs.alone.is_empty() && of_logs.whole.is_empty() && of_events.is_empty() {
            out::note("the input has log records that give no run, and import stores no log records; send them to a server");
        }
        let count = counted.get();
        let mut receipt = Receipt::default();
        let mut spans = std::mem::take(&mut batch.spans);
        spans.extend(of_logs.alone);
        spans.extend(of_events);
        if !spans.is_empty() || count > 0 || batch.has_sessions() || self.watch {
            let opened = self.open(rules)?;
            let vocabulary = self.files.vocabulary()?;
            let exported = vocabulary.sessions_of(&spans);
            append(&opened, spans, &mut receipt)?;
            let sessions = opened.sessions(vocabulary);
            let mut have_files = HashSet::new();
            store_sessions(&mut batch, &sessions, &mut receipt, &mut have_files)?;
            for (session, whole) in of_logs.whole {
                if !have_files.contains(&session) && !sessions.has_file(&session)? {
                    sessions.take(whole, &mut receipt)?;
                }
            }
            sessions.settle(exported)?;
            if count > 0 {
                self.store_rows(&opened, &batch.broken, &mut receipt)?;
                let rows = out::many(count, "row");
                out::note(&format!("read {rows} of messages; the times of their spans are substitutes"));
            }
            if self.watch {
                return self.follow(&sessions, &receipt);
            }
            opened.store.close();
        }
        let directory = self.data_dir.clone().map_or_else(default_data_dir, Ok)?;
        out::note(&format!(
            "{} stored, {} already stored before, in {}",
            out::many(receipt.stored, "span"),
            receipt.duplicates,
            directory.display()
        ));
        if receipt.deleted > 0 {
            out::note(&format!(
                "{} of traces that were deleted on request; they are not stored",
                out::many(receipt.deleted, "span")
            ));
        }
        Ok(exit_status(batch.problems.is_empty()))
    }

    /// Stores additions to sessions until the program is stopped, which does not interrupt a write.
    fn follow(&self, sessions: &SessionStore, receipt: &Receipt) -> Result<ExitCode, Failure> {
        let roots = match self.home.folders()? {
            Some(folders) => folders,
            None => self.files.paths().to_vec(),
        };
        out::note(&format!(
            "{} stored; watching {}",
            out::many(receipt.stored, "span"),
            out::many(roots.len(), "folder")
        ));
        let watch = Watch::new(roots, false);
        watch::follow(
            sessions,
            watch,
            self.files.limits(),
            &AtomicBool::new(false),
            &mut |reported| match reported {
                Ok(receipt) if receipt.stored > 0 => out::note(&format!("{} stored", out::many(receipt.stored, "span"))),
                Ok(_) => {}
                Err(failure) => out::error(&failure),
            },
        );
        Ok(ExitCode::SUCCESS)
    }

    fn store_rows(&self, opened: &ImportTarget, broken: &HashSet<PathBuf>, receipt: &mut Receipt) -> Result<(), Failure> {
        let (mut waiting, mut failed) = (Vec::new(), None);
        let mut rows = |_: &Path, mut read: Disassembled| {
            // A row that was stored before keeps its start, whatever its file's time is now.
            formats::begin_at("messages", &mut read.spans, |trace_id| match opened.store.row(trace_id) {
                Ok(row) => row.map(|row| UnixNanos(row.start)),
                Err(error) => {
                    failed = Some(Failure::from(error));
                    None
                }
            });
            waiting.append(&mut read.spans);
            if waiting.len() >= WAITING && failed.is_none() {
                failed = append(opened, std::mem::take(&mut waiting), receipt).err();
            }
        };
        self.files.read_rows_again(self.at.begin(), &mut rows, broken);
        match failed {
            Some(failed) => Err(failed),
            None => append(opened, waiting, receipt),
        }
    }

    /// The command that gives a server what this one reads.
    fn instead(&self, Served { scheme, http, .. }: &Served) -> String {
        if self.home.folders().is_ok_and(|folders| folders.is_some()) {
            return "it is a server: start it with `serve --watch-sessions`, and it stores these sessions itself".to_owned();
        }
        let files: Vec<String> = self.files.paths().iter().map(|file| quoted(file)).collect();
        format!(
            "it is a server; send it the files: spanbridge send --to {scheme}://{http} {}",
            files.join(" ")
        )
    }

    fn open(&self, rules: Option<Rules>) -> Result<ImportTarget, Failure> {
        let directory = self.data_dir.clone().map_or_else(default_data_dir, Ok)?;
        let options = OpenOptions {
            session_keys: self.files.vocabulary()?.session_keys().to_vec(),
            ..OpenOptions::new(&self.project.directory(&directory))
        };
        let opened = store::open(&options).map_err(|error| held(error, &directory, |server| self.instead(&server)))?;
        out::recovery(&opened.recovery);
        Ok(ImportTarget {
            store: opened.store,
            session_keys: options.session_keys,
            rules: rules.map(Arc::new),
        })
    }
}

/// Stores each session as it is read.
fn store_sessions(
    batch: &mut Batch<'_>,
    store: &SessionStore,
    receipt: &mut Receipt,
    have_files: &mut HashSet<String>,
) -> Result<(), Failure> {
    let mut failed = None;
    batch.read_sessions(&mut |spans| {
        have_files.extend(store.vocabulary().sessions_of(&spans));
        if failed.is_none() {
            failed = store.take(spans, receipt).err();
        }
    });
    failed.map_or(Ok(()), Err)
}

/// Spans of rows stored in one batch.
const WAITING: usize = 4_096;

/// The store, and the keys that name a session.
struct ImportTarget {
    store: Arc<dyn Store>,
    session_keys: Vec<String>,
    /// Redaction rules.
    rules: Option<Arc<Rules>>,
}

impl ImportTarget {
    /// The same store, for sessions.
    fn sessions(&self, vocabulary: Vocabulary) -> SessionStore {
        let rules = self.rules.clone();
        SessionStore::new(Arc::clone(&self.store), vocabulary, move || rules.clone())
    }
}

/// Appends one chunk per trace: the same document gives the same bytes, whatever else is imported with it.
fn append(opened: &ImportTarget, spans: Vec<Span>, total: &mut Receipt) -> Result<(), Failure> {
    let keys: Vec<&str> = opened.session_keys.iter().map(String::as_str).collect();
    let mut traces: BTreeMap<TraceId, Vec<Span>> = BTreeMap::new();
    let spans = match &opened.rules {
        Some(rules) => rules.redacted(spans, Vec::new()).map_err(|source| Failure::Redact { source })?.0,
        None => spans,
    };
    for span in spans {
        traces.entry(span.trace_id).or_default().push(span);
    }
    for spans in traces.into_values() {
        let bytes = otlp::encode::traces(&spans);
        let scan = otlp::scan::scan(&bytes, Signal::Traces, &keys).map_err(|fault| Failure::usage(fault.to_string()))?;
        let chunks = Chunk::of_request(scan, bytes).into_iter().map(Chunk::packed);
        let receipt = opened.store.append(chunks.collect())?;
        total.stored += receipt.stored;
        total.duplicates += receipt.duplicates;
        total.deleted += receipt.deleted;
    }
    Ok(())
}
