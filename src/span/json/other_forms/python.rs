//! Spans from the Python SDK's console exporter and from Phoenix.

use serde_json::{Map, Value, json};

use super::pieces::{any, flatten, hex_id, kind_number, list, moment, pair, pairs, status_number};

/// Converts a span from the Python SDK's `ReadableSpan.to_json`, as printed by `ConsoleSpanExporter`, or from Phoenix, which keeps the
/// status separately and may nest attributes.
pub(super) fn of_span(span: &Map<String, Value>) -> Option<Value> {
    let context = span.get("context")?;
    let id = |value: &Value, name: &str| match value.get(name)? {
        Value::String(text) => Some(text.trim_start_matches("0x").to_owned()),
        number => hex_id(number, if name == "trace_id" { 32 } else { 16 }),
    };
    // pandas writes times as numbers unless given a `date_format`.
    let time = |value: &Value, name: &str| moment(value.get(name)?);
    let whole = Value::Object(span.clone());
    let start = time(&whole, "start_time")?;
    let parent = span.get("parent_id").and_then(Value::as_str);
    let parent = parent.map(|id| id.trim_start_matches("0x").to_owned());
    let parent = parent.or_else(|| id(span.get("parent")?, "span_id"));
    let events: Vec<Value> = list(&whole, "events")
        .map(|event| json!({"name": event.get("name"), "timeUnixNano": time(event, "timestamp"), "attributes": pairs(event.get("attributes"))}))
        .collect();
    let links: Vec<Value> = list(&whole, "links")
        .filter_map(|link| {
            let context = link.get("context")?;
            Some(json!({
                "traceId": id(context, "trace_id")?,
                "spanId": id(context, "span_id")?,
                "attributes": pairs(link.get("attributes")),
            }))
        })
        .collect();
    let status = span.get("status");
    let status = json!({
        "code": status.map_or(span.get("status_code"), |status| status.get("status_code")).and_then(Value::as_str).map_or(0, |word| status_number(&word.to_ascii_uppercase())),
        "message": status.map_or(span.get("status_message"), |status| status.get("description")),
    });
    let is_phoenix = span.contains_key("span_kind");
    let mut attributes = Vec::new();
    match span.get("attributes").and_then(Value::as_object) {
        Some(map) if is_phoenix => flatten("", map, &mut attributes),
        _ => attributes = pairs(span.get("attributes")),
    }
    let kind_key = "openinference.span.kind";
    if let Some(word) = span.get("span_kind").and_then(Value::as_str).filter(|word| *word != "UNKNOWN")
        && !attributes
            .iter()
            .any(|pair| pair.get("key").and_then(Value::as_str) == Some(kind_key))
    {
        attributes.push(pair(kind_key, any(&word.into())));
    }
    let kind = span.get("kind").and_then(Value::as_str).and_then(|kind| kind.rsplit('.').next());
    let resource = span.get("resource");
    let scope = span.get("instrumentation_scope").or_else(|| span.get("instrumentation_info"));
    let scope = scope.map(|scope| json!({"name": scope.get("name"), "version": scope.get("version")}));
    Some(json!({
        "resource": {"attributes": pairs(resource.and_then(|resource| resource.get("attributes")))},
        "scopeSpans": [{"scope": scope, "spans": [{
            "traceId": id(context, "trace_id")?,
            "spanId": id(context, "span_id")?,
            "parentSpanId": parent,
            "name": span.get("name"),
            "kind": kind.map_or(0, kind_number),
            "startTimeUnixNano": start,
            "endTimeUnixNano": time(&whole, "end_time"),
            "attributes": attributes,
            "events": events,
            "links": links,
            "status": status,
        }]}],
    }))
}

/// Converts a row of Phoenix's table of spans (`get_spans_dataframe`) back to a span.
pub(super) fn of_row(row: &Map<String, Value>) -> Map<String, Value> {
    let (mut span, mut context, mut attributes) = (Map::new(), Map::new(), Map::new());
    for (column, value) in row.iter().filter(|(_, value)| !value.is_null()) {
        if let Some(key) = column.strip_prefix("context.") {
            context.insert(key.to_owned(), value.clone());
        } else if let Some(key) = column.strip_prefix("attributes.") {
            attributes.insert(key.to_owned(), value.clone());
        } else {
            span.insert(column.clone(), value.clone());
        }
    }
    // The column also exists for spans of other programs.
    span.entry("span_kind").or_insert_with(|| "UNKNOWN".into());
    span.insert("context".to_owned(), context.into());
    span.insert("attributes".to_owned(), attributes.into());
    span
}
