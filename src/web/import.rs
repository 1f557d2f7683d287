//! Documents submitted for storage as spans.

use std::collections::BTreeMap;

use axum::body::Body;
use hyper::Response;
use serde_json::{Map, Value, json};

use super::reply::{Problem, json_reply};
use super::single;
use crate::formats::{self, DisassembleError, Disassembled, DocumentSizes, Note};
use crate::otlp::encode;
use crate::span::{Span, TraceId, UnixNanos};

/// Documents that were read.
#[derive(Debug)]
pub(crate) struct Imported {
    /// An `ExportTraceServiceRequest` for each trace of a document: the same document gives the same bytes, whatever else is
    /// submitted with it.
    pub messages: Vec<Vec<u8>>,
    traces: Vec<TraceId>,
    documents: usize,
    notes: Vec<Note>,
}

/// `begin`: the start of a run whose document has no times.
pub(super) fn read(format: Option<&str>, body: &[u8], begin: impl Fn(TraceId) -> UnixNanos) -> Result<Imported, Problem> {
    let format = format.map(single::format_of).transpose()?;
    let text = std::str::from_utf8(body).map_err(|_| Problem::invalid("the body is not UTF-8"))?;
    let (mut messages, mut documents, mut notes) = (BTreeMap::new(), 0, Vec::new());
    // Of earlier documents, only the bytes of their spans are in memory.
    let take = &mut |format, mut read: Disassembled| {
        formats::begin_at(format, &mut read.spans, |trace_id| Some(begin(trace_id)));
        let mut traces: BTreeMap<TraceId, Vec<Span>> = BTreeMap::new();
        for span in read.spans {
            traces.entry(span.trace_id).or_default().push(span);
        }
        for (trace, spans) in traces {
            let list: &mut Vec<Vec<u8>> = messages.entry(trace).or_default();
            list.push(encode::traces(&spans));
        }
        notes.extend(read.notes);
        documents += read.documents;
    };
    // The whole body is read, or nothing.
    formats::disassemble_each(format, text, &mut formats::alone, take, &mut Err).map_err(refused)?;
    if documents == 0 {
        return Err(Problem::invalid("the body has no document"));
    }
    Ok(Imported {
        traces: messages.keys().copied().collect(),
        messages: messages.into_values().flatten().collect(),
        documents,
        notes,
    })
}

/// Memory needed to read documents.
#[must_use]
pub(crate) fn cost_of_documents(text: &[u8]) -> usize {
    DocumentSizes::of(text).reading()
}

fn refused(error: DisassembleError) -> Problem {
    match &error {
        DisassembleError::Json { source } => Problem::invalid(format!("the body is not JSON: {source}")),
        DisassembleError::Refused { format, path, reason } => {
            let details = Map::from_iter([
                ("format".to_owned(), Value::from(*format)),
                ("path".to_owned(), Value::from(path.as_str())),
            ]);
            Problem::validation(format!("{format}: {path}: {reason}"), details)
        }
        DisassembleError::Unrecognised { detail } => {
            let message = format!("the format of the document is not clear: {detail}; send it to /api/v1/import/FORMAT");
            Problem::validation(message, Map::new())
        }
        DisassembleError::Form { path, .. } => {
            let details = Map::from_iter([("path".to_owned(), Value::from(path.as_str()))]);
            Problem::validation(error.to_string(), details)
        }
        DisassembleError::NoReader { .. } => Problem::validation(error.to_string(), Map::new()),
    }
}

impl Imported {
    /// The response, once the spans are on disk.
    #[must_use]
    pub(crate) fn answer(&self, stored: usize, duplicates: usize, deleted: usize) -> Response<Body> {
        let traces: Vec<String> = self.traces.iter().map(ToString::to_string).collect();
        let notes = self
            .notes
            .iter()
            .map(|note| json!({"place": note.path, "reason": note.kind, "detail": note.detail}));
        let mut spans = json!({"stored": stored, "duplicates": duplicates});
        if let Some(spans) = spans.as_object_mut().filter(|_| deleted > 0) {
            let _ = spans.insert("deleted".to_owned(), deleted.into());
        }
        let answer = json!({
            "documents": self.documents,
            "traces": traces,
            "spans": spans,
            "notes": notes.collect::<Vec<_>>(),
        });
        json_reply(answer.to_string())
    }
}
