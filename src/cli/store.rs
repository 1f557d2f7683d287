//! `spanbridge store`: lists the writers of a bucket, takes over what a server left, and moves a store.

mod adopt;
mod compact;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use adopt::Adopt;
use clap::{Args, Subcommand};
use compact::Compact;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::failure::{Failure, exit_status};
use super::out::{self, Style, Table};
use super::time::second;
use super::vocabulary::vocabulary;
use crate::access::Project;
use crate::otlp::scan;
use crate::span::{TraceId, UnixNanos};
use crate::store::{self, BucketOptions, Chunk, ChunkKind, Filter, OpenOptions, Order, Receipt, Store, TraceRow};

const EXAMPLES: &str = "\
A store is copied trace by trace: spans, their log records, and log records of their sessions in their time, which is all that documents \
are made of. Metrics, other log records, and times of arrival are not copied. At the end both stores are compared, trace by trace.

A copy that was interrupted goes on: what is there already is not stored again. A server may write to the store that is copied from; run \
the command again for what came meanwhile. No server may have the directory that is copied to.

Examples:
  spanbridge store list --store s3://my-bucket/traces
  spanbridge store copy --from ~/.local/share/spanbridge --to s3://my-bucket/traces
  spanbridge store copy --from s3://my-bucket/traces --to /var/lib/spanbridge";

/// List the servers of a bucket, adopt and merge data of servers that are gone, copy stores.
#[derive(Debug, Args)]
pub(super) struct Stores {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(List),
    Copy(Copy),
    Adopt(Box<Adopt>),
    Compact(Compact),
}

/// List the databases of a bucket: who wrote, since when, how much, and when last.
///
/// Whether a server still runs cannot be seen in the bucket, because an idle one writes nothing.
#[derive(Debug, Args)]
struct List {
    /// The bucket: s3://BUCKET/PREFIX, gs://, az:// or file://.
    #[arg(long, value_name = "URL", env = "SPANBRIDGE_STORE")]
    store: String,
    /// The project whose databases are listed.
    #[arg(long, value_name = "ORG/PROJECT", env = "SPANBRIDGE_PROJECT", default_value_t = Project::default())]
    project: Project,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Copy all traces of a store into another one, and compare both.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct Copy {
    /// What is copied: a data directory, or a bucket: s3://BUCKET/PREFIX, gs://, az:// or file://.
    #[arg(long, value_name = "DIR|URL")]
    from: String,
    /// What it is copied into, a directory or a bucket; made if it is not there.
    #[arg(long, value_name = "DIR|URL")]
    to: String,
    /// The project that is copied.
    #[arg(long, value_name = "ORG/PROJECT", env = "SPANBRIDGE_PROJECT", default_value_t = Project::default())]
    project: Project,
    /// The database in the bucket that is written to; no server may have the same.
    #[arg(long, value_name = "NAME", default_value = "copy")]
    writer: String,
    /// A file with attribute keys of your own, in the form of semconv/<dialect>/attributes.yaml.
    #[arg(long, value_name = "FILE")]
    semconv: Option<PathBuf>,
}

/// Bytes of messages appended in one batch.
const BATCH_BYTES: usize = 4 << 20;

/// Traces listed at a time.
const PAGE: usize = 500;

impl Stores {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::List(list) => list.run(),
            Command::Copy(copy) => copy.run(),
            Command::Adopt(adopt) => adopt.run(),
            Command::Compact(compact) => compact.run(),
        }
    }
}

impl List {
    fn run(self) -> Result<ExitCode, Failure> {
        let bucket = BucketOptions::new(&self.store).with_folder(&self.project.directory(Path::new("")));
        let writers = store::writers_of(&bucket)?;
        if writers.is_empty() {
            out::note(&format!("no server has stored anything at {}", self.store));
        } else if self.json {
            for writer in &writers {
                let line = json!({
                    "writer": writer.name,
                    "first_unix_nano": writer.first,
                    "last_unix_nano": writer.last,
                    "chunks": writer.chunks,
                    "bytes": writer.bytes,
                    "adopted_unix_nano": writer.adopted,
                    "unreadable": writer.unreadable,
                });
                out::json(line.to_string())?;
            }
        } else {
            let time = |nanos: Option<u64>| nanos.map(|nanos| second(UnixNanos(nanos)));
            let when = |nanos| time(nanos).unwrap_or_else(|| "-".to_owned());
            let mut table = Table::of_rows(writers.iter().map(|writer| {
                [
                    ("WRITER", out::shown(&writer.name, 64), Style::Strong),
                    ("SINCE", when(writer.first), Style::Plain),
                    ("LAST WRITE", when(writer.last), Style::Plain),
                    ("CHUNKS", writer.chunks.to_string(), Style::Plain),
                    ("BYTES", writer.bytes.to_string(), Style::Plain),
                    ("ADOPTED", time(writer.adopted).unwrap_or_default(), Style::Plain),
                    (
                        "FAULT",
                        out::shown(writer.unreadable.as_deref().unwrap_or_default(), 64),
                        Style::Bad,
                    ),
                ]
            }));
            table.drop_empty();
            table.print()?;
        }
        Ok(exit_status(writers.iter().all(|writer| writer.unreadable.is_none())))
    }
}

impl Copy {
    fn run(self) -> Result<ExitCode, Failure> {
        let keys = vocabulary(self.semconv.as_deref())?.session_keys().to_vec();
        let from = store::open_up_to_date(&self.options(&self.from, &keys))?;
        out::recovery(&from.recovery);
        let to = store::open(&self.options(&self.to, &keys))?;
        out::recovery(&to.recovery);
        let mut copying = Copying {
            from: from.store,
            to: to.store,
            keys,
            waiting: Vec::new(),
            bytes: 0,
            receipt: Receipt::default(),
            damaged: 0,
        };
        let rows = all_rows(&*copying.from)?;
        let mut progress = out::Progress::new("copied", rows.len());
        for row in &rows {
            copying.copy(row)?;
            progress.step();
        }
        copying.append()?;
        progress.finish();
        let Receipt { stored, deleted, .. } = copying.receipt;
        out::note(&format!(
            "{} copied of {}",
            out::many(stored, "item"),
            out::many(rows.len(), "trace")
        ));
        if deleted > 0 {
            out::note(&format!(
                "{} of traces that were deleted on request there; they are not stored",
                out::many(deleted, "item")
            ));
        }
        if copying.damaged > 0 {
            out::note(&format!(
                "{} damaged and not copied; see: spanbridge doctor",
                out::many(copying.damaged, "chunk")
            ));
        }
        let same = copying.compare(&rows)?;
        copying.to.close();
        Ok(exit_status(same && copying.damaged == 0))
    }

    fn options(&self, place: &str, keys: &[String]) -> OpenOptions {
        let bucket = place.contains("://").then(|| BucketOptions {
            writer: Some(self.writer.clone()),
            ..BucketOptions::new(place).with_folder(&self.project.directory(Path::new("")))
        });
        let directory = match bucket {
            // Nothing is stored there: the writer's name is given.
            Some(_) => std::env::temp_dir(),
            None => self.project.directory(Path::new(place)),
        };
        OpenOptions {
            session_keys: keys.to_vec(),
            bucket,
            ..OpenOptions::new(&directory)
        }
    }
}

/// All traces, oldest first.
fn all_rows(store: &dyn Store) -> Result<Vec<TraceRow>, Failure> {
    let mut filter = Filter {
        order: Order::OldestFirst,
        limit: Some(PAGE),
        ..Filter::default()
    };
    let mut rows: Vec<TraceRow> = Vec::new();
    loop {
        let page = store.list(&filter)?;
        let Some(last) = page.last() else { return Ok(rows) };
        filter.after = Some(last.cursor());
        rows.extend(page);
    }
}

struct Copying {
    from: Arc<dyn Store>,
    to: Arc<dyn Store>,
    keys: Vec<String>,
    waiting: Vec<Chunk>,
    bytes: usize,
    receipt: Receipt,
    damaged: usize,
}

impl Copying {
    /// Copies a trace, unless as much of it exists already.
    fn copy(&mut self, row: &TraceRow) -> Result<(), Failure> {
        let counts = |row: &TraceRow| (row.spans, row.logs, row.bytes);
        let there = self.to.row(row.trace_id)?;
        let is_there = there.as_ref().is_some_and(|there| counts(there) == counts(row));
        if is_there && row.session.is_none() {
            return Ok(());
        }
        let mut messages = Vec::new();
        let stored = self.from.read_trace_while(row.trace_id, &mut |kind, message| {
            // Log records of a session may have been added without changing its traces' counts.
            if !is_there || kind == ChunkKind::LooseLogs {
                messages.push((kind, message.to_vec()));
            }
            Ok(())
        })?;
        self.damaged += stored.map_or(0, |stored| stored.damaged.len());
        for (kind, message) in messages {
            self.bytes += message.len();
            let keys: Vec<&str> = self.keys.iter().map(String::as_str).collect();
            let scanned = scan::scan(&message, kind.signal(), &keys)
                .map_err(|fault| Failure::missing(format!("trace {}: what is stored cannot be read: {fault}", row.trace_id)))?;
            self.waiting.extend(Chunk::of_request(scanned, message));
            if self.bytes >= BATCH_BYTES {
                self.append()?;
            }
        }
        Ok(())
    }

    fn append(&mut self) -> Result<(), Failure> {
        self.bytes = 0;
        let receipt = self.to.append(std::mem::take(&mut self.waiting))?;
        self.receipt.stored += receipt.stored;
        self.receipt.duplicates += receipt.duplicates;
        self.receipt.deleted += receipt.deleted;
        Ok(())
    }

    /// Compares what was copied, chunk by chunk; returns whether anything differs.
    fn compare(&self, rows: &[TraceRow]) -> Result<bool, Failure> {
        let (mut differ, mut digest) = (Vec::new(), Sha256::new());
        let mut progress = out::Progress::new("compared", rows.len());
        for row in rows {
            let from = digest_of(&*self.from, row.trace_id)?;
            if from != digest_of(&*self.to, row.trace_id)? {
                differ.push(row.trace_id);
            }
            digest.update(row.trace_id.bytes());
            digest.update(from);
            progress.step();
        }
        progress.finish();
        for trace_id in differ.iter().take(20) {
            out::note(&format!(
                "trace {trace_id} differs: more of it came meanwhile, or before; copy again"
            ));
        }
        match differ.len() {
            0 => {
                let text: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
                let spans: u64 = rows.iter().map(|row| row.spans).sum();
                out::note(&format!(
                    "both have the same {} with {spans} spans, digest {text}",
                    out::many(rows.len(), "trace")
                ));
            }
            count => out::note(&format!("{} of {} differ", count, out::many(rows.len(), "trace"))),
        }
        Ok(differ.is_empty())
    }
}

/// A digest of a trace's chunks, independent of their order.
fn digest_of(store: &dyn Store, trace_id: TraceId) -> Result<Vec<u8>, Failure> {
    let mut chunks: BTreeMap<Vec<u8>, u8> = BTreeMap::new();
    store.each_chunk(trace_id, &mut |kind, message| {
        chunks.insert(Sha256::digest(message).to_vec(), kind.number());
        Ok(())
    })?;
    let mut digest = Sha256::new();
    for (chunk, kind) in chunks {
        digest.update([kind]);
        digest.update(chunk);
    }
    Ok(digest.finalize().to_vec())
}
