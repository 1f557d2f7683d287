//! Spans printed by the Go SDK's `stdouttrace`.

use serde_json::{Value, json};

use super::pieces::{list, nanos, pair, status_number};

/// One span, as `stdouttrace` marshals it.
pub(super) fn of_span(span: &Value) -> Option<Value> {
    let text = |pointer: &str| span.pointer(pointer).and_then(Value::as_str);
    let parent = text("/Parent/SpanID").filter(|id| id.bytes().any(|digit| digit != b'0'));
    let events: Vec<Value> = list(span, "Events")
        .map(|event| {
            let time = event.get("Time").and_then(Value::as_str).and_then(nanos);
            json!({"name": event.get("Name"), "timeUnixNano": time, "attributes": attributes(event.get("Attributes")),
                "droppedAttributesCount": count(event, "DroppedAttributeCount")})
        })
        .collect();
    let links: Vec<Value> = list(span, "Links")
        .filter_map(|link| {
            let context = link.get("SpanContext")?;
            let id = |name: &str| context.get(name).filter(|id| id.is_string());
            Some(
                json!({"traceId": id("TraceID")?, "spanId": id("SpanID")?, "traceState": id("TraceState"),
                "attributes": attributes(link.get("Attributes")), "droppedAttributesCount": count(link, "DroppedAttributeCount")}),
            )
        })
        .collect();
    // Versions before 1.32 only use the scope's old name.
    let scope = ["InstrumentationScope", "InstrumentationLibrary"]
        .into_iter()
        .find_map(|name| span.get(name));
    let attributes_of_scope = scope.map(|scope| attributes(scope.get("Attributes")));
    let scope = scope.map(|scope| json!({"name": scope.get("Name"), "version": scope.get("Version"), "attributes": attributes_of_scope}));
    let code = text("/Status/Code").unwrap_or_default().to_ascii_uppercase();
    Some(json!({
        "resource": {"attributes": attributes(span.get("Resource"))},
        "scopeSpans": [{"scope": scope, "spans": [{
            "traceId": text("/SpanContext/TraceID")?,
            "spanId": text("/SpanContext/SpanID")?,
            "parentSpanId": parent,
            "name": span.get("Name"),
            "kind": span.get("SpanKind").and_then(Value::as_u64).unwrap_or(0),
            "startTimeUnixNano": text("/StartTime").and_then(nanos)?,
            "endTimeUnixNano": text("/EndTime").and_then(nanos),
            "attributes": attributes(span.get("Attributes")),
            "events": events,
            "links": links,
            "traceState": text("/SpanContext/TraceState"),
            "droppedAttributesCount": count(span, "DroppedAttributes"),
            "droppedEventsCount": count(span, "DroppedEvents"),
            "droppedLinksCount": count(span, "DroppedLinks"),
            "status": {"code": status_number(&code), "message": text("/Status/Description")},
        }]}],
    }))
}

fn count(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn attributes(list: Option<&Value>) -> Vec<Value> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    let one = |attribute: &Value| {
        let key = attribute.get("Key")?.as_str()?;
        let of = attribute.get("Value")?;
        let kind = of.get("Type").and_then(Value::as_str).unwrap_or_default();
        Some(pair(key, typed(kind, of.get("Value").unwrap_or(&Value::Null))))
    };
    list.filter_map(one).collect()
}

/// Converts a value by its type: an integer type may be written as a float.
fn typed(kind: &str, value: &Value) -> Value {
    let each = |kind: &str| {
        let items = value.as_array().into_iter().flatten();
        json!({"arrayValue": {"values": items.map(|item| typed(kind, item)).collect::<Vec<_>>()}})
    };
    match (kind, value) {
        ("BOOL", _) => json!({"boolValue": value}),
        ("INT64", Value::Number(number)) => json!({"intValue": number.to_string()}),
        ("FLOAT64", _) => json!({"doubleValue": value}),
        ("STRING", _) => json!({"stringValue": value}),
        _ => match kind.strip_suffix("SLICE") {
            Some(item) => each(item),
            None => super::pieces::any(value),
        },
    }
}
