//! Converts between OpenTelemetry SDK values and our own.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{Event as SdkEvent, Link as SdkLink, SpanContext, SpanKind as SdkKind, Status as SdkStatus, TraceFlags};
use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_sdk::Resource as SdkResource;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use tracing::Metadata;

use crate::span::{AnyValue, Attributes, Event, Link, Resource, Scope, Span, SpanId, SpanKind, Status, TraceId, UnixNanos};

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

/// A span for the dialect readers before it has ids, so they are made up. It starts after every event: the meaning of event times for the
/// operation is read later, when the whole span is known.
pub(super) fn for_reading(metadata: &'static Metadata<'static>, name: &str, list: &[KeyValue], events: &[SdkEvent]) -> Option<Span> {
    let mut span = Span::new(TraceId::from_bytes(&[1; 16])?, SpanId::from_bytes(&[1; 8])?, name);
    span.start = UnixNanos(u64::MAX);
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
    // As in the OTLP exporter, bits 8 and 9 tell whether the parent is known to be remote.
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

/// An OTLP value as an SDK value; types the SDK lacks become JSON text.
pub(super) fn sdk_value(value: &AnyValue) -> Value {
    match value {
        AnyValue::Bool(flag) => Value::Bool(*flag),
        AnyValue::Int(number) => Value::I64(*number),
        AnyValue::Double(number) => Value::F64(*number),
        AnyValue::String(text) => text.clone().into(),
        AnyValue::Array(list) => sdk_array(list).unwrap_or_else(|| value.to_json().to_string().into()),
        AnyValue::Empty | AnyValue::KvList(_) | AnyValue::Bytes(_) => value.to_json().to_string().into(),
    }
}

/// A homogeneous list, the only kind the SDK supports.
fn sdk_array(list: &[AnyValue]) -> Option<Value> {
    macro_rules! all {
        ($variant:ident, $array:ident, $item:ident => $made:expr) => {
            list.iter()
                .map(|value| match value {
                    AnyValue::$variant($item) => Some($made),
                    _ => None,
                })
                .collect::<Option<Vec<_>>>()
                .map(|items| Value::Array(Array::$array(items)))
        };
    }
    all!(String, String, text => text.clone().into())
        .or_else(|| all!(Int, I64, number => *number))
        .or_else(|| all!(Double, F64, number => *number))
        .or_else(|| all!(Bool, Bool, flag => *flag))
}

fn sdk_attributes(list: &Attributes) -> Vec<KeyValue> {
    list.iter()
        .map(|(key, value)| KeyValue::new(key.clone(), sdk_value(value)))
        .collect()
}

fn sdk_time(time: UnixNanos) -> SystemTime {
    UNIX_EPOCH + std::time::Duration::from_nanos(time.0)
}

fn sdk_context(trace_id: TraceId, span_id: SpanId, flags: u32, state: &str, remote: bool) -> SpanContext {
    SpanContext::new(
        opentelemetry::TraceId::from_bytes(*trace_id.bytes()),
        opentelemetry::SpanId::from_bytes(*span_id.bytes()),
        TraceFlags::new(flags.to_le_bytes()[0]),
        remote,
        state.parse().unwrap_or_default(),
    )
}

/// Converts a resource back to the SDK's type.
pub(super) fn sdk_resource(resource: &Resource) -> SdkResource {
    let builder = SdkResource::builder_empty();
    if resource.schema_url.is_empty() {
        builder.with_attributes(sdk_attributes(&resource.attributes)).build()
    } else {
        builder
            .with_schema_url(sdk_attributes(&resource.attributes), resource.schema_url.clone())
            .build()
    }
}

/// Converts a span back to the SDK's type.
pub(super) fn sdk_span(span: &Span) -> SpanData {
    let mut events = SpanEvents::default();
    events.dropped_count = span.dropped_events;
    events.events = span
        .events
        .iter()
        .map(|event| {
            let attributes = sdk_attributes(&event.attributes);
            SdkEvent::new(event.name.clone(), sdk_time(event.time), attributes, event.dropped_attributes)
        })
        .collect();
    let mut links = SpanLinks::default();
    links.dropped_count = span.dropped_links;
    links.links = span
        .links
        .iter()
        .map(|link| {
            let context = sdk_context(link.trace_id, link.span_id, link.flags, &link.trace_state, false);
            SdkLink::new(context, sdk_attributes(&link.attributes), link.dropped_attributes)
        })
        .collect();
    SpanData {
        span_context: sdk_context(span.trace_id, span.span_id, span.flags, &span.trace_state, false),
        parent_span_id: span.parent.map_or(opentelemetry::SpanId::INVALID, |parent| {
            opentelemetry::SpanId::from_bytes(*parent.bytes())
        }),
        parent_span_is_remote: span.flags & 0x200 != 0,
        span_kind: match span.kind {
            SpanKind::Server => SdkKind::Server,
            SpanKind::Client => SdkKind::Client,
            SpanKind::Producer => SdkKind::Producer,
            SpanKind::Consumer => SdkKind::Consumer,
            _ => SdkKind::Internal,
        },
        name: span.name.clone().into(),
        start_time: sdk_time(span.start),
        end_time: sdk_time(span.end),
        attributes: sdk_attributes(&span.attributes),
        dropped_attributes_count: span.dropped_attributes,
        events,
        links,
        status: match span.status.code {
            1 => SdkStatus::Ok,
            2 => SdkStatus::error(span.status.message.clone()),
            _ => SdkStatus::Unset,
        },
        instrumentation_scope: opentelemetry::InstrumentationScope::builder(span.scope.name.clone())
            .with_version(span.scope.version.clone())
            .with_attributes(sdk_attributes(&span.scope.attributes))
            .build(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_comes_back_as_it_was() {
        let ids = (TraceId::from_bytes(&[7; 16]), SpanId::from_bytes(&[8; 8]));
        let (Some(trace_id), Some(span_id)) = ids else {
            panic!("ids are not zero")
        };
        let mut span = Span::new(trace_id, span_id, "chat");
        span.parent = SpanId::from_bytes(&[9; 8]);
        span.flags = 0x101;
        span.kind = SpanKind::Client;
        (span.start, span.end) = (UnixNanos(1_767_261_600_000_000_001), UnixNanos(1_767_261_600_000_000_002));
        span.attributes.push("n", 3);
        span.attributes.push("list", AnyValue::Array(vec!["a".into(), "b".into()]));
        span.events.push(Event {
            time: UnixNanos(1_767_261_600_000_000_001),
            name: "exception".to_owned(),
            ..Event::default()
        });
        span.status = Status {
            code: 2,
            message: "no".to_owned(),
        };
        let back = super::span(sdk_span(&span), &Arc::clone(&span.resource));
        assert_eq!(back, Some(span));
    }
}
