//! Converts other JSON forms of spans to OTLP/JSON: Jaeger's API and UI, Zipkin, console output of the Python and Go SDKs, JSON of the
//! JavaScript SDK's spans, exports of Tempo's second API, Phoenix, `MLflow` and Mastra, rows of ClickHouse, CloudWatch and Logfire, and a
//! lone `ResourceSpans`. Some of these also contain log records.

mod flat;
mod go;
mod jaeger;
mod javascript;
mod mastra;
mod pieces;
mod python;
mod records;
mod tags;
mod tree;
mod zipkin;

use serde_json::{Value, json};

/// Converts a value to one OTLP/JSON export request; `None` if it has none of these forms.
#[must_use]
pub(crate) fn as_otlp(value: &Value) -> Option<Value> {
    let map = value.as_object()?;
    // An export request in an envelope.
    if let Some(request) = map.get("data").filter(|data| is_request(data)) {
        return Some(request.clone());
    }
    // Metrics that a file exporter writes between its spans; they are not read.
    let of_type = |kind: &str| map.get("type").and_then(Value::as_str) == Some(kind);
    if of_type("metric") && map.contains_key("name") {
        return Some(json!({"resourceMetrics": []}));
    }
    // Logfire's messages before and after its rows: their columns, and that no more follow.
    if (of_type("schema") && map.contains_key("schema")) || (of_type("end") && map.len() == 1) {
        return Some(json!({"resourceSpans": []}));
    }
    let read: Vec<Value> = if let Some(trace) = [Some(value), map.get("trace")]
        .into_iter()
        .flatten()
        .find(|trace| trace.pointer("/spans/0").is_some_and(mastra::is_span))
    {
        mastra::of_trace(trace)?
    } else if let Some(request) = map
        .get("trace")
        .or_else(|| map.get("result"))
        .filter(|_| !map.contains_key("spans"))
    {
        // Tempo's second API, Jaeger's third.
        return is_request(request).then(|| request.clone());
    } else if map.contains_key("scopeSpans") || map.contains_key("scopeLogs") {
        vec![value.clone()]
    } else if let Some(spans) = tree::spans(map).filter(|_| !map.contains_key("processes"))
        && spans.first().is_some_and(|span| {
            span.get("context").is_some() || flat::is_span(span) || javascript::is_span(span) || records::is_record(span)
        })
    {
        each(&Value::Array(spans), of_span_or_trace)?
    } else {
        match map.get("data") {
            Some(list @ Value::Array(_)) => each(list, of_span_or_trace)?,
            // MLflow.
            Some(trace) if map.contains_key("info") => each(trace.get("spans")?, of_span_or_trace)?,
            Some(trace) => jaeger::of_trace(trace)?,
            None => of_span_or_trace(value)?,
        }
    };
    let (logs, spans): (Vec<Value>, Vec<Value>) = read.into_iter().partition(|of_resource| of_resource.get("scopeLogs").is_some());
    if logs.is_empty() {
        return Some(json!({"resourceSpans": spans}));
    }
    let mut request = json!({"resourceLogs": logs});
    if let (false, Some(request)) = (spans.is_empty(), request.as_object_mut()) {
        let _ = request.insert("resourceSpans".to_owned(), spans.into());
    }
    Some(request)
}

fn is_request(value: &Value) -> bool {
    ["resourceSpans", "resourceLogs", "resourceMetrics"]
        .iter()
        .any(|key| value.get(*key).is_some_and(Value::is_array))
}

fn of_span_or_trace(value: &Value) -> Option<Vec<Value>> {
    match value.as_object() {
        Some(span) if span.contains_key("context") => Some(vec![python::of_span(span)?]),
        Some(row) if row.contains_key("context.trace_id") => Some(vec![python::of_span(&python::of_row(row))?]),
        Some(span) if span.contains_key("SpanContext") => Some(vec![go::of_span(value)?]),
        _ if zipkin::is_span(value) => zipkin::of_span(value),
        _ if javascript::is_span(value) => javascript::of_span(value),
        _ if flat::is_span(value) => flat::of_span(value),
        _ if records::is_record(value) => records::of_record(value),
        _ => jaeger::of_trace(value),
    }
}

fn each(list: &Value, one: impl Fn(&Value) -> Option<Vec<Value>>) -> Option<Vec<Value>> {
    let read: Option<Vec<Vec<Value>>> = list.as_array()?.iter().map(one).collect();
    Some(read?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests;
