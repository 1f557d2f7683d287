//! Messages and errors of a destination in its status: cut, without secrets, in few lines; files of destinations that are damaged; retention that is faster.

use std::fs;
use std::time::Duration;

use spanbridge::forward::{DestinationText, dead_letters, folder, progress};
use spanbridge::server::Config;

use super::sink::{Answer, Came, Sink};
use super::support::{Bridge, spans, to, until};

const SECRET: &str = "sk-live-0123456789";

fn with_token(url: &str) -> DestinationText {
    DestinationText {
        headers: [("authorization".to_owned(), format!("Bearer {SECRET}"))].into(),
        ..to(url)
    }
}

/// Whether a request holds spans.
fn has_spans(came: &Came) -> bool {
    !came.body.is_empty()
}

/// `ExportTraceServiceResponse` with a partial success of one rejected span and a long text.
fn partial(text: &str) -> Vec<u8> {
    let varint = |mut number: usize| {
        let mut out = Vec::new();
        while number > 0x7f {
            out.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
            number >>= 7;
        }
        out.push(u8::try_from(number).unwrap());
        out
    };
    let mut inner = vec![0x08, 1, 0x12];
    inner.extend(varint(text.len()));
    inner.extend(text.as_bytes());
    let mut out = vec![0x0a];
    out.extend(varint(inner.len()));
    out.extend(inner);
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_destination_says_is_kept_cut_and_without_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|came| {
        let said = format!("{} Bearer {SECRET} {SECRET}", came.headers["authorization"].to_str().unwrap());
        let content = vec![("content-type", "application/x-protobuf".to_owned())];
        Answer::Status(200, content, partial(&(said + &"x".repeat(2 << 20))))
    })
    .await;
    let bridge = Bridge::start(directory.path(), &[with_token(&sink.url())]).await;
    for trace in 0..20 {
        bridge.send_spans(&spans(trace, 0..1)).await;
    }
    let folder = folder(directory.path());
    until("all are dead letters", || async {
        let letters = dead_letters::read(&folder, "sink").unwrap();
        letters.iter().map(|letter| letter.items).sum::<u64>() >= 1 && bridge.metric("otelcol_exporter_queue_size", "sink").await == 0
    })
    .await;
    bridge.stop().await;
    let text = fs::read_to_string(dead_letters::path(&folder, "sink")).unwrap();
    assert!(text.contains("[redacted]") && text.contains("more bytes"), "{text}");
    assert!(!text.contains(SECRET), "{text}");
    assert!(text.len() < 20 * 1_000, "{} bytes", text.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_shows_no_secret_in_the_status() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|came| {
        let said = format!("unknown token {SECRET} in {}", came.headers["authorization"].to_str().unwrap());
        Answer::Status(401, Vec::new(), said.into_bytes())
    })
    .await;
    let bridge = Bridge::start(directory.path(), &[with_token(&sink.url())]).await;
    bridge.send_spans(&spans(0, 0..1)).await;
    let folder = folder(directory.path());
    let last_error = || progress::read(&folder, "sink").unwrap().and_then(|progress| progress.last_error);
    until("the error is shown", || async { last_error().is_some() }).await;
    let error = last_error().unwrap();
    assert!(error.contains("[redacted]") && !error.contains(SECRET), "{error}");
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_with_status_200_is_not_delivered() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|came| {
        let content = vec![("content-type", "application/json".to_owned())];
        match has_spans(came) {
            true => Answer::Status(200, content, br#"{"error":{"message":"no such project"}}"#.to_vec()),
            false => Answer::Status(200, content, b"{}".to_vec()),
        }
    })
    .await;
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    bridge.send_spans(&spans(0, 0..1)).await;
    let folder = folder(directory.path());
    until("it is a dead letter", || async {
        dead_letters::read(&folder, "sink").unwrap().len() == 1
    })
    .await;
    assert!(dead_letters::read(&folder, "sink").unwrap()[0].reason.contains("no such project"));
    assert_eq!(bridge.metric("otelcol_exporter_sent_spans", "sink").await, 0);
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_files_do_not_keep_the_server_from_starting() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    bridge.send_spans(&spans(0, 0..1)).await;
    sink.wait_for(1).await;
    bridge.stop().await;
    let folder = folder(directory.path());
    fs::write(folder.join("sink.progress.json"), b"\xff{").unwrap();
    fs::write(folder.join("sink.order.json"), b"nonsense").unwrap();
    fs::write(directory.path().join("instance"), b"\xff\xfe").unwrap();
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    // At least once: from the beginning.
    sink.wait_for(2).await;
    until("the order is put aside", || async { folder.join("sink.order.unreadable").exists() }).await;
    assert!(folder.join("sink.progress.damaged").exists());
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_accepts_requests_is_up_before_its_first_span() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    until("it is up", || async { bridge.metric("spanbridge_forward_up", "sink").await == 1 }).await;
    assert!(!sink.came().iter().any(has_spans));
    bridge.stop().await;
}

/// While a destination is down, retention removes what it has not had: that is counted at once, not when it is back.
#[tokio::test(flavor = "multi_thread")]
async fn retention_that_passes_a_destination_is_seen_while_it_is_down() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::status(503)).await;
    let mut config = Config::new(directory.path());
    config.forward = spanbridge::forward::resolve_all(&[to(&sink.url())], None).unwrap();
    config.retention.age = Some(Duration::from_secs(1));
    let bridge = Bridge::with(&config).await;
    for trace in 0..30 {
        bridge.send_spans(&spans(trace, 0..4)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let removed = "spanbridge_forward_removed_segments_total";
    until("retention is seen", || async { bridge.metric(removed, "sink").await > 0 }).await;
    bridge.stop().await;
}
