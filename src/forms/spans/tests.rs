#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use super::*;
use crate::span::json::{Message, as_otlp};
use crate::span::{AnyValue, Span};

fn spans(value: &Value) -> Vec<Span> {
    let otlp = spans_of(value).as_ref().and_then(as_otlp).expect("one of the forms").to_string();
    let (spans, _) = Message::parse(otlp.as_bytes()).expect("OTLP/JSON").into_parts();
    assert!(spans.refused.is_empty());
    spans.items
}

#[test]
fn each_table_is_right() {
    for (name, text) in SPANS {
        if let Err(error) = SpanForm::of(name, text) {
            panic!("{error}");
        }
    }
}

/// Tests each form with a synthetic export, `tests/message_forms/spans/<name>.json`, and its spans.
#[test]
fn each_form_reads_its_export() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/message_forms/spans");
    for form in forms() {
        let export = std::fs::read_to_string(folder.join(format!("{}.json", form.name)));
        let Ok(export) = export else {
            assert!(
                ["weave", "langsmith", "langfuse"].contains(&form.name.as_str()),
                "{} has no export",
                form.name
            );
            continue;
        };
        let export: Value = serde_json::from_str(&export).expect("JSON");
        assert_eq!(
            forms().iter().find(|form| form.spans(&export).is_some()).map(|form| &form.name),
            Some(&form.name)
        );
        let got = spans_of(&export)
            .as_ref()
            .and_then(as_otlp)
            .unwrap_or_else(|| panic!("{}: {:?}", form.name, spans_of(&export)));
        let got = format!("{}\n", serde_json::to_string_pretty(&got).expect("JSON"));
        let golden = folder.join("otlp").join(format!("{}.json", form.name));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&golden, &got).expect("writes");
        }
        assert_eq!(std::fs::read_to_string(&golden).unwrap_or_default(), got, "{}", golden.display());
        assert!(!spans(&export).is_empty());
    }
}

#[test]
fn a_call_of_weave_is_a_span() {
    let call = json!({
        "id": "c1", "trace_id": "t", "parent_id": null, "op_name": "weave:///team/shop/op/clerk:v1", "started_at": "2026-03-01T10:00:00Z",
        "ended_at": "2026-03-01T10:00:01Z", "inputs": {"q": "Open?"}, "output": "No.", "exception": "closed", "summary": {"n": 1}});
    let spans = spans_of(&call).unwrap_or_default();
    assert_eq!(spans.pointer("/spans/0/name"), Some(&json!("clerk")));
    assert_eq!(spans.pointer("/spans/0/status/code"), Some(&json!("ERROR")));
    assert_eq!(
        spans.pointer("/spans/0/attributes"),
        Some(&json!({
            "weave.call.kind": "agent", "weave.call.inputs": "{\"q\":\"Open?\"}", "weave.call.output": "No.", "weave.call.summary": "{\"n\":1}"}))
    );
    assert_eq!(spans_of(&json!({"op_name": "other"})), None);
}

#[test]
fn what_langsmith_exports() {
    let run = |id: &str, kind: &str, below: Value| {
        json!({"id": id, "trace_id": "0196f9a0-0000-7000-8000-00000000000a", "run_type": kind, "name": "n", "start_time": "2026-09-21T14:13:20.000001",
            "end_time": "2026-09-21T14:13:25", "inputs": {"a": 1}, "outputs": null, "error": "no", "prompt_tokens": 3, "total_cost": "0.5", "tags": ["x", "y"],
            "extra": {"metadata": {"ls_model_name": "m", "n": 2}, "runtime": {"sdk": "x"}, "invocation_params": {"temperature": 0.5}}, "child_runs": below})
    };
    let child = run("0196f9a0-0000-7000-8000-00000000000c", "llm", json!([]));
    let runs = json!({"runs": [run("0196f9a0-0000-7000-8000-00000000000a", "chain", json!([child]))]});
    let request = as_otlp(&spans_of(&runs).unwrap_or_default()).unwrap_or_default();
    let spans = request
        .pointer("/resourceSpans")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let spans: Vec<&Value> = spans.iter().filter_map(|one| one.pointer("/scopeSpans/0/spans/0")).collect();
    let [chain, llm] = spans.as_slice() else { panic!("two: {request}") };
    let attribute = |span: &Value, key: &str| {
        let list = span.get("attributes")?.as_array()?.clone();
        list.into_iter().find(|pair| pair["key"] == key).map(|pair| pair["value"].clone())
    };
    let text = |text: &str| Some(json!({"stringValue": text}));
    assert_eq!(attribute(llm, "langsmith.run.extra.runtime"), text(r#"{"sdk":"x"}"#));
    assert_eq!(
        attribute(llm, "langsmith.run.invocation_params.temperature"),
        Some(json!({"doubleValue": 0.5}))
    );
    assert_eq!(attribute(llm, "gen_ai.request.model"), text("m"));
    assert_eq!(attribute(llm, "gen_ai.usage.cost"), Some(json!({"doubleValue": 0.5})));
    assert_eq!(attribute(llm, "langsmith.metadata.n"), Some(json!({"intValue": "2"})));
    assert_eq!(attribute(llm, "gen_ai.usage.input_tokens"), Some(json!({"intValue": "3"})));
    assert_eq!(attribute(chain, "gen_ai.usage.input_tokens"), None);
    assert_eq!(attribute(chain, "langsmith.span.tags"), text("x, y"));
    assert_eq!(chain["traceId"], "0196f9a0000070008000 00000000000a".replace(' ', ""));
    assert_eq!(
        (&chain["spanId"], &chain["startTimeUnixNano"]),
        (&json!("800000000000000a"), &json!("1790000000000001000"))
    );
    assert_eq!(chain["status"]["code"], 2);
}

#[test]
fn an_unknown_member_is_named() {
    let table = SPANS[0].1.replace("rest:", "rests:");
    let error = SpanForm::of("own", &table).expect_err("unknown").to_string();
    assert!(error.contains("did you mean `rest`?"), "{error}");
}

#[test]
fn what_langfuse_exports() {
    let observation = |id: &str, kind: &str, parent: Option<&str>| {
        json!({"id": id, "traceId": "3e28", "type": kind, "name": "n", "startTime": "2026-09-21T14:13:20.000Z", "endTime": null,
            "parentObservationId": parent, "level": "ERROR", "statusMessage": "no", "usageDetails": {"input": 3}, "latency": 1.5})
    };
    let scores = json!([{"name": "good", "value": 1, "observationId": "b"}, {"name": "whole", "stringValue": "yes", "value": null}]);
    let trace = json!({"id": "3e28", "name": "ask", "timestamp": "2026-09-21T14:13:19.000Z", "sessionId": "s1", "scores": scores, "htmlPath": "/t",
        "observations": [observation("a", "GENERATION", None), observation("b", "EVENT", None), observation("c", "SPAN", Some("b"))]});
    let spans = spans(&trace);
    let [root, a, b, c] = spans.as_slice() else {
        panic!("a root and three")
    };
    assert_eq!(
        root.attributes.text("langfuse.trace.htmlPath"),
        Some("/t"),
        "what nothing reads stays"
    );
    assert_eq!((root.name.as_str(), root.attributes.text("session.id")), ("ask", Some("s1")));
    assert_eq!(
        (a.parent, b.parent, c.parent),
        (Some(root.span_id), Some(root.span_id), Some(b.span_id))
    );
    assert_eq!(
        (a.end.0, b.end, a.status.is_error(), a.status.message.as_str()),
        (0, b.start, true, "no")
    );
    assert_eq!(a.attributes.text("langfuse.observation.type"), Some("generation"));
    assert_eq!(a.attributes.text("langfuse.observation.usage_details"), Some(r#"{"input":3}"#));
    assert_eq!(
        a.attributes.get("langfuse.observation.latency"),
        Some(&AnyValue::Double(1.5)),
        "what nothing reads stays"
    );
    let names = |span: &Span| {
        span.events
            .iter()
            .filter_map(|event| event.attributes.text("gen_ai.evaluation.name").map(str::to_owned))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (names(root), names(a), names(b)),
        (vec!["whole".to_owned()], vec![], vec!["good".to_owned()])
    );
    let row =
        json!({"id": "a", "trace_id": "3e28", "type": "GENERATION", "start_time": "2026-09-21 14:13:20.000", "parent_observation_id": "z"});
    let mut sent = observation("a", "GENERATION", None);
    let metadata = json!({"attributes": r#"{"gen_ai.tool.name": "w"}"#, "scope": {"name": "my.chat", "version": "1"}, "other": 1,
        "resourceAttributes": {"service.name": "chat"}});
    let _ = sent.as_object_mut().expect("an object").insert("metadata".to_owned(), metadata);
    let sent = self::spans(&json!({"data": [sent]}));
    assert_eq!(sent.first().map(|span| span.scope.name.as_str()), Some("my.chat"));
    let resource = sent.first().map(|span| &span.resource.attributes);
    assert_eq!(resource.and_then(|all| all.text("service.name")), Some("chat"));
    let attributes = sent.first().map(|span| &span.attributes);
    assert_eq!(attributes.and_then(|all| all.text("gen_ai.tool.name")), Some("w"));
    assert_eq!(
        attributes.and_then(|all| all.get("langfuse.observation.metadata.other")),
        Some(&AnyValue::Int(1))
    );
    assert_eq!(
        self::spans(&json!({"data": [row]})).first().map(|span| span.span_id),
        Some(a.span_id),
        "a batch export"
    );
}
