//! Spans in Zipkin's format: a list with text tags and annotations.

use serde_json::{Value, json};

use super::pieces::{any, kind_number, list, nanos_of_micros, padded, pair};
use super::tags::{Tags, is_of_resource, is_service_name};

/// Whether this is a span of Zipkin.
pub(super) fn is_span(value: &Value) -> bool {
    let has_text = |name: &str| value.get(name).is_some_and(Value::is_string);
    let has = |name: &str| value.get(name).is_some();
    has_text("traceId")
        && has_text("id")
        && !has("startTime")
        && (has("localEndpoint") || value.get("timestamp").is_some_and(Value::is_u64))
}

/// Converts a span, with its service as the resource.
pub(super) fn of_span(span: &Value) -> Option<Vec<Value>> {
    let text = |name: &str| span.get(name).and_then(Value::as_str);
    let (trace_id, span_id) = (text("traceId")?, text("id")?);
    let start = span.get("timestamp").and_then(Value::as_u64).unwrap_or(0);
    let duration = span.get("duration").and_then(Value::as_u64);
    let end = duration.map_or(0, |duration| start.saturating_add(duration));
    let mut told = Tags::default();
    let (mut attributes, mut resource) = (Vec::new(), Vec::new());
    for (key, value) in span.get("tags").and_then(Value::as_object).into_iter().flatten() {
        if told.take(key, value) {
            continue;
        }
        match value {
            // Zipkin has no other field for an error's message.
            Value::String(what) if key == "error" && what != "false" => {
                told.fail();
                if !what.is_empty() {
                    told.status.entry("message").or_insert_with(|| value.clone());
                }
            }
            // The service is that of an endpoint.
            _ if key == "service.name" => {}
            _ if is_of_resource(key) => resource.push(pair(key, any(value))),
            _ => attributes.push(pair(key, any(value))),
        }
    }
    let service = |endpoint: &str| span.get(endpoint)?.get("serviceName").filter(|name| is_service_name(name));
    attributes.extend(service("remoteEndpoint").map(|name| pair("peer.service", any(name))));
    resource.extend(service("localEndpoint").map(|name| pair("service.name", any(name))));
    let events: Vec<Value> = list(span, "annotations").map(event).collect();
    Some(vec![json!({
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": told.scope, "spans": [{
            "traceId": padded(trace_id, 32),
            "spanId": padded(span_id, 16),
            "parentSpanId": text("parentId").map(|id| padded(id, 16)),
            "traceState": told.trace_state,
            "name": text("name"),
            "kind": text("kind").map(kind_number).or(told.kind).unwrap_or(0),
            "startTimeUnixNano": nanos_of_micros(start),
            "endTimeUnixNano": nanos_of_micros(end),
            "attributes": attributes,
            "events": events,
            "status": told.status,
        }]}],
    })])
}

/// OpenTelemetry writes an event as `"name": {attributes}`, the Collector as `name|{attributes}|dropped`.
fn event(annotation: &Value) -> Value {
    let time = annotation.get("timestamp").and_then(Value::as_u64).unwrap_or(0);
    let value = annotation.get("value").and_then(Value::as_str).unwrap_or_default();
    let quoted = || {
        let (name, attributes) = value.strip_prefix('"')?.split_once("\": ")?;
        Some((name, serde_json::from_str::<Value>(attributes).ok()?))
    };
    let barred = || {
        let (name, rest) = value.split_once('|')?;
        Some((name, serde_json::from_str::<Value>(rest.rsplit_once('|')?.0).ok()?))
    };
    let (name, attributes) = quoted().or_else(barred).unwrap_or((value, Value::Null));
    json!({"timeUnixNano": nanos_of_micros(time), "name": name, "attributes": super::pieces::pairs(Some(&attributes))})
}
