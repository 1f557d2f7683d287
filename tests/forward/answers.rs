//! What becomes of spans, by what the destination answers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use spanbridge::forward::order::{self, Order};
use spanbridge::forward::{Compression, Protocol, dead_letters, folder};
use spanbridge::otlp::{encode, items};
use spanbridge::span::{UnixNanos, json};

use super::sink::{Answer, Sink};
use super::support::{Bridge, names, spans, to, until};

#[tokio::test(flavor = "multi_thread")]
async fn span_messages_keep_their_bytes_in_every_compression() {
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let directory = tempfile::tempdir().unwrap();
        let sink = Sink::start(|_| Answer::ok()).await;
        let destination = spanbridge::forward::DestinationText {
            compression: Some(compression),
            headers: [("x-key".to_owned(), "${env:PATH}".to_owned())].into(),
            ..to(&sink.url())
        };
        let bridge = Bridge::start(directory.path(), &[destination]).await;
        // A field that no decoder of today knows.
        let mut message = encode::traces(&[spans(0, 0..3), spans(1, 3..6)].concat());
        let mut all: Vec<items::Item> = items::items(&message).unwrap();
        for item in &mut all {
            *item = item.with_bytes([item.bytes(), &[0xf8, 0x7f, 7]].concat());
        }
        message = items::join(&all);
        bridge.send("/v1/traces", message).await;
        sink.wait_for(6).await;
        let came = sink.came();
        let bytes = |message: &[u8]| {
            items::items(message)
                .unwrap()
                .iter()
                .map(|item| item.bytes().to_vec())
                .collect::<BTreeSet<_>>()
        };
        let received: BTreeSet<Vec<u8>> = came.iter().flat_map(|came| bytes(&came.body)).collect();
        assert_eq!(received, all.iter().map(|item| item.bytes().to_vec()).collect());
        for came in came {
            assert_eq!(came.headers["content-type"], "application/x-protobuf");
            assert_eq!(came.headers["x-key"].to_str().unwrap(), std::env::var("PATH").unwrap());
            assert!(came.headers.contains_key("spanbridge-via"));
        }
        bridge.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_bridge_has_all_over_each_protocol() {
    for protocol in [Protocol::Grpc, Protocol::HttpProtobuf, Protocol::HttpJson] {
        let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let second = Bridge::start(directories[1].path(), &[]).await;
        let destination = spanbridge::forward::DestinationText {
            protocol: Some(protocol),
            ..to(&format!("http://{}", second.addresses.http))
        };
        let first = Bridge::start(directories[0].path(), &[destination]).await;
        first.send_spans(&spans(0, 0..10)).await;
        let trace_id = spans(0, 0..1)[0].trace_id;
        let record =
            format!(r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"timeUnixNano":"1500","traceId":"{trace_id}"}}]}}]}}]}}"#);
        first
            .send("/v1/logs", encode::logs(&json::logs(record.as_bytes()).unwrap().items))
            .await;
        until("all is there", || async {
            first.metric("otelcol_exporter_sent_log_records", "sink").await == 1
        })
        .await;
        assert_eq!(first.metric("otelcol_exporter_sent_spans", "sink").await, 10, "{protocol:?}");
        let text = second.metrics().await;
        assert!(
            text.contains("otelcol_receiver_accepted_spans{receiver=\"otlp\",transport=") && text.contains("} 10"),
            "{text}"
        );
        first.stop().await;
        second.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_is_down_gets_all_when_it_comes_up() {
    let directory = tempfile::tempdir().unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&asked);
    let sink = Sink::start(move |_| match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::status(503),
        1 => Answer::Status(429, vec![("retry-after", "0".to_owned())], Vec::new()),
        2 => Answer::status(502),
        3 => Answer::status(401),
        _ => Answer::ok(),
    })
    .await;
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    bridge.send_spans(&spans(0, 0..5)).await;
    let came = sink.wait_for(5).await;
    assert_eq!(names(&came), names(&spans(0, 0..5)));
    assert_eq!(bridge.metric("spanbridge_forward_retries_total", "sink").await, 4);
    assert_eq!(bridge.metric("otelcol_exporter_send_failed_spans", "sink").await, 0);
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_span_is_found_and_does_not_take_its_batch_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let mended = Arc::new(AtomicU64::new(0));
    let is_mended = Arc::clone(&mended);
    let sink = Sink::start(move |came| {
        let bad = came.spans().iter().any(|span| span.name == "span 7");
        match bad && is_mended.load(Ordering::Relaxed) == 0 {
            true => Answer::status(422),
            false => Answer::ok(),
        }
    })
    .await;
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    bridge.send_spans(&[spans(0, 0..6), spans(1, 6..13)].concat()).await;
    sink.wait_for(12).await;
    until("the letter", || async {
        bridge.metric("otelcol_exporter_send_failed_spans", "sink").await == 1
    })
    .await;
    let files = folder(directory.path());
    until("the letter is written", || async {
        !dead_letters::read(&files, "sink").unwrap().is_empty()
    })
    .await;
    let letters = dead_letters::read(&files, "sink").unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].span_id.as_deref(), Some("0000000000000008"));
    assert!(letters[0].reason.contains("422"), "{letters:?}");
    let mut expected = names(&spans(0, 0..13));
    expected.retain(|name| name != "span 7");
    assert_eq!(names(&sink.spans()), expected);
    // Mended, it is sent again, and alone.
    mended.store(1, Ordering::Relaxed);
    order::give(&files, "sink", Order::Retry).unwrap();
    let all = sink.wait_for(13).await;
    assert_eq!(all[12].name, "span 7");
    until("no letters", || async { dead_letters::read(&files, "sink").unwrap().is_empty() }).await;
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partial_success_is_counted_and_not_sent_again() {
    let directory = tempfile::tempdir().unwrap();
    // rejected_spans: 2, error_message: "no"
    let sink = Sink::start(|_| {
        let body = vec![0x0a, 6, 0x08, 2, 0x12, 2, b'n', b'o'];
        Answer::Status(200, vec![("content-type", "application/x-protobuf".to_owned())], body)
    })
    .await;
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    bridge.send_spans(&spans(0, 0..5)).await;
    until("counted", || async {
        bridge.metric("otelcol_exporter_send_failed_spans", "sink").await == 2
    })
    .await;
    assert_eq!(bridge.metric("otelcol_exporter_sent_spans", "sink").await, 3);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(sink.came().len(), 1);
    let letters = dead_letters::read(&folder(directory.path()), "sink").unwrap();
    assert_eq!((letters.len(), letters[0].items), (1, 2));
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_destination_delays_no_other_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let silent = Sink::start(|_| Answer::Never).await;
    let good = Sink::start(|_| Answer::ok()).await;
    let named = |name: &str, sink: &Sink| spanbridge::forward::DestinationText {
        name: Some(name.to_owned()),
        timeout_seconds: Some(if name == "silent" { 0.2 } else { 5.0 }),
        ..to(&sink.url())
    };
    let destinations = [named("silent", &silent), named("good", &good)];
    let bridge = Bridge::start(directory.path(), &destinations).await;
    bridge.send_spans(&spans(0, 0..20)).await;
    good.wait_for(20).await;
    assert_eq!(bridge.metric("otelcol_exporter_sent_spans", "silent").await, 0);
    assert!(bridge.metric("otelcol_exporter_queue_size", "silent").await > 0);
    bridge.stop().await;
    // The next start goes on where each was.
    let now_good = Sink::start(|_| Answer::ok()).await;
    let bridge = Bridge::start(directory.path(), &[named("silent", &now_good), named("good", &good)]).await;
    now_good.wait_for(20).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((now_good.spans().len(), good.spans().len()), (20, 20), "nobody has anything twice");
    bridge.stop().await;
}

/// Each of these answers success and has nothing, or never all of an answer.
#[tokio::test(flavor = "multi_thread")]
async fn slow_and_lying_destinations_delay_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let html = Answer::Status(
        200,
        vec![("content-type", "text/html".to_owned())],
        b"<html>sign in</html>".to_vec(),
    );
    let page = Sink::start(move |_| html.clone()).await;
    let mut slow_answers = 0;
    let slow = Arc::new(std::sync::Mutex::new(move || {
        slow_answers += 1;
        slow_answers
    }));
    let slow = Sink::start(move |_| {
        // Each second request gets no answer in time, but was taken.
        let number = (slow.lock().unwrap())();
        if number % 2 == 1 { Answer::Never } else { Answer::ok() }
    })
    .await;
    // It rejects more than it was sent.
    let boasting = Sink::start(|_| {
        let rejected = [0x0a, 0x03, 0x08, 0xff, 0x7f];
        Answer::Status(200, vec![("content-type", "application/x-protobuf".to_owned())], rejected.to_vec())
    })
    .await;
    let good = Sink::start(|_| Answer::ok()).await;
    let named = |name: &str, sink: &Sink| spanbridge::forward::DestinationText {
        name: Some(name.to_owned()),
        timeout_seconds: Some(if name == "slow" { 0.3 } else { 5.0 }),
        ..to(&sink.url())
    };
    let destinations = [
        named("page", &page),
        named("slow", &slow),
        named("boasting", &boasting),
        named("good", &good),
    ];
    let bridge = Bridge::start(directory.path(), &destinations).await;
    for number in 0..5 {
        bridge.send_spans(&spans(number, number * 4..number * 4 + 4)).await;
    }
    good.wait_for(20).await;
    slow.wait_for(20).await;
    until("the boasting one is done", || async {
        bridge.metric("otelcol_exporter_send_failed_spans", "boasting").await == 20
    })
    .await;
    assert_eq!(bridge.metric("otelcol_exporter_sent_spans", "boasting").await, 0);
    assert_eq!(bridge.metric("otelcol_exporter_sent_spans", "page").await, 0);
    assert_eq!(bridge.metric("spanbridge_forward_up", "page").await, 0);
    until("the good one is counted", || async {
        bridge.metric("otelcol_exporter_sent_spans", "good").await == 20
    })
    .await;
    bridge.stop().await;
}

#[test]
fn only_what_leaves_the_machine_is_compressed_unless_told_otherwise() {
    let compression = |url: &str| to(url).resolve(None).unwrap().compression;
    for url in ["http://127.0.0.1:4317", "http://localhost:4318", "https://[::1]:4318"] {
        assert_eq!(compression(url), Compression::None, "{url}");
    }
    assert_eq!(compression("https://collector.example.com"), Compression::Gzip);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_bridges_that_forward_to_each_other_are_a_loop() {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let second = Bridge::start(directories[1].path(), &[]).await;
    let first = Bridge::start(directories[0].path(), &[to(&format!("http://{}", second.addresses.http))]).await;
    let back = format!("http://{}", first.addresses.http);
    first.send_spans(&spans(0, 0..2)).await;
    until("the second has it", || async {
        first.metric("otelcol_exporter_sent_spans", "sink").await == 2
    })
    .await;
    second.stop().await;
    let second = Bridge::start(directories[1].path(), &[to(&back)]).await;
    // It learns from whom it has spans with the first request, which the first bridge sends to its old port: by hand.
    let via = std::fs::read_to_string(directories[0].path().join("instance")).unwrap();
    let url = format!("http://{}/v1/traces", second.addresses.http);
    tokio::task::spawn_blocking(move || {
        let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
        let post = agent
            .post(&url)
            .header("content-type", "application/x-protobuf")
            .header("spanbridge-via", &via);
        post.send(&encode::traces(&spans(5, 0..1))[..]).unwrap();
    })
    .await
    .unwrap();
    until("it is said", || async { first.metrics().await.contains("reason=\"loop\"") }).await;
    first.stop().await;
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rewind_sends_again_and_skip_leaves_out() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    let files = folder(directory.path());
    bridge.send_spans(&spans(0, 0..3)).await;
    sink.wait_for(3).await;
    order::give(&files, "sink", Order::Rewind(0)).unwrap();
    sink.wait_for(6).await;
    bridge.stop().await;
    let down = Sink::start(|_| Answer::status(503)).await;
    let bridge = Bridge::start(directory.path(), &[to(&down.url())]).await;
    bridge.send_spans(&spans(1, 3..5)).await;
    until("it is tried", || async { !down.came().is_empty() }).await;
    order::give(&files, "sink", Order::Skip).unwrap();
    until("it is skipped", || async {
        bridge.metric("otelcol_exporter_queue_size", "sink").await == 0
    })
    .await;
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn phoenix_gets_openinference_and_every_attribute_that_came() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let destination = spanbridge::forward::DestinationText {
        preset: Some("phoenix".to_owned()),
        settle_seconds: Some(0.1),
        ..to(&sink.url())
    };
    let bridge = Bridge::start(directory.path(), &[destination]).await;
    let mut sent = spans(0, 0..2);
    for span in &mut sent {
        span.attributes.push("gen_ai.operation.name", "chat");
        span.attributes.push("gen_ai.request.model", "a-model");
        span.attributes.push("gen_ai.usage.input_tokens", 7);
        span.attributes.push("own.key", "own value");
    }
    sent[1].end = UnixNanos(0);
    bridge.send_spans(&sent).await;
    let came = sink.wait_for(1).await;
    assert_eq!(came.len(), 1, "the unfinished one is held back");
    for (key, value) in sent[0].attributes.iter() {
        assert_eq!(came[0].attributes.get(key), Some(value), "{key}");
    }
    assert_eq!(came[0].attributes.text("openinference.span.kind"), Some("LLM"));
    assert_eq!(came[0].attributes.text("llm.model_name"), Some("a-model"));
    until("it is counted", || async {
        bridge.metric("spanbridge_forward_unfinished_spans_total", "sink").await == 1
    })
    .await;
    bridge.stop().await;
}
