//! A store that cannot be read for a while: spans wait for their log records, and are not sent without them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use spanbridge::dialect::Registry;
use spanbridge::forward::{DestinationText, Forwarder, Source, Via, folder, resolve_all};
use spanbridge::otlp::{encode, scan};
use spanbridge::span::Signal;
use spanbridge::store::{Append, Chunk, Store};

use super::records::record;
use super::sink::{Answer, Sink};
use super::support::{spans, to, until};
use crate::memory_store::Memory;

fn chunks(request: Vec<u8>, signal: Signal) -> Vec<Chunk> {
    Chunk::of_request(scan::scan(&request, signal, &["session.id"]).unwrap(), request)
}

/// A call whose answer is in a log record that came before it, in a store whose next reads of chunks fail, and a destination that has
/// it written onto spans.
async fn forward(sink: &Sink, failing_reads: u32) -> (tempfile::TempDir, Arc<Memory>, Forwarder) {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Memory::default());
    store.append(chunks(record(Some(0), 1_500), Signal::Logs)).unwrap();
    let mut calls = spans(0, 0..1);
    calls[0].attributes.push("gen_ai.operation.name", "chat");
    calls[0].attributes.push("gen_ai.request.model", "a-model");
    store.append(chunks(encode::traces(&calls), Signal::Traces)).unwrap();
    store.failing_reads.store(failing_reads, Ordering::SeqCst);
    let destination = DestinationText {
        preset: Some("jaeger".to_owned()),
        settle_seconds: Some(0.0),
        ..to(&sink.url())
    };
    let source = Source {
        store: Arc::clone(&store) as Arc<dyn Store>,
        folder: folder(directory.path()),
    };
    let destinations = resolve_all(&[destination], None).unwrap();
    let registry = Arc::new(Registry::built_in().clone());
    let via = Arc::new(Via::anonymous());
    let forwarder = Forwarder::start(&destinations, &via, &registry, |_| Some(source.clone())).unwrap();
    (directory, store, forwarder)
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_are_sent_with_their_records_once_these_can_be_read() {
    let sink = Sink::start(|_| Answer::ok()).await;
    let (_directory, store, forwarder) = forward(&sink, 1).await;
    let came = sink.wait_for(1).await;
    assert_eq!(store.failing_reads.load(Ordering::SeqCst), 0, "it was read until that succeeded");
    assert_eq!(came.len(), 1, "it is sent once");
    let messages = came[0].attributes.get("gen_ai.output.messages");
    let messages = messages.map(|value| value.to_json().to_string()).unwrap_or_default();
    assert!(messages.contains("Cold and clear."), "{messages}");
    forwarder.stop(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_whose_records_never_can_be_read_become_dead_letters_with_the_reason() {
    let sink = Sink::start(|_| Answer::ok()).await;
    let (_directory, _, forwarder) = forward(&sink, u32::MAX).await;
    let project = forwarder.samples()[0].project.clone();
    let dead = || forwarder.dead_letters(&project, "sink", 10).unwrap().unwrap();
    // Five tries, five seconds apart.
    tokio::time::sleep(Duration::from_secs(20)).await;
    until("it is a dead letter", || async { dead().1 > 0 }).await;
    let (letters, count) = dead();
    assert_eq!(count, 1);
    let reason = &letters[0].reason;
    assert!(
        reason.contains("its log records cannot be read: cannot read segment-1.log"),
        "{reason}"
    );
    assert!(sink.came().is_empty(), "it is not sent without its content");
    forwarder.stop(Duration::from_secs(5)).await;
}
