//! Between OpenTelemetry's SDK values and ours.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{Event as SdkEvent, SpanKind as SdkKind, Status as SdkStatus};
use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_sdk::Resource as SdkResource;
use opentelemetry_sdk::trace::SpanData;
use tracing::Metadata;

use crate::span::{AnyValue, Attributes, Event, Link, Resource, Scope, Span, SpanId, SpanKind, Status, TraceId, UnixNanos};

/// A value.
pub(super) fn any_value(value: &Value) -> AnyValue {
    match value {
        Value::Bool(flag) => AnyValue::Bool(*flag),
        Value::I64(number) => AnyValue::Int(*number),
        Value::F64(number) => AnyValue::Double(*number),
        Value::String(text) => AnyValue::String(text.as_str().to_owned()),
        Value::Array(Array::Bool(list)) => AnyValue::Array(list.iter().map(|item| AnyValue::Bool(*item)).collect()),
        Value::Array(Array::I64(list)) => AnyValue::Array(list.iter().map(|item| AnyValue::Int(*item)).collect()),
        Value::Array(Array::F64(list)) => AnyValue::Array(list.iter().map(|item| AnyValue::Double(*item)).collect()),
        Value::Array(Array::String(list)) => AnyValue::Array(list.iter().map(|item| AnyValue::String(item.as_str().to_owned())).collect()),
        other => AnyValue::String(other.to_string()),
    }
}

fn attributes<'a>(list: impl IntoIterator<Item = &'a KeyValue>) -> Attributes {
    list.into_iter()
        .map(|pair| (pair.key.as_str().to_owned(), any_value(&pair.value)))
        .collect()
}

pub(super) fn nanos(time: SystemTime) -> UnixNanos {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixNanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

fn event(event: &SdkEvent) -> Event {
    Event {
        time: nanos(event.timestamp),
        name: event.name.clone().into_owned(),
        attributes: attributes(&event.attributes),
        dropped_attributes: event.dropped_attributes_count,
    }
}

/// A span as the readers of dialects want it, before it has ids: these are made up.
pub(super) fn for_reading(metadata: &'static Metadata<'static>, name: &str, list: &[KeyValue], events: &[SdkEvent]) -> Option<Span> {
    let mut span = Span::new(TraceId::from_bytes(&[1; 16])?, SpanId::from_bytes(&[1; 8])?, name);
    span.attributes = attributes(list);
    span.events = events.iter().map(event).collect();
    if span.attributes.get("target").is_none() {
        span.attributes.push("target", metadata.target());
    }
    Some(span)
}

/// The resource of a provider.
pub(super) fn resource(resource: &SdkResource) -> Resource {
    Resource {
        attributes: resource
            .iter()
            .map(|(key, value)| (key.as_str().to_owned(), any_value(value)))
            .collect(),
        dropped_attributes: 0,
        schema_url: resource.schema_url().unwrap_or_default().to_owned(),
    }
}

/// A finished span; `None` if its ids are all zero.
pub(super) fn span(data: SpanData, resource: &Arc<Resource>) -> Option<Span> {
    let context = &data.span_context;
    let trace_id = TraceId::from_bytes(&context.trace_id().to_bytes())?;
    let span_id = SpanId::from_bytes(&context.span_id().to_bytes())?;
    let mut out = Span::new(trace_id, span_id, data.name.into_owned());
    out.trace_state = context.trace_state().header();
    out.parent = SpanId::from_bytes(&data.parent_span_id.to_bytes());
    // Bits 8 and 9: whether the parent is known to be remote or not, as the OTLP exporter writes them.
    out.flags = u32::from(context.trace_flags().to_u8()) | 0x100 | if data.parent_span_is_remote { 0x200 } else { 0 };
    out.kind = match data.span_kind {
        SdkKind::Internal => SpanKind::Internal,
        SdkKind::Server => SpanKind::Server,
        SdkKind::Client => SpanKind::Client,
        SdkKind::Producer => SpanKind::Producer,
        SdkKind::Consumer => SpanKind::Consumer,
    };
    out.start = nanos(data.start_time);
    out.end = nanos(data.end_time);
    out.attributes = attributes(&data.attributes);
    out.dropped_attributes = data.dropped_attributes_count;
    out.events = data.events.iter().map(event).collect();
    out.dropped_events = data.events.dropped_count;
    out.links = data
        .links
        .iter()
        .filter_map(|link| {
            Some(Link {
                trace_id: TraceId::from_bytes(&link.span_context.trace_id().to_bytes())?,
                span_id: SpanId::from_bytes(&link.span_context.span_id().to_bytes())?,
                trace_state: link.span_context.trace_state().header(),
                attributes: attributes(&link.attributes),
                dropped_attributes: link.dropped_attributes_count,
                flags: u32::from(link.span_context.trace_flags().to_u8()),
            })
        })
        .collect();
    out.dropped_links = data.links.dropped_count;
    out.status = match data.status {
        SdkStatus::Unset => Status::default(),
        SdkStatus::Ok => Status {
            code: 1,
            message: String::new(),
        },
        SdkStatus::Error { description } => Status {
            code: 2,
            message: description.into_owned(),
        },
    };
    out.resource = Arc::clone(resource);
    let scope = &data.instrumentation_scope;
    out.scope = Arc::new(Scope {
        name: scope.name().to_owned(),
        version: scope.version().unwrap_or_default().to_owned(),
        attributes: attributes(scope.attributes()),
        dropped_attributes: 0,
        schema_url: scope.schema_url().unwrap_or_default().to_owned(),
    });
    Some(out)
}
