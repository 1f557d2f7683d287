//! What Zipkin takes and gives out: spans in a list, with tags of text and annotations.

use serde_json::{Map, Value, json};

use super::pieces::{any, kind_number, list, pair, status_number};

/// Whether this is a span of Zipkin.
pub(super) fn is_span(value: &Value) -> bool {
    let has_text = |name: &str| value.get(name).is_some_and(Value::is_string);
    let has = |name: &str| value.get(name).is_some();
    has_text("traceId")
        && has_text("id")
        && !has("startTime")
        && (has("localEndpoint") || value.get("timestamp").is_some_and(Value::is_u64))
}

/// One span, with its service as the resource.
pub(super) fn of_span(span: &Value) -> Option<Vec<Value>> {
    let text = |name: &str| span.get(name).and_then(Value::as_str);
    let (trace_id, span_id) = (text("traceId")?, text("id")?);
    let start = span.get("timestamp").and_then(Value::as_u64).unwrap_or(0);
    let duration = span.get("duration").and_then(Value::as_u64);
    let end = duration.map_or(0, |duration| start.saturating_add(duration));
    let (mut scope, mut status) = (Map::new(), Map::new());
    let mut attributes = Vec::new();
    for (key, value) in span.get("tags").and_then(Value::as_object).into_iter().flatten() {
        match (key.as_str(), value) {
            ("otel.scope.name" | "otel.library.name", Value::String(_)) => _ = scope.insert("name".to_owned(), value.clone()),
            ("otel.scope.version" | "otel.library.version", Value::String(_)) => _ = scope.insert("version".to_owned(), value.clone()),
            ("otel.status_code", Value::String(word)) => _ = status.insert("code".to_owned(), status_number(word).into()),
            // Zipkin has no other place for what went wrong.
            ("error", Value::String(what)) => {
                let _ = status.entry("code").or_insert_with(|| status_number("ERROR").into());
                if !matches!(what.as_str(), "" | "true") {
                    let _ = status.insert("message".to_owned(), value.clone());
                }
            }
            _ => attributes.push(pair(key, any(value))),
        }
    }
    let service = |endpoint: &str| span.get(endpoint)?.get("serviceName").filter(|name| name.is_string());
    attributes.extend(service("remoteEndpoint").map(|name| pair("peer.service", any(name))));
    let resource: Vec<Value> = service("localEndpoint")
        .map(|name| pair("service.name", any(name)))
        .into_iter()
        .collect();
    let events: Vec<Value> = list(span, "annotations").map(event).collect();
    Some(vec![json!({
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": scope, "spans": [{
            "traceId": padded(trace_id, 32),
            "spanId": padded(span_id, 16),
            "parentSpanId": text("parentId").map(|id| padded(id, 16)),
            "name": text("name"),
            "kind": text("kind").map_or(0, kind_number),
            "startTimeUnixNano": nanos_of_micros(start),
            "endTimeUnixNano": nanos_of_micros(end),
            "attributes": attributes,
            "events": events,
            "status": status,
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

/// Ids may be shorter than OpenTelemetry's.
fn padded(id: &str, digits: usize) -> String {
    format!("{id:0>digits$}")
}

fn nanos_of_micros(micros: u64) -> String {
    micros.saturating_mul(1000).to_string()
}
