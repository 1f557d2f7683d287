//! Other JSON forms of spans, as OTLP/JSON: what Jaeger's page and API give out, what the Python SDK writes to its console.

use serde_json::{Map, Value, json};

/// The same as one export request in OTLP/JSON; `None` where the value is in none of these forms.
#[must_use]
pub fn as_otlp(value: &Value) -> Option<Value> {
    let resource_spans: Vec<Value> = match value {
        Value::Object(map) if map.contains_key("context") => vec![of_python(map)?],
        Value::Object(map) => match map.get("data") {
            Some(Value::Array(traces)) => {
                let traces: Option<Vec<Vec<Value>>> = traces.iter().map(of_jaeger).collect();
                traces?.into_iter().flatten().collect()
            }
            Some(trace) => of_jaeger(trace)?,
            None => of_jaeger(value)?,
        },
        _ => return None,
    };
    Some(json!({"resourceSpans": resource_spans}))
}

/// A trace of Jaeger: spans, and processes by their ids.
fn of_jaeger(trace: &Value) -> Option<Vec<Value>> {
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
    let (mut scope, mut status) = (Map::new(), Map::new());
    let mut kind = 0;
    for tag in list(span, "tags") {
        let (Some(key), Some(value)) = (tag.get("key").and_then(Value::as_str), tag.get("value")) else {
            continue;
        };
        match (key, value) {
            ("otel.scope.name" | "otel.library.name", Value::String(_)) => _ = scope.insert("name".to_owned(), value.clone()),
            ("otel.scope.version" | "otel.library.version", Value::String(_)) => _ = scope.insert("version".to_owned(), value.clone()),
            ("span.kind", Value::String(word)) => kind = kind_number(word),
            ("otel.status_code", Value::String(word)) => _ = status.insert("code".to_owned(), status_number(word).into()),
            ("otel.status_description", Value::String(_)) => _ = status.insert("message".to_owned(), value.clone()),
            ("internal.span.format", _) => {}
            _ => attributes.push(pair(key, jaeger_value(tag, value))),
        }
    }
    let is_error = |tag: &&Value| tag.get("key").and_then(Value::as_str) == Some("error") && tag.get("value") == Some(&Value::Bool(true));
    if !status.contains_key("code") && list(span, "tags").find(is_error).is_some() {
        let _ = status.insert("code".to_owned(), status_number("ERROR").into());
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
    if let Some(service) = process.and_then(|process| process.get("serviceName")) {
        resource.push(pair("service.name", any(service)));
    }
    Some(json!({
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": scope, "spans": [{
            "traceId": padded(trace_id, 32),
            "spanId": padded(span_id, 16),
            "parentSpanId": parent.map(|id| padded(id, 16)),
            "name": span.get("operationName"),
            "kind": kind,
            "startTimeUnixNano": nanos_of_micros(start),
            "endTimeUnixNano": nanos_of_micros(end),
            "attributes": attributes,
            "events": events,
            "links": links,
            "status": status,
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

/// Jaeger writes whole numbers as text where they are large, and says of what type they are.
fn jaeger_value(tag: &Value, value: &Value) -> Value {
    match (tag.get("type").and_then(Value::as_str), value) {
        (Some("int64"), Value::String(_)) => json!({"intValue": value}),
        (Some("float64"), Value::Number(number)) => json!({"doubleValue": number}),
        (Some("bool"), Value::String(word)) => json!({"boolValue": word == "true"}),
        _ => any(value),
    }
}

/// What `ReadableSpan.to_json` of the Python SDK writes, which its `ConsoleSpanExporter` prints.
fn of_python(span: &Map<String, Value>) -> Option<Value> {
    let context = span.get("context")?;
    let id = |value: &Value, name: &str| Some(value.get(name)?.as_str()?.trim_start_matches("0x").to_owned());
    let time = |value: &Value, name: &str| {
        let time: jiff::Timestamp = value.get(name)?.as_str()?.parse().ok()?;
        u64::try_from(time.as_nanosecond()).ok().map(|nanos| nanos.to_string())
    };
    let whole = Value::Object(span.clone());
    let start = time(&whole, "start_time")?;
    let parent = span.get("parent_id").and_then(Value::as_str).map(|id| id.trim_start_matches("0x"));
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
        "code": status.and_then(|status| status.get("status_code")?.as_str()).map_or(0, status_number),
        "message": status.and_then(|status| status.get("description")),
    });
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
            "attributes": pairs(span.get("attributes")),
            "events": events,
            "links": links,
            "status": status,
        }]}],
    }))
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn kind_number(word: &str) -> u32 {
    let words = ["internal", "server", "client", "producer", "consumer"];
    let place = words.iter().position(|known| known.eq_ignore_ascii_case(word));
    place.and_then(|place| u32::try_from(place + 1).ok()).unwrap_or(0)
}

fn status_number(word: &str) -> u32 {
    match word {
        "OK" => 1,
        "ERROR" => 2,
        _ => 0,
    }
}

/// Jaeger leaves zeros before an id out.
fn padded(id: &str, digits: usize) -> String {
    format!("{id:0>digits$}")
}

fn nanos_of_micros(micros: u64) -> String {
    micros.saturating_mul(1000).to_string()
}

fn pair(key: &str, value: Value) -> Value {
    json!({"key": key, "value": value})
}

fn pairs(map: Option<&Value>) -> Vec<Value> {
    let map = map.and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| pair(key, any(value))).collect()
}

/// A plain value as OTLP/JSON wraps it.
fn any(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(bool) => json!({"boolValue": bool}),
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        Value::Array(items) => json!({"arrayValue": {"values": items.iter().map(any).collect::<Vec<_>>()}}),
        Value::Object(_) => json!({"kvlistValue": {"values": pairs(Some(value))}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::json::Message;
    use crate::span::{AnyValue, Span};

    fn spans(value: &Value) -> Vec<Span> {
        let otlp = as_otlp(value).expect("one of the forms").to_string();
        let (spans, _) = Message::parse(otlp.as_bytes()).expect("OTLP/JSON").into_parts();
        assert!(spans.refused.is_empty());
        spans.items
    }

    #[test]
    fn what_jaeger_gives_out() {
        let trace = json!({"data": [{"traceID": "3e28", "processes": {"p1": {"serviceName": "svc", "tags": [{"key": "a", "type": "string", "value": "b"}]}},
            "spans": [{"traceID": "3e28", "spanID": "1f", "operationName": "chat", "startTime": 1_000, "duration": 5, "processID": "p1",
                "references": [{"refType": "CHILD_OF", "traceID": "3e28", "spanID": "2"}, {"refType": "FOLLOWS_FROM", "traceID": "3e28", "spanID": "3"}],
                "tags": [{"key": "n", "type": "int64", "value": 9}, {"key": "span.kind", "type": "string", "value": "client"},
                    {"key": "otel.scope.name", "type": "string", "value": "my.chat"}, {"key": "error", "type": "bool", "value": true}],
                "logs": [{"timestamp": 1_002, "fields": [{"key": "event", "type": "string", "value": "first"}]}]}]}]});
        let spans = spans(&trace);
        let [span] = spans.as_slice() else { panic!("one span") };
        assert_eq!((span.start.0, span.end.0), (1_000_000, 1_005_000));
        assert_eq!(span.trace_id.to_string(), format!("{:0>32}", "3e28"));
        assert_eq!(span.parent.map(|id| id.to_string()), Some(format!("{:0>16}", "2")));
        assert_eq!(
            (span.links.len(), span.scope.name.as_str(), span.status.is_error()),
            (1, "my.chat", true)
        );
        assert_eq!(span.attributes.get("n"), Some(&AnyValue::Int(9)));
        assert_eq!(span.resource.attributes.text("service.name"), Some("svc"));
        assert_eq!(span.events.first().map(|event| event.name.as_str()), Some("first"));
    }

    #[test]
    fn what_the_python_sdk_prints() {
        let printed = json!({"name": "chat", "context": {"trace_id": "0xd1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "span_id": "0xd100000000000001"},
            "kind": "SpanKind.CLIENT", "parent_id": null, "start_time": "2026-09-21T14:13:20.000001Z", "end_time": "2026-09-21T14:13:25.000000Z",
            "status": {"status_code": "ERROR", "description": "no"}, "attributes": {"tags": ["a"], "n": 1.5}, "events": [], "links": [],
            "resource": {"attributes": {"service.name": "hotel"}, "schema_url": ""}});
        let spans = spans(&printed);
        let [span] = spans.as_slice() else { panic!("one span") };
        assert_eq!((span.start.0 % 1_000_000_000, span.status.message.as_str()), (1_000, "no"));
        assert_eq!(span.attributes.get("n"), Some(&AnyValue::Double(1.5)));
        assert!(as_otlp(&json!({"data": [1]})).is_none() && as_otlp(&json!({"resourceSpans": []})).is_none());
    }
}
