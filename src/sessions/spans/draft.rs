//! Drafts of spans, and what is in each span of a session.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::dialect::Continuation;
use crate::dialect::write::{AttributeWriter, status_and_exception};
use crate::events::{INTERRUPTION, Thread};
use crate::operation::{Failure, Kind, Operation};
use crate::sessions::client::Client;
use crate::span::{AnyValue, Attributes, Link, Resource, SESSION_SCOPE, Scope, Span, SpanId, TIMES_UNKNOWN, TraceId, UnixNanos};

/// What attributes without a key in any vocabulary begin with.
pub(super) const PREFIX: &str = "spanbridge.session.";

/// The fact of a turn that a person interrupted it.
const INTERRUPTED: &str = "interrupted";

/// A span to be.
pub(super) struct Draft {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) operation: Operation,
    pub(super) start: Option<UnixNanos>,
    pub(super) end: Option<UnixNanos>,
    /// The file does not record when it began.
    pub(super) start_unknown: bool,
    /// The file ends before it does.
    pub(super) is_running: bool,
    pub(super) continues: Option<Continuation>,
    pub(super) links: Vec<Link>,
    pub(super) version: Option<String>,
}

/// Gives drafts without any time substitutes in their order: documentation and old versions have lines without times.
fn stand_in(drafts: &mut [Draft]) {
    let end = drafts.len() as u64 + 1;
    for (place, draft) in drafts.iter_mut().enumerate() {
        if draft.start.or(draft.end).is_some() {
            continue;
        }
        let start = place as u64 + 1;
        let is_around = draft.operation.kind == Kind::Agent;
        draft.start = Some(UnixNanos(start));
        draft.end = Some(UnixNanos(if is_around { end } else { start }));
        draft.start_unknown = false;
        draft.operation.unmapped.insert(TIMES_UNKNOWN.to_owned(), "start, end".into());
    }
}

/// What began at one moment stays in the order of the lines: each begins a nanosecond after the one before. Clients write milliseconds,
/// copies of lines may all have one time, and tools that were asked for together begin together.
fn tell_apart(drafts: &mut [Draft]) {
    let mut next: HashMap<(TraceId, UnixNanos), u64> = HashMap::new();
    let is_turn = |draft: &Draft| draft.operation.kind == Kind::Agent && draft.parent.is_none();
    for draft in drafts.iter_mut().filter(|draft| !is_turn(draft)) {
        let Some(start) = draft.start.or(draft.end) else { continue };
        let after = next.entry((draft.trace, start)).or_default();
        draft.start = Some(UnixNanos(start.0.saturating_add(*after)));
        *after += 1;
    }
}

/// The start of what ended at a time, after something else. Where both have no more than seconds, a duration that is more exact would
/// put it before what the lines have before it.
pub(super) fn in_order(start: Option<UnixNanos>, end: Option<UnixNanos>, before: Option<UnixNanos>) -> Option<UnixNanos> {
    const SECOND: u64 = 1_000_000_000;
    let is_coarse = |time: &UnixNanos| time.0.is_multiple_of(SECOND);
    let (Some(at), Some(until), Some(before)) = (start, end.filter(is_coarse), before.filter(is_coarse)) else {
        return start;
    };
    Some(if at < before && before <= until { before } else { at })
}

/// The spans of drafts.
pub(super) fn write(client: Client, mut drafts: Vec<Draft>, writer: &AttributeWriter) -> Vec<Span> {
    stand_in(&mut drafts);
    tell_apart(&mut drafts);
    let mut resources: HashMap<Option<String>, Arc<Resource>> = HashMap::new();
    let scope = scope();
    let write = |draft: Draft| {
        let resource = resources.entry(draft.version.clone()).or_insert_with_key(|version| {
            let mut resource = Resource::default();
            resource.attributes.push("service.name", client.name());
            if let Some(version) = version {
                resource.attributes.push("service.version", version.clone());
            }
            Arc::new(resource)
        });
        draft.span(writer, resource, &scope)
    };
    drafts.into_iter().map(write).collect()
}

impl Draft {
    /// Of a thread, without times yet.
    pub(super) fn new(trace: TraceId, id: SpanId, parent: Option<SpanId>, operation: Operation, thread: &Thread) -> Self {
        Self {
            trace,
            id,
            parent,
            operation,
            start: None,
            end: None,
            start_unknown: false,
            is_running: false,
            continues: None,
            links: Vec::new(),
            version: thread.version.clone(),
        }
    }

    /// Says how a turn without an answer ended: a person interrupted it, or, where it is the last of its session, not yet.
    pub(super) fn settle(&mut self, is_last: bool) {
        let operation = &mut self.operation;
        if operation.output.is_some() || operation.failure.is_some() || operation.input.is_none() {
            return;
        }
        if operation.unmapped.contains_key(&format!("{PREFIX}{INTERRUPTED}")) {
            operation.failure = Some(Failure {
                message: Some(INTERRUPTION.to_owned()),
                ..Failure::default()
            });
        } else {
            self.is_running = is_last;
        }
    }

    fn span(mut self, writer: &AttributeWriter, resource: &Arc<Resource>, scope: &Arc<Scope>) -> Span {
        if self.start_unknown {
            self.operation.unmapped.insert(TIMES_UNKNOWN.to_owned(), "start".into());
        }
        let mut span = Span::new(self.trace, self.id, self.operation.name.clone());
        span.resource = Arc::clone(resource);
        span.scope = Arc::clone(scope);
        span.parent = self.parent;
        let start = self.start.or(self.end).unwrap_or_default();
        span.start = start;
        span.end = if self.is_running {
            UnixNanos(0)
        } else {
            self.end.unwrap_or(start).max(start)
        };
        span.attributes = writer.write(&self.operation);
        span.links = self.links;
        if let Some(continues) = self.continues {
            continues.write(&mut span.attributes);
        }
        if let Some(failure) = &self.operation.failure {
            let (status, exception) = status_and_exception(failure, span.end.max(start));
            span.status = status;
            span.events.extend(exception);
        }
        span
    }
}

/// The instrumentation scope of all spans of sessions.
pub(in crate::sessions) fn scope() -> Arc<Scope> {
    Arc::new(Scope {
        name: SESSION_SCOPE.to_owned(),
        ..Scope::default()
    })
}

/// Whether a session file gave the span.
pub(crate) fn is_of_session(span: &Span) -> bool {
    span.scope.name == SESSION_SCOPE
}

/// A link to another span, and what that is to this one.
pub(super) fn link((trace_id, span_id): (TraceId, SpanId), relation: &str) -> Link {
    let mut attributes = Attributes::default();
    attributes.push(format!("{PREFIX}relation"), AnyValue::from(relation));
    Link {
        trace_id,
        span_id,
        trace_state: String::new(),
        attributes,
        dropped_attributes: 0,
        flags: 0,
    }
}

/// Facts of the client without a word in any vocabulary. One that comes again makes a list.
pub(super) fn add_facts(operation: &mut Operation, facts: Map<String, Value>) {
    for (key, value) in facts {
        let key = format!("{PREFIX}{key}");
        match operation.unmapped.get_mut(&key) {
            None => {
                operation.unmapped.insert(key, value);
            }
            Some(have) if *have == value => {}
            Some(Value::Array(list)) => list.push(value),
            Some(have) => *have = Value::Array(vec![have.take(), value]),
        }
    }
}
