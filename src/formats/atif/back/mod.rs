//! ATIF documents, version 1.0 to 1.8, to spans.
//!
//! | document | span |
//! |---|---|
//! | `agent`, `extra` | the root, the resource |
//! | step of the agent | a model call: its input is everything before it; `timestamp` is its end, unless `extra.invocation` has
//! times |
//! | result of a call | the execution of the tool; one without `source_call_id` answers a call by its position |
//! | result in a step without calls | words passed to the next model call |
//! | step of a user or the system | input of the next model call; after the last one a separate operation |
//! | step of the agent with `llm_call_count: 0` | operations that no model asked for |
//! | `is_copied_context` | input of the next model call, never an operation |
//! | `extra.ancestry`, `extra.invocation` | ids, parents, times |
//! | embedded trajectory | an agent inside the tool whose result refers to it, else inside the enclosing agent |
//! | `extra.operations` | separate operations |
//!
//! Harbor spreads a run over files: `gather` first joins continuations and files of sub-agents to one document.

mod agent;
mod content;
mod conversation;
mod gather;
mod metadata;
mod result;
mod step;

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::formats::back::{At, Beside, Note, NoteKind, Result, TraceBuilder, trace_id};
use crate::span::TraceId;

/// The trace of a trajectory.
pub(in crate::formats) fn read(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    at.object()?;
    let version = at.need("schema_version")?;
    if !version.text()?.starts_with("ATIF-v1.") {
        return Err(version.refuse("ATIF-v1.0 to ATIF-v1.8 are read"));
    }
    let mut builder = TraceBuilder::new("atif", id(at)?, None);
    let mut reader = TrajectoryReader {
        builder: &mut builder,
        ids: HashMap::new(),
        parents: Vec::new(),
    };
    reader.trajectory(at, None, 0)?;
    reader.settle_parents();
    Ok(vec![builder])
}

/// The document with the files that it refers to.
pub(in crate::formats) fn gathered(document: &Value, beside: &mut Beside<'_>, notes: &mut Vec<Note>) -> Option<Value> {
    let mut whole = document.clone();
    let gather::Gathered { joined, missing, .. } = gather::gather(&mut whole, beside);
    for (name, reason) in &missing {
        let detail = format!("it names the file {name}, which is left out: {reason}");
        notes.push(Note::new("$", NoteKind::FileMissing, detail));
    }
    for name in &joined {
        let detail = format!("{name} was read as a part of this document");
        notes.push(Note::new("$", NoteKind::Joined, detail));
    }
    (!joined.is_empty()).then_some(whole)
}

/// The recorded trace id; else an id derived from the document's own ids, or from its text if it has no `trajectory_id`.
fn id(at: &At<'_>) -> Result<TraceId> {
    let own = at.text_of("trajectory_id")?.filter(|id| !id.is_empty());
    let recorded = at.value.pointer("/extra/otel.trace_id").and_then(Value::as_str).or(own);
    let hex = recorded.and_then(|id| TraceId::from_hex(&id.replace('-', "")));
    let session = at.text_of("session_id")?.unwrap_or_default();
    Ok(hex.unwrap_or_else(|| match own {
        Some(own) => trace_id("atif", &format!("{session}\n{own}")),
        None => trace_id("atif", &at.value.to_string()),
    }))
}

/// The parent that a document names for an operation, resolved once the whole document is read.
struct Parent {
    draft: usize,
    id: String,
    name: Option<String>,
    /// The agent of the trajectory.
    around: usize,
    /// The agent that the operation names as its own.
    agent: Option<String>,
}

/// State of the reader: the spans of a trajectory so far.
struct TrajectoryReader<'s> {
    builder: &'s mut TraceBuilder,
    /// Operations by their ids in the document.
    ids: HashMap<String, usize>,
    parents: Vec<Parent>,
}

impl TrajectoryReader<'_> {
    fn note(&mut self, at: &At<'_>, kind: NoteKind, detail: &str) {
        self.builder.note(&at.path, kind, detail);
    }
}

fn word(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).map(str::to_owned)
}
