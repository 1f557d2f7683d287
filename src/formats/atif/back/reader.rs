//! The reader: the spans of a trajectory so far, and helpers for all its parts.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::formats::back::{At, NoteKind, TraceBuilder};

/// Where a document places an operation, and under whom it is put for now.
pub(super) struct Parent {
    pub(super) draft: usize,
    pub(super) id: String,
    pub(super) name: Option<String>,
    /// The agent of the trajectory.
    pub(super) around: usize,
    /// The agent that the operation names as its own.
    pub(super) agent: Option<String>,
}

pub(super) struct Reader<'s> {
    pub(super) builder: &'s mut TraceBuilder,
    /// Operations by the ids that the document gives them.
    pub(super) ids: HashMap<String, usize>,
    pub(super) parents: Vec<Parent>,
}

impl Reader<'_> {
    pub(super) fn note(&mut self, at: &At<'_>, kind: NoteKind, detail: &str) {
        self.builder.note(&at.path, kind, detail);
    }
}

pub(super) fn word(map: &Map<String, Value>, key: &str) -> Option<String> {
    map.get(key).and_then(Value::as_str).map(str::to_owned)
}
