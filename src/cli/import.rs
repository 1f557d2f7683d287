//! `spanbridge import`: documents into the store, as spans.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::failure::Failure;
use super::input::Files;
use super::source::default_data_dir;
use super::{out, status};
use crate::access::Project;
use crate::otlp;
use crate::span::{Signal, Span, TraceId};
use crate::store::{self, Chunk, OpenOptions, Receipt};

const EXAMPLES: &str = "\
import converts each document to spans and stores them. `export` writes the document again: unchanged in its own format, or in \
another format. The span ids are derived from the document, so importing it again changes nothing. If a document breaks a rule \
of its format, import reports the place and the reason, and stores nothing of that file.

import needs the data directory for itself. If a server is running, send it the documents instead: \
spanbridge send --to http://127.0.0.1:4318 FILE, or POST them to http://127.0.0.1:4319/api/v1/import

Examples:
  spanbridge import chats.json  detect the format by content
  spanbridge import --from invariant a.json b.json
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
    #[command(flatten)]
    files: Files,
}

impl Import {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let batch = self.files.read();
        batch.report_documents();
        if !batch.logs.is_empty() {
            out::note("the input has log records, which import does not store; send them to a server");
        }
        let clean = batch.problems.is_empty();
        let receipt = if batch.spans.is_empty() {
            Receipt::default()
        } else {
            self.store(batch.spans)?
        };
        out::note(&format!(
            "{} stored, {} already stored before",
            out::many(receipt.stored, "span"),
            receipt.duplicates
        ));
        Ok(status(clean))
    }

    fn store(&self, spans: Vec<Span>) -> Result<Receipt, Failure> {
        let directory = self.data_dir.clone().map_or_else(default_data_dir, Ok)?;
        let options = OpenOptions {
            session_keys: self.files.vocabulary()?.session_keys(),
            ..OpenOptions::new(&self.project.directory(&directory))
        };
        let keys: Vec<&str> = options.session_keys.iter().map(String::as_str).collect();
        let opened = store::open(&options)?;
        out::recovery(&opened.recovery);
        // A trace a chunk: the same document gives the same bytes, whatever else is imported with it.
        let mut traces: BTreeMap<TraceId, Vec<Span>> = BTreeMap::new();
        for span in spans {
            traces.entry(span.trace_id).or_default().push(span);
        }
        let mut total = Receipt::default();
        for spans in traces.into_values() {
            let bytes = otlp::encode::traces(&spans);
            let scan = otlp::scan::scan(&bytes, Signal::Traces, &keys).map_err(|fault| Failure::usage(fault.to_string()))?;
            let receipt = opened.store.append(Chunk::of_request(scan, bytes))?;
            total.stored += receipt.stored;
            total.duplicates += receipt.duplicates;
        }
        opened.store.close();
        Ok(total)
    }
}
