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
fn a_trace_of_mastras_api() {
    let ids = |id: &str, parent: Option<&str>| {
        json!({"traceId": "6c575b0d4abf18bd02857f29e1c2e614", "spanId": id, "parentSpanId": parent, "startedAt": "2026-02-10T11:03:40.892Z",
            "endedAt": "2026-02-10T11:03:52.076Z", "name": "a", "error": null})
    };
    let with = |mut span: Value, more: Value| {
        if let (Some(span), Value::Object(more)) = (span.as_object_mut(), more) {
            span.extend(more);
        }
        span
    };
    let call = with(
        ids("fce60f0b2d61308d", Some("5bdc6311df0698f2")),
        json!({"spanType": "model_generation", "input": {"messages": [{"role": "user", "content": "Hi"}]}, "output": {"text": "Hello"},
            "attributes": {"model": "m", "usage": {"inputTokens": 9, "outputTokens": 3}, "streaming": true}}),
    );
    let step = with(
        ids("6266bc41afcb27a3", Some("fce60f0b2d61308d")),
        json!({"spanType": "model_step", "input": {}, "output": {"text": "Hello"},
            "attributes": {"stepIndex": 0, "usage": {"inputTokens": 9, "outputTokens": 3}}}),
    );
    let tool = with(
        ids("9b56da8d2d2b1195", Some("fce60f0b2d61308d")),
        json!({"spanType": "tool_call", "entityType": "tool", "entityName": "look", "input": {"q": 1}, "error": {"message": "gone"}}),
    );
    let spans = spans(&json!({"trace": {"traceId": "6c57", "spans": [call, step, tool]}}));
    let [call, step, tool] = spans.as_slice() else {
        panic!("three spans")
    };
    assert_eq!(call.attributes.get("gen_ai.usage.input_tokens"), None, "the sum of its steps");
    assert!(call.attributes.get("mastra.attributes.streaming").is_some());
    assert_eq!(step.attributes.get("gen_ai.usage.input_tokens"), Some(&AnyValue::Int(9)));
    assert_eq!(step.attributes.text("gen_ai.request.model"), Some("m"));
    let asked = step.attributes.text("mastra.model_step.input");
    assert!(asked.is_some_and(|asked| asked.contains("Hi")), "{asked:?}");
    assert_eq!(tool.attributes.text("gen_ai.tool.name"), Some("look"));
    assert_eq!((tool.status.is_error(), tool.status.message.as_str()), (true, "gone"));
}

#[test]
fn entities_in_a_list_are_numbered() {
    let span = json!({"trace_id": "d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "span_id": "d100000000000001", "span_name": "run",
        "start_time": "2026-05-27T04:27:41.907161Z", "end_time": "2026-05-27T04:27:42Z", "attributes": {"span.type": "agentic.tool.invocation",
            "entity": [{"name": "lookup", "type": "tool.langgraph"}, {"name": "support", "type": "agent.langgraph"}]}});
    let spans = spans(&json!({"trace_id": "d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "spans": [span]}));
    let [span] = spans.as_slice() else { panic!("one span") };
    let text = |key: &str| span.attributes.text(key);
    assert_eq!(
        (text("entity.1.name"), text("entity.2.type"), text("span.type")),
        (Some("lookup"), Some("agent.langgraph"), Some("agentic.tool.invocation"))
    );
}

#[test]
fn log_records_beside_spans() {
    let (trace, span) = ("d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "d100000000000001");
    let resource = json!({"attributes": {"service.name": "svc"}});
    let row = json!({"traceId": trace, "spanId": span, "name": "chat", "startTimeUnixNano": 5, "endTimeUnixNano": 9, "resource": resource});
    let record = json!({"resource": resource, "scope": {"name": "my.chat"}, "timeUnixNano": 1_790_000_000_000_000_007_u64, "severityNumber": 9,
        "body": {"input": {"messages": [{"role": "user", "content": "Hi"}]}}, "attributes": {"event.name": "e"}, "traceId": trace, "spanId": span});
    let otlp = as_otlp(&json!({"sessionSpans": [row, record]}))
        .expect("one of the forms")
        .to_string();
    let (spans, logs) = Message::parse(otlp.as_bytes()).expect("OTLP/JSON").into_parts();
    assert_eq!((spans.items.len(), spans.refused.len(), logs.refused.len()), (1, 0, 0));
    let [record] = logs.items.as_slice() else { panic!("one record") };
    assert_eq!(
        (record.name(), record.scope.name.as_str(), record.when().0),
        ("e", "my.chat", 1_790_000_000_000_000_007)
    );
    assert_eq!(record.span_id.map(|id| id.to_string()).as_deref(), Some(span));
    assert_eq!(record.resource.attributes.text("service.name"), Some("svc"));
    assert!(matches!(&record.body, AnyValue::KvList(pairs) if pairs.len() == 1));
}

#[test]
fn requests_in_envelopes_and_metrics_between_spans() {
    let alone =
        json!({"scopeSpans": [{"spans": [{"traceId": "d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "spanId": "d100000000000001", "name": "a"}]}]});
    assert_eq!(spans(&json!({"project_id": "p", "data": {"resourceSpans": [alone]}})).len(), 1);
    let metric = as_otlp(&json!({"type": "metric", "name": "n", "data": "d"}))
        .expect("one of the forms")
        .to_string();
    let message = Message::parse(metric.as_bytes()).expect("OTLP/JSON");
    assert!(matches!(message.signal(), Ok(Some(crate::span::Signal::Metrics))));
    let row = json!({"trace_id": "3e28", "span_id": "1f", "span_name": "chat", "timestamp": 1_790_000_000_000_u64, "duration": 5, "scope_name": "my.chat",
        "attributes": {}, "span_attributes": {"gen_ai": {"request": {"model": "m"}}}});
    let page = spans(&json!({"root_spans": {"data": [row]}}));
    let found = page
        .first()
        .map(|span| (span.scope.name.as_str(), span.attributes.text("gen_ai.request.model")));
    assert_eq!(found, Some(("my.chat", Some("m"))));
}

#[test]
fn what_zipkin_takes() {
    let sent = json!({"traceId": "3e28", "id": "1f", "parentId": "2", "name": "chat", "kind": "CLIENT", "timestamp": 1_000, "duration": 5,
        "localEndpoint": {"serviceName": "svc"}, "remoteEndpoint": {"serviceName": "provider"},
        "tags": {"gen_ai.usage.input_tokens": "9", "otel.scope.name": "my.chat", "error": "no"},
        "annotations": [{"timestamp": 1_001, "value": "\"first\": {\"n\": 1}"}, {"timestamp": 1_002, "value": "second|{\"n\":2}|0"},
            {"timestamp": 1_003, "value": "third"}]});
    let spans = spans(&sent);
    let [span] = spans.as_slice() else { panic!("one span") };
    assert_eq!((span.start.0, span.end.0), (1_000_000, 1_005_000));
    assert_eq!(
        (span.trace_id.to_string(), span.parent.map(|id| id.to_string())),
        (format!("{:0>32}", "3e28"), Some(format!("{:0>16}", "2")))
    );
    assert_eq!((span.scope.name.as_str(), span.status.message.as_str()), ("my.chat", "no"));
    assert_eq!(span.resource.attributes.text("service.name"), Some("svc"));
    assert_eq!(span.attributes.text("peer.service"), Some("provider"));
    let events: Vec<_> = span
        .events
        .iter()
        .map(|event| (event.name.as_str(), event.attributes.get("n")))
        .collect();
    let (one, two) = (AnyValue::Int(1), AnyValue::Int(2));
    assert_eq!(events, [("first", Some(&one)), ("second", Some(&two)), ("third", None)]);
}

#[test]
fn what_the_collector_writes_for_zipkin_and_jaeger() {
    let tags = json!({"error": "true", "otel.status_code": "STATUS_CODE_ERROR", "otel.status_description": "no such river", "service.version": "2",
        "telemetry.sdk.language": "python", "span.kind": "internal", "tool.name": "length"});
    let zipkin = json!({"traceId": "3e28", "id": "1f", "name": "length", "timestamp": 1_000, "duration": 5, "localEndpoint": {"serviceName": ""}, "tags": tags});
    let error = json!({"key": "error", "type": "bool", "value": true});
    let tag = |key: &str, value: &str| json!({"key": key, "type": "string", "value": value});
    let tags = [
        tag("otel.status_code", "ERROR"),
        error,
        tag("otel.status_description", "no such river"),
        tag("tool.name", "length"),
    ];
    let jaeger = json!({"data": [{"traceID": "3e28", "processes": {"p1": {"serviceName": "", "tags": [tag("service.version", "2")]}},
        "spans": [{"traceID": "3e28", "spanID": "1f", "operationName": "length", "startTime": 1_000, "duration": 5, "processID": "p1", "tags": tags}]}]});
    for sent in [zipkin, jaeger] {
        let spans = spans(&sent);
        let [span] = spans.as_slice() else { panic!("one span") };
        assert_eq!((span.status.is_error(), span.status.message.as_str()), (true, "no such river"));
        assert_eq!(
            span.attributes.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(),
            ["tool.name"]
        );
        let resource = &span.resource.attributes;
        assert_eq!((resource.text("service.version"), resource.text("service.name")), (Some("2"), None));
    }
}

#[test]
fn rows_of_signoz_and_of_data_prepper() {
    let signoz = json!({"timestamp": "2026-11-28 10:00:01.000000000", "trace_id": "1cd24b635348736ef24cbbae0db6faf5", "span_id": "e0eb3065082206f7", "name": "chat",
        "kind": 1, "duration_nano": "500", "status_code": 2, "status_message": "no", "attributes_string": {"a": "b"}, "attributes_number": {"n": 12}, "attributes_bool": {"f": true},
        "resources_string": {"service.name": "ferry"}, "events": [r#"{"name": "first", "timeUnixNano": 1, "attributeMap": {"x": "y"}}"#]});
    let prepper = json!({"traceId": "43f38d003c06cca6687b5991a52787c1", "spanId": "86b5ee3bb6ff105d", "name": "length", "startTime": "2026-11-28T10:00:00.100Z", "durationInNanos": 5,
        "serviceName": "ferry", "span.attributes.a": "b", "span.attributes.n@m": 12, "resource.attributes.service@name": "ferry", "status.code": 2, "status.message": "no"});
    for sent in [signoz, prepper] {
        let spans = spans(&sent);
        let [span] = spans.as_slice() else { panic!("one span") };
        assert_eq!(
            (span.status.is_error(), span.status.message.as_str(), span.attributes.text("a")),
            (true, "no", Some("b"))
        );
        assert!(span.attributes.get("n").or(span.attributes.get("n.m")) == Some(&AnyValue::Int(12)));
        assert_eq!(span.resource.attributes.text("service.name"), Some("ferry"));
        assert!(span.events.iter().all(|event| event.attributes.text("x") == Some("y")));
    }
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
fn spans_with_everything_side_by_side() {
    let (trace, span) = ("d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "d100000000000001");
    let row = json!({"Timestamp": "2026-09-21 14:13:20.000001", "TraceId": trace, "SpanId": span, "ParentSpanId": "", "SpanName": "chat",
        "SpanKind": "Client", "ServiceName": "svc", "ResourceAttributes": {}, "ScopeName": "my.chat", "SpanAttributes": {"n": "9"},
        "Duration": 5_000, "StatusCode": "Error", "StatusMessage": "no", "TraceState": "a=b"});
    let others = spans(&row);
    assert_eq!(others.first().and_then(|span| span.attributes.text("row.TraceState")), Some("a=b"));
    let plain = json!({"trace_id": trace, "span_id": span, "parent_span_id": null, "name": "chat", "start_time": 1_790_000_000_000_001_000_u64,
        "end_time": 1_790_000_000_000_006_000_u64, "attributes": {"n": "9"}, "scope": {"name": "my.chat"}, "resource": {"attributes": {"service.name": "svc"}},
        "status": {"code": "ERROR", "message": "no"}, "span_events": [{"event_name": "first", "attributes": {"a": 1}}]});
    let python = json!({"spans": [{"name": "chat", "parent": null, "start_time": 1_790_000_000_000_001_000_u64, "end_time": 1_790_000_000_000_006_000_u64,
        "context": {"trace_id": 1_234, "span_id": 0xd100_0000_0000_0001_u64}, "attributes": {"n": "9"}, "resource": {"attributes": {"service.name": "svc"}},
        "instrumentation_scope": {"name": "my.chat"}, "status": {"status_code": "error", "description": "no"}}]});
    for exported in [row, plain, python] {
        let spans = spans(&exported);
        let [one] = spans.as_slice() else { panic!("one span") };
        assert_eq!(
            (one.span_id.to_string().as_str(), one.parent, one.name.as_str()),
            (span, None, "chat")
        );
        assert_eq!((one.start.0 % 1_000_000, one.end.0 - one.start.0), (1_000, 5_000));
        assert_eq!((one.status.is_error(), one.status.message.as_str()), (true, "no"));
        assert_eq!((one.scope.name.as_str(), one.attributes.text("n")), ("my.chat", Some("9")));
        assert_eq!(one.resource.attributes.text("service.name"), Some("svc"));
    }
}

#[test]
fn spans_of_the_javascript_sdk_as_json() {
    let (trace, span) = ("d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "d100000000000001");
    let exported = json!({"_spanContext": {"traceId": trace, "spanId": span, "traceFlags": 1}, "parentSpanContext": {"spanId": "d100000000000002"},
        "name": "chat", "kind": 2, "startTime": [1_790_000_000, 1_000], "endTime": [1_790_000_000, 6_000], "_ended": true, "_duration": [0, 5_000],
        "_droppedLinksCount": 3, "status": {"code": 2, "message": "no"}, "attributes": {"n": "9"}, "instrumentationScope": {"name": "my.chat"},
        "events": [{"name": "first", "time": [1_790_000_000, 2_000], "attributes": {"a": 1}}],
        "links": [{"context": {"traceId": trace, "spanId": "d100000000000003"}, "attributes": {}}],
        "resource": {"_rawAttributes": [["service.name", "svc"]], "_memoizedAttributes": {}}});
    let spans = spans(&exported);
    let [one] = spans.as_slice() else { panic!("one span") };
    assert_eq!(
        (one.start.0 % 1_000_000, one.end.0 - one.start.0, one.links.len()),
        (1_000, 5_000, 1)
    );
    assert_eq!(one.parent.map(|id| id.to_string()).as_deref(), Some("d100000000000002"));
    assert_eq!((one.kind, one.scope.name.as_str()), (crate::span::SpanKind::Client, "my.chat"));
    assert_eq!(one.status.message, "no");
    assert_eq!(one.resource.attributes.text("service.name"), Some("svc"));
    assert_eq!(one.events.first().map(|event| event.time.0 % 1_000_000), Some(2_000));
    let dropped = one.attributes.text("row._droppedLinksCount");
    assert_eq!(
        (one.attributes.text("n"), dropped),
        (Some("9"), Some("3")),
        "what nothing reads stays"
    );
}

#[test]
fn spans_within_spans_and_of_a_trace_that_is_named_once() {
    let (trace, root, child) = ("d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "d100000000000001", "d100000000000002");
    let start = "2026-09-21T14:13:20Z";
    let inner = json!({"span_id": child, "parent_span_id": root, "span_name": "chat", "timestamp": start, "duration": "PT1S",
        "span_attributes": {"gen_ai": {"request": {"model": "m"}}}, "child_spans": []});
    let outer = json!({"span_id": root, "parent_span_id": null, "span_name": "main", "timestamp": start, "duration": "PT2S", "child_spans": [inner]});
    let of_map = |id: &str, parent: Option<&str>| {
        json!({"spanId": id, "traceId": trace, "parentSpanId": parent, "displayName": "chat", "startTime": 1_790_000_000_000_u64,
            "endTime": 1_790_000_001_000_u64, "attributes": {"gen_ai.request.model": "m"}})
    };
    let named_once = json!({"trace": {"trace_id": trace}, "spans": [
        {"span_id": root, "span_name": "main", "start_time": start, "end_time": start},
        {"span_id": child, "parent_span_id": root, "span_name": "chat", "start_time": start, "end_time": "2026-09-21T14:13:21Z",
            "span_attributes": {"gen_ai": {"request": {"model": "m"}}}}]});
    let stored = json!({"spans": {"b": of_map(child, Some(root)), "a": of_map(root, None)}});
    for exported in [json!({"trace_id": trace, "spans": [outer]}), named_once, stored] {
        let spans = spans(&exported);
        let inner = spans.iter().find(|span| span.span_id.to_string() == child).expect("the child");
        assert_eq!(
            (spans.len(), inner.trace_id.to_string().as_str(), inner.name.as_str()),
            (2, trace, "chat")
        );
        assert_eq!(inner.parent.map(|id| id.to_string()).as_deref(), Some(root));
        assert_eq!(
            (inner.end.0 - inner.start.0, inner.attributes.text("gen_ai.request.model")),
            (1_000_000_000, Some("m"))
        );
    }
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
        "parent_span_id": "", "name": "chat", "start_time_unix_nano": 1_790_000_000_000_000_005_u64, "end_time_unix_nano": 1_790_000_000_000_000_009_u64, "attributes": {"mlflow.spanType": "\"LLM\""},
        "status": {"code": "STATUS_CODE_ERROR", "message": "no"}}]}});
    let of_version_2 = json!({"info": {"request_id": "r"}, "data": {"spans": [{"name": "chat", "parent_id": null, "start_time": 1_790_000_000_000_000_005_u64, "end_time": 1_790_000_000_000_000_009_u64,
        "context": {"trace_id": "0xd1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "span_id": "0xd100000000000001"}, "status_code": "ERROR",
        "status_message": "no", "attributes": {"mlflow.spanType": "\"LLM\""}}]}});
    for exported in [of_version_3, of_version_2] {
        let spans = spans(&exported);
        let [span] = spans.as_slice() else { panic!("one span") };
        assert_eq!((span.span_id.to_string().as_str(), span.parent), ("d100000000000001", None));
        assert_eq!((span.start.0 % 1_000, span.end.0 % 1_000, span.status.is_error()), (5, 9, true));
        assert_eq!(span.attributes.text("mlflow.spanType"), Some("\"LLM\""));
    }
    let alone = json!({"resource": {}, "scopeSpans": [{"spans": [{"traceId": "d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1", "spanId": "d100000000000001", "name": "a"}]}]});
    assert_eq!(spans(&alone).len(), 1);
    assert_eq!(spans(&json!({"trace": {"resourceSpans": [alone]}})).len(), 1);
}
