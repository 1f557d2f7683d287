//! Spans that are still open: what is known of them when the program ends.
//!
//! OTLP has no open spans, documents do: a run whose root never ended is unfinished, and what the root said so far is a
//! part of it. Only layers of a [`Setup`](super::Setup) with documents keep this list.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{Event, Link, Span, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _};
use opentelemetry::{Context, KeyValue, SpanId};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use tracing::dispatcher::WeakDispatch;
use tracing::span::Id;
use tracing::{Dispatch, dispatcher};

use super::access::Access;
use super::privacy::Privacy;
use super::tracer::LayerSpan;
use super::{emit, own_scope};

/// Spans beyond this are not on the list: unfinished runs then lack them.
const KEPT: usize = 65_536;

/// The open spans of one layer.
#[derive(Debug)]
pub(super) struct OpenSpans {
    access: Access,
    subscriber: OnceLock<WeakDispatch>,
    ids: Mutex<HashSet<Id>>,
    begun: Mutex<HashMap<SpanId, SpanData>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenSpans {
    pub(super) fn new(access: Access) -> Self {
        Self {
            access,
            subscriber: OnceLock::new(),
            ids: Mutex::default(),
            begun: Mutex::default(),
        }
    }

    /// The subscriber that the layer is a part of.
    pub(super) fn registered(&self, subscriber: &Dispatch) {
        let _ = self.subscriber.set(subscriber.downgrade());
    }

    pub(super) fn opened(&self, id: &Id) {
        let mut ids = lock(&self.ids);
        if ids.len() < KEPT {
            ids.insert(id.clone());
        }
    }

    pub(super) fn closed(&self, id: &Id) {
        lock(&self.ids).remove(id);
    }

    pub(super) fn begun(&self, data: SpanData) {
        let mut begun = lock(&self.begun);
        if begun.len() < KEPT {
            begun.insert(data.span_context.span_id(), data);
        }
    }

    pub(super) fn ended(&self, context: &SpanContext) {
        lock(&self.begun).remove(&context.span_id());
    }

    /// The open spans with what was recorded on them so far, through the privacy rules. They have no end yet: it is 0.
    pub(super) fn now(&self, privacy: Option<&Arc<Privacy>>) -> Vec<SpanData> {
        let Some(subscriber) = self.subscriber.get().and_then(WeakDispatch::upgrade) else {
            return Vec::new();
        };
        let ids: Vec<Id> = lock(&self.ids).iter().cloned().collect();
        // What happens here is about spans and makes none.
        dispatcher::with_default(&Dispatch::none(), || {
            ids.iter().filter_map(|id| self.one(&subscriber, id, privacy)).collect()
        })
    }

    fn one(&self, subscriber: &Dispatch, id: &Id, privacy: Option<&Arc<Privacy>>) -> Option<SpanData> {
        // Begins a span that nobody has entered yet.
        let context = tracing_opentelemetry::get_otel_context(id, subscriber)?;
        let data = lock(&self.begun).get(&context.span().span_context().span_id())?.clone();
        let mut record = None;
        self.access.with(subscriber, id, &mut |found| record = Some(found.clone()));
        let mut span = LayerSpan::around(Snapshot(data), privacy.cloned());
        emit::write(record?, &mut span);
        Some(span.into_inner().0)
    }
}

/// What is known of a span when it begins.
pub(super) fn data(builder: &SpanBuilder, parent: &Context, context: SpanContext) -> SpanData {
    let parent = parent.span();
    let parent = parent.span_context();
    SpanData {
        span_context: context,
        parent_span_id: parent.span_id(),
        parent_span_is_remote: parent.is_remote(),
        span_kind: builder.span_kind.clone().unwrap_or(SpanKind::Internal),
        name: builder.name.clone(),
        start_time: builder.start_time.unwrap_or_else(SystemTime::now),
        end_time: UNIX_EPOCH,
        attributes: builder.attributes.clone().unwrap_or_default(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: own_scope(),
    }
}

/// A span that takes what a finished one would, and stays open.
#[derive(Debug)]
struct Snapshot(SpanData);

impl Span for Snapshot {
    fn add_event_with_timestamp<T>(&mut self, name: T, timestamp: SystemTime, attributes: Vec<KeyValue>)
    where
        T: Into<Cow<'static, str>>,
    {
        self.0.events.events.push(Event::new(name, timestamp, attributes, 0));
    }

    fn span_context(&self) -> &SpanContext {
        &self.0.span_context
    }

    fn is_recording(&self) -> bool {
        true
    }

    fn set_attribute(&mut self, attribute: KeyValue) {
        self.0.attributes.push(attribute);
    }

    fn set_status(&mut self, status: Status) {
        self.0.status = status;
    }

    fn update_name<T>(&mut self, new_name: T)
    where
        T: Into<Cow<'static, str>>,
    {
        self.0.name = new_name.into();
    }

    fn add_link(&mut self, span_context: SpanContext, attributes: Vec<KeyValue>) {
        self.0.links.links.push(Link::new(span_context, attributes, 0));
    }

    fn end_with_timestamp(&mut self, _: SystemTime) {}
}
