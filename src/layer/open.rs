//! The list of spans that are still open.
//!
//! OTLP has no open spans, documents do: a run whose root never ended is unfinished, and the root's fields so far are a
//! part of it. Only layers of a [`Setup`](super::Setup) with documents keep this list.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _};
use opentelemetry::{Context, SpanId};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use tracing::Dispatch;
use tracing::dispatcher::WeakDispatch;
use tracing::span::Id;

use super::access::Access;
use super::record::Record;
use super::scope::own_scope;

/// Spans beyond this are not on the list: unfinished runs then lack them.
const KEPT: usize = 65_536;

/// The open spans of one layer.
#[derive(Debug, Default)]
pub(super) struct OpenSpans {
    subscriber: OnceLock<WeakDispatch>,
    ids: Mutex<HashSet<Id>>,
    started: Mutex<HashMap<SpanId, SpanData>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenSpans {
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

    pub(super) fn started(&self, data: SpanData) {
        let mut started = lock(&self.started);
        if started.len() < KEPT {
            started.insert(data.span_context.span_id(), data);
        }
    }

    pub(super) fn ended(&self, context: &SpanContext) {
        lock(&self.started).remove(&context.span_id());
    }

    /// The subscriber, if it still lives, and the ids of the spans that are open in it.
    pub(super) fn open_ids(&self) -> Option<(Dispatch, Vec<Id>)> {
        let subscriber = self.subscriber.get().and_then(WeakDispatch::upgrade)?;
        let ids = lock(&self.ids).iter().cloned().collect();
        Some((subscriber, ids))
    }

    /// What was known of a span when it began.
    pub(super) fn started_as(&self, id: SpanId) -> Option<SpanData> {
        lock(&self.started).get(&id).cloned()
    }

    /// The context of a span that has begun.
    pub(super) fn begun(subscriber: &Dispatch, id: &Id) -> Option<Context> {
        subscriber.downcast_ref::<Access>()?.begun(id)
    }

    /// What was recorded on a span so far.
    pub(super) fn record(subscriber: &Dispatch, id: &Id) -> Option<Record> {
        subscriber.downcast_ref::<Access>()?.with(id, |record| record.clone())
    }
}

/// What is known of a span when it begins.
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
