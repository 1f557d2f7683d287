//! OTLP protobuf: the scan gives prost's verdict of what stands around the items and of each item, splits into the same items, and
//! encoding what was decoded loses nothing.
//!
//! It refuses a request exactly if prost refuses what stands around the items, or all items of which there are any. Else it refuses
//! exactly the items that prost refuses (and spans without ids), and is right about the request without them.

use std::fmt::Debug;

use spanbridge::otlp::{decode, encode, scan, signal};
use spanbridge::span::{LogRecord, RefusedReason, Signal, Span};

const SESSION_KEYS: [&str; 2] = ["session.id", "gen_ai.conversation.id"];

/// Holds the law over these bytes.
pub fn run(data: &[u8]) {
    let _ = signal::guess(data);
    let _ = signal::count_points(data);
    traces(data);
    logs(data);
}

fn traces(data: &[u8]) {
    // An empty span has no ids: it is refused in the place of the one that cannot be read.
    let readable = Readable::of(data, true, &|request| decode::traces(request).is_ok());
    let is_whole = decode::traces(data).is_ok();
    assert_eq!(scan::check(data, Signal::Traces).is_ok(), is_whole);
    let decoded = decode::traces(&readable.message);
    assert_eq!(is_whole, decoded.is_ok() && readable.broken.is_empty());
    let scanned = scan::scan(data, Signal::Traces, &SESSION_KEYS);
    let (decoded, scanned) = match (decoded, scanned) {
        (Ok(decoded), Ok(scanned)) if !readable.has_nothing() => (decoded, scanned),
        (Ok(_), Err(_)) if readable.has_nothing() => return,
        (Err(_), Err(_)) => return,
        (decoded, scanned) => panic!("prost: {:?}, scan: {:?}", decoded.err(), scanned.err()),
    };
    assert_eq!(scanned.items, readable.items);
    assert_eq!(scanned.items, decoded.items.len() + decoded.refused.len());
    assert_eq!(scanned.refused_count, decoded.refused.len());
    assert_eq!(scanned.refused.len(), decoded.refused.len().min(100));
    let mut broken = readable.broken.iter().peekable();
    for (have, want) in scanned.refused.iter().zip(&decoded.refused) {
        assert_eq!(have.path, want.path);
        let place = (have.path.resource, have.path.scope, have.path.item);
        match broken.next_if(|broken| **broken == place) {
            Some(_) => assert!(matches!(have.reason, RefusedReason::Content(_)), "{have:?}"),
            None => assert_eq!(have, want),
        }
    }
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
    let readable = Readable::of(data, false, &|request| decode::logs(request).is_ok());
    let is_whole = decode::logs(data).is_ok();
    assert_eq!(scan::check(data, Signal::Logs).is_ok(), is_whole);
    let decoded = decode::logs(&readable.message);
    assert_eq!(is_whole, decoded.is_ok() && readable.broken.is_empty());
    let scanned = scan::scan(data, Signal::Logs, &SESSION_KEYS);
    let (decoded, scanned) = match (decoded, scanned) {
        (Ok(decoded), Ok(scanned)) if !readable.has_nothing() => (decoded, scanned),
        (Ok(_), Err(_)) if readable.has_nothing() => return,
        (Err(_), Err(_)) => return,
        (decoded, scanned) => panic!("prost: {:?}, scan: {:?}", decoded.err(), scanned.err()),
    };
    let broken = readable.broken.len();
    assert_eq!(scanned.items, readable.items);
    assert_eq!((scanned.items, scanned.refused_count), (decoded.items.len() + broken, broken));
    assert_eq!(scanned.refused.len(), broken.min(100));
    for (have, place) in scanned.refused.iter().zip(&readable.broken) {
        assert_eq!((have.path.resource, have.path.scope, have.path.item), *place);
        assert!(matches!(have.reason, RefusedReason::Content(_)), "{have:?}");
    }
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

/// A request without the items that prost cannot read.
struct Readable {
    message: Vec<u8>,
    items: usize,
    /// Where those stand: resource, scope, item.
    broken: Vec<(usize, usize, usize)>,
}

impl Readable {
    /// `keeps_places`: an empty item stands in for one that cannot be read.
    fn of(request: &[u8], keeps_places: bool, reads: &dyn Fn(&[u8]) -> bool) -> Self {
        let (mut items, mut broken) = (0, Vec::new());
        let message = rewritten(request, 1, &mut |resource, scopes| {
            let scopes = rewritten(scopes, 2, &mut |scope, of_scope| {
                let of_scope = rewritten(of_scope, 2, &mut |item, bytes| {
                    items += 1;
                    let alone = field(0x0a, &field(0x12, &field(0x12, bytes)));
                    if reads(&alone) {
                        return Some(bytes.to_vec());
                    }
                    broken.push((resource, scope, item));
                    keeps_places.then(Vec::new)
                });
                Some(of_scope)
            });
            Some(scopes)
        });
        Self { message, items, broken }
    }

    /// Whether there are items, and none that can be read.
    fn has_nothing(&self) -> bool {
        !self.broken.is_empty() && self.broken.len() == self.items
    }
}

/// What a field of bytes becomes, by its place among the fields of its number; `None` leaves it out.
type Rewrite<'a> = dyn FnMut(usize, &[u8]) -> Option<Vec<u8>> + 'a;

/// A message with other bytes in its fields of this number that hold bytes, or without them. From where it is no message on, it
/// stays as it is.
fn rewritten(message: &[u8], number: u64, with: &mut Rewrite<'_>) -> Vec<u8> {
    let (mut out, mut rest, mut count) = (Vec::new(), message, 0);
    while let Some((key, after_key)) = varint(rest) {
        let Some(behind) = skip(key, after_key) else { break };
        if key == ((number << 3) | 2) {
            let value = varint(after_key).map_or(&[][..], |(_, value)| value);
            let value = &value[..value.len() - behind.len()];
            if let Some(value) = with(count, value) {
                out.extend_from_slice(&rest[..rest.len() - after_key.len()]);
                put_varint(value.len(), &mut out);
                out.extend_from_slice(&value);
            }
            count += 1;
        } else {
            out.extend_from_slice(&rest[..rest.len() - behind.len()]);
        }
        rest = behind;
    }
    out.extend_from_slice(rest);
    out
}

/// What stands behind a field.
fn skip(key: u64, bytes: &[u8]) -> Option<&[u8]> {
    let (mut groups, mut key, mut rest) = (Vec::new(), key, bytes);
    loop {
        rest = match key & 7 {
            0 => varint(rest)?.1,
            1 => rest.get(8..)?,
            2 => {
                let (length, value) = varint(rest)?;
                value.get(usize::try_from(length).ok()?..)?
            }
            3 => {
                groups.push(key >> 3);
                rest
            }
            4 if groups.pop() == Some(key >> 3) => rest,
            5 => rest.get(4..)?,
            _ => return None,
        };
        if groups.is_empty() {
            return Some(rest);
        }
        (key, rest) = varint(rest)?;
    }
}

/// A number, and what stands behind it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (place, byte) in bytes.iter().take(10).enumerate() {
        if place == 9 && *byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (place * 7);
        if *byte < 0x80 {
            return Some((value, &bytes[place + 1..]));
        }
    }
    None
}

fn put_varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn field(key: u8, value: &[u8]) -> Vec<u8> {
    let mut out = vec![key];
    put_varint(value.len(), &mut out);
    out.extend_from_slice(value);
    out
}
