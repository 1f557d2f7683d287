//! The items of one trace in a request, as a list of traces shows them.

use std::sync::Arc;

use crate::span::TraceId;

/// What belongs together in the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// Spans or log records of this trace.
    Trace(TraceId),
    /// Log records without a trace, of this session; empty if they name none.
    Session(Arc<str>),
}

/// The items of one trace, as a list of traces shows them.
#[derive(Debug, Clone)]
pub struct Part {
    /// What they belong to.
    pub key: Key,
    /// How many there are.
    pub items: usize,
    /// How many of the spans failed.
    pub errors: usize,
    /// Earliest start; 0 if none has one.
    pub start: u64,
    /// Latest end; 0 if none has one.
    pub end: u64,
    /// Name and start of the first span without a parent.
    pub root: Option<(u64, String)>,
    /// Whether such a span has ended.
    pub root_ended: bool,
    /// `service.name` of the first resource that has one.
    pub service: Option<Arc<str>>,
    /// The others, each once: a trace may go through several services. [`Part::SERVICES`] at most.
    pub further_services: Vec<Arc<str>>,
    /// The session that the first span without a parent names, else the one that the earliest item names.
    pub session: Option<Arc<str>>,
    /// Whether it is a span without a parent that names it.
    pub session_of_root: bool,
    /// When the item began that names it, by itself or through its resource; 0 if unknown.
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

    /// Items of no trace and no session that are kept together.
    #[must_use]
    pub fn apart(items: usize) -> Self {
        Self {
            items,
            ..Self::new(Key::Session("".into()))
        }
    }

    /// Takes the times of one item; 0 is not said.
    pub(super) fn times(&mut self, start: u64, end: u64) {
        if start != 0 && (self.start == 0 || start < self.start) {
            self.start = start;
        }
        self.end = self.end.max(end);
    }
}
