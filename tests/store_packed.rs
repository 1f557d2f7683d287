//! Chunks that are compressed when they are written: they read, are found again and go on as if they had not been.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

use crate::local::{log_bytes, rows};
use crate::spans;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use spanbridge::span::{Resource, Span, TraceId};
use spanbridge::store::{Administer as _, Append as _, ArrivalLimits, Chunk, Local, OpenOptions, Position, Read as _, Subscribe as _};

fn options(directory: &Path) -> OpenOptions {
    OpenOptions {
        session_keys: spans::KEYS.map(ToOwned::to_owned).to_vec(),
        segment_size: 40_000,
        ..OpenOptions::new(directory)
    }
}

/// Of one trace with many words, or of many traces with much around them, which share it.
fn requests() -> Vec<Vec<Span>> {
    let one = |of: u8| {
        (1..120).map(move |id| {
            let mut span = spans::span(of, id);
            span.attributes.push("said", "the same again and again, ".repeat(usize::from(id)));
            span
        })
    };
    let around = Resource {
        attributes: [("around".to_owned(), "it says it again, ".repeat(800).as_str().into())]
            .into_iter()
            .collect(),
        ..Resource::default()
    };
    let around = Arc::new(around);
    let many = spans::lone(0..200).into_iter().map(|mut span| {
        span.resource = Arc::clone(&around);
        span.attributes.push("said", "words, ".repeat(30));
        span
    });
    vec![one(1).collect(), many.collect(), one(2).collect()]
}

fn packed(spans: &[Span]) -> Vec<Chunk> {
    spans::chunks(spans).into_iter().map(Chunk::packed).collect()
}

/// What a store holds.
#[derive(PartialEq)]
struct Held {
    /// The spans of each trace.
    traces: Vec<(TraceId, Vec<Span>)>,
    /// What a destination is sent.
    messages: Vec<Vec<u8>>,
}

fn read(store: &Local) -> Held {
    let traces = rows(store).into_iter().map(|row| {
        let stored = store.read_trace(row.trace_id).expect("reads").expect("is there");
        assert_eq!(stored.damaged, [] as [String; 0]);
        (row.trace_id, stored.spans)
    });
    let traces = traces.collect();
    let (mut messages, mut from) = (Vec::new(), Position::default());
    let limits = ArrivalLimits {
        bytes: 10_000,
        latest: u64::MAX,
    };
    loop {
        let arrivals = store.read_arrivals(from, limits).expect("reads");
        assert_eq!(arrivals.damaged_bytes, 0);
        messages.extend(arrivals.chunks.into_iter().map(|chunk| chunk.message));
        if arrivals.next <= from {
            return Held { traces, messages };
        }
        from = arrivals.next;
    }
}

#[test]
fn they_read_as_if_they_were_not() {
    let (plain, compressed) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let store = Local::open(&options(plain.path())).expect("opens").store;
    for request in requests() {
        store.append(spans::chunks(&request)).expect("appends");
    }
    let (wanted, listed) = (read(&store), rows(&store));
    let store = Local::open(&options(compressed.path())).expect("opens").store;
    for request in requests() {
        let receipt = store.append(packed(&request)).expect("appends");
        assert_eq!((receipt.stored, receipt.duplicates), (request.len(), 0));
    }
    let (before, after) = (log_bytes(plain.path()), log_bytes(compressed.path()));
    assert!(after * 4 < before, "{after} of {before}");
    let is_same = |store: &Local| {
        assert!(read(store) == wanted);
        assert_eq!(rows(store), listed);
        for request in requests() {
            for chunks in [packed(&request), spans::chunks(&request)] {
                let receipt = store.append(chunks).expect("appends");
                assert_eq!((receipt.stored, receipt.duplicates), (0, request.len()));
            }
        }
    };
    is_same(&store);
    // Opened again, with an index that is made anew, and in compressed segments.
    drop(store);
    is_same(&Local::open(&options(compressed.path())).expect("opens").store);
    is_same(&Local::reindex(&options(compressed.path())).expect("opens").store);
    let small = OpenOptions {
        segment_size: 1_000,
        ..options(compressed.path())
    };
    let store = Local::open(&small).expect("opens").store;
    store.append(packed(&[spans::span(9, 1)])).expect("appends");
    let done = store.maintain().expect("maintains");
    assert!(done.compressed_segments > 0, "{done:?}");
    assert_eq!(rows(&store).len(), listed.len() + 1);
    for (trace_id, spans) in &wanted.traces {
        assert!(store.read_trace(*trace_id).expect("reads").expect("is there").spans == *spans);
    }
}

/// Damage in one is told, and what follows is found.
#[test]
fn damage_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let requests = requests();
    let store = Local::open(&options(directory.path())).expect("opens").store;
    store.append(packed(&requests[0])).expect("appends");
    let first = log_bytes(directory.path());
    store.append(packed(&requests[2])).expect("appends");
    drop(store);
    let path = directory.path().join("0000000001.log");
    let whole = fs::read(&path).expect("reads");
    // In the head of the first record, and in its message.
    for at in [20, 100] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, bytes).expect("writes");
        let opened = Local::reindex(&options(directory.path())).expect("opens");
        assert_eq!(opened.recovery.damaged.len(), 1, "{:?}", opened.recovery);
        assert!(opened.recovery.damaged[0].bytes >= first - 17);
        let listed = rows(&opened.store);
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].trace_id, spans::trace(2));
    }
}
