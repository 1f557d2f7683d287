//! Points 4 to 7, 10 to 12 and 17: what a message says, and how that is answered.

use serde_json::{Value, json as value};
use spanbridge::otlp::encode;
use spanbridge::span::json as otlp_json;

use super::body::{self, fresh};
use super::row::{LOGS, METRICS, Row, TRACES, grpc, json, protobuf};

const BAD: &str = "otlp: OTLP/HTTP Response, Bad Data";
const FULL: &str = "otlp: Full Success";
const PARTIAL: &str = "otlp: Partial Success";
const JSON: &str = "otlp: JSON Protobuf Encoding";
const STATUS: &str = "otlp: OTLP/HTTP Response, Failures";

fn empty() -> Vec<Row> {
    let mut rows = Vec::new();
    for (path, method) in [("/v1/traces", TRACES), ("/v1/logs", LOGS), ("/v1/metrics", METRICS)] {
        rows.push(protobuf(path, Vec::new()).has("content-type", "application/x-protobuf").row(
            "5.http",
            "an empty request is a success",
            FULL,
        ));
        rows.push(json(path, "{}").row("5.json", "an empty request is a success", FULL));
        rows.push(grpc(method, b"").row("5.grpc", "an empty request is a success", FULL));
    }
    rows.push(json("/v1/traces", r#"{"resourceSpans":[]}"#).row("5.json", "a request with empty lists is a success", FULL));
    rows.push(json("/v1/traces", r#"{"resourceSpans":[{"scopeSpans":[{"spans":[]}]}]}"#).row(
        "5.json",
        "an empty scope is a success",
        FULL,
    ));
    rows.push(
        json("/v1/traces", "")
            .bad_request("EOF")
            .row("5.json", "no JSON at all is none", BAD),
    );
    rows
}

fn success() -> Vec<Row> {
    let (one, two, three) = (fresh(), fresh(), fresh());
    let duplicate = fresh();
    let again = || protobuf("/v1/traces", body::protobuf(duplicate)).stores(duplicate, 2);
    vec![
        protobuf("/v1/traces", body::protobuf(one))
            .has("content-type", "application/x-protobuf")
            .stores(one, 2)
            .row(
                "6.http",
                "full success leaves partial_success unset; content type is the request's",
                FULL,
            ),
        json("/v1/traces", body::json(two))
            .stores(two, 2)
            .row("6.json", "full success leaves partialSuccess unset", FULL),
        grpc(TRACES, &body::protobuf(three))
            .stores(three, 2)
            .row("6.grpc", "full success leaves partial_success unset", FULL),
        grpc(LOGS, &body::logs(fresh())).row("6.grpc", "logs are a success", FULL),
        grpc(METRICS, &body::metrics()).row("6.grpc", "metrics are a success", FULL),
        protobuf("/v1/logs", body::logs(fresh())).row("6.http", "logs are a success", FULL),
        protobuf("/v1/metrics", body::metrics()).row("6.http", "metrics are a success", FULL),
        again().row("6.again", "what comes", "otlp: Duplicate Data"),
        again().row(
            "6.again",
            "and comes again is a success, and stands there once",
            "otlp: Duplicate Data",
        ),
    ]
}

fn partial() -> Vec<Row> {
    let (one, two, three) = (fresh(), fresh(), fresh());
    let words = "1 of 2 refused, the others are stored. resourceSpans[0].scopeSpans[0].spans[0]: the trace id has 15 bytes";
    let mut text = otlp_json::spans(&body::spans(two, 2));
    if let Some(span) = text.pointer_mut("/resourceSpans/0/scopeSpans/0/spans/0") {
        span["spanId"] = value!("xyz");
    }
    vec![
        protobuf("/v1/traces", body::partly_bad(one)).partial(1, words).stores(one, 1).row(
            "7.http",
            "a bad span does not take its batch with it",
            PARTIAL,
        ),
        json("/v1/traces", text.to_string())
            .partial(1, "spans[0]: the span id must be 16 hexadecimal digits")
            .stores(two, 1)
            .row("7.json", "a bad span does not take its batch with it", PARTIAL),
        grpc(TRACES, &body::partly_bad(three)).partial(1, words).stores(three, 1).row(
            "7.grpc",
            "a bad span does not take its batch with it",
            PARTIAL,
        ),
        protobuf("/v1/traces", body::all_bad(3)).partial(3, "3 of 3 refused").row(
            "7.all",
            "when all are bad it is still a partial success: the client must not retry",
            PARTIAL,
        ),
        protobuf("/v1/traces", body::all_bad(100_000))
            .partial(100_000, "100000 of 100000 refused")
            .row(
                "4.http",
                "the answer stays within 4 MiB however much is wrong",
                "otlp: response size limits",
            ),
        grpc(TRACES, &body::all_bad(100_000))
            .partial(100_000, "100000 of 100000 refused")
            .row(
                "4.grpc",
                "the answer stays within 4 MiB however much is wrong",
                "otlp: response size limits",
            ),
        protobuf(&format!("/{}", "x".repeat(60_000)), Vec::new())
            .refused(404, 5, "there is nothing at /xxx")
            .row("4.http", "a long path is not repeated in full", "otlp: response size limits"),
        grpc(&format!("/{}", "x".repeat(10_000)), b"")
            .refused(200, 12, "there is no method /xxx")
            .row(
                "4.grpc",
                "metadata stays within the 8 KiB that clients take",
                "otlp: response size limits",
            ),
    ]
}

fn undecodable() -> Vec<Row> {
    let good = body::protobuf(fresh());
    let cut = good.get(..good.len() - 3).unwrap_or_default().to_vec();
    let at = good.windows(6).position(|bytes| bytes == b"span 1").expect("the name");
    let mut not_utf8 = good.clone();
    not_utf8.iter_mut().skip(at).take(1).for_each(|byte| *byte = 0xff);
    let deep = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"attributes":[{{"value":{}{}}}]}}]}}]}}]}}"#,
        r#"{"arrayValue":{"values":["#.repeat(5_000),
        "]}}".repeat(5_000)
    );
    let mut rows = Vec::new();
    for (bytes, words, rule) in [
        (cut, "the message is cut off", "protobuf that is cut off"),
        (b"hello, world".to_vec(), "a group ends that did not begin", "no protobuf at all"),
        (vec![0x08, 1], "another type", "a field of another wire type"),
        (body::nested(200), "nested deeper", "values that nest without end"),
    ] {
        rows.push(protobuf("/v1/traces", bytes.clone()).bad_request(words).row("10.http", rule, BAD));
        rows.push(
            grpc(TRACES, &bytes)
                .bad_request(words)
                .row("10.grpc", rule, "otlp: OTLP/gRPC Response, Failures"),
        );
    }
    let refused_alone = "text that is not UTF-8: its span is refused alone";
    rows.push(
        protobuf("/v1/traces", not_utf8.clone())
            .partial(1, "a text in it is not UTF-8")
            .row("10.http", refused_alone, BAD),
    );
    for (text, words, rule) in [
        (
            b"{\"resourceSpans\":[}".to_vec(),
            "line 1 column 19",
            "JSON that is none: the place is named",
        ),
        (b"{\"resourceSpans\":{}}".to_vec(), "expected a sequence", "a value of another type"),
        (b"[]".to_vec(), "line 1 column", "no object"),
        (deep.into_bytes(), "recursion limit", "JSON that nests without end"),
    ] {
        rows.push(json("/v1/traces", text).bad_request(words).row("10.json", rule, BAD));
    }
    rows
}

fn form_of_errors() -> Vec<Row> {
    let mut rows = Vec::new();
    let cases: [(&str, u16, i32, &str); 2] = [
        ("/v1/traces", 400, 3, "the body is not an OTLP"),
        ("/elsewhere", 404, 5, "there is nothing at"),
    ];
    for (path, status, code, words) in cases {
        let noise = b"\xffnoise".to_vec();
        let detail = status == 400;
        let of = |exchange: super::row::Exchange| {
            if detail {
                exchange.bad_request(words)
            } else {
                exchange.refused(status, code, words)
            }
        };
        rows.push(of(protobuf(path, noise.clone())).row("11.http", "an error is a Status in protobuf for protobuf", STATUS));
        rows.push(of(json(path, noise.clone())).row("11.json", "an error is a Status in JSON for JSON", STATUS));
        rows.push(of(protobuf(path, noise).over_h2()).row("11.h2", "the same over HTTP/2", STATUS));
    }
    rows
}

/// A span of trace `trace` in JSON with these fields beside its ids and its name.
fn text(trace: u16, fields: &Value) -> String {
    let mut span = value!({ "traceId": body::trace_id(trace).to_string(), "spanId": "00000000000000aB", "name": "x" });
    if let (Some(span), Some(fields)) = (span.as_object_mut(), fields.as_object()) {
        span.extend(fields.clone());
    }
    value!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [span] }] }] }).to_string()
}

fn of_json() -> Vec<Row> {
    let mut rows = Vec::new();
    let upper = fresh();
    let hex = body::trace_id(upper).to_string().to_uppercase();
    for (fields, rule) in [
        (
            value!({ "startTimeUnixNano": "1767261600000000000", "endTimeUnixNano": 1_767_261_601_000_000_000u64 }),
            "64-bit integers as text or number",
        ),
        (value!({ "kind": 3, "status": { "code": 2 } }), "enums as integers"),
        (
            value!({ "unknown": { "deep": [1, null] }, "attributes": [{ "key": "k", "new": 1, "value": { "stringValue": "v" } }] }),
            "unknown fields are ignored",
        ),
        (
            value!({ "events": null, "attributes": null, "status": null }),
            "null is a field that is not set",
        ),
        (
            value!({ "attributes": [{ "key": "k", "value": { "intValue": "-9223372036854775808" } }] }),
            "the smallest integer",
        ),
        (
            value!({ "attributes": [{ "key": "k", "value": { "doubleValue": "NaN" } }, { "key": "l", "value": { "doubleValue": "-Infinity" } }] }),
            "doubles that JSON cannot write",
        ),
        (
            value!({ "attributes": [{ "key": "k", "value": { "bytesValue": "+/8=" } }, { "key": "l", "value": { "bytesValue": "-_8" } }] }),
            "bytes in base64 of either alphabet",
        ),
        (value!({ "traceId": hex }), "ids in capitals"),
    ] {
        let trace = if rule == "ids in capitals" { upper } else { fresh() };
        rows.push(json("/v1/traces", text(trace, &fields)).stores(trace, 1).row("12.json", rule, JSON));
    }
    let base64 = value!({ "traceId": "AQEBAQEBAQEBAQEBAQEBAQ==", "spanId": "AQEBAQEBAQE=" });
    let snake = |inside: &str| format!(r#"{{"resourceSpans":[{inside}]}}"#);
    rows.extend([
        json("/v1/traces", text(1, &base64))
            .bad_request("is base64; OTLP/JSON writes ids as hexadecimal digits")
            .row("12.base64", "ids in base64 are said so", JSON),
        json("/v1/traces", r#"{"resource_spans":[]}"#).bad_request("lowerCamelCase").row(
            "12.snake",
            "keys in snake_case are not taken",
            JSON,
        ),
        json("/v1/metrics", r#"{"resource_metrics":[]}"#).bad_request("lowerCamelCase").row(
            "12.snake",
            "keys in snake_case are not taken",
            JSON,
        ),
        json("/v1/traces", snake(r#"{"scope_spans":[{"spans":[]}]}"#))
            .bad_request("lowerCamelCase")
            .row("12.snake", "nor below: all would be lost unseen", JSON),
        json("/v1/logs", r#"{"resourceLogs":[{"scopeLogs":[{"log_records":[{}]}]}]}"#)
            .bad_request("lowerCamelCase")
            .row("12.snake", "nor below: all would be lost unseen", JSON),
        json("/v1/traces", text(1, &value!({ "kind": "x" })))
            .bad_request("expected an enum's integer")
            .row("12.json", "an enum that is no integer", JSON),
        json("/v1/traces", text(1, &value!({ "startTimeUnixNano": "1e99" })))
            .bad_request("line 1")
            .row("12.json", "an integer that is none", JSON),
    ]);
    rows
}

fn wrong_signal() -> Vec<Row> {
    const RULE: &str = "a body of another signal is refused, with the right path";
    const SPEC: &str = "proto: the requests share their field numbers";
    let traces = encode::traces(&body::spans(1, 1));
    let json_logs = otlp_json::log_records(&body::records(1)).to_string();
    let json_traces = otlp_json::spans(&body::spans(1, 1)).to_string();
    vec![
        protobuf("/v1/traces", body::logs(1))
            .bad_request("has logs, but this is /v1/traces: send it to /v1/logs")
            .row("17.http", RULE, SPEC),
        protobuf("/v1/traces", body::metrics())
            .bad_request("send it to /v1/metrics")
            .row("17.http", RULE, SPEC),
        protobuf("/v1/logs", traces.clone())
            .bad_request("send it to /v1/traces")
            .row("17.http", RULE, SPEC),
        protobuf("/v1/logs", body::metrics())
            .bad_request("send it to /v1/metrics")
            .row("17.http", RULE, SPEC),
        protobuf("/v1/metrics", traces.clone())
            .bad_request("send it to /v1/traces")
            .row("17.http", RULE, SPEC),
        protobuf("/v1/metrics", body::logs(1))
            .bad_request("send it to /v1/logs")
            .row("17.http", RULE, SPEC),
        json("/v1/traces", json_logs)
            .bad_request("send it to /v1/logs")
            .row("17.json", RULE, SPEC),
        json("/v1/logs", json_traces.clone())
            .bad_request("send it to /v1/traces")
            .row("17.json", RULE, SPEC),
        json("/v1/metrics", json_traces)
            .bad_request("send it to /v1/traces")
            .row("17.json", RULE, SPEC),
        grpc(TRACES, &body::logs(1))
            .bad_request("send it to /v1/logs")
            .row("17.grpc", RULE, SPEC),
        grpc(LOGS, &traces).bad_request("send it to /v1/traces").row("17.grpc", RULE, SPEC),
        grpc(METRICS, &traces)
            .bad_request("send it to /v1/traces")
            .row("17.grpc", RULE, SPEC),
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let parts = [
        empty(),
        success(),
        partial(),
        undecodable(),
        form_of_errors(),
        of_json(),
        wrong_signal(),
    ];
    parts.into_iter().flatten().collect()
}
