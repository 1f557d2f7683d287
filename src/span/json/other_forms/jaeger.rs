//! Traces of Jaeger's API and UI: spans, and processes by id.

use serde_json::{Value, json};

use super::pieces::{any, list, nanos_of_micros, padded, pair};
use super::tags::{Tags, is_service_name};

/// Converts a Jaeger trace: spans, and processes by id.
pub(super) fn of_trace(trace: &Value) -> Option<Vec<Value>> {
    let spans = trace.get("spans")?.as_array()?;
    let processes = trace.get("processes").and_then(Value::as_object);
    spans
        .iter()
        .map(|span| {
            let named = || processes?.get(span.get("processID")?.as_str()?);
            jaeger_span(span, span.get("process").or_else(named))
        })
        .collect()
}

fn jaeger_span(span: &Value, process: Option<&Value>) -> Option<Value> {
    let start = span.get("startTime")?.as_u64()?;
    let end = start.saturating_add(span.get("duration").and_then(Value::as_u64).unwrap_or(0));
    let trace_id = span.get("traceID")?.as_str()?;
    let span_id = span.get("spanID")?.as_str()?;
    let mut attributes = Vec::new();
    let mut told = Tags::default();
    for tag in list(span, "tags") {
        let (Some(key), Some(value)) = (tag.get("key").and_then(Value::as_str), tag.get("value")) else {
            continue;
        };
        if !told.take(key, value) {
            attributes.push(pair(key, jaeger_value(tag, value)));
        }
    }
    let references = || list(span, "references").filter_map(|reference| Some((reference, reference.get("spanID")?.as_str()?)));
    let is_parent = |(reference, _): &(&Value, &str)| {
        reference.get("refType").and_then(Value::as_str) == Some("CHILD_OF")
            && reference.get("traceID").and_then(Value::as_str).is_none_or(|of| of == trace_id)
    };
    let parent = references().find(is_parent).map(|(_, id)| id);
    let parent = parent.or_else(|| span.get("parentSpanID").and_then(Value::as_str).filter(|id| !id.is_empty()));
    let links: Vec<Value> = references()
        .filter(|reference| !is_parent(reference))
        .map(|(reference, id)| {
            let of = reference.get("traceID").and_then(Value::as_str).unwrap_or(trace_id);
            json!({"traceId": padded(of, 32), "spanId": padded(id, 16)})
        })
        .collect();
    let events: Vec<Value> = list(span, "logs").map(jaeger_event).collect();
    let mut resource: Vec<Value> = process
        .into_iter()
        .flat_map(|process| list(process, "tags"))
        .filter_map(|tag| Some(pair(tag.get("key")?.as_str()?, jaeger_value(tag, tag.get("value")?))))
        .collect();
    if let Some(service) = process
        .and_then(|process| process.get("serviceName"))
        .filter(|name| is_service_name(name))
    {
        resource.push(pair("service.name", any(service)));
    }
    Some(json!({
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": told.scope, "spans": [{
            "traceId": padded(trace_id, 32),
            "spanId": padded(span_id, 16),
            "parentSpanId": parent.map(|id| padded(id, 16)),
            "traceState": told.trace_state,
            "name": span.get("operationName"),
            "kind": told.kind.unwrap_or(0),
            "startTimeUnixNano": nanos_of_micros(start),
            "endTimeUnixNano": nanos_of_micros(end),
            "attributes": attributes,
            "events": events,
            "links": links,
            "status": told.status,
        }]}],
    }))
}

fn jaeger_event(log: &Value) -> Value {
    let time = log.get("timestamp").and_then(Value::as_u64).unwrap_or(0);
    let mut name = Value::from("");
    let mut attributes = Vec::new();
    for field in list(log, "fields") {
        match (field.get("key").and_then(Value::as_str), field.get("value")) {
            (Some("event"), Some(value @ Value::String(_))) => name = value.clone(),
            (Some(key), Some(value)) => attributes.push(pair(key, jaeger_value(field, value))),
            _ => {}
        }
    }
    json!({"timeUnixNano": nanos_of_micros(time), "name": name, "attributes": attributes})
}

/// Jaeger writes large integers as text and records the type.
fn jaeger_value(tag: &Value, value: &Value) -> Value {
    match (tag.get("type").and_then(Value::as_str), value) {
        (Some("int64"), Value::String(_)) => json!({"intValue": value}),
        (Some("float64"), Value::Number(number)) => json!({"doubleValue": number}),
        (Some("bool"), Value::String(word)) => json!({"boolValue": word == "true"}),
        _ => any(value),
    }
}
