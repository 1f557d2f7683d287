//! Snapshots of open spans at the end of the program.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry::KeyValue;
use opentelemetry::trace::{Event, Link, Span, SpanContext, Status, TraceContextExt as _};
use opentelemetry_sdk::trace::SpanData;
use tracing::span::Id;
use tracing::{Dispatch, dispatcher};

use super::emit;
use super::open::OpenSpans;
use super::privacy::Privacy;
use super::tracer::LayerSpan;

/// The open spans of a layer, filtered by the privacy rules. Their end time is still 0.
pub(super) fn of_open(spans: &OpenSpans, privacy: Option<&Arc<Privacy>>) -> Vec<SpanData> {
    let subscriber = spans.subscriber();
    // Code that runs here must not create spans.
    dispatcher::with_default(&Dispatch::none(), || {
        let ids = spans.access.0.ids();
        ids.iter().filter_map(|id| one(spans, subscriber.as_ref(), id, privacy)).collect()
    })
}

fn one(spans: &OpenSpans, subscriber: Option<&Dispatch>, id: &Id, privacy: Option<&Arc<Privacy>>) -> Option<SpanData> {
    let begun = spans.access.begun(id);
    // Begins a span that was never entered.
    let context = begun.or_else(|| tracing_opentelemetry::get_otel_context(id, subscriber?))?;
    let data = spans.started_as(context.span().span_context().span_id())?;
    let record = spans.access.with(id, |record| record.clone())?;
    let mut span = LayerSpan::around(Snapshot(data), privacy.cloned());
    emit::write(record, &mut span);
    span.into_inner().map(|snapshot| snapshot.0)
}

/// Receives the attributes of a finished span, but stays open.
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
