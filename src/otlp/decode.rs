//! Decodes export requests to spans and log records.

use std::fmt;
use std::sync::Arc;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1 as common;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1 as logs;
use opentelemetry_proto::tonic::resource::v1 as resource;
use opentelemetry_proto::tonic::trace::v1 as trace;
use prost::Message as _;

use super::scan;
use super::wire::Fault;
use crate::span::decoded::id_fault;
use crate::span::{
    AnyValue, Attributes, Decoded, Event, ItemPath, Link, LogRecord, Refused, RefusedReason, Resource, Scope, Signal, Span, SpanId,
    SpanKind, Status, TraceId, UnixNanos,
};

/// Bytes that are not an OTLP message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes violate the protobuf wire format or a field's type.
    Protobuf {
        /// The expected signal.
        signal: Signal,
        /// The decoder's error, with the path of fields.
        source: prost::DecodeError,
    },
}

impl DecodeError {
    /// Finds the position where these bytes, which could not be decoded, break.
    #[must_use]
    pub fn fault(&self, bytes: &[u8]) -> Option<Fault> {
        let Self::Protobuf { signal, .. } = self;
        scan::check(bytes, *signal).err()
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protobuf { signal, .. } => write!(f, "not an OTLP {signal} message in protobuf"),
        }
    }
}

impl std::error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Protobuf { source, .. } => Some(source),
        }
    }
}

/// Decodes the spans of an `ExportTraceServiceRequest` (or `TracesData`, which is identical on the wire).
///
/// # Errors
///
/// The bytes are not such a message. A span without a usable id is not an error; it is refused on its own.
pub fn traces(bytes: &[u8]) -> Result<Decoded<Span>, DecodeError> {
    let request = ExportTraceServiceRequest::decode(bytes).map_err(|source| DecodeError::Protobuf {
        signal: Signal::Traces,
        source,
    })?;
    let mut decoded = Decoded::default();
    for (resource_index, of_resource) in request.resource_spans.into_iter().enumerate() {
        let resource = Arc::new(resource_from(of_resource.resource, of_resource.schema_url));
        for (scope_index, of_scope) in of_resource.scope_spans.into_iter().enumerate() {
            let scope = Arc::new(scope_from(of_scope.scope, of_scope.schema_url));
            for (item, span) in of_scope.spans.into_iter().enumerate() {
                match span_from(span, &resource, &scope) {
                    Ok(span) => decoded.items.push(span),
                    Err(reason) => decoded.refused.push(Refused {
                        path: ItemPath {
                            signal: Signal::Traces,
                            resource: resource_index,
                            scope: scope_index,
                            item,
                        },
                        reason,
                    }),
                }
            }
        }
    }
    Ok(decoded)
}

/// Decodes the records of an `ExportLogsServiceRequest` (or `LogsData`). By the protocol, an unusable id means "no id" here.
///
/// # Errors
///
/// The bytes are not such a message.
pub fn logs(bytes: &[u8]) -> Result<Decoded<LogRecord>, DecodeError> {
    let request = ExportLogsServiceRequest::decode(bytes).map_err(|source| DecodeError::Protobuf {
        signal: Signal::Logs,
        source,
    })?;
    let mut decoded = Decoded::default();
    for of_resource in request.resource_logs {
        let resource = Arc::new(resource_from(of_resource.resource, of_resource.schema_url));
        for of_scope in of_resource.scope_logs {
            let scope = Arc::new(scope_from(of_scope.scope, of_scope.schema_url));
            let records = of_scope.log_records.into_iter();
            decoded.items.extend(records.map(|record| record_from(record, &resource, &scope)));
        }
    }
    Ok(decoded)
}

fn resource_from(resource: Option<resource::Resource>, schema_url: String) -> Resource {
    let resource = resource.unwrap_or_default();
    Resource {
        attributes: attributes_from(resource.attributes),
        dropped_attributes: resource.dropped_attributes_count,
        schema_url,
    }
}

fn scope_from(scope: Option<common::InstrumentationScope>, schema_url: String) -> Scope {
    let scope = scope.unwrap_or_default();
    Scope {
        name: scope.name,
        version: scope.version,
        attributes: attributes_from(scope.attributes),
        dropped_attributes: scope.dropped_attributes_count,
        schema_url,
    }
}

fn span_from(span: trace::Span, resource: &Arc<Resource>, scope: &Arc<Scope>) -> Result<Span, RefusedReason> {
    let trace_id = TraceId::from_bytes(&span.trace_id).ok_or_else(|| RefusedReason::TraceId(id_fault(&span.trace_id, 16)))?;
    let span_id = SpanId::from_bytes(&span.span_id).ok_or_else(|| RefusedReason::SpanId(id_fault(&span.span_id, 8)))?;
    let links_before = span.links.len();
    let links: Vec<Link> = span.links.into_iter().filter_map(link_from).collect();
    let unusable_links = u32::try_from(links_before - links.len()).unwrap_or(u32::MAX);
    let status = span.status.unwrap_or_default();
    Ok(Span {
        trace_id,
        span_id,
        trace_state: span.trace_state,
        parent: SpanId::from_bytes(&span.parent_span_id),
        flags: span.flags,
        name: span.name,
        kind: SpanKind::from_number(span.kind),
        start: UnixNanos(span.start_time_unix_nano),
        end: UnixNanos(span.end_time_unix_nano),
        attributes: attributes_from(span.attributes),
        dropped_attributes: span.dropped_attributes_count,
        events: span.events.into_iter().map(event_from).collect(),
        dropped_events: span.dropped_events_count,
        links,
        dropped_links: span.dropped_links_count.saturating_add(unusable_links),
        status: Status {
            code: status.code,
            message: status.message,
        },
        resource: Arc::clone(resource),
        scope: Arc::clone(scope),
    })
}

fn event_from(event: trace::span::Event) -> Event {
    Event {
        time: UnixNanos(event.time_unix_nano),
        name: event.name,
        attributes: attributes_from(event.attributes),
        dropped_attributes: event.dropped_attributes_count,
    }
}

fn link_from(link: trace::span::Link) -> Option<Link> {
    Some(Link {
        trace_id: TraceId::from_bytes(&link.trace_id)?,
        span_id: SpanId::from_bytes(&link.span_id)?,
        trace_state: link.trace_state,
        attributes: attributes_from(link.attributes),
        dropped_attributes: link.dropped_attributes_count,
        flags: link.flags,
    })
}

fn record_from(record: logs::LogRecord, resource: &Arc<Resource>, scope: &Arc<Scope>) -> LogRecord {
    LogRecord {
        trace_id: TraceId::from_bytes(&record.trace_id),
        span_id: SpanId::from_bytes(&record.span_id),
        time: nonzero(record.time_unix_nano),
        observed_time: nonzero(record.observed_time_unix_nano),
        severity: record.severity_number,
        severity_text: record.severity_text,
        event_name: record.event_name,
        body: record.body.map_or(AnyValue::Empty, value_from),
        attributes: attributes_from(record.attributes),
        dropped_attributes: record.dropped_attributes_count,
        flags: record.flags,
        resource: Arc::clone(resource),
        scope: Arc::clone(scope),
    }
}

fn nonzero(nanos: u64) -> Option<UnixNanos> {
    (nanos != 0).then_some(UnixNanos(nanos))
}

fn attributes_from(pairs: Vec<common::KeyValue>) -> Attributes {
    pairs.into_iter().map(pair_from).collect()
}

fn pair_from(pair: common::KeyValue) -> (String, AnyValue) {
    (pair.key, pair.value.map_or(AnyValue::Empty, value_from))
}

/// Recursion is bounded because prost refuses messages nested deeper than `DEPTH_LIMIT`.
fn value_from(value: common::AnyValue) -> AnyValue {
    match value.value {
        None => AnyValue::Empty,
        Some(Value::StringValue(text)) => AnyValue::String(text),
        Some(Value::BoolValue(flag)) => AnyValue::Bool(flag),
        Some(Value::IntValue(number)) => AnyValue::Int(number),
        Some(Value::DoubleValue(number)) => AnyValue::Double(number),
        Some(Value::ArrayValue(list)) => AnyValue::Array(list.values.into_iter().map(value_from).collect()),
        Some(Value::KvlistValue(list)) => AnyValue::KvList(list.values.into_iter().map(pair_from).collect()),
        Some(Value::BytesValue(bytes)) => AnyValue::Bytes(bytes),
        // An index into a table that only profiles have.
        Some(Value::StringValueStrindex(_)) => AnyValue::Empty,
    }
}
