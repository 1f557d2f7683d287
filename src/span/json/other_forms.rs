//! Other JSON forms of spans, as OTLP/JSON: what Jaeger's page and API give out, what the Python SDK writes to its console, what
//! Tempo's second API, Phoenix and `MLflow` export, and a `ResourceSpans` alone.

use base64::Engine as _;
use serde_json::{Map, Value, json};

/// The same as one export request in OTLP/JSON; `None` where the value is in none of these forms.
#[must_use]
pub fn as_otlp(value: &Value) -> Option<Value> {
    let resource_spans: Vec<Value> = match value {
        Value::Object(map) if map.contains_key("context") => vec![of_python(map)?],
        Value::Object(map) if map.contains_key("scopeSpans") => vec![value.clone()],
        Value::Object(map) if map.contains_key("trace") => {
            // Tempo's second API.
            let trace = map.get("trace").filter(|trace| trace.get("resourceSpans").is_some())?;
            return Some(trace.clone());
        }
        Value::Object(map) => match map.get("data") {
            Some(Value::Array(traces)) => {
                let one = |value: &Value| match value.as_object() {
                    Some(span) if span.contains_key("context") => Some(vec![of_python(span)?]),
                    _ => of_jaeger(value),
                };
                let traces: Option<Vec<Vec<Value>>> = traces.iter().map(one).collect();
                traces?.into_iter().flatten().collect()
            }
            Some(trace) if map.contains_key("info") => of_mlflow(trace)?,
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

/// The spans of a trace that `MLflow` exports: those of its third version have ids in base64 and times in nanoseconds, older ones have
/// a context as the Python SDK writes it.
fn of_mlflow(data: &Value) -> Option<Vec<Value>> {
    let one = |span: &Value| {
        if span.get("context").is_some() {
            return mlflow_2(span);
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

fn mlflow_2(span: &Value) -> Option<Value> {
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

/// What `ReadableSpan.to_json` of the Python SDK writes, which its `ConsoleSpanExporter` prints; and a span of Phoenix, which has the
/// status beside it and may have attributes in one another.
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
        "code": status.map_or(span.get("status_code"), |status| status.get("status_code")).and_then(Value::as_str).map_or(0, status_number),
        "message": status.map_or(span.get("status_message"), |status| status.get("description")),
    });
    let is_phoenix = span.contains_key("span_kind");
    let mut attributes = Vec::new();
    match span.get("attributes").and_then(Value::as_object) {
        Some(map) if is_phoenix => flatten("", map, &mut attributes),
        _ => attributes = pairs(span.get("attributes")),
    }
    let kind_key = "openinference.span.kind";
    if let Some(word) = span.get("span_kind").and_then(Value::as_str)
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

/// Attributes in one another by the keys that they were sent with: `llm.input_messages.0.message.role`. What is below `metadata` and
/// the like was sent as one JSON text, which reads the same in both forms.
fn flatten(prefix: &str, map: &Map<String, Value>, out: &mut Vec<Value>) {
    for (key, value) in map {
        let key = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match value {
            Value::Object(_) if key == "metadata" => out.push(pair(&key, any(&value.to_string().into()))),
            Value::Object(inner) => flatten(&key, inner, out),
            Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
                for (index, item) in items.iter().enumerate() {
                    if let Some(inner) = item.as_object() {
                        flatten(&format!("{key}.{index}"), inner, out);
                    }
                }
            }
            _ => out.push(pair(&key, any(value))),
        }
    }
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

    #[test]
    fn what_phoenix_exports() {
        let exported = json!({"data": [{"name": "chat", "context": {"trace_id": "d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "span_id": "d100000000000001"},
            "span_kind": "LLM", "parent_id": null, "start_time": "2026-09-21T14:13:20+00:00", "end_time": "2026-09-21T14:13:25+00:00",
            "status_code": "ERROR", "status_message": "no", "events": [],
            "attributes": {"llm": {"model_name": "m", "input_messages": [{"message": {"role": "user", "content": "Hi"}}]}, "metadata": {"a": 1}}}]});
        let spans = spans(&exported);
        let [span] = spans.as_slice() else { panic!("one span") };
        assert_eq!((span.status.is_error(), span.status.message.as_str()), (true, "no"));
        for (key, value) in [
            ("openinference.span.kind", "LLM"),
            ("llm.model_name", "m"),
            ("llm.input_messages.0.message.content", "Hi"),
            ("metadata", r#"{"a":1}"#),
        ] {
            assert_eq!(span.attributes.text(key), Some(value));
        }
    }

    #[test]
    fn what_mlflow_and_tempo_export_and_resource_spans_alone() {
        let of_version_3 = json!({"info": {"trace_id": "tr-1"}, "data": {"spans": [{"trace_id": "0dHR0dHR0dHR0dHR0dHR0Q==", "span_id": "0QAAAAAAAAE=",
            "parent_span_id": "", "name": "chat", "start_time_unix_nano": 5, "end_time_unix_nano": 9, "attributes": {"mlflow.spanType": "\"LLM\""},
            "status": {"code": "STATUS_CODE_ERROR", "message": "no"}}]}});
        let of_version_2 = json!({"info": {"request_id": "r"}, "data": {"spans": [{"name": "chat", "parent_id": null, "start_time": 5, "end_time": 9,
            "context": {"trace_id": "0xd1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "span_id": "0xd100000000000001"}, "status_code": "ERROR",
            "status_message": "no", "attributes": {"mlflow.spanType": "\"LLM\""}}]}});
        for exported in [of_version_3, of_version_2] {
            let spans = spans(&exported);
            let [span] = spans.as_slice() else { panic!("one span") };
            assert_eq!((span.span_id.to_string().as_str(), span.parent), ("d100000000000001", None));
            assert_eq!((span.start.0, span.end.0, span.status.is_error()), (5, 9, true));
            assert_eq!(span.attributes.text("mlflow.spanType"), Some("\"LLM\""));
        }
        let alone = json!({"resource": {}, "scopeSpans": [{"spans": [{"traceId": "d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "spanId": "d100000000000001", "name": "a"}]}]});
        assert_eq!(spans(&alone).len(), 1);
        assert_eq!(spans(&json!({"trace": {"resourceSpans": [alone]}})).len(), 1);
    }
}
