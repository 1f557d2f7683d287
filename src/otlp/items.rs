//! Splits a message into spans, log records or metrics, each with the bytes around it, so that any selection of them can be joined into a
//! message again.

use std::sync::Arc;

use super::scan;
use super::wire::{Cursor, Fault, LEN, Payload};
use crate::span::{SpanId, TraceId, UnixNanos};

/// Field numbers: of a resource's group in the request, a scope's group in that, and an item in that.
const RESOURCES: u32 = 1;
const SCOPES: u32 = 2;
const ITEMS: u32 = 2;

/// A span, log record or metric: its bytes and those of the enclosing messages.
#[derive(Debug, Clone)]
pub struct Item {
    /// All fields of its resource's group except the scopes.
    resource: Arc<[u8]>,
    /// All fields of its scope's group except the items.
    scope: Arc<[u8]>,
    /// The item's own message.
    bytes: Vec<u8>,
}

/// The parts of a span's message needed for sampling decisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpanHead {
    /// The trace id; `None` if it is unusable.
    pub trace_id: Option<TraceId>,
    /// The span id; `None` if it is unusable.
    pub span_id: Option<SpanId>,
    /// When it began.
    pub start: UnixNanos,
    /// When it ended; zero while it runs.
    pub end: UnixNanos,
    /// Whether its status is an error.
    pub failed: bool,
}

/// The items of an export request, in order. A metric is one item, whatever the number of its data points.
///
/// # Errors
///
/// The bytes are not such a request; the fault names the place.
pub fn items(message: &[u8]) -> Result<Vec<Item>, Fault> {
    let mut out = Vec::new();
    let mut request = Cursor::new(message);
    while let Some(group) = request.next()? {
        if group.number != RESOURCES || group.wire != LEN {
            continue;
        }
        let resource: Arc<[u8]> = without(request.enter(&group)?, SCOPES)?.into();
        let mut scopes = request.enter(&group)?;
        while let Some(group) = scopes.next()? {
            if group.number != SCOPES || group.wire != LEN {
                continue;
            }
            let scope: Arc<[u8]> = without(scopes.enter(&group)?, ITEMS)?.into();
            let mut items = scopes.enter(&group)?;
            while let Some(item) = items.next()? {
                if item.number == ITEMS && item.wire == LEN {
                    out.push(Item {
                        resource: Arc::clone(&resource),
                        scope: Arc::clone(&scope),
                        bytes: items.bytes(&item.value).to_vec(),
                    });
                }
            }
        }
    }
    Ok(out)
}

/// The number of items in a request; 0 if it is broken.
#[must_use]
pub fn count(message: &[u8]) -> u64 {
    let mut count = 0;
    match each(Cursor::new(message), &[RESOURCES, SCOPES, ITEMS], &mut |_| count += 1) {
        Ok(()) => count,
        Err(_) => 0,
    }
}

/// All fields of a message except those with this number, unchanged.
fn without(mut cursor: Cursor<'_>, number: u32) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    while let Some(field) = cursor.next()? {
        if field.number != number {
            out.extend_from_slice(cursor.bytes(&field.whole));
        }
    }
    Ok(out)
}

/// Builds an export request with these items. Neighbours from one group stay in one group.
#[must_use]
pub fn join<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<u8> {
    /// A value and the bytes around it.
    type Around<'a, T> = (&'a Arc<[u8]>, T);
    let mut resources: Vec<Around<'_, Vec<Around<'_, Vec<u8>>>>> = Vec::new();
    for item in items {
        let scopes = match resources.last_mut() {
            Some((resource, scopes)) if Arc::ptr_eq(resource, &item.resource) => scopes,
            _ => {
                resources.push((&item.resource, Vec::new()));
                let Some((_, scopes)) = resources.last_mut() else { continue };
                scopes
            }
        };
        match scopes.last_mut() {
            Some((scope, spans)) if Arc::ptr_eq(scope, &item.scope) => put(spans, ITEMS, &[&item.bytes]),
            _ => {
                let mut spans = Vec::new();
                put(&mut spans, ITEMS, &[&item.bytes]);
                scopes.push((&item.scope, spans));
            }
        }
    }
    let mut out = Vec::new();
    for (resource, scopes) in resources {
        let mut groups = Vec::new();
        for (scope, spans) in scopes {
            put(&mut groups, SCOPES, &[scope, &spans]);
        }
        put(&mut out, RESOURCES, &[resource, &groups]);
    }
    out
}

fn put(out: &mut Vec<u8>, number: u32, pieces: &[&[u8]]) {
    prost::encoding::encode_varint(u64::from(number << 3 | u32::from(LEN)), out);
    prost::encoding::encode_varint(pieces.iter().map(|piece| piece.len() as u64).sum(), out);
    pieces.iter().for_each(|piece| out.extend_from_slice(piece));
}

impl Item {
    /// The item's length in bytes as a message of its own.
    #[must_use]
    pub fn length(&self) -> usize {
        // Three tags and lengths.
        self.bytes.len() + self.resource.len() + self.scope.len() + 18
    }

    /// The `service.name` of its resource.
    #[must_use]
    pub fn service(&self) -> Option<Arc<str>> {
        scan::names_of(&self.resource, &[]).ok()?.service
    }

    /// The item's own message, a `Span`, `LogRecord` or `Metric`.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same resource and scope around another message.
    #[must_use]
    pub fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        Self {
            resource: Arc::clone(&self.resource),
            scope: Arc::clone(&self.scope),
            bytes,
        }
    }

    /// The span named by the message, if it is a log record.
    #[must_use]
    pub fn record_span(&self) -> Option<SpanId> {
        let mut cursor = Cursor::new(&self.bytes);
        while let Ok(Some(field)) = cursor.next() {
            if field.number == 10 {
                return SpanId::from_bytes(cursor.bytes(&field.value));
            }
        }
        None
    }

    /// The head of the message, if it is a span.
    #[must_use]
    pub fn span_head(&self) -> SpanHead {
        SpanHead::of(&self.bytes)
    }
}

impl SpanHead {
    fn of(span: &[u8]) -> Self {
        let mut head = Self::default();
        let mut cursor = Cursor::new(span);
        while let Ok(Some(field)) = cursor.next() {
            match (field.number, field.payload) {
                (1, _) => head.trace_id = TraceId::from_bytes(cursor.bytes(&field.value)),
                (2, _) => head.span_id = SpanId::from_bytes(cursor.bytes(&field.value)),
                (7, Payload::Number(time)) => head.start = UnixNanos(time),
                (8, Payload::Number(time)) => head.end = UnixNanos(time),
                (15, Payload::Bytes) => {
                    let Ok(mut status) = cursor.enter(&field) else { continue };
                    while let Ok(Some(field)) = status.next() {
                        if field.number == 3 {
                            head.failed = field.payload == Payload::Number(2);
                        }
                    }
                }
                _ => {}
            }
        }
        head
    }
}

/// The heads of the spans of a request, in order.
///
/// # Errors
///
/// The bytes are not such a request; the fault names the place.
pub fn span_heads(message: &[u8]) -> Result<Vec<SpanHead>, Fault> {
    let mut out = Vec::new();
    each(Cursor::new(message), &[RESOURCES, SCOPES, ITEMS], &mut |span| {
        out.push(SpanHead::of(span))
    })?;
    Ok(out)
}

/// Visits the messages at the end of a path of field numbers.
fn each(mut cursor: Cursor<'_>, path: &[u32], found: &mut impl FnMut(&[u8])) -> Result<(), Fault> {
    let Some((number, rest)) = path.split_first() else { return Ok(()) };
    while let Some(field) = cursor.next()? {
        match field.number == *number && field.wire == LEN {
            true if rest.is_empty() => found(cursor.bytes(&field.value)),
            true => each(cursor.enter(&field)?, rest, found)?,
            false => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::{decode, encode};
    use crate::span::{Resource, Span, Status};

    fn spans() -> Vec<Span> {
        (1..=5u8)
            .map(|number| {
                let mut span = Span::new(
                    TraceId::from_bytes(&[number; 16]).expect("an id"),
                    SpanId::from_bytes(&[number; 8]).expect("an id"),
                    format!("span {number}"),
                );
                (span.start, span.end) = (UnixNanos(number.into()), UnixNanos(u64::from(number) + 1));
                if number > 3 {
                    let mut resource = Resource::default();
                    resource.attributes.push("service.name", "other");
                    span.resource = Arc::new(resource);
                    span.status = Status {
                        code: 2,
                        message: "failed".to_owned(),
                    };
                }
                span
            })
            .collect()
    }

    #[test]
    fn all_items_joined_are_the_message() {
        let message = encode::traces(&spans());
        let items = items(&message).expect("a request");
        assert_eq!(items.len(), 5);
        assert_eq!(join(&items), message);
        assert_eq!(count(&message), 5);
    }

    #[test]
    fn every_choice_is_a_message_with_what_stands_around_it() {
        let spans = spans();
        let items = items(&encode::traces(&spans)).expect("a request");
        let chosen = [items.get(1), items.get(4)].into_iter().flatten();
        let decoded = decode::traces(&join(chosen)).expect("a request").items;
        assert_eq!(
            decoded,
            [spans.get(1).cloned().expect("there"), spans.get(4).cloned().expect("there")]
        );
    }

    #[test]
    fn the_head_of_a_span_is_read() {
        let items = items(&encode::traces(&spans())).expect("a request");
        let head = items.get(3).expect("there").span_head();
        assert_eq!(head.trace_id, TraceId::from_bytes(&[4; 16]));
        assert_eq!(head.span_id, SpanId::from_bytes(&[4; 8]));
        assert_eq!((head.start, head.end), (UnixNanos(4), UnixNanos(5)));
        assert!(head.failed);
        assert!(!items.first().expect("there").span_head().failed);
    }
}
