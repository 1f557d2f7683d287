//! Spans still open, for documents.
//!
//! OTLP has no open spans, but documents do: a run whose root never ended is unfinished, and shows the root's fields so far. Only layers of
//! a [`Setup`](super::Setup) with documents remember how their spans began.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _};
use opentelemetry::{Context, SpanId};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use tracing::Dispatch;
use tracing::dispatcher::WeakDispatch;

use super::access::Access;
use super::scope::own_scope;

/// Maximum number of spans whose start is remembered; unfinished runs lack any others.
const MAX_OPEN_SPANS: usize = 65_536;

/// The open spans of one layer.
#[derive(Debug, Default)]
pub(super) struct OpenSpans {
    pub(super) access: Access,
    subscriber: OnceLock<WeakDispatch>,
    started: Mutex<HashMap<SpanId, SpanData>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenSpans {
    /// Remembers the subscriber that contains the layer.
    pub(super) fn registered(&self, subscriber: &Dispatch) {
        let _ = self.subscriber.set(subscriber.downgrade());
    }

    pub(super) fn started(&self, data: SpanData) {
        let mut started = lock(&self.started);
        if started.len() < MAX_OPEN_SPANS {
            started.insert(data.span_context.span_id(), data);
        }
    }

    pub(super) fn ended(&self, context: &SpanContext) {
        lock(&self.started).remove(&context.span_id());
    }

    /// The subscriber that contains the layer, if it is known and still alive.
    pub(super) fn subscriber(&self) -> Option<Dispatch> {
        self.subscriber.get().and_then(WeakDispatch::upgrade)
    }

    /// The data of a span when it began.
    pub(super) fn started_as(&self, id: SpanId) -> Option<SpanData> {
        lock(&self.started).get(&id).cloned()
    }
}

/// The data of a span that begins.
pub(super) fn started_data(builder: &SpanBuilder, parent: &Context, context: SpanContext) -> SpanData {
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
