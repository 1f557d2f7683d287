//! State of the reader: the spans of a trajectory so far, and helpers for all its parts.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::formats::back::{At, NoteKind, TraceBuilder};

/// The parent that a document names for an operation, resolved once the whole document is read.
pub(super) struct Parent {
    pub(super) draft: usize,
    pub(super) id: String,
    pub(super) name: Option<String>,
    /// The agent of the trajectory.
    pub(super) around: usize,
    /// The agent that the operation names as its own.
    pub(super) agent: Option<String>,
}

pub(super) struct TrajectoryReader<'s> {
    pub(super) builder: &'s mut TraceBuilder,
    /// Operations by their ids in the document.
    pub(super) ids: HashMap<String, usize>,
    pub(super) parents: Vec<Parent>,
}

impl TrajectoryReader<'_> {
    pub(super) fn note(&mut self, at: &At<'_>, kind: NoteKind, detail: &str) {
        self.builder.note(&at.path, kind, detail);
    }
}

pub(super) fn word(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).map(str::to_owned)
}
