//! Log records: onto the spans that they speak of, or counted.

use spanbridge::forward::{DestinationText, Dialect, Logs};
use spanbridge::otlp::encode;
use spanbridge::span::json;

use super::sink::{Answer, Sink};
use super::support::{Bridge, spans, to, until};

/// A log record that holds the answer of a model call.
pub(super) fn record(span: Option<u64>, time: u64) -> Vec<u8> {
    let trace_id = spans(0, 0..1)[0].trace_id;
    let span = span.map(|span| format!(r#","spanId":"{:016x}""#, span + 1)).unwrap_or_default();
    let text = format!(
        r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"timeUnixNano":"{time}","traceId":"{trace_id}"{span},"eventName":"gen_ai.choice",
        "body":{{"kvlistValue":{{"values":[{{"key":"message","value":{{"kvlistValue":{{"values":[
        {{"key":"role","value":{{"stringValue":"assistant"}}}},{{"key":"content","value":{{"stringValue":"Cold and clear."}}}}]}}}}}}]}}}}}}]}}]}}]}}"#
    );
    encode::logs(&json::logs(text.as_bytes()).unwrap().items)
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_written_onto_their_spans_and_the_others_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let destination = DestinationText {
        preset: Some("jaeger".to_owned()),
        settle_seconds: Some(0.5),
        ..to(&sink.url())
    };
    let bridge = Bridge::start(directory.path(), &[destination]).await;
    let mut calls = spans(0, 0..1);
    calls[0].attributes.push("gen_ai.operation.name", "chat");
    calls[0].attributes.push("gen_ai.request.model", "a-model");
    bridge.send_spans(&calls).await;
    bridge.send("/v1/logs", record(Some(0), 1_500)).await;
    bridge.send("/v1/logs", record(None, 1_500)).await;
    let came = sink.wait_for(1).await;
    let said = came[0]
        .attributes
        .get("gen_ai.output.messages")
        .map(|value| value.to_json().to_string());
    assert!(said.as_ref().is_some_and(|said| said.contains("Cold and clear.")), "{said:?}");
    let left_out = "spanbridge_forward_left_out_log_records_total";
    until("the record without a span is counted", || async {
        bridge.metric(left_out, "sink").await == 1
    })
    .await;
    // Its span was sent before it came.
    bridge.send("/v1/logs", record(Some(0), 1_600)).await;
    until("the late record is counted", || async {
        bridge.metric(left_out, "sink").await == 2
    })
    .await;
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_are_left_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let destination = DestinationText {
        logs: Some(Logs::Leave),
        ..to(&sink.url())
    };
    let bridge = Bridge::start(directory.path(), &[destination]).await;
    bridge.send("/v1/logs", record(Some(0), 1_600)).await;
    until("it is counted", || async {
        bridge.metric("spanbridge_forward_left_out_log_records_total", "sink").await == 1
    })
    .await;
    assert!(sink.came().is_empty());
    bridge.stop().await;
}

#[test]
fn what_contradicts_itself_or_shows_a_secret_is_refused() {
    let contradiction = DestinationText {
        logs: Some(Logs::IntoSpans),
        ..to("http://127.0.0.1:4318")
    };
    let error = contradiction.resolve(None).unwrap_err().to_string();
    assert!(error.contains("needs a dialect"), "{error}");
    let as_received = DestinationText {
        preset: Some("phoenix".to_owned()),
        dialect: Some(Dialect::AsReceived),
        ..to("http://127.0.0.1:6006")
    };
    assert_eq!(as_received.resolve(None).unwrap().logs, Logs::Send);
    let secret = DestinationText {
        name: None,
        ..to("http://me:secret@127.0.0.1:4318")
    };
    let error = secret.resolve(None).unwrap_err().to_string();
    assert!(error.contains("headers") && !error.contains("secret"), "{error}");
    assert_eq!(secret.name(), "127.0.0.1-4318");
}
