//! Summary of one trace's items in a request, for lists of traces.

use std::sync::Arc;

use crate::span::TraceId;

/// Identifies items that are stored together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// Spans or log records of this trace.
    Trace(TraceId),
    /// Log records of this session that have no trace; the name is empty if they have no session either.
    Session(Arc<str>),
}

/// Summary of the items of one trace.
#[derive(Debug, Clone)]
pub struct Part {
    /// The trace or session they belong to.
    pub key: Key,
    /// The number of items.
    pub items: usize,
    /// The number of failed spans.
    pub errors: usize,
    /// Earliest start; 0 if unknown.
    pub start: u64,
    /// Latest end; 0 if unknown.
    pub end: u64,
    /// Start and name of the first span without a parent.
    pub root: Option<(u64, String)>,
    /// Whether a span without a parent has ended.
    pub root_ended: bool,
    /// `service.name` of the first resource that has one.
    pub service: Option<Arc<str>>,
    /// The other services, each once: a trace may span several. [`Part::SERVICES`] at most.
    pub further_services: Vec<Arc<str>>,
    /// The session named by the first span without a parent, or else by the earliest item.
    pub session: Option<Arc<str>>,
    /// Whether a span without a parent named it.
    pub session_of_root: bool,
    /// Start of the item that named it, itself or through its resource; 0 if unknown.
    pub(super) session_start: u64,
}

impl Part {
    /// The most further services of a part.
    pub const SERVICES: usize = 64;

    /// All services.
    pub fn services(&self) -> impl Iterator<Item = &str> {
        self.service.iter().chain(&self.further_services).map(|service| &**service)
    }

    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            items: 0,
            errors: 0,
            start: 0,
            end: 0,
            root: None,
            root_ended: false,
            service: None,
            further_services: Vec::new(),
            session: None,
            session_of_root: false,
            session_start: 0,
        }
    }

    /// Items without a trace or session, kept together.
    #[must_use]
    pub fn apart(items: usize) -> Self {
        Self {
            items,
            ..Self::new(Key::Session("".into()))
        }
    }

    /// Takes an item's times; 0 means unknown.
    pub(super) fn times(&mut self, start: u64, end: u64) {
        if start != 0 && (self.start == 0 || start < self.start) {
            self.start = start;
        }
        self.end = self.end.max(end);
    }
}
