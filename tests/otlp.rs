//! OTLP in both encodings: what came is read whole, and what is written is what came.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

use std::fs;
use std::path::PathBuf;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use spanbridge::otlp;
use spanbridge::receiver::limits::{Encoding, inflate};
use spanbridge::span::json;
use spanbridge::span::{AnyValue, Signal, Span, SpanId, TraceId};

/// Recorded payloads: `SPANBRIDGE_CORPUS`, else the folder in the repository.
fn payloads() -> Vec<(PathBuf, Signal, Vec<u8>)> {
    let root = std::env::var_os("SPANBRIDGE_CORPUS").map_or_else(|| PathBuf::from("tests/corpus"), PathBuf::from);
    let mut found = Vec::new();
    for case in fs::read_dir(&root).expect("the corpus").map(|case| case.expect("a case").path()) {
        if !case.is_dir() {
            continue;
        }
        for file in fs::read_dir(case).expect("a case").map(|file| file.expect("a file")) {
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
    assert!(found.len() >= 50, "only {} payloads in {}", found.len(), root.display());
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

/// The items of a request as the types generated from the protocol's own definition say them, each with what stands around it.
/// Unlike ours, that decoder knows nothing of this program.
fn told_by_prost(signal: Signal, bytes: &[u8]) -> Vec<String> {
    let around = |resource: Option<&Resource>, schema: &str, scope: Option<&InstrumentationScope>, scope_schema: &str| {
        let (mut resource, scope) = (resource.cloned().unwrap_or_default(), scope.cloned().unwrap_or_default());
        // They name attributes that the resource has anyway. Spans do not tell of them; the log keeps them as they came.
        resource.entity_refs.clear();
        format!("{resource:?} {schema:?} {scope:?} {scope_schema:?}")
    };
    let mut told = Vec::new();
    if signal == Signal::Traces {
        for of_resource in ExportTraceServiceRequest::decode(bytes).expect("a request").resource_spans {
            for of_scope in of_resource.scope_spans {
                let scope = of_scope.scope.as_ref();
                let around = around(of_resource.resource.as_ref(), &of_resource.schema_url, scope, &of_scope.schema_url);
                told.extend(of_scope.spans.into_iter().map(|mut span| {
                    span.status.get_or_insert_default();
                    span.attributes.iter_mut().for_each(|pair| said(&mut pair.value));
                    format!("{around} {span:?}")
                }));
            }
        }
    } else {
        for of_resource in ExportLogsServiceRequest::decode(bytes).expect("a request").resource_logs {
            for of_scope in of_resource.scope_logs {
                let scope = of_scope.scope.as_ref();
                let around = around(of_resource.resource.as_ref(), &of_resource.schema_url, scope, &of_scope.schema_url);
                told.extend(of_scope.log_records.into_iter().map(|mut record| {
                    said(&mut record.body);
                    record.attributes.iter_mut().for_each(|pair| said(&mut pair.value));
                    format!("{around} {record:?}")
                }));
            }
        }
    }
    told
}

/// A value that is not there and one that is empty are the same.
fn said(value: &mut Option<opentelemetry_proto::tonic::common::v1::AnyValue>) {
    value.get_or_insert_default();
}

#[test]
fn recorded_payloads_say_what_the_protocols_own_types_say_of_them() {
    let mut exact = 0;
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
            exact += 1;
        }
        let (ours, theirs) = (told_by_prost(signal, &again), told_by_prost(signal, &bytes));
        assert_eq!(ours.len(), theirs.len(), "{}", path.display());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "{}", path.display());
        }
    }
    assert!(exact > 20, "only {exact} payloads came back byte for byte");
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
