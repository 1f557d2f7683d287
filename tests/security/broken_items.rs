//! One item that cannot be read is refused alone; another program's form is named.

use std::fs;

use serde_json::{Value, json};
use spanbridge::otlp::encode;
use spanbridge::span::{AnyValue, Span, SpanId};

use super::serving::{Serving, run, span, text, trace_id};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];
const PROTOBUF: [(&str, &str); 1] = [("content-type", "application/x-protobuf")];

fn json_span(id: u8, name: &str) -> Value {
    json!({
        "traceId": trace_id(1).to_string(), "spanId": format!("{id:016x}"), "name": name,
        "startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000001000000000",
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
    })
}

fn message(spans: &[String]) -> String {
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","))
}

fn stored(bridge: &Serving) -> Vec<String> {
    let trace = bridge.get(&format!("/api/v1/traces/{}", trace_id(1)), None);
    let mut names = Vec::new();
    let json = trace.json();
    for resource in json["resourceSpans"].as_array().into_iter().flatten() {
        for scope in resource["scopeSpans"].as_array().into_iter().flatten() {
            let spans = scope["spans"].as_array().into_iter().flatten();
            names.extend(spans.map(|span| span["name"].as_str().expect("a name").to_owned()));
        }
    }
    names.sort();
    names
}

fn converts(bridge: &Serving, name: &str, body: &[u8]) -> (Option<i32>, String, String) {
    let file = bridge.path(name);
    fs::write(&file, body).expect("writes");
    let output = run(&["convert", "--to", "contextforge", file.to_str().expect("text")], &[]);
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_json_span_that_cannot_be_read_is_refused_alone() {
    let deep = format!("{}1{}", r#"{"arrayValue":{"values":["#.repeat(90), "]}}".repeat(90));
    let deep = json_span(2, "deep").to_string().replace(r#"{"stringValue":"chat"}"#, &deep);
    let wrong = json_span(2, "wrong").to_string().replace(r#""wrong""#, "[1]");
    for (broken, why) in [(deep, "nest too deep"), (wrong, "another type")] {
        let bridge = Serving::start("");
        let body = message(&[json_span(1, "first").to_string(), broken, json_span(3, "last").to_string()]);
        let answer = bridge.post("/v1/traces", &JSON, body.as_bytes());
        let said = answer.text();
        assert_eq!(answer.status, 200, "{said}");
        assert!(
            said.contains(r#""rejectedSpans":"1""#) && said.contains("spans[1]") && said.contains(why),
            "{said}"
        );
        assert_eq!(stored(&bridge), ["first", "last"]);
        let (status, _, said) = converts(&bridge, "spans.json", body.as_bytes());
        assert!(status == Some(1) && said.contains("spans[1]") && said.contains(why), "{said}");
    }
}

#[test]
fn half_a_surrogate_pair_is_replaced_and_told() {
    let bridge = Serving::start("");
    let body = message(&[json_span(1, "half").to_string().replace("half", "half \\ude00")]);
    assert!(body.contains(r#""half \ude00""#), "{body}");
    let answer = bridge.post("/v1/traces", &JSON, body.as_bytes());
    let said = answer.text();
    assert!(
        answer.status == 200 && said.contains(r#""rejectedSpans":"0""#) && said.contains("U+FFFD"),
        "{said}"
    );
    assert_eq!(stored(&bridge), ["half \u{fffd}"]);
    let (status, _, said) = converts(&bridge, "half.json", body.as_bytes());
    assert!(status == Some(0) && said.contains("U+FFFD"), "{status:?} {said}");
    // One message a line: only that of this line.
    let lines = format!("{}\n{body}\n", message(&[json_span(2, "whole").to_string()]));
    let (status, _, said) = converts(&bridge, "lines.json", lines.as_bytes());
    assert!(status == Some(0) && said.contains("1 place"), "{status:?} {said}");
}

#[test]
fn a_protobuf_span_that_cannot_be_read_is_refused_alone() {
    let of = |id: u8, name: &str| {
        let mut span = span(1, name);
        span.span_id = SpanId::from_bytes(&[id; 8]).expect("an id");
        span
    };
    let mut deep = of(2, "deep");
    let nested = (0..60).fold(AnyValue::Int(1), |value, _| AnyValue::Array(vec![value]));
    deep.attributes.push("a", nested);
    let spans: [Span; 3] = [of(1, "first"), deep, of(3, "last")];
    let with_deep = encode::traces(&spans);
    let mut with_bytes = encode::traces(&[of(1, "first"), of(2, "broken?"), of(3, "last")]);
    let at = with_bytes.windows(7).position(|bytes| bytes == b"broken?").expect("a name");
    with_bytes[at + 6] = 0xff;
    for (body, why) in [(with_deep, "nest too deep"), (with_bytes, "not UTF-8")] {
        let bridge = Serving::start("");
        let answer = bridge.post("/v1/traces", &PROTOBUF, &body);
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(
            answer.status == 200 && said.contains("1 of 3 refused") && said.contains(why),
            "{said}"
        );
        assert_eq!(stored(&bridge), ["first", "last"]);
        let (status, _, said) = converts(&bridge, "spans.bin", &body);
        assert!(status == Some(1) && said.contains("spans[1]") && said.contains(why), "{said}");
    }
}

#[test]
fn old_names_are_read_and_other_forms_are_named() {
    let bridge = Serving::start("");
    let body = message(&[json_span(1, "old").to_string()]);
    let old = body.replace("scopeSpans", "instrumentationLibrarySpans");
    assert_eq!(bridge.post("/v1/traces", &JSON, old.as_bytes()).status, 200);
    assert_eq!(stored(&bridge), ["old"]);
    let tempo = message(&[json_span(2, "of tempo").to_string()]).replace("resourceSpans", "batches");
    assert_eq!(bridge.post("/v1/traces", &JSON, tempo.as_bytes()).status, 200);
    assert_eq!(stored(&bridge), ["of tempo", "old"]);
    let jaeger = json!({"data": [{"traceID": "1", "spans": [], "processes": {}}]}).to_string();
    let answer = bridge.post("/v1/traces", &JSON, jaeger.as_bytes());
    assert!(answer.status == 400 && answer.text().contains("Jaeger"), "{}", answer.text());
}
