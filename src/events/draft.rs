//! Spans under construction.

use std::sync::Arc;

use super::history::{Histories, HistoryId, HistoryPrefix, SpanInput};
use crate::dialect::write::{AttributeWriter, status_and_exception};
use crate::operation::{Message, Operation};
use crate::span::{AnyValue, Attributes, Link, Resource, Scope, Span, SpanId, TraceId, UnixNanos};

/// An operation with its parent and its times.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) trace: TraceId,
    pub(crate) id: SpanId,
    /// The index of its parent draft.
    pub(crate) parent: Option<usize>,
    pub(crate) operation: Box<Operation>,
    pub(crate) start: Option<UnixNanos>,
    pub(crate) end: Option<UnixNanos>,
    /// Its duration in nanoseconds, if no times are recorded.
    pub(crate) duration: Option<u64>,
    /// The draft that must have ended before this one began.
    pub(crate) after: Option<usize>,
    /// Whether its start is not recorded.
    #[cfg(feature = "server")]
    pub(crate) start_unknown: bool,
    /// Whether it is recorded as running.
    pub(crate) running: bool,
    /// The input of a model call; the operation's own input is added when it is written.
    heard: Option<HistoryPrefix>,
    pub(crate) links: Vec<Link>,
    pub(crate) resource: Option<Arc<Resource>>,
}

impl Draft {
    /// A draft without times.
    pub(crate) fn new(trace: TraceId, id: SpanId, parent: Option<usize>, operation: Operation) -> Self {
        Self {
            trace,
            id,
            parent,
            operation: Box::new(operation),
            start: None,
            end: None,
            duration: None,
            after: None,
            #[cfg(feature = "server")]
            start_unknown: false,
            running: false,
            heard: None,
            links: Vec::new(),
            resource: None,
        }
    }

    /// Makes the conversation so far its input.
    pub(crate) fn hears(&mut self, history: HistoryId, histories: &mut Histories) {
        self.heard = Some(histories.prefix(history));
    }

    /// When it ended, unless it is running.
    fn ended(&self) -> UnixNanos {
        self.end.filter(|_| !self.running).unwrap_or_default()
    }

    fn span(mut self, given: Option<SpanInput>, parent: Option<SpanId>, writer: &AttributeWriter, scope: &Arc<Scope>) -> Span {
        let mut span = Span::new(self.trace, self.id, self.operation.name.as_str());
        span.parent = parent;
        span.scope = Arc::clone(scope);
        (span.start, span.end) = (self.start.unwrap_or_default(), self.ended());
        let mut continues = None;
        if let Some(given) = given {
            let is_blank = given.messages.is_empty() && given.continues.is_some();
            self.operation.input_messages = (!is_blank).then(|| given.messages.into());
            continues = given.continues;
        }
        span.attributes = writer.write(&self.operation);
        if let Some(continues) = continues {
            continues.write(&mut span.attributes);
        }
        give_room_back(&mut span.attributes);
        if let Some(failure) = &self.operation.failure {
            let (status, exception) = status_and_exception(failure, span.end.max(span.start));
            span.status = status;
            span.events.extend(exception);
        }
        span.resource = self.resource.unwrap_or(span.resource);
        span.links = self.links;
        span
    }
}

/// The spans of drafts with settled times, in the same order.
pub(crate) fn spans(drafts: Vec<Draft>, mut histories: Histories, writer: &AttributeWriter, scope: &Arc<Scope>) -> Vec<Span> {
    let ids: Vec<SpanId> = drafts.iter().map(|draft| draft.id).collect();
    let given = span_inputs(&drafts, &mut histories);
    // The messages are in the inputs now.
    drop(histories);
    // Collecting in place would keep the capacity of the drafts.
    let mut spans = Vec::with_capacity(drafts.len());
    for (draft, given) in drafts.into_iter().zip(given) {
        let parent = draft.parent.and_then(|parent| ids.get(parent)).copied();
        spans.push(draft.span(given, parent, writer, scope));
    }
    spans
}

/// For each draft, the part of its input that its span contains.
fn span_inputs(drafts: &[Draft], histories: &mut Histories) -> Vec<Option<SpanInput>> {
    let mut order: Vec<(usize, &Draft)> = drafts.iter().enumerate().filter(|(_, draft)| draft.heard.is_some()).collect();
    // In the order of spans in a trace.
    order.sort_by_key(|(_, draft)| (draft.start.unwrap_or_default(), draft.ended()));
    let mut out: Vec<Option<SpanInput>> = drafts.iter().map(|_| None).collect();
    for (place, draft) in order {
        let answer = draft.operation.output_messages.as_deref().and_then(<[Message]>::first);
        if let (Some(heard), Some(slot)) = (draft.heard, out.get_mut(place)) {
            *slot = Some(histories.give(heard, draft.id, answer));
        }
    }
    out
}

/// Frees the excess capacity of JSON texts.
fn give_room_back(attributes: &mut Attributes) {
    attributes.0.shrink_to_fit();
    for (_, value) in &mut attributes.0 {
        if let AnyValue::String(text) = value {
            text.shrink_to_fit();
        }
    }
}
