//! What was acknowledged reaches the destination, though the bridge is killed and the destination fails again and again.
//!
//! 5 kills; 100 with `SPANBRIDGE_FULL=1`.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use spanbridge::otlp::encode;

use super::serving::Serving;
use super::sink::{Answer, Sink};
use super::support::{spans, until};

/// Sends traces of three spans, one after the other, until the bridge is gone. Gives the number of the next trace.
fn load(http: &str, mut next: u64, acknowledged: &mut BTreeSet<u64>) -> u64 {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .proxy(None)
        .timeout_global(Some(Duration::from_secs(5)))
        .build()
        .into();
    loop {
        let message = encode::traces(&spans(next, 0..3));
        let post = agent
            .post(format!("{http}/v1/traces"))
            .header("content-type", "application/x-protobuf");
        if post.send(&message[..]).is_err() {
            return next + 1;
        }
        acknowledged.insert(next);
        next += 1;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_acknowledged_span_arrives_at_least_once_after_kills() {
    let kills = if crate::long_form::is_long_form() { 100 } else { 5 };
    let directory = tempfile::tempdir().unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    let sink = Sink::start(move |_| match asked.fetch_add(1, Ordering::Relaxed) % 5 {
        3 => Answer::status(503),
        _ => Answer::ok(),
    })
    .await;
    let start = |url: String| {
        let mut starter = Command::new("env");
        starter.env("SPANBRIDGE_FORWARD", format!("sink={url}"));
        Serving::start_by(starter, directory.path())
    };
    let mut acknowledged = BTreeSet::new();
    let mut next = 0;
    for round in 0..kills {
        let mut bridge = start(sink.url());
        let http = bridge.http.clone();
        let mut known = std::mem::take(&mut acknowledged);
        let sender = tokio::task::spawn_blocking(move || {
            let next = load(&http, next, &mut known);
            (next, known)
        });
        tokio::time::sleep(Duration::from_millis(150 + round * 71 % 400)).await;
        bridge.child.kill().unwrap();
        bridge.wait();
        (next, acknowledged) = sender.await.unwrap();
    }
    assert!(acknowledged.len() > usize::try_from(kills).unwrap(), "something was acknowledged");
    let bridge = start(sink.url());
    let wanted: BTreeSet<_> = acknowledged
        .iter()
        .flat_map(|trace| spans(*trace, 0..3))
        .map(|span| (span.trace_id, span.span_id))
        .collect();
    let came = || -> BTreeSet<_> { sink.spans().iter().map(|span| (span.trace_id, span.span_id)).collect() };
    until("all came", || async { wanted.is_subset(&came()) }).await;
    bridge.stop();
    // A kill repeats at most what is behind the last position on the disk; a stop leaves nothing to repeat.
    let before = sink.spans().len();
    start(sink.url()).stop();
    assert_eq!(sink.spans().len(), before, "spans came again after a stop");
}
