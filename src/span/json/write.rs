//! Spans and log records to OTLP/JSON, grouped by resource and scope in the order of first appearance.

use std::sync::Arc;

use base64::Engine as _;
use serde_json::{Map, Value, json};

use crate::span::{AnyValue, Attributes, Event, Link, LogRecord, Resource, Scope, Span};

/// A traces message with these spans.
#[must_use]
pub fn spans(spans: &[Span]) -> Value {
    let groups = group(spans, |span| (&span.resource, &span.scope));
    json!({ "resourceSpans": groups.iter().map(|(resource, scopes)| {
        let scopes: Vec<Value> = scopes.iter().map(|(scope, spans)| {
            of_scope(scope, "spans", spans.iter().copied().map(span_to).collect())
        }).collect();
        of_resource(resource, "scopeSpans", scopes)
    }).collect::<Vec<_>>() })
}

/// A logs message with these records.
#[must_use]
pub fn log_records(records: &[LogRecord]) -> Value {
    let groups = group(records, |record| (&record.resource, &record.scope));
    json!({ "resourceLogs": groups.iter().map(|(resource, scopes)| {
        let scopes: Vec<Value> = scopes.iter().map(|(scope, records)| {
            of_scope(scope, "logRecords", records.iter().copied().map(record_to).collect())
        }).collect();
        of_resource(resource, "scopeLogs", scopes)
    }).collect::<Vec<_>>() })
}

type Groups<'a, T> = Vec<(&'a Arc<Resource>, Vec<(&'a Arc<Scope>, Vec<&'a T>)>)>;

fn group<'a, T>(items: &'a [T], of: impl Fn(&'a T) -> (&'a Arc<Resource>, &'a Arc<Scope>)) -> Groups<'a, T> {
    let mut groups: Groups<'a, T> = Vec::new();
    for item in items {
        let (resource, scope) = of(item);
        let same = |have: &Arc<Resource>| Arc::ptr_eq(have, resource) || **have == **resource;
        let at = groups.iter().position(|(have, _)| same(have)).unwrap_or_else(|| {
            groups.push((resource, Vec::new()));
            groups.len() - 1
        });
        let Some((_, scopes)) = groups.get_mut(at) else { continue };
        let same = |have: &Arc<Scope>| Arc::ptr_eq(have, scope) || **have == **scope;
        match scopes.iter_mut().find(|(have, _)| same(have)) {
            Some((_, items)) => items.push(item),
            None => scopes.push((scope, vec![item])),
        }
    }
    groups
}

fn of_resource(resource: &Resource, key: &str, scopes: Vec<Value>) -> Value {
    let mut inner = Map::new();
    put_attributes(&mut inner, &resource.attributes, resource.dropped_attributes);
    let mut outer = Map::new();
    outer.insert("resource".to_owned(), Value::Object(inner));
    outer.insert(key.to_owned(), Value::Array(scopes));
    put_text(&mut outer, "schemaUrl", &resource.schema_url);
    Value::Object(outer)
}

fn of_scope(scope: &Scope, key: &str, items: Vec<Value>) -> Value {
    let mut inner = Map::new();
    put_text(&mut inner, "name", &scope.name);
    put_text(&mut inner, "version", &scope.version);
    put_attributes(&mut inner, &scope.attributes, scope.dropped_attributes);
    let mut outer = Map::new();
    outer.insert("scope".to_owned(), Value::Object(inner));
    outer.insert(key.to_owned(), Value::Array(items));
    put_text(&mut outer, "schemaUrl", &scope.schema_url);
    Value::Object(outer)
}

fn span_to(span: &Span) -> Value {
    let mut map = Map::new();
    map.insert("traceId".to_owned(), json!(span.trace_id.to_string()));
    map.insert("spanId".to_owned(), json!(span.span_id.to_string()));
    put_text(&mut map, "traceState", &span.trace_state);
    if let Some(parent) = span.parent {
        map.insert("parentSpanId".to_owned(), json!(parent.to_string()));
    }
    put_number(&mut map, "flags", span.flags);
    put_text(&mut map, "name", &span.name);
    if span.kind.number() != 0 {
        map.insert("kind".to_owned(), json!(span.kind.number()));
    }
    put_nanos(&mut map, "startTimeUnixNano", span.start.0);
    put_nanos(&mut map, "endTimeUnixNano", span.end.0);
    put_attributes(&mut map, &span.attributes, span.dropped_attributes);
    if !span.events.is_empty() {
        map.insert("events".to_owned(), span.events.iter().map(event_to).collect());
    }
    put_number(&mut map, "droppedEventsCount", span.dropped_events);
    if !span.links.is_empty() {
        map.insert("links".to_owned(), span.links.iter().map(link_to).collect());
    }
    put_number(&mut map, "droppedLinksCount", span.dropped_links);
    let mut status = Map::new();
    put_text(&mut status, "message", &span.status.message);
    if span.status.code != 0 {
        status.insert("code".to_owned(), json!(span.status.code));
    }
    map.insert("status".to_owned(), Value::Object(status));
    Value::Object(map)
}

fn event_to(event: &Event) -> Value {
    let mut map = Map::new();
    put_nanos(&mut map, "timeUnixNano", event.time.0);
    put_text(&mut map, "name", &event.name);
    put_attributes(&mut map, &event.attributes, event.dropped_attributes);
    Value::Object(map)
}

fn link_to(link: &Link) -> Value {
    let mut map = Map::new();
    map.insert("traceId".to_owned(), json!(link.trace_id.to_string()));
    map.insert("spanId".to_owned(), json!(link.span_id.to_string()));
    put_text(&mut map, "traceState", &link.trace_state);
    put_attributes(&mut map, &link.attributes, link.dropped_attributes);
    put_number(&mut map, "flags", link.flags);
    Value::Object(map)
}

fn record_to(record: &LogRecord) -> Value {
    let mut map = Map::new();
    put_nanos(&mut map, "timeUnixNano", record.time.map_or(0, |time| time.0));
    put_nanos(&mut map, "observedTimeUnixNano", record.observed_time.map_or(0, |time| time.0));
    if record.severity != 0 {
        map.insert("severityNumber".to_owned(), json!(record.severity));
    }
    put_text(&mut map, "severityText", &record.severity_text);
    if !record.body.is_empty() {
        map.insert("body".to_owned(), value_to(&record.body));
    }
    put_attributes(&mut map, &record.attributes, record.dropped_attributes);
    put_number(&mut map, "flags", record.flags);
    if let Some(id) = record.trace_id {
        map.insert("traceId".to_owned(), json!(id.to_string()));
    }
    if let Some(id) = record.span_id {
        map.insert("spanId".to_owned(), json!(id.to_string()));
    }
    put_text(&mut map, "eventName", &record.event_name);
    Value::Object(map)
}

fn put_text(map: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key.to_owned(), json!(text));
    }
}

fn put_number(map: &mut Map<String, Value>, key: &str, number: u32) {
    if number != 0 {
        map.insert(key.to_owned(), json!(number));
    }
}

/// 64-bit integers are text in OTLP/JSON.
fn put_nanos(map: &mut Map<String, Value>, key: &str, nanos: u64) {
    if nanos != 0 {
        map.insert(key.to_owned(), json!(nanos.to_string()));
    }
}

fn put_attributes(map: &mut Map<String, Value>, attributes: &Attributes, dropped: u32) {
    if !attributes.is_empty() {
        map.insert("attributes".to_owned(), attributes.iter().map(pair_to).collect());
    }
    put_number(map, "droppedAttributesCount", dropped);
}

fn pair_to((key, value): &(String, AnyValue)) -> Value {
    json!({ "key": key, "value": value_to(value) })
}

fn value_to(value: &AnyValue) -> Value {
    match value {
        AnyValue::Empty => json!({}),
        AnyValue::String(text) => json!({ "stringValue": text }),
        AnyValue::Bool(flag) => json!({ "boolValue": flag }),
        AnyValue::Int(number) => json!({ "intValue": number.to_string() }),
        AnyValue::Double(number) if number.is_finite() => json!({ "doubleValue": number }),
        AnyValue::Double(number) if number.is_nan() => json!({ "doubleValue": "NaN" }),
        AnyValue::Double(number) if *number > 0.0 => json!({ "doubleValue": "Infinity" }),
        AnyValue::Double(_) => json!({ "doubleValue": "-Infinity" }),
        AnyValue::Array(values) => json!({ "arrayValue": { "values": values.iter().map(value_to).collect::<Vec<_>>() } }),
        AnyValue::KvList(pairs) => json!({ "kvlistValue": { "values": pairs.iter().map(pair_to).collect::<Vec<_>>() } }),
        AnyValue::Bytes(bytes) => json!({ "bytesValue": base64::engine::general_purpose::STANDARD.encode(bytes) }),
    }
}
