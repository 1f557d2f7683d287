//! Builds the spans of one trace while a document is read.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::at::At;
use super::note::{Note, NoteKind};
use super::numbers::Numbers;
use crate::dialect::write::{AttributeWriter, Vocabulary};
use crate::events::{Draft, Histories, HistoryId, settle_times, spans_of_drafts};
use crate::operation::{Kind, Message, Operation};
use crate::span::{AnyValue, Resource, Span, SpanId, TIMES_UNKNOWN, TraceId, UnixNanos};

/// A trace under construction, read from a document. The first draft is the root.
#[derive(Debug)]
pub(in crate::formats) struct TraceBuilder {
    format: &'static str,
    pub(in crate::formats) trace_id: TraceId,
    pub(in crate::formats) drafts: Vec<Draft>,
    pub(in crate::formats) notes: Vec<Note>,
    /// The document that an export must reproduce, if it is not the input.
    document: Option<Value>,
    /// Values that an export changes, by JSON pointer.
    mends: Vec<(String, Value)>,
    /// Integers beyond 64 bits.
    pub(in crate::formats) numbers: Numbers,
    /// The key of the list, if the document is an object around a list.
    pub(in crate::formats) wrap: Option<&'static str>,
    /// Options that the document's form requires.
    pub(in crate::formats) options: Vec<(String, String)>,
    /// Attributes of the resource.
    pub(in crate::formats) resource: Map<String, Value>,
    taken: HashSet<SpanId>,
    histories: Histories,
}

/// Derives a trace id from texts.
pub(in crate::formats) fn trace_id(format: &str, own: &str) -> TraceId {
    let digest = Sha256::digest(format!("spanbridge:{format}:{own}").as_bytes());
    let bytes = digest.get(..16).unwrap_or_default();
    TraceId::from_bytes(bytes).unwrap_or_else(|| trace_id(format, &format!("{own}+")))
}

/// The trace ids that documents and written blocks with this name may have received.
#[cfg(feature = "server")]
pub(crate) fn ids_of_name(name: &str) -> Vec<TraceId> {
    ["openreward", "contextforge", "synth"]
        .map(|format| trace_id(format, name))
        .to_vec()
}

impl TraceBuilder {
    /// Starts a trace with an empty root. `document`: what an export must reproduce, if it is not the input.
    pub(in crate::formats) fn new(format: &'static str, trace_id: TraceId, document: Option<Value>) -> Self {
        let mut this = Self {
            format,
            trace_id,
            drafts: Vec::new(),
            notes: Vec::new(),
            document,
            mends: Vec::new(),
            numbers: Numbers::default(),
            wrap: None,
            options: Vec::new(),
            resource: Map::new(),
            taken: HashSet::new(),
            histories: Histories::default(),
        };
        let operation = Operation {
            kind: Kind::Agent,
            // The document describes an agent, possibly without a name.
            name: "agent".to_owned(),
            ..Operation::default()
        };
        let id = this.derived("root");
        this.drafts.push(Draft::new(trace_id, id, None, operation));
        this
    }

    pub(in crate::formats) fn note(&mut self, path: &str, kind: NoteKind, detail: impl Into<String>) {
        self.notes.push(Note::new(path, kind, detail));
    }

    fn derived(&mut self, own: &str) -> SpanId {
        let mut seed = format!("{}:{own}", self.trace_id);
        loop {
            let digest = Sha256::digest(seed.as_bytes());
            if let Some(id) = SpanId::from_bytes(digest.get(..8).unwrap_or_default())
                && self.taken.insert(id)
            {
                return id;
            }
            seed.push('+');
        }
    }

    /// The recorded span id if it is valid and unused, else an id derived from the place.
    pub(in crate::formats) fn id_at(&mut self, recorded: Option<&str>, at: &At<'_>) -> SpanId {
        self.id_of(recorded, &at.own, &at.path)
    }

    /// Like [`id_at`](Self::id_at), for an operation without its own place.
    pub(in crate::formats) fn id(&mut self, recorded: Option<&str>, own: &str) -> SpanId {
        self.id_of(recorded, own, own)
    }

    fn id_of(&mut self, recorded: Option<&str>, own: &str, path: &str) -> SpanId {
        match recorded.and_then(SpanId::from_hex) {
            Some(id) if self.taken.insert(id) => id,
            Some(id) => {
                self.note(path, NoteKind::IdDerived, format!("span id {id} is already used"));
                self.derived(own)
            }
            None => self.derived(own),
        }
    }

    /// Whether a span already has this id.
    pub(in crate::formats) fn has(&self, recorded: &str) -> bool {
        SpanId::from_hex(recorded).is_some_and(|id| self.taken.contains(&id))
    }

    /// Gives the root this id, if it is valid and unused.
    pub(in crate::formats) fn root_id(&mut self, recorded: Option<&str>) {
        let id = recorded.and_then(SpanId::from_hex).filter(|id| !self.taken.contains(id));
        if let (Some(id), Some(root)) = (id, self.drafts.first_mut()) {
            self.taken.remove(&root.id);
            self.taken.insert(id);
            root.id = id;
        }
    }

    /// Makes an operation the root, with this id if it is valid and unused; returns its index.
    pub(in crate::formats) fn set_root(&mut self, recorded: Option<&str>, operation: Operation) -> usize {
        self.root_id(recorded);
        if let Some(root) = self.operation(0) {
            *root = operation;
        }
        0
    }

    /// The indices of the spans, by id.
    pub(in crate::formats) fn places(&self) -> HashMap<SpanId, usize> {
        let place = |(place, draft): (usize, &Draft)| (draft.id, place);
        self.drafts.iter().enumerate().map(place).collect()
    }

    /// Adds a span; returns its index.
    pub(in crate::formats) fn add(&mut self, id: SpanId, parent: usize, operation: Operation) -> usize {
        self.drafts.push(Draft::new(self.trace_id, id, Some(parent), operation));
        self.drafts.len() - 1
    }

    /// Adds a model call whose input is the conversation so far, if known; returns its index.
    pub(in crate::formats) fn add_model_call(
        &mut self,
        id: SpanId,
        parent: usize,
        operation: Operation,
        history: impl Into<Option<HistoryId>>,
    ) -> usize {
        let index = self.add(id, parent, operation);
        history.into().into_iter().for_each(|history| self.set_input(index, history));
        index
    }

    /// Makes the conversation so far the input of an operation.
    pub(in crate::formats) fn set_input(&mut self, index: usize, history: HistoryId) {
        if let Some(draft) = self.drafts.get_mut(index) {
            draft.hears(history, &mut self.histories);
        }
    }

    /// Begins an empty conversation.
    pub(in crate::formats) fn begin_history(&mut self) -> HistoryId {
        self.histories.begin()
    }

    /// The messages so far in a conversation.
    pub(in crate::formats) fn history(&mut self, id: HistoryId) -> &mut Vec<Message> {
        self.histories.of(id)
    }

    pub(in crate::formats) fn operation(&mut self, index: usize) -> Option<&mut Operation> {
        self.drafts.get_mut(index).map(|draft| &mut *draft.operation)
    }

    pub(in crate::formats) fn times(&mut self, index: usize, start: Option<UnixNanos>, end: Option<UnixNanos>) {
        if let Some(draft) = self.drafts.get_mut(index) {
            draft.start = start;
            draft.end = end;
        }
    }

    /// Marks an operation that has only a start as running, if it is.
    pub(in crate::formats) fn running(&mut self, index: usize, is_running: bool) {
        if let Some(draft) = self.drafts.get_mut(index) {
            draft.running = is_running && draft.start.is_some() && draft.end.is_none();
        }
    }

    /// Sets the operation that asked for this one.
    pub(in crate::formats) fn after(&mut self, index: usize, caller: Option<usize>) {
        if let Some(draft) = self.drafts.get_mut(index) {
            draft.after = caller;
        }
    }

    /// Sets the duration of an operation whose times are not known.
    pub(in crate::formats) fn took(&mut self, index: usize, nanos: Option<u64>) {
        if let Some(draft) = self.drafts.get_mut(index) {
            draft.duration = nanos;
        }
    }

    /// Sets a value that an export must reproduce at this place.
    pub(in crate::formats) fn mend(&mut self, pointer: &str, value: Value) {
        self.mends.push((pointer.to_owned(), value));
    }

    /// The document that an export must reproduce, given the input.
    pub(in crate::formats) fn wanted<'v>(&mut self, came: &'v Value) -> Cow<'v, Value> {
        let mut document = self.document.take().map_or(Cow::Borrowed(came), Cow::Owned);
        for (pointer, value) in std::mem::take(&mut self.mends) {
            if let Some(slot) = document.to_mut().pointer_mut(&pointer) {
                *slot = value;
            }
        }
        document
    }

    /// The spans, the root first. Consumes the operations.
    pub(in crate::formats) fn spans(&mut self) -> Vec<Span> {
        let unknown = settle_times(&mut self.drafts);
        if unknown > 0 {
            let operations = if unknown == 1 {
                "1 operation has".to_owned()
            } else {
                format!("{unknown} operations have")
            };
            let detail = format!("{operations} no times; the attribute {TIMES_UNKNOWN} marks the times that are substitutes");
            self.note("$", NoteKind::TimeUnknown, detail);
        }
        let mut resource = Resource::default();
        for (key, value) in &self.resource {
            resource.attributes.push(key.clone(), AnyValue::from_json(value));
        }
        let resource = Arc::new(resource);
        let mut drafts = std::mem::take(&mut self.drafts);
        drafts.iter_mut().for_each(|draft| draft.resource = Some(Arc::clone(&resource)));
        let histories = std::mem::take(&mut self.histories);
        spans_of_drafts(drafts, histories, &AttributeWriter::new(Vocabulary::GenAi), &Arc::default())
    }

    pub(in crate::formats) fn format(&self) -> &'static str {
        self.format
    }
}
