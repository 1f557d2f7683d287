//! Traces that `MLflow` exports.

use base64::Engine as _;
use serde_json::{Value, json};

use super::pieces::{pairs, status_number};

/// The spans of a trace that `MLflow` exports: those of its third version have ids in base64 and times in nanoseconds, older ones have
/// a context as the Python SDK writes it.
pub(super) fn of_trace(data: &Value) -> Option<Vec<Value>> {
    let one = |span: &Value| {
        if span.get("context").is_some() {
            return of_version_2(span);
        }
        let id = |name: &str| {
            let text = span.get(name)?.as_str().filter(|text| !text.is_empty())?;
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
            Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        };
        let nanos = |name: &str| {
            span.get(name)
                .map(|value| value.as_u64().map_or_else(|| value.clone(), |nanos| nanos.to_string().into()))
        };
        let status = span.get("status");
        let word = status.and_then(|status| status.get("code")?.as_str()).unwrap_or_default();
        Some(json!({"scopeSpans": [{"spans": [{
            "traceId": id("trace_id")?,
            "spanId": id("span_id")?,
            "parentSpanId": id("parent_span_id"),
            "name": span.get("name"),
            "startTimeUnixNano": nanos("start_time_unix_nano"),
            "endTimeUnixNano": nanos("end_time_unix_nano"),
            "attributes": pairs(span.get("attributes")),
            "status": {"code": status_number(word.rsplit('_').next().unwrap_or(word)), "message": status.and_then(|status| status.get("message"))},
        }]}]}))
    };
    data.get("spans")?.as_array()?.iter().map(one).collect()
}

fn of_version_2(span: &Value) -> Option<Value> {
    let context = span.get("context")?;
    let id = |value: Option<&Value>| Some(value?.as_str()?.trim_start_matches("0x").to_owned());
    let nanos = |name: &str| span.get(name).and_then(Value::as_u64).map(|nanos| nanos.to_string());
    let word = span.get("status_code").and_then(Value::as_str).unwrap_or_default();
    Some(json!({"scopeSpans": [{"spans": [{
        "traceId": id(context.get("trace_id"))?,
        "spanId": id(context.get("span_id"))?,
        "parentSpanId": id(span.get("parent_id")),
        "name": span.get("name"),
        "startTimeUnixNano": nanos("start_time")?,
        "endTimeUnixNano": nanos("end_time"),
        "attributes": pairs(span.get("attributes")),
        "status": {"code": status_number(word), "message": span.get("status_message")},
    }]}]}))
}
