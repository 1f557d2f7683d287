//! Requests with much around many small traces: what stands around them is stored once, and each trace reads as if it had come
//! alone: compressed, beside removed segments, in an index that was made anew, and after damage.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

use crate::local::{log_bytes, rows};
use crate::spans;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use spanbridge::otlp::{encode, scan};
use spanbridge::span::{LogRecord, Resource, Scope, Signal, Span, TraceId, UnixNanos};
use spanbridge::store::{Administer as _, Append as _, Chunk, Divided, Local, OpenOptions, Read as _, Receipt};
use spans::KEYS;

const TRACES: u32 = 300;

fn options(directory: &Path) -> OpenOptions {
    OpenOptions {
        session_keys: KEYS.map(ToOwned::to_owned).to_vec(),
        segment_size: 100_000,
        ..OpenOptions::new(directory)
    }
}

/// Traces from this number on. Two resources of 20 KB with two scopes each: every trace has a span in one of them, every third
/// trace in both.
fn request(from: u32) -> Vec<Span> {
    let resource = |name: &str| {
        let around = format!("{name} says it again, ").repeat(800);
        let named = [("service.name", name), ("session.id", "one session"), ("around", &around)];
        Arc::new(Resource {
            attributes: named.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect(),
            schema_url: "https://opentelemetry.io/schemas/1.27.0".to_owned(),
            ..Resource::default()
        })
    };
    let scopes = ["a", "b"].map(|name| {
        Arc::new(Scope {
            name: name.repeat(200),
            schema_url: "https://opentelemetry.io/schemas/1.26.0".to_owned(),
            ..Scope::default()
        })
    });
    let resources = [resource("front"), resource("back")];
    let mut all = Vec::new();
    for (at, mut span) in spans::lone(from..from + TRACES).into_iter().enumerate() {
        span.resource = Arc::clone(&resources[at % 2]);
        span.scope = Arc::clone(&scopes[at / 2 % 2]);
        if at % 3 == 0 {
            let mut second = span.clone();
            second.span_id = spanbridge::span::SpanId::from_bytes(&[9; 8]).expect("an id");
            second.resource = Arc::clone(&resources[(at + 1) % 2]);
            all.push(second);
        }
        all.push(span);
    }
    all
}

fn divided(spans: &[Span]) -> (Divided, usize) {
    let bytes = encode::traces(spans);
    let length = bytes.len();
    let scanned = scan::scan(&bytes, Signal::Traces, &KEYS).expect("a request");
    (Chunk::divide(scanned, bytes), length)
}

fn chunks(spans: &[Span]) -> Vec<Chunk> {
    divided(spans).0.chunks
}

fn sorted(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| span.span_id);
    spans
}

/// Every trace of the request is there, span by span.
fn holds(store: &Local, request: &[Span]) {
    for trace_id in request.iter().map(|span| span.trace_id) {
        let stored = store.read_trace(trace_id).expect("reads").expect("is there");
        assert_eq!(stored.damaged, [] as [String; 0]);
        let wanted = request.iter().filter(|span| span.trace_id == trace_id).cloned().collect();
        assert_eq!(sorted(stored.spans), sorted(wanted));
    }
}

#[test]
fn what_stands_around_the_items_is_stored_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let request = request(0);
    let (divided, length) = divided(&request);
    assert!(divided.messages > 50 * length, "a request that copies would multiply");
    assert!(divided.stored < 2 * length, "{} of {length}", divided.stored);
    let store = Local::open(&options(directory.path())).expect("opens").store;
    let receipt = store.append(divided.chunks).expect("appends");
    assert_eq!((receipt.stored, receipt.duplicates), (request.len(), 0));
    let written = log_bytes(directory.path());
    assert!(written <= divided.stored as u64 + 16, "{written} of {}", divided.stored);
    holds(&store, &request);
    let listed = rows(&store);
    let services: Vec<&str> = listed.iter().filter_map(|row| row.service.as_deref()).collect();
    assert!(services.len() == TRACES as usize && services.contains(&"front") && services.contains(&"back"));
    assert!(
        listed
            .iter()
            .all(|row| row.session.as_deref() == Some("one session") && row.bytes > 15_000)
    );
    // The index that is made of the log is the one that was made of the request.
    drop(store);
    assert_eq!(rows(&Local::reindex(&options(directory.path())).expect("opens").store), listed);
}

#[test]
fn a_request_that_comes_again_is_a_repetition() {
    let directory = tempfile::tempdir().expect("a directory");
    let request = request(0);
    let store = Arc::new(Local::open(&options(directory.path())).expect("opens").store);
    // At once, so that several are one commit.
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (store, chunks) = (Arc::clone(&store), chunks(&request));
            std::thread::spawn(move || store.append(chunks).expect("appends"))
        })
        .collect();
    let receipts: Vec<Receipt> = threads.into_iter().map(|thread| thread.join().expect("ends")).collect();
    let sum = |of: fn(&Receipt) -> usize| receipts.iter().map(of).sum::<usize>();
    assert_eq!(
        (sum(|receipt| receipt.stored), sum(|receipt| receipt.duplicates)),
        (request.len(), 3 * request.len())
    );
    let before = log_bytes(directory.path());
    store.maintain().expect("maintains");
    let again = store.append(chunks(&request)).expect("appends");
    assert_eq!((again.stored, again.duplicates), (0, request.len()));
    assert!(log_bytes(directory.path()) <= before);
    // One byte in what they share, and none of them is known.
    let mut other = request.clone();
    let mut resource = (*other[0].resource).clone();
    resource.attributes.push("more", "x");
    let (before, resource) = (Arc::clone(&other[0].resource), Arc::new(resource));
    let changed = other.iter_mut().filter(|span| span.resource == before);
    let changed = changed.map(|span| span.resource = Arc::clone(&resource)).count();
    let receipt = store.append(chunks(&other)).expect("appends");
    assert!(receipt.stored >= changed && receipt.stored + receipt.duplicates == request.len());
}

#[test]
fn traces_read_the_same_compressed_and_beside_removed_segments() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = |directory: &Path| OpenOptions {
        segment_size: 30_000,
        ..options(directory)
    };
    let requests: Vec<Vec<Span>> = (0..6).map(|number| request(number * TRACES)).collect();
    {
        let store = Local::open(&options(directory.path())).expect("opens").store;
        for request in &requests {
            store.append(chunks(request)).expect("appends");
        }
        let done = store.maintain().expect("maintains");
        assert!(done.compressed_segments > 2, "{done:?}");
        requests.iter().for_each(|request| holds(&store, request));
    }
    let mut keep = options(directory.path());
    keep.retention.bytes = Some(log_bytes(directory.path()) * 2 / 3);
    {
        let store = Local::open(&keep).expect("opens").store;
        let done = store.maintain().expect("maintains");
        assert!((1..4).contains(&done.removed_segments), "{done:?}");
        let gone = requests
            .iter()
            .take_while(|request| store.read_trace(request[0].trace_id).expect("reads").is_none());
        let gone = gone.count();
        assert!((1..5).contains(&gone), "{gone}");
        requests[gone..].iter().for_each(|request| holds(&store, request));
    }
    let store = Local::reindex(&options(directory.path())).expect("opens").store;
    holds(&store, &requests[5]);
}

/// Traces that stand in two segments lose the first: what is left says what it said.
#[test]
fn a_trace_keeps_its_names_when_a_segment_goes() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = request(0);
    let mut second = request(0);
    for span in &mut second {
        span.name = "later".to_owned();
        let mut id = *span.span_id.bytes();
        id[7] ^= 0x55;
        span.span_id = spanbridge::span::SpanId::from_bytes(&id).expect("an id");
    }
    let mut small = options(directory.path());
    small.segment_size = 10_000;
    small.compression = None;
    {
        let store = Local::open(&small).expect("opens").store;
        store.append(chunks(&first)).expect("appends");
        store.append(chunks(&second)).expect("appends");
        store.append(chunks(&request(TRACES))).expect("appends");
    }
    small.retention.bytes = Some(log_bytes(directory.path()) - 1);
    let store = Local::open(&small).expect("opens").store;
    assert_eq!(store.maintain().expect("maintains").removed_segments, 1);
    holds(&store, &second);
    let row = rows(&store)
        .into_iter()
        .find(|row| row.trace_id == second[0].trace_id)
        .expect("listed");
    assert_eq!(row.root.as_deref(), Some("later"));
    assert!(row.service.is_some());
}

#[test]
fn log_records_share_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let resource = Arc::new(Resource {
        attributes: [("around".to_owned(), "again, ".repeat(3_000).as_str().into())]
            .into_iter()
            .collect(),
        ..Resource::default()
    });
    let record = |number: u8| LogRecord {
        trace_id: (!number.is_multiple_of(3)).then(|| TraceId::from_bytes(&[number; 16]).expect("an id")),
        span_id: None,
        time: Some(UnixNanos(1_000 + u64::from(number))),
        observed_time: None,
        severity: 9,
        severity_text: String::new(),
        event_name: String::new(),
        body: "said".into(),
        attributes: [("session.id".to_owned(), format!("session {number}").as_str().into())]
            .into_iter()
            .collect(),
        dropped_attributes: 0,
        flags: 0,
        resource: Arc::clone(&resource),
        scope: Arc::default(),
    };
    let records: Vec<LogRecord> = (1..200).map(record).collect();
    let bytes = encode::logs(&records);
    let (length, scanned) = (bytes.len(), scan::scan(&bytes, Signal::Logs, &KEYS).expect("a request"));
    let divided = Chunk::divide(scanned, bytes);
    assert!(divided.stored < 2 * length && divided.messages > 50 * length);
    let store = Local::open(&options(directory.path())).expect("opens").store;
    store.append(divided.chunks).expect("appends");
    let mut spans: Vec<Span> = (1..200).map(|number| spans::span(number, 1)).collect();
    for span in &mut spans {
        span.attributes.0.clear();
        span.attributes.push("session.id", format!("session {}", span.trace_id.bytes()[0]));
        span.start = UnixNanos(1);
        span.end = UnixNanos(1_000_000);
    }
    store.append(spans::chunks(&spans)).expect("appends");
    for record in &records {
        let number = u8::try_from(record.time.expect("it has one").0 - 1_000).expect("small");
        let stored = store.read_trace(spans::trace(number)).expect("reads").expect("is there");
        assert_eq!(stored.logs, std::slice::from_ref(record), "record {number}");
    }
}

/// What is damaged in an envelope is missing in all its traces, and each says so; the others are read.
#[test]
fn a_damaged_envelope_is_told_by_each_of_its_traces() {
    let directory = tempfile::tempdir().expect("a directory");
    let request = request(0);
    {
        let store = Local::open(&options(directory.path())).expect("opens").store;
        store.append(chunks(&request)).expect("appends");
        store.append(spans::chunks(&spans::lone(5_000..5_001))).expect("appends");
    }
    let path = directory.path().join("0000000001.log");
    let mut bytes = fs::read(&path).expect("reads");
    let at = bytes.windows(9).position(|window| window == b"back says").expect("an envelope");
    bytes[at + 500] ^= 1;
    fs::write(&path, bytes).expect("writes");
    for anew in [false, true] {
        let opened = match anew {
            false => Local::open(&options(directory.path())),
            true => Local::reindex(&options(directory.path())),
        };
        let opened = opened.expect("opens");
        assert_eq!(opened.recovery.damaged.len(), usize::from(anew), "{:?}", opened.recovery);
        let (mut whole, mut damaged) = (0, 0);
        for row in rows(&opened.store) {
            let stored = opened.store.read_trace(row.trace_id).expect("reads").expect("is there");
            match stored.damaged.as_slice() {
                [] => whole += 1,
                _ => damaged += 1,
            }
        }
        // A third of the 300 traces is in both resources, half of the rest in the damaged one.
        assert_eq!((whole, damaged), (101, 200), "made anew: {anew}");
    }
}
