//! Encodes spans and log records as export requests, grouped by resource and scope in the order of first appearance.

use std::sync::Arc;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1 as common;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1 as logs;
use opentelemetry_proto::tonic::resource::v1 as resource;
use opentelemetry_proto::tonic::trace::v1 as trace;
use prost::Message as _;

#[cfg(feature = "server")]
use super::cut::Header;
use crate::span::groups::{Groups, group_by};
use crate::span::{AnyValue, Attributes, Event, Link, LogRecord, Resource, Scope, Span, Status};

/// Encodes an `ExportTraceServiceRequest` with these spans.
#[must_use]
pub fn traces(spans: &[Span]) -> Vec<u8> {
    let groups = group(spans, |span| (&span.resource, &span.scope));
    let resource_spans = groups.into_iter().map(|(resource, scopes)| trace::ResourceSpans {
        resource: Some(resource_to(resource)),
        scope_spans: scopes
            .into_iter()
            .map(|(scope, spans)| trace::ScopeSpans {
                scope: Some(scope_to(scope)),
                spans: spans.into_iter().map(span_to).collect(),
                schema_url: scope.schema_url.clone(),
            })
            .collect(),
        schema_url: resource.schema_url.clone(),
    });
    ExportTraceServiceRequest {
        resource_spans: resource_spans.collect(),
    }
    .encode_to_vec()
}

/// Encodes an `ExportLogsServiceRequest` with these records.
#[must_use]
pub fn logs(records: &[LogRecord]) -> Vec<u8> {
    let groups = group(records, |record| (&record.resource, &record.scope));
    let resource_logs = groups.into_iter().map(|(resource, scopes)| logs::ResourceLogs {
        resource: Some(resource_to(resource)),
        scope_logs: scopes
            .into_iter()
            .map(|(scope, records)| logs::ScopeLogs {
                scope: Some(scope_to(scope)),
                log_records: records.into_iter().map(record_to).collect(),
                schema_url: scope.schema_url.clone(),
            })
            .collect(),
        schema_url: resource.schema_url.clone(),
    });
    ExportLogsServiceRequest {
        resource_logs: resource_logs.collect(),
    }
    .encode_to_vec()
}

/// A span encoded as a field of its scope's message.
#[cfg(feature = "server")]
#[derive(Debug)]
pub(crate) struct EncodedSpan {
    resource: Arc<Resource>,
    scope: Arc<Scope>,
    field: Vec<u8>,
}

#[cfg(feature = "server")]
impl EncodedSpan {
    pub(crate) fn of(span: &Span) -> Self {
        let mut field = Vec::new();
        put_span(2, span, &mut field);
        Self {
            resource: Arc::clone(&span.resource),
            scope: Arc::clone(&span.scope),
            field,
        }
    }

    /// The span's size in bytes, without its resource and scope.
    pub(crate) fn size(&self) -> usize {
        self.field.len()
    }
}

/// Like [`traces`], for spans that are already encoded.
#[cfg(feature = "server")]
pub(crate) fn traces_of_encoded(spans: &[EncodedSpan]) -> Vec<u8> {
    let mut request = Vec::new();
    for (resource, scopes) in group(spans, |span| (&span.resource, &span.scope)) {
        let mut fields = Vec::new();
        for (scope, spans) in scopes {
            let of_spans: Vec<&[u8]> = spans.iter().map(|span| &*span.field).collect();
            put_around(2, around_items(scope), of_spans.concat(), &mut fields);
        }
        put_around(1, around_scopes(resource), fields, &mut request);
    }
    request
}

/// Groups items; resources and scopes are equal if their encoded bytes are.
fn group<'a, T>(items: &'a [T], of: impl Fn(&'a T) -> (&'a Arc<Resource>, &'a Arc<Scope>)) -> Groups<'a, T> {
    let key = |mut bytes: Vec<u8>, schema_url: &str| {
        bytes.extend_from_slice(schema_url.as_bytes());
        bytes
    };
    group_by(
        items,
        of,
        |resource| key(resource_to(resource).encode_to_vec(), &resource.schema_url),
        |scope| key(scope_to(scope).encode_to_vec(), &scope.schema_url),
    )
}

/// Appends a span as the field with this number.
#[cfg(feature = "server")]
pub(super) fn put_span(number: u32, span: &Span, out: &mut Vec<u8>) {
    prost::encoding::message::encode(number, &span_to(span), out);
}

/// Appends a log record as the field with this number.
#[cfg(feature = "server")]
pub(super) fn put_record(number: u32, record: &LogRecord, out: &mut Vec<u8>) {
    prost::encoding::message::encode(number, &record_to(record), out);
}

/// Adds attributes after a span's own, and a status that replaces its own.
#[cfg(feature = "server")]
pub(crate) fn add_to_span(message: &mut Vec<u8>, attributes: &[(String, AnyValue)], status: Option<&Status>) {
    for pair in attributes {
        prost::encoding::message::encode(9, &pair_to(pair), message);
    }
    if let Some(status) = status {
        prost::encoding::message::encode(15, &status_to(status), message);
    }
}

/// The fields of a `ResourceSpans` or `ResourceLogs` before and after its scopes.
#[cfg(feature = "server")]
pub(super) fn around_scopes(resource: &Resource) -> [Vec<u8>; 2] {
    let mut before = Vec::new();
    prost::encoding::message::encode(1, &resource_to(resource), &mut before);
    [before, schema_url(&resource.schema_url)]
}

/// The fields of a `ScopeSpans` or `ScopeLogs` before and after its items.
#[cfg(feature = "server")]
pub(super) fn around_items(scope: &Scope) -> [Vec<u8>; 2] {
    let mut before = Vec::new();
    prost::encoding::message::encode(1, &scope_to(scope), &mut before);
    [before, schema_url(&scope.schema_url)]
}

/// Appends a field with this content, reserving its size first so that a large one is not copied again as `out` grows.
#[cfg(feature = "server")]
pub(super) fn put_around(number: u8, [before, behind]: [Vec<u8>; 2], inside: Vec<u8>, out: &mut Vec<u8>) {
    let length = before.len() + inside.len() + behind.len();
    out.reserve(length + 11);
    out.extend_from_slice(Header::new(number, length).bytes());
    out.extend_from_slice(&before);
    out.extend_from_slice(&inside);
    out.extend_from_slice(&behind);
}

#[cfg(feature = "server")]
fn schema_url(url: &String) -> Vec<u8> {
    let mut out = Vec::new();
    if !url.is_empty() {
        prost::encoding::string::encode(3, url, &mut out);
    }
    out
}

fn resource_to(resource: &Resource) -> resource::Resource {
    resource::Resource {
        attributes: attributes_to(&resource.attributes),
        dropped_attributes_count: resource.dropped_attributes,
        entity_refs: Vec::new(),
    }
}

fn scope_to(scope: &Scope) -> common::InstrumentationScope {
    common::InstrumentationScope {
        name: scope.name.clone(),
        version: scope.version.clone(),
        attributes: attributes_to(&scope.attributes),
        dropped_attributes_count: scope.dropped_attributes,
    }
}

fn span_to(span: &Span) -> trace::Span {
    trace::Span {
        trace_id: span.trace_id.bytes().to_vec(),
        span_id: span.span_id.bytes().to_vec(),
        trace_state: span.trace_state.clone(),
        parent_span_id: span.parent.map_or_else(Vec::new, |parent| parent.bytes().to_vec()),
        flags: span.flags,
        name: span.name.clone(),
        kind: span.kind.number(),
        start_time_unix_nano: span.start.0,
        end_time_unix_nano: span.end.0,
        attributes: attributes_to(&span.attributes),
        dropped_attributes_count: span.dropped_attributes,
        events: span.events.iter().map(event_to).collect(),
        dropped_events_count: span.dropped_events,
        links: span.links.iter().map(link_to).collect(),
        dropped_links_count: span.dropped_links,
        status: Some(status_to(&span.status)),
    }
}

fn status_to(status: &Status) -> trace::Status {
    trace::Status {
        message: status.message.clone(),
        code: status.code,
    }
}

fn event_to(event: &Event) -> trace::span::Event {
    trace::span::Event {
        time_unix_nano: event.time.0,
        name: event.name.clone(),
        attributes: attributes_to(&event.attributes),
        dropped_attributes_count: event.dropped_attributes,
    }
}

fn link_to(link: &Link) -> trace::span::Link {
    trace::span::Link {
        trace_id: link.trace_id.bytes().to_vec(),
        span_id: link.span_id.bytes().to_vec(),
        trace_state: link.trace_state.clone(),
        attributes: attributes_to(&link.attributes),
        dropped_attributes_count: link.dropped_attributes,
        flags: link.flags,
    }
}

fn record_to(record: &LogRecord) -> logs::LogRecord {
    logs::LogRecord {
        time_unix_nano: record.time.map_or(0, |time| time.0),
        observed_time_unix_nano: record.observed_time.map_or(0, |time| time.0),
        severity_number: record.severity,
        severity_text: record.severity_text.clone(),
        body: (!record.body.is_empty()).then(|| value_to(&record.body)),
        attributes: attributes_to(&record.attributes),
        dropped_attributes_count: record.dropped_attributes,
        flags: record.flags,
        trace_id: record.trace_id.map_or_else(Vec::new, |id| id.bytes().to_vec()),
        span_id: record.span_id.map_or_else(Vec::new, |id| id.bytes().to_vec()),
        event_name: record.event_name.clone(),
    }
}

fn attributes_to(attributes: &Attributes) -> Vec<common::KeyValue> {
    attributes.iter().map(pair_to).collect()
}

fn pair_to((key, value): &(String, AnyValue)) -> common::KeyValue {
    common::KeyValue {
        key: key.clone(),
        value: Some(value_to(value)),
        key_strindex: 0,
    }
}

fn value_to(value: &AnyValue) -> common::AnyValue {
    let value = match value {
        AnyValue::Empty => None,
        AnyValue::String(text) => Some(Value::StringValue(text.clone())),
        AnyValue::Bool(flag) => Some(Value::BoolValue(*flag)),
        AnyValue::Int(number) => Some(Value::IntValue(*number)),
        AnyValue::Double(number) => Some(Value::DoubleValue(*number)),
        AnyValue::Array(values) => Some(Value::ArrayValue(common::ArrayValue {
            values: values.iter().map(value_to).collect(),
        })),
        AnyValue::KvList(pairs) => Some(Value::KvlistValue(common::KeyValueList {
            values: pairs.iter().map(pair_to).collect(),
        })),
        AnyValue::Bytes(bytes) => Some(Value::BytesValue(bytes.clone())),
    };
    common::AnyValue { value }
}
