//! OTLP in both encodings: what came is read whole, and what is written is what came.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

use std::fs;
use std::path::PathBuf;

use spanbridge::otlp;
use spanbridge::receiver::limits::{Encoding, inflate};
use spanbridge::span::json;
use spanbridge::span::{AnyValue, Signal, Span, SpanId, TraceId};

/// Recorded payloads: `SPANBRIDGE_CORPUS`, else the folder in the repository.
fn payloads() -> Vec<(PathBuf, Signal, Vec<u8>)> {
    let root = std::env::var_os("SPANBRIDGE_CORPUS").map_or_else(|| PathBuf::from("tests/corpus"), PathBuf::from);
    let mut found = Vec::new();
    for case in fs::read_dir(root).into_iter().flatten().flatten() {
        for file in fs::read_dir(case.path()).into_iter().flatten().flatten() {
            let path = file.path();
            let name = file.file_name().to_string_lossy().into_owned();
            if !name.ends_with(".bin") {
                continue;
            }
            let signal = if name.contains(".traces.") {
                Signal::Traces
            } else if name.contains(".logs.") {
                Signal::Logs
            } else {
                Signal::Metrics
            };
            let bytes = fs::read(&path).expect("readable");
            let bytes = match Encoding::of_magic(&bytes) {
                Some(encoding) => inflate(&bytes, encoding, 1 << 26).expect("inflates"),
                None => bytes,
            };
            if !bytes.starts_with(b"{") {
                found.push((path, signal, bytes));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_signal_of_every_recorded_payload_is_told_by_content() {
    for (path, signal, bytes) in payloads() {
        assert_eq!(otlp::signal::guess(&bytes), Some(signal), "{}", path.display());
    }
}

/// Whether the encoder leaves out fields that hold their default, as prost does; those of Java and JavaScript do not.
fn leaves_defaults_out(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.contains("telemetry.sdk.language") && ["python", "rust"].iter().any(|word| text.contains(word)) && !text.contains("nodejs")
}

/// What prost makes of the message.
fn canonical(signal: Signal, bytes: &[u8]) -> Vec<u8> {
    match signal {
        Signal::Traces => otlp::encode::traces(&otlp::decode::traces(bytes).expect("decodes").items),
        _ => otlp::encode::logs(&otlp::decode::logs(bytes).expect("decodes").items),
    }
}

#[test]
fn recorded_payloads_come_back_byte_for_byte() {
    for (path, signal, bytes) in payloads() {
        let again = match signal {
            Signal::Traces => {
                let decoded = otlp::decode::traces(&bytes).expect("decodes");
                assert_eq!(decoded.refused, [], "{}", path.display());
                otlp::encode::traces(&decoded.items)
            }
            Signal::Logs => otlp::encode::logs(&otlp::decode::logs(&bytes).expect("decodes").items),
            Signal::Metrics => continue,
        };
        if leaves_defaults_out(&bytes) && signal == Signal::Traces {
            assert!(again == bytes, "{}", path.display());
        }
        assert_eq!(canonical(signal, &again), canonical(signal, &bytes), "{}", path.display());
    }
}

#[test]
fn json_and_protobuf_say_the_same() {
    for (path, signal, bytes) in payloads() {
        let beside = fs::read(path.with_extension("json")).expect("the payload as JSON");
        match signal {
            Signal::Traces => {
                let spans = otlp::decode::traces(&bytes).expect("decodes").items;
                assert!(json::traces(&beside).expect("reads").items == spans, "{}", path.display());
                let written = json::spans(&spans).to_string();
                assert_eq!(json::traces(written.as_bytes()).expect("reads").items, spans, "{}", path.display());
            }
            Signal::Logs => {
                let records = otlp::decode::logs(&bytes).expect("decodes").items;
                assert!(json::logs(&beside).expect("reads").items == records, "{}", path.display());
                let written = json::log_records(&records).to_string();
                assert_eq!(json::logs(written.as_bytes()).expect("reads").items, records, "{}", path.display());
            }
            Signal::Metrics => assert!(json::traces(&beside).is_err()),
        }
    }
}

fn span() -> Span {
    let trace_id = TraceId::from_bytes(&[1; 16]).expect("an id");
    let span_id = SpanId::from_bytes(&[2; 8]).expect("an id");
    let mut span = Span::new(trace_id, span_id, "s");
    span.attributes.push("same key", 1i64);
    span.attributes.push("same key", "twice");
    span.attributes.push("bytes", AnyValue::Bytes(vec![0, 255]));
    span.attributes.push("empty", AnyValue::Empty);
    span.attributes.push(
        "map",
        AnyValue::KvList(vec![
            ("k".to_owned(), AnyValue::Int(i64::MIN)),
            ("k".to_owned(), AnyValue::Double(f64::INFINITY)),
            (
                "l".to_owned(),
                AnyValue::Array(vec![AnyValue::Bool(true), AnyValue::Array(Vec::new())]),
            ),
        ]),
    );
    span.kind = spanbridge::span::SpanKind::Other(77);
    span.status.code = 9;
    span.flags = 0x301;
    span.dropped_events = 3;
    span
}

#[test]
fn every_kind_of_value_survives_both_encodings() {
    let spans = vec![span()];
    assert_eq!(otlp::decode::traces(&otlp::encode::traces(&spans)).expect("decodes").items, spans);
    assert_eq!(
        json::traces(json::spans(&spans).to_string().as_bytes()).expect("reads").items,
        spans
    );
}

#[test]
fn one_bad_span_does_not_take_its_batch_with_it() {
    let text = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[
        {"traceId":"AQEBAQEBAQEBAQEBAQEBAQ==","spanId":"0202020202020202"},
        {"traceId":"0102030405060708090A0B0C0D0E0F10","spanId":"0202020202020202","kind":"SPAN_KIND_CLIENT",
         "startTimeUnixNano":"17","endTimeUnixNano":18,"unknown":{"deep":[1]},"parentSpanId":""},
        {"traceId":"00000000000000000000000000000000","spanId":"0202020202020202"},
        {"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":null}
    ]}]}]}"#;
    let decoded = json::traces(text.as_bytes()).expect("reads");
    let refused: Vec<String> = decoded.refused.iter().map(ToString::to_string).collect();
    assert_eq!(
        refused,
        [
            "resourceSpans[0].scopeSpans[0].spans[0]: the trace id is base64; OTLP/JSON writes ids as hexadecimal digits (32 of them)",
            "resourceSpans[0].scopeSpans[0].spans[2]: the trace id is all zeros, which means none",
            "resourceSpans[0].scopeSpans[0].spans[3]: the span id is missing",
        ]
    );
    assert_eq!(decoded.items.len(), 1);
    assert_eq!(
        (decoded.items[0].start.0, decoded.items[0].end.0, decoded.items[0].kind.number()),
        (17, 18, 3)
    );
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    let deep = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"attributes":[{{"key":"a","value":{}{}}}]}}]}}]}}]}}"#,
        r#"{"arrayValue":{"values":["#.repeat(100_000),
        "]}}".repeat(100_000)
    );
    assert!(json::traces(deep.as_bytes()).is_err());
    let unknown = format!(r#"{{"x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(json::traces(unknown.as_bytes()).is_ok_and(|decoded| decoded.items.is_empty()));
}
