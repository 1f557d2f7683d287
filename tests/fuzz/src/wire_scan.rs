//! OTLP protobuf: the scan gives prost's verdict, splits into the same items, and encoding what was decoded loses nothing.

use std::fmt::Debug;

use spanbridge::otlp::{decode, encode, scan, signal};
use spanbridge::span::{LogRecord, Signal, Span};

const SESSION_KEYS: [&str; 2] = ["session.id", "gen_ai.conversation.id"];

/// Holds the law over these bytes.
pub fn run(data: &[u8]) {
    let _ = signal::guess(data);
    let _ = signal::count_points(data);
    traces(data);
    logs(data);
}

fn traces(data: &[u8]) {
    let decoded = decode::traces(data);
    let scanned = scan::scan(data, Signal::Traces, &SESSION_KEYS);
    assert_eq!(scan::check(data, Signal::Traces).is_ok(), scanned.is_ok());
    let (decoded, scanned) = match (decoded, scanned) {
        (Ok(decoded), Ok(scanned)) => (decoded, scanned),
        (Err(_), Err(_)) => return,
        (decoded, scanned) => panic!("prost: {:?}, scan: {:?}", decoded.err(), scanned.err()),
    };
    assert_eq!(scanned.items, decoded.items.len() + decoded.refused.len());
    assert_eq!(scanned.refused_count, decoded.refused.len());
    assert!(decoded.refused.starts_with(&scanned.refused));
    assert_eq!(scanned.refused.len(), decoded.refused.len().min(100));
    let parts = parts_of(&scanned, data);
    assert_eq!(parts.len(), scanned.parts.len());
    let mut in_parts = 0;
    for (bytes, part) in parts.iter().zip(&scanned.parts) {
        let scan::Key::Trace(trace_id) = &part.key else {
            panic!("a span has a trace")
        };
        let again = decode::traces(bytes).expect("a part is a request");
        assert!(again.refused.is_empty());
        let wanted: Vec<Span> = decoded.items.iter().filter(|span| span.trace_id == *trace_id).cloned().collect();
        same(&again.items, &wanted);
        in_parts += wanted.len();
        facts(part, &wanted);
    }
    assert_eq!(in_parts, decoded.items.len());
    let again = decode::traces(&encode::traces(&decoded.items)).expect("what is encoded decodes");
    assert!(again.refused.is_empty());
    same_set(&again.items, &decoded.items);
}

/// What the scan says of a part is what its spans say.
fn facts(part: &scan::Part, spans: &[Span]) {
    assert_eq!(part.items, spans.len());
    assert_eq!(part.errors, spans.iter().filter(|span| span.status.is_error()).count());
    assert_eq!(part.end, spans.iter().map(|span| span.end.0).max().unwrap_or(0));
    let start = spans.iter().map(|span| span.start.0).filter(|start| *start != 0).min();
    assert_eq!(part.start, start.unwrap_or(0));
    let roots = || spans.iter().filter(|span| span.parent.is_none());
    let root = roots().min_by_key(|span| span.start).map(|span| (span.start.0, span.name.clone()));
    assert_eq!(part.root, root);
    assert_eq!(part.root_ended, roots().any(|span| !span.is_running()));
}

fn logs(data: &[u8]) {
    let decoded = decode::logs(data);
    let scanned = scan::scan(data, Signal::Logs, &SESSION_KEYS);
    assert_eq!(scan::check(data, Signal::Logs).is_ok(), scanned.is_ok());
    let (decoded, scanned) = match (decoded, scanned) {
        (Ok(decoded), Ok(scanned)) => (decoded, scanned),
        (Err(_), Err(_)) => return,
        (decoded, scanned) => panic!("prost: {:?}, scan: {:?}", decoded.err(), scanned.err()),
    };
    assert_eq!((scanned.items, scanned.refused_count), (decoded.items.len(), 0));
    let parts = parts_of(&scanned, data);
    assert_eq!(parts.len(), scanned.parts.len());
    let mut loose: Vec<LogRecord> = Vec::new();
    for (bytes, part) in parts.iter().zip(&scanned.parts) {
        let again = decode::logs(bytes).expect("a part is a request").items;
        assert_eq!(again.len(), part.items);
        match &part.key {
            scan::Key::Trace(trace_id) => {
                let wanted = decoded.items.iter().filter(|record| record.trace_id == Some(*trace_id));
                same(&again, &wanted.cloned().collect::<Vec<_>>());
            }
            scan::Key::Session(_) => loose.extend(again),
        }
    }
    let wanted = decoded.items.iter().filter(|record| record.trace_id.is_none());
    same_set(&loose, &wanted.cloned().collect::<Vec<_>>());
    let again = decode::logs(&encode::logs(&decoded.items)).expect("what is encoded decodes").items;
    same_set(&again, &decoded.items);
}

/// Equal, or equal as text: NaN is not equal to itself.
pub fn same<T: PartialEq + Debug>(have: &[T], want: &[T]) {
    if have != want {
        assert_eq!(format!("{have:?}"), format!("{want:?}"));
    }
}

/// The same items in any order: encoding groups them by resource and scope.
pub fn same_set<T: PartialEq + Debug>(have: &[T], want: &[T]) {
    if have != want {
        let sorted = |items: &[T]| {
            let mut texts: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
            texts.sort();
            texts
        };
        assert_eq!(sorted(have), sorted(want));
    }
}

/// The messages that a request is split into, whole.
fn parts_of(scanned: &scan::Scan, request: &[u8]) -> Vec<Vec<u8>> {
    let (parts, cuts) = scanned.clone().cut(request.len());
    (0..parts.len()).map(|part| cuts.message(part, request)).collect()
}
