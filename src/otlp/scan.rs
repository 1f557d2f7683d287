//! What stands in an export request, without decoding it: which traces, which spans, when, and what a list of traces shows.
//!
//! The scan refuses exactly the bytes that prost refuses, so what it lets through can always be decoded later.

use std::collections::HashMap;
use std::ops::Range;

pub use super::part::{Key, Part};
use super::schema::{Kind, Type};
use super::wire::{Cursor, Fault, FaultKind, Field, LEN, Payload, fault};
use crate::span::decoded::id_fault;
use crate::span::{Place, Refused, RefusedReason, Signal, SpanId, TraceId};

/// How many refused items are told one by one; the rest is counted.
const TOLD: usize = 100;

/// What stands in a request.
#[derive(Debug, Clone)]
pub struct Scan {
    /// What it carries.
    pub signal: Signal,
    /// Its traces, in order of first appearance; log records without a trace come by session.
    pub parts: Vec<Part>,
    /// How many spans or log records there are, refused ones too.
    pub items: usize,
    /// The first refused spans.
    pub refused: Vec<Refused>,
    /// How many spans were refused in all.
    pub refused_count: usize,
    pub(super) resources: Vec<Envelope>,
    pub(super) scopes: Vec<Envelope>,
    pub(super) found: Vec<Found>,
}

/// A resource or a scope: the fields around its items.
#[derive(Debug, Clone, Default)]
pub(super) struct Envelope {
    /// Fields before the first item; those that follow one another are one range.
    pub(super) before: Vec<Range<usize>>,
    /// Fields after it.
    pub(super) after: Vec<Range<usize>>,
}

/// One item of a part.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) part: usize,
    pub(super) resource: usize,
    pub(super) scope: usize,
    /// The whole field with its key.
    pub(super) whole: Range<usize>,
}

/// Scans a request. `session_keys` are the attribute keys that name a session, best first.
///
/// # Errors
///
/// The bytes are not a request of this signal; the place is named. Metrics are never scanned: they have no parts.
pub fn scan(bytes: &[u8], signal: Signal, session_keys: &[&str]) -> Result<Scan, Fault> {
    let mut scanner = Scanner {
        session_keys: SessionKeys::new(session_keys),
        places: HashMap::new(),
        scan: Scan {
            signal,
            parts: Vec::new(),
            items: 0,
            refused: Vec::new(),
            refused_count: 0,
            resources: Vec::new(),
            scopes: Vec::new(),
            found: Vec::new(),
        },
    };
    match signal {
        Signal::Traces => scanner.request(bytes, [Type::TracesRequest, Type::ResourceSpans, Type::ScopeSpans])?,
        Signal::Logs => scanner.request(bytes, [Type::LogsRequest, Type::ResourceLogs, Type::ScopeLogs])?,
        Signal::Metrics => {}
    }
    Ok(scanner.scan)
}

struct Scanner<'a> {
    session_keys: SessionKeys<'a>,
    places: HashMap<Key, usize>,
    scan: Scan,
}

/// What a resource says of its items.
#[derive(Default)]
struct Context {
    service: Option<String>,
    session: Session,
}

/// The best session so far: rank of its key, and its name.
#[derive(Default, Clone)]
struct Session(Option<(usize, String)>);

impl Session {
    fn name(&self) -> Option<&str> {
        self.0.as_ref().map(|(_, name)| name.as_str())
    }
}

impl Scanner<'_> {
    fn request(&mut self, bytes: &[u8], [request, of_resource, of_scope]: [Type; 3]) -> Result<(), Fault> {
        let mut cursor = Cursor::new(bytes);
        let mut resource = 0;
        while let Some(field) = cursor.next()? {
            if request.field(field.number) == Kind::Message(of_resource) && field.wire == LEN {
                self.resource(cursor.enter(&field)?, of_resource, of_scope, resource)?;
                resource += 1;
            } else {
                cursor.check(request, &field)?;
            }
        }
        Ok(())
    }

    /// Two passes: fields that say something of all items may stand behind them.
    fn resource(&mut self, cursor: Cursor<'_>, of_resource: Type, of_scope: Type, resource: usize) -> Result<(), Fault> {
        let mut context = Context::default();
        let mut envelope = Envelope::default();
        let mut before = true;
        let mut fields = cursor.clone();
        while let Some(field) = fields.next()? {
            if field.number == 2 && field.wire == LEN {
                before = false;
                continue;
            }
            fields.check(of_resource, &field)?;
            envelope.add(before, &field);
            if field.number == 1 {
                let mut attributes = fields.enter(&field)?;
                while let Some(attribute) = attributes.next()? {
                    if attribute.number == 1 {
                        self.attribute(
                            &attributes,
                            &attribute,
                            Type::Resource,
                            &mut context.session,
                            Some(&mut context.service),
                        )?;
                    }
                }
            }
        }
        let found = self.scan.found.len();
        self.scan.resources.push(envelope);
        let (mut fields, mut scope) = (cursor, 0);
        while let Some(field) = fields.next()? {
            if field.number == 2 && field.wire == LEN {
                self.scope(fields.enter(&field)?, of_scope, &context, (resource, scope))?;
                scope += 1;
            }
        }
        // Nothing points at it: a message of empty resources must not cost a multiple of its bytes.
        if self.scan.found.len() == found {
            self.scan.resources.pop();
        }
        Ok(())
    }

    fn scope(&mut self, mut cursor: Cursor<'_>, of_scope: Type, context: &Context, place: (usize, usize)) -> Result<(), Fault> {
        let found = self.scan.found.len();
        let mut envelope = Envelope::default();
        let mut items = 0;
        while let Some(field) = cursor.next()? {
            if field.number != 2 || field.wire != LEN {
                cursor.check(of_scope, &field)?;
                envelope.add(items == 0, &field);
                continue;
            }
            let place = Place {
                signal: self.scan.signal,
                resource: place.0,
                scope: place.1,
                item: items,
            };
            items += 1;
            self.scan.items += 1;
            let inside = cursor.enter(&field)?;
            match self.scan.signal {
                Signal::Traces => self.span(inside, context, place, field.whole)?,
                _ => self.record(inside, context, field.whole)?,
            }
        }
        if self.scan.found.len() > found {
            self.scan.scopes.push(envelope);
        }
        Ok(())
    }

    fn span(&mut self, mut cursor: Cursor<'_>, context: &Context, place: Place, whole: Range<usize>) -> Result<(), Fault> {
        let (mut trace_id, mut span_id, mut parent): (&[u8], &[u8], &[u8]) = (&[], &[], &[]);
        let (mut start, mut end, mut failed) = (0, 0, false);
        let mut name = "";
        let mut session = Session::default();
        while let Some(field) = cursor.next()? {
            if field.number == 9 {
                self.attribute(&cursor, &field, Type::Span, &mut session, None)?;
                continue;
            }
            cursor.check(Type::Span, &field)?;
            match (field.number, field.payload) {
                (1, _) => trace_id = cursor.bytes(&field.value),
                (2, _) => span_id = cursor.bytes(&field.value),
                (4, _) => parent = cursor.bytes(&field.value),
                (5, _) => name = cursor.text(&field)?,
                (7, Payload::Number(nanos)) => start = nanos,
                (8, Payload::Number(nanos)) => end = nanos,
                (15, _) => {
                    let mut status = cursor.enter(&field)?;
                    while let Some(field) = status.next()? {
                        if field.number == 3 {
                            failed = field.payload == Payload::Number(2);
                        }
                    }
                }
                _ => {}
            }
        }
        let fault = match (TraceId::from_bytes(trace_id), SpanId::from_bytes(span_id)) {
            (Some(trace_id), Some(_)) => {
                let index = self.found(Key::Trace(trace_id), context, &session, whole);
                if let Some(part) = self.scan.parts.get_mut(index) {
                    part.errors += usize::from(failed);
                    part.times(start, end);
                    if SpanId::from_bytes(parent).is_none() {
                        part.root_ended |= end != 0;
                        if part.root.as_ref().is_none_or(|(earlier, _)| start < *earlier) {
                            part.root = Some((start, name.to_owned()));
                        }
                    }
                }
                return Ok(());
            }
            (None, _) => RefusedReason::TraceId(id_fault(trace_id, 16)),
            (_, None) => RefusedReason::SpanId(id_fault(span_id, 8)),
        };
        self.scan.refused_count += 1;
        if self.scan.refused.len() < TOLD {
            self.scan.refused.push(Refused { place, reason: fault });
        }
        Ok(())
    }

    fn record(&mut self, mut cursor: Cursor<'_>, context: &Context, whole: Range<usize>) -> Result<(), Fault> {
        let mut trace_id: &[u8] = &[];
        let (mut time, mut observed) = (0, 0);
        let mut session = Session::default();
        while let Some(field) = cursor.next()? {
            if field.number == 6 {
                self.attribute(&cursor, &field, Type::LogRecord, &mut session, None)?;
                continue;
            }
            cursor.check(Type::LogRecord, &field)?;
            match (field.number, field.payload) {
                (1, Payload::Number(nanos)) => time = nanos,
                (11, Payload::Number(nanos)) => observed = nanos,
                (9, _) => trace_id = cursor.bytes(&field.value),
                _ => {}
            }
        }
        let key = TraceId::from_bytes(trace_id).map_or_else(
            || Key::Session(session.name().or(context.session.name()).unwrap_or_default().to_owned()),
            Key::Trace,
        );
        let index = self.found(key, context, &session, whole);
        let when = if time == 0 { observed } else { time };
        if let Some(part) = self.scan.parts.get_mut(index) {
            part.times(when, when);
        }
        Ok(())
    }

    /// Checks an attribute, and notes the session or the service that it names.
    fn attribute(
        &self,
        around: &Cursor<'_>,
        field: &Field,
        of: Type,
        session: &mut Session,
        service: Option<&mut Option<String>>,
    ) -> Result<(), Fault> {
        let (key, text) = match around.plain_attribute(field) {
            Some(plain) => plain,
            None => {
                around.check(of, field)?;
                key_and_text(around, field)?
            }
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        let text = || String::from_utf8_lossy(text).into_owned();
        if let Some(service) = service
            && key == b"service.name"
        {
            *service = Some(text());
        }
        if let Some(rank) = self.session_keys.rank(key)
            && session.0.as_ref().is_none_or(|(have, _)| rank <= *have)
        {
            session.0 = Some((rank, text()));
        }
        Ok(())
    }

    /// Adds an item to its part, and gives the part's index.
    fn found(&mut self, key: Key, context: &Context, session: &Session, whole: Range<usize>) -> usize {
        let parts = &mut self.scan.parts;
        let index = *self.places.entry(key).or_insert_with_key(|key| {
            parts.push(Part::new(key.clone()));
            parts.len() - 1
        });
        if let Some(part) = parts.get_mut(index) {
            part.items += 1;
            if part.service.is_none() {
                part.service.clone_from(&context.service);
            }
            if part.session.is_none() {
                part.session = session.name().or(context.session.name()).map(ToOwned::to_owned);
            }
        }
        self.scan.found.push(Found {
            part: index,
            resource: self.scan.resources.len() - 1,
            scope: self.scan.scopes.len(),
            whole,
        });
        index
    }
}

/// The key of an attribute that was checked and, if its value is text, that text.
fn key_and_text<'a>(around: &Cursor<'a>, field: &Field) -> Result<(&'a [u8], Option<&'a [u8]>), Fault> {
    let mut pair = around.enter(field)?;
    let mut key: &[u8] = &[];
    let mut text = None;
    while let Some(field) = pair.next()? {
        match field.number {
            1 => key = pair.bytes(&field.value),
            2 => {
                let mut value = pair.enter(&field)?;
                while let Some(field) = value.next()? {
                    text = match field.number {
                        1 => Some(value.bytes(&field.value)),
                        _ => None,
                    };
                }
            }
            _ => {}
        }
    }
    Ok((key, text))
}

/// The attribute keys that name a session, best first.
struct SessionKeys<'a> {
    keys: &'a [&'a str],
    /// One bit for each length that a key has: most attributes are told apart by it.
    lengths: u64,
}

impl<'a> SessionKeys<'a> {
    fn new(keys: &'a [&'a str]) -> Self {
        let lengths = keys.iter().fold(0, |lengths, key| lengths | length_bit(key.as_bytes()));
        Self { keys, lengths }
    }

    fn rank(&self, key: &[u8]) -> Option<usize> {
        if self.lengths & length_bit(key) == 0 {
            return None;
        }
        self.keys.iter().position(|wanted| wanted.as_bytes() == key)
    }
}

/// Lengths of 63 and more share the last bit.
fn length_bit(key: &[u8]) -> u64 {
    1 << key.len().min(63)
}

impl Envelope {
    fn add(&mut self, before: bool, field: &Field) {
        let list = if before { &mut self.before } else { &mut self.after };
        match list.last_mut() {
            Some(last) if last.end == field.whole.start => last.end = field.whole.end,
            _ => list.push(field.whole.clone()),
        }
    }
}

/// The byte at which a message breaks, and how.
///
/// # Errors
///
/// That place.
pub fn check(bytes: &[u8], signal: Signal) -> Result<(), Fault> {
    match signal {
        Signal::Traces => super::wire::check(bytes, Type::TracesRequest),
        Signal::Logs => super::wire::check(bytes, Type::LogsRequest),
        Signal::Metrics => Err(fault(0, FaultKind::Key)),
    }
}
