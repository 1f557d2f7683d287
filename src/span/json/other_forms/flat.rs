//! Spans whose ids and fields are side by side, with attributes as a map: rows of ClickHouse's exporter, SigNoz, OpenSearch's Data Prepper,
//! CloudWatch's `aws/spans` and Logfire's `records`, and `ReadableSpan`s as test suites and programs write them. Each field has the
//! spelling of one of these.

use serde_json::{Map, Value, json};

use super::pieces::{Attributes, any, flatten, hex_id, kind_number, list, moment, pair, pairs, status_number, with_rest};

/// Whether an object has the ids of a span and its start.
pub(super) fn is_span(value: &Value) -> bool {
    let Some(map) = value.as_object() else { return false };
    [&TRACE_ID[..], &SPAN_ID, &NAME].iter().all(|keys| get(map, keys).is_some()) && get(map, &START).is_some()
}

const TRACE_ID: [&str; 4] = ["trace_id", "traceId", "traceID", "TraceId"];
const SPAN_ID: [&str; 4] = ["span_id", "spanId", "spanID", "SpanId"];
const PARENT: [&str; 7] = [
    "parent_span_id",
    "parentSpanId",
    "parentSpanID",
    "ParentSpanId",
    "parent_id",
    "parentId",
    "ParentId",
];
const NAME: [&str; 5] = ["name", "span_name", "spanName", "SpanName", "displayName"];
const START: [&str; 8] = [
    "start_timestamp",
    "start_time",
    "startTime",
    "startTimeUnixNano",
    "start_time_unix_nano",
    "startTimeUnixMs",
    "Timestamp",
    "timestamp",
];
const END: [&str; 6] = [
    "end_timestamp",
    "end_time",
    "endTime",
    "endTimeUnixNano",
    "end_time_unix_nano",
    "endTimeUnixMs",
];
/// In nanoseconds or ISO 8601.
const DURATION: [&str; 7] = [
    "duration_ns",
    "durationNano",
    "duration_nano",
    "durationNs",
    "durationInNanos",
    "Duration",
    "duration",
];
const KIND: [&str; 4] = ["kind", "span_kind", "spanKind", "SpanKind"];
/// SigNoz has one map per type of value.
const ATTRIBUTES: [&str; 10] = [
    "attributes",
    "span_attributes",
    "spanAttributes",
    "SpanAttributes",
    "attributes_string",
    "attributes_number",
    "attributes_bool",
    "stringTagMap",
    "numberTagMap",
    "boolTagMap",
];
const RESOURCE: [&str; 6] = [
    "resource_attributes",
    "resourceAttributes",
    "ResourceAttributes",
    "otel_resource_attributes",
    "resources_string",
    "resourceTagsMap",
];
const SCOPE_NAME: [&str; 3] = ["ScopeName", "scope_name", "otel_scope_name"];
const SCOPE_VERSION: [&str; 3] = ["ScopeVersion", "scope_version", "otel_scope_version"];
const EVENTS: [&str; 4] = ["events", "span_events", "Events", "otel_events"];
/// Data Prepper has the members of the status next to the other fields.
const STATUS_CODE: [&str; 5] = ["status_code", "statusCode", "StatusCode", "otel_status_code", "status.code"];
const STATUS_MESSAGE: [&str; 5] = [
    "status_message",
    "statusMessage",
    "StatusMessage",
    "otel_status_message",
    "status.message",
];

/// All keys above, and others that are read.
const READ: [&[&str]; 15] = [
    &TRACE_ID,
    &SPAN_ID,
    &PARENT,
    &NAME,
    &START,
    &END,
    &DURATION,
    &KIND,
    &ATTRIBUTES,
    &RESOURCE,
    &SCOPE_NAME,
    &SCOPE_VERSION,
    &EVENTS,
    &STATUS_CODE,
    &STATUS_MESSAGE,
];
const BESIDE: [&str; 17] = [
    // SigNoz and Data Prepper derive these from other columns.
    "traceGroup",
    "traceGroupFields",
    "ts_bucket_start",
    "flags",
    "kind_string",
    "status_code_string",
    "statusCodeString",
    "has_error",
    "status",
    "scope",
    "instrumentation_scope",
    "instrumentationScope",
    "instrumentationLibrary",
    "resource",
    "ServiceName",
    "serviceName",
    "service_name",
];
/// Data Prepper writes an attribute as a field, with `@` for every dot in its key.
const OWN_FIELDS: &str = "span.attributes.";
const RESOURCE_FIELDS: &str = "resource.attributes.";
const OF_EVENT: [&str; 13] = [
    "name",
    "event_name",
    "Name",
    "body.name",
    "timeUnixNano",
    "time_unix_nano",
    "timestamp",
    "time",
    "Timestamp",
    "attributes",
    "Attributes",
    "attributeMap",
    "body",
];

/// Converts a span to `ResourceSpans`. Other fields of the row become attributes.
pub(super) fn of_span(value: &Value) -> Option<Vec<Value>> {
    let map = value.as_object().filter(|_| is_span(value))?;
    let text = |keys: &[&str]| get(map, keys).and_then(Value::as_str);
    let start = moment(get(map, &START)?)?;
    let took = || {
        let took = get(map, &DURATION).and_then(duration)?;
        // A duration without a unit has the unit of a numeric start (Traceloop: milliseconds).
        let is_in_unit_of_start = ["duration", "Duration"]
            .iter()
            .any(|key| map.get(*key).is_some_and(Value::is_number));
        let units = get(map, &START)
            .and_then(Value::as_u64)
            .filter(|start| is_in_unit_of_start && *start > 0);
        let nanos = units.map_or(Some(1), |number| start.parse::<u64>().ok()?.checked_div(number));
        took.checked_mul(nanos?)
    };
    let end = get(map, &END).and_then(moment);
    let end = end.or_else(|| Some((start.parse::<u64>().ok()?.checked_add(took()?)?).to_string()));
    let status = map.get("status");
    let of_status = |names: &[&str]| status.and_then(Value::as_object).and_then(|status| get(status, names));
    let code = of_status(&["code", "status_code", "statusCode"])
        .or_else(|| get(map, &STATUS_CODE))
        .or(status.filter(|status| status.is_string()));
    let message = of_status(&["message", "description"]).or_else(|| get(map, &STATUS_MESSAGE));
    // AgentOps has both keys, one of them empty.
    let own = ATTRIBUTES.iter().filter_map(|key| map.get(*key).filter(is_said));
    let mut own = Attributes(own.flat_map(|own| attributes(Some(own))).collect());
    own.0.extend(fields(map, OWN_FIELDS));
    let is_field = |name: &str| name.starts_with(OWN_FIELDS) || name.starts_with(RESOURCE_FIELDS);
    let is_read = |name: &str| READ.iter().any(|keys| keys.contains(&name)) || BESIDE.contains(&name) || is_field(name);
    with_rest(value, is_read, "row.", &mut own);
    let events = EVENTS.iter().find(|name| map.contains_key(**name));
    let events: Vec<Value> = events.into_iter().flat_map(|name| list(value, name)).filter_map(event).collect();
    Some(vec![json!({
        "resource": {"attributes": resource(map)},
        "scopeSpans": [{"scope": scope(map), "spans": [{
            "traceId": hex_id(get(map, &TRACE_ID)?, 32)?,
            "spanId": hex_id(get(map, &SPAN_ID)?, 16)?,
            "parentSpanId": get(map, &PARENT).and_then(|id| hex_id(id, 16)),
            "name": text(&NAME),
            "kind": get(map, &KIND).map_or(0, kind),
            "startTimeUnixNano": start,
            "endTimeUnixNano": end,
            "attributes": own.0,
            "events": events,
            "status": {"code": code.map_or(0, status_code), "message": message},
        }]}],
    })])
}

pub(super) fn get<'m>(map: &'m Map<String, Value>, keys: &[&str]) -> Option<&'m Value> {
    keys.iter().find_map(|key| map.get(*key).filter(is_said))
}

fn is_said(value: &&Value) -> bool {
    !value.is_null() && value.as_str() != Some("")
}

/// The scope of a span or log record: an object, only its name, or columns.
pub(super) fn scope(map: &Map<String, Value>) -> Value {
    let scope = ["scope", "instrumentation_scope", "instrumentationScope", "instrumentationLibrary"]
        .iter()
        .find_map(|name| map.get(*name));
    let of_scope = |name: &str, columns: &[&str]| {
        let inner = scope.and_then(|scope| scope.get(name));
        inner.or_else(|| get(map, columns)).cloned()
    };
    json!({
        "name": of_scope("name", &SCOPE_NAME).or_else(|| scope.filter(|scope| scope.is_string()).cloned()),
        "version": of_scope("version", &SCOPE_VERSION),
        "attributes": pairs(scope.and_then(|scope| scope.get("attributes"))),
    })
}

/// The resource attributes of a span or log record.
pub(super) fn resource(map: &Map<String, Value>) -> Vec<Value> {
    let resource = map
        .get("resource")
        .filter(is_said)
        .map(|resource| resource.get("attributes").unwrap_or(resource));
    let mut resource = attributes(resource.or_else(|| get(map, &RESOURCE)));
    resource.extend(fields(map, RESOURCE_FIELDS));
    match get(map, &["ServiceName", "serviceName", "service_name"]) {
        Some(service) if resource.is_empty() => pairs(Some(&json!({ "service.name": service }))),
        _ => resource,
    }
}

/// Attributes that are fields of the row, by a prefix of their names.
fn fields<'m>(map: &'m Map<String, Value>, prefix: &'m str) -> impl Iterator<Item = Value> + 'm {
    map.iter()
        .filter_map(move |(name, value)| Some(pair(&name.strip_prefix(prefix)?.replace('@', "."), any(value))))
}

/// Reads a map, JSON text of one, or OTLP's own list.
pub(super) fn attributes(value: Option<&Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(list)) if list.iter().all(|pair| pair.get("key").is_some()) => list.clone(),
        Some(Value::Object(map)) if is_nested(map) => {
            let mut out = Vec::new();
            flatten("", map, &mut out);
            out
        }
        Some(Value::Object(map)) if map.get("entity").is_some_and(is_entities) => {
            let (entities, rest): (Map<_, _>, Map<_, _>) = map.clone().into_iter().partition(|(key, _)| key == "entity");
            let mut out = pairs(Some(&Value::Object(rest)));
            let listed = entities.values().flat_map(|list| list.as_array().into_iter().flatten());
            for (place, entity) in listed.enumerate() {
                if let Value::Object(entity) = entity {
                    flatten(&format!("entity.{}", place + 1), entity, &mut out);
                }
            }
            out
        }
        Some(text @ Value::String(json)) => match serde_json::from_str::<Value>(json) {
            Ok(map @ Value::Object(_)) => pairs(Some(&map)),
            _ => pairs(Some(&json!({ "attributes": text }))),
        },
        other => pairs(other),
    }
}

/// Whether these are the numbered entities of Monocle's spans (`entity.1.name`), which Okahu exports as a list.
fn is_entities(value: &Value) -> bool {
    let is_entity = |entity: &Value| entity.get("type").is_some_and(Value::is_string);
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_entity))
}

/// Whether attributes are nested by the parts of their keys.
fn is_nested(map: &Map<String, Value>) -> bool {
    map.values().any(Value::is_object) && !map.keys().any(|key| key.contains(['.', ':']))
}

/// Reads a duration in nanoseconds or ISO 8601.
fn duration(value: &Value) -> Option<u64> {
    let of_text = |text: &str| {
        let number = text.parse::<u64>().ok();
        number.or_else(|| u64::try_from(text.parse::<jiff::SignedDuration>().ok()?.as_nanos()).ok())
    };
    value.as_u64().or_else(|| of_text(value.as_str()?))
}

fn event(event: &Value) -> Option<Value> {
    // SigNoz stores each event as JSON text.
    let opened: Option<Value> = event.as_str().and_then(|text| serde_json::from_str(text).ok());
    let event = opened.as_ref().unwrap_or(event);
    let map = event.as_object()?;
    let name = get(map, &["name", "event_name", "Name", "body.name"]);
    let time = get(map, &["timeUnixNano", "time_unix_nano", "timestamp", "time", "Timestamp"]).and_then(moment);
    let own = get(map, &["attributes", "Attributes", "attributeMap"]);
    // The body of a log record that was joined to its span.
    let body = map.get("body").filter(|body| !body.is_null()).map(|body| json!({ "body": body }));
    let mut all = Attributes(attributes(own));
    all.0.extend(pairs(body.as_ref()));
    with_rest(event, |name| OF_EVENT.contains(&name), "row.", &mut all);
    Some(json!({"name": name, "timeUnixNano": time, "attributes": all.0}))
}

/// A number, or its word.
fn status_code(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| value.as_str().map_or(0, |word| status_number(word).into()))
}

/// `1`, `INTERNAL`, `SPAN_KIND_INTERNAL`, `SpanKind.INTERNAL`.
fn kind(value: &Value) -> u64 {
    let word = || value.as_str()?.rsplit(['_', '.']).next();
    value.as_u64().unwrap_or_else(|| word().map_or(0, |word| kind_number(word).into()))
}
