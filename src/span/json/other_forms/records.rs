//! Log records whose ids and fields are side by side, with attributes as a map: from AgentCore's runtime in CloudWatch next to the spans of
//! `aws/spans`, rows of ClickHouse's exporter, and the Python SDK. Each field has the spelling of one of these.

use serde_json::{Value, json};

use super::flat::{attributes, get, resource, scope};
use super::pieces::{Attributes, any, hex_id, moment, with_rest};

const BODY: [&str; 2] = ["body", "Body"];
const TIME: [&str; 4] = ["timeUnixNano", "time_unix_nano", "Timestamp", "timestamp"];
const OBSERVED: [&str; 4] = [
    "observedTimeUnixNano",
    "observed_time_unix_nano",
    "observedTimestamp",
    "observed_timestamp",
];
const SEVERITY: [&str; 3] = ["severityNumber", "severity_number", "SeverityNumber"];
const SEVERITY_TEXT: [&str; 3] = ["severityText", "severity_text", "SeverityText"];
const TRACE_ID: [&str; 3] = ["traceId", "trace_id", "TraceId"];
const SPAN_ID: [&str; 3] = ["spanId", "span_id", "SpanId"];
const FLAGS: [&str; 4] = ["flags", "traceFlags", "trace_flags", "TraceFlags"];
const ATTRIBUTES: [&str; 3] = ["attributes", "logAttributes", "LogAttributes"];
const EVENT_NAME: [&str; 3] = ["eventName", "event_name", "EventName"];

/// All keys above, and others that are read.
const READ: [&[&str]; 11] = [
    &BODY,
    &TIME,
    &OBSERVED,
    &SEVERITY,
    &SEVERITY_TEXT,
    &TRACE_ID,
    &SPAN_ID,
    &FLAGS,
    &ATTRIBUTES,
    &EVENT_NAME,
    &[
        "scope",
        "instrumentation_scope",
        "instrumentationScope",
        "ScopeName",
        "ScopeVersion",
        "resource",
        "resource_attributes",
        "resourceAttributes",
        "ResourceAttributes",
        "ServiceName",
        "service_name",
    ],
];

/// Whether an object has a log record's time and body along with a severity or span. A span has a start and a name instead.
pub(super) fn is_record(value: &Value) -> bool {
    let Some(map) = value.as_object() else { return false };
    let has = |keys: &[&str]| keys.iter().any(|key| map.contains_key(*key));
    has(&BODY) && (has(&TIME) || has(&OBSERVED)) && (has(&SEVERITY) || has(&SPAN_ID) || has(&OBSERVED))
}

/// Converts a record to `ResourceLogs`. Other fields become attributes.
pub(super) fn of_record(value: &Value) -> Option<Vec<Value>> {
    let map = value.as_object()?;
    let mut own = Attributes(attributes(get(map, &ATTRIBUTES)));
    with_rest(value, |name| READ.iter().any(|keys| keys.contains(&name)), "row.", &mut own);
    let id = |keys: &[&str], digits| get(map, keys).and_then(|id| hex_id(id, digits));
    Some(vec![json!({
        "resource": {"attributes": resource(map)},
        "scopeLogs": [{"scope": scope(map), "logRecords": [{
            "timeUnixNano": get(map, &TIME).and_then(moment),
            "observedTimeUnixNano": get(map, &OBSERVED).and_then(moment),
            "severityNumber": get(map, &SEVERITY).and_then(Value::as_u64),
            "severityText": get(map, &SEVERITY_TEXT).and_then(Value::as_str),
            "eventName": get(map, &EVENT_NAME).and_then(Value::as_str),
            "traceId": id(&TRACE_ID, 32),
            "spanId": id(&SPAN_ID, 16),
            "flags": get(map, &FLAGS).and_then(Value::as_u64),
            "body": get(map, &BODY).map(body),
            "attributes": own.0,
        }]}],
    })])
}

/// Wraps a body as in OTLP/JSON, unless it is wrapped already.
fn body(body: &Value) -> Value {
    const WRAPPED: [&str; 7] = [
        "stringValue",
        "boolValue",
        "intValue",
        "doubleValue",
        "arrayValue",
        "kvlistValue",
        "bytesValue",
    ];
    let is_wrapped = body
        .as_object()
        .is_some_and(|map| map.len() == 1 && map.keys().all(|key| WRAPPED.contains(&key.as_str())));
    if is_wrapped { body.clone() } else { any(body) }
}
