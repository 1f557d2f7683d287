//! What a destination asks for is done: RetryInfo, RESOURCE_EXHAUSTED; and what retention takes away meanwhile is said.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use spanbridge::forward::{Compression, DestinationText, Protocol};
use spanbridge::server::Config;
use spanbridge::store::Retention;

use super::sink::{Answer, Sink};
use super::support::{Bridge, names, spans, to, until};

const OK: u8 = 0;
const RESOURCE_EXHAUSTED: u8 = 8;
const UNAVAILABLE: u8 = 14;

/// An answer over gRPC without a message: all it says is in the headers.
fn grpc(code: u8, retry_after: Option<Duration>) -> Answer {
    let mut headers = vec![("content-type", "application/grpc".to_owned()), ("grpc-status", code.to_string())];
    if let Some(delay) = retry_after {
        // google.rpc.Status { details: [Any { type_url, value: RetryInfo { retry_delay: Duration { seconds } } }] }
        let seconds = u8::try_from(delay.as_secs()).unwrap();
        let info = field(1, &[0x08, seconds]);
        let any = [field(1, b"type.googleapis.com/google.rpc.RetryInfo"), field(2, &info)].concat();
        headers.push(("grpc-status-details-bin", STANDARD_NO_PAD.encode(field(3, &any))));
    }
    Answer::Status(200, headers, Vec::new())
}

/// A field of a protobuf message with a length.
fn field(tag: u8, bytes: &[u8]) -> Vec<u8> {
    [&[tag << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

fn over_grpc(sink: &Sink) -> DestinationText {
    DestinationText {
        protocol: Some(Protocol::Grpc),
        compression: Some(Compression::None),
        ..to(&sink.url())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_info_is_obeyed_and_the_batch_stays_whole() {
    for code in [UNAVAILABLE, RESOURCE_EXHAUSTED] {
        let directory = tempfile::tempdir().unwrap();
        let asked = AtomicU64::new(0);
        let sink = Sink::start(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
            0 => grpc(code, Some(Duration::from_secs(1))),
            _ => grpc(OK, None),
        })
        .await;
        // Without the hint it would be tried again after 50 ms at most.
        let bridge = Bridge::start(directory.path(), &[over_grpc(&sink)]).await;
        bridge.send_spans(&spans(0, 0..5)).await;
        until("it is asked", || async { !sink.came().is_empty() }).await;
        let begin = Instant::now();
        assert_eq!(names(&sink.wait_for(5).await), names(&spans(0, 0..5)));
        assert!(begin.elapsed() >= Duration::from_millis(900), "{code}: {:?}", begin.elapsed());
        let sizes: Vec<usize> = sink.came().iter().map(|came| came.spans().len()).collect();
        assert_eq!(sizes, [5, 5], "{code}");
        assert_eq!(bridge.metric("otelcol_exporter_send_failed_spans", "sink").await, 0);
        bridge.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_a_batch_is_divided_until_it_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|came| match came.spans().len() {
        0..=3 => grpc(OK, None),
        _ => grpc(RESOURCE_EXHAUSTED, None),
    })
    .await;
    let bridge = Bridge::start(directory.path(), &[over_grpc(&sink)]).await;
    bridge.send_spans(&spans(0, 0..20)).await;
    assert_eq!(names(&sink.wait_for(20).await), names(&spans(0, 0..20)));
    until("it is counted", || async {
        bridge.metric("otelcol_exporter_sent_spans", "sink").await == 20
    })
    .await;
    assert_eq!(bridge.metric("otelcol_exporter_send_failed_spans", "sink").await, 0);
    bridge.stop().await;
}

/// Phoenix answers so while its queue is full (`arize-phoenix` 20): the preset waits.
#[tokio::test(flavor = "multi_thread")]
async fn phoenix_is_asked_again_before_a_batch_is_divided() {
    let directory = tempfile::tempdir().unwrap();
    let asked = AtomicU64::new(0);
    let sink = Sink::start(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        0..3 => grpc(RESOURCE_EXHAUSTED, None),
        _ => grpc(OK, None),
    })
    .await;
    let destination = DestinationText {
        preset: Some("phoenix".to_owned()),
        settle_seconds: Some(0.0),
        ..over_grpc(&sink)
    };
    let bridge = Bridge::start(directory.path(), &[destination]).await;
    bridge.send_spans(&spans(0, 0..8)).await;
    sink.wait_for(8).await;
    let sizes: Vec<usize> = sink.came().iter().map(|came| came.spans().len()).collect();
    assert_eq!(sizes, [8, 8, 8, 8]);
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_retention_takes_during_an_outage_is_counted_and_the_rest_arrives() {
    let directory = tempfile::tempdir().unwrap();
    let is_up = Arc::new(AtomicU64::new(0));
    let up = Arc::clone(&is_up);
    let sink = Sink::start(move |_| match up.load(Ordering::Relaxed) {
        0 => Answer::status(503),
        _ => Answer::ok(),
    })
    .await;
    let mut config = Config::new(directory.path());
    config.forward = spanbridge::forward::resolve_all(&[to(&sink.url())], None).unwrap();
    // A segment is sealed after an eighth of this age.
    config.retention = Retention {
        age: Some(Duration::from_secs(2)),
        bytes: None,
    };
    let bridge = Bridge::with(&config).await;
    let removed = || async {
        let text = bridge.metrics().await;
        let line = text
            .lines()
            .find(|line| line.starts_with("spanbridge_store_removed_segments_total{"));
        line.and_then(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).unwrap_or(0)
    };
    // These are read, and sent again and again.
    bridge.send_spans(&spans(0, 0..4)).await;
    until("it is tried", || async { !sink.came().is_empty() }).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    // These wait in a segment of their own.
    bridge.send_spans(&spans(1, 4..7)).await;
    until("both segments are removed", || async { removed().await >= 2 }).await;
    bridge.send_spans(&spans(2, 7..9)).await;
    is_up.store(1, Ordering::Relaxed);
    let came = sink.wait_for(6).await;
    assert_eq!(names(&came), names(&[spans(0, 0..4), spans(2, 7..9)].concat()));
    assert!(bridge.metric("spanbridge_forward_removed_segments_total", "sink").await >= 1);
    bridge.stop().await;
}
