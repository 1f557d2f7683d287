//! A single pass over a request that collects its items and what a list of traces shows of them.

use std::ops::Range;
use std::sync::Arc;

use crate::hash::HashMap;
use crate::otlp::layout::{self, Layout, Meter};
use crate::otlp::names::{ItemNames, Names, SessionKeys};
use crate::otlp::part::{Key, Part};
use crate::otlp::schema::{Kind, Type};
use crate::otlp::wire::{Cursor, Fault, FaultKind, LEN, Payload};
use crate::span::decoded::id_fault;
use crate::span::{ContentFault, ItemPath, Refused, RefusedReason, Signal, SpanId, TimeUnit, TraceId};

/// Maximum number of refused items listed; others are only counted.
const MAX_LISTED: usize = 100;

/// Maximum memory of a part in bytes, here and in the store until it is written: the part, its entry in the map of parts, and its row among
/// the chunks.
const PART_MEMORY: usize = 2 * size_of::<Part>() + 160;

/// The summary of a request.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The signal it carries.
    pub signal: Signal,
    /// Its traces in order of first appearance; log records without a trace are grouped by session.
    pub parts: Vec<Part>,
    /// The number of spans or log records, including refused ones.
    pub items: usize,
    /// The first refused spans.
    pub refused: Vec<Refused>,
    /// The number of refused spans.
    pub refused_count: usize,
    /// Bytes of names that parts take from their resource: the message has them once, but every part is listed with them.
    pub names_shared: usize,
    pub(in crate::otlp) layout: Layout,
}

pub(super) struct Scanner<'k, 'm> {
    session_keys: SessionKeys<'k>,
    places: HashMap<Key, u32>,
    pub(super) scan: Scan,
    meter: Meter<'m>,
    /// The fault of the first unreadable item.
    pub(super) broken: Option<Fault>,
    /// The number of readable items.
    pub(super) whole: usize,
}

fn content_fault(kind: &FaultKind) -> ContentFault {
    match kind {
        FaultKind::Utf8 => ContentFault::Utf8,
        FaultKind::Depth => ContentFault::Depth,
        FaultKind::WireType { .. } => ContentFault::Value,
        _ => ContentFault::Encoding,
    }
}

/// Memory of a further service of a part, without its name.
const SERVICE: usize = 2 * size_of::<Arc<str>>();

/// The surroundings of an item.
struct Context {
    names: Names,
    /// The part of items that have neither a trace nor a session of their own.
    loose: Option<u32>,
    resource: u32,
    scope: u32,
}

impl<'a> ItemNames<'a> {
    pub(super) fn resource(&mut self, keys: &SessionKeys<'_>, mut attributes: Cursor<'a>) -> Result<(), Fault> {
        while let Some(attribute) = attributes.next()? {
            if attribute.number == 1 {
                self.attribute(keys, &attributes, &attribute, Type::Resource)?;
            }
        }
        Ok(())
    }
}

impl<'k, 'm> Scanner<'k, 'm> {
    pub(super) fn new(signal: Signal, session_keys: &'k [&'k str], may: &'m mut dyn FnMut(usize) -> bool) -> Self {
        Self {
            session_keys: SessionKeys::new(session_keys),
            places: HashMap::default(),
            scan: Scan {
                signal,
                parts: Vec::new(),
                items: 0,
                refused: Vec::new(),
                refused_count: 0,
                names_shared: 0,
                layout: Layout::default(),
            },
            meter: Meter::new(may),
            broken: None,
            whole: 0,
        }
    }

    pub(super) fn request(&mut self, bytes: &[u8], names: &Names) -> Result<(), Fault> {
        let [request, of_resource, of_scope] = match self.scan.signal {
            Signal::Traces => [Type::TracesRequest, Type::ResourceSpans, Type::ScopeSpans],
            Signal::Logs => [Type::LogsRequest, Type::ResourceLogs, Type::ScopeLogs],
            Signal::Metrics => return Ok(()),
        };
        let mut cursor = Cursor::new(bytes);
        let mut resource = 0;
        while let Some(field) = cursor.next()? {
            if request.field(field.number) == Kind::Message(of_resource) && field.wire == LEN {
                let inside = cursor.enter(&field)?;
                self.resource(bytes, inside, [of_resource, of_scope], resource, &field.whole, names)?;
                resource += 1;
            } else {
                cursor.check(request, &field)?;
            }
        }
        Ok(())
    }

    /// Two passes, because fields that apply to all items may follow them.
    fn resource(
        &mut self,
        bytes: &[u8],
        cursor: Cursor<'_>,
        [of_resource, of_scope]: [Type; 2],
        resource: usize,
        whole: &Range<usize>,
        names: &Names,
    ) -> Result<(), Fault> {
        let mut said = ItemNames::default();
        let (open, envelope) = self.scan.layout.open(self.scan.refused_count, whole.start, &mut self.meter)?;
        let mut behind = false;
        let mut fields = cursor.clone();
        while let Some(field) = fields.next()? {
            if field.number == 2 && field.wire == LEN {
                behind = true;
                continue;
            }
            fields.check(of_resource, &field)?;
            self.scan.layout.field(behind, &field.whole, &mut self.meter)?;
            if field.number == 1 {
                said.resource(&self.session_keys, fields.enter(&field)?)?;
            }
        }
        self.scan.layout.gather(bytes, &mut self.meter)?;
        let said = said.names();
        let mut context = Context {
            names: Names {
                service: said.service.or_else(|| names.service.clone()),
                session: said.session.or_else(|| names.session.clone()),
            },
            loose: None,
            resource: envelope,
            scope: 0,
        };
        let (mut fields, mut scope) = (cursor, 0);
        while let Some(field) = fields.next()? {
            if field.number == 2 && field.wire == LEN {
                self.scope(
                    bytes,
                    fields.enter(&field)?,
                    of_scope,
                    &mut context,
                    (resource, scope),
                    &field.whole,
                )?;
                scope += 1;
            }
        }
        let refused = self.scan.refused_count;
        self.scan.layout.close(&open, refused, whole, layout::NONE, &mut self.meter)
    }

    fn scope(
        &mut self,
        bytes: &[u8],
        mut cursor: Cursor<'_>,
        of_scope: Type,
        context: &mut Context,
        of: (usize, usize),
        whole: &Range<usize>,
    ) -> Result<(), Fault> {
        let (open, envelope) = self.scan.layout.open(self.scan.refused_count, whole.start, &mut self.meter)?;
        context.scope = envelope;
        let mut items = 0;
        while let Some(field) = cursor.next()? {
            if field.number != 2 || field.wire != LEN {
                cursor.check(of_scope, &field)?;
                self.scan.layout.field(items > 0, &field.whole, &mut self.meter)?;
                continue;
            }
            let path = ItemPath {
                signal: self.scan.signal,
                resource: of.0,
                scope: of.1,
                item: items,
            };
            items += 1;
            self.scan.items += 1;
            let inside = cursor.enter(&field)?;
            let taken = match self.scan.signal {
                Signal::Traces => self.span(inside, context, path, &field.whole),
                _ => self.record(inside, context, &field.whole),
            };
            match taken {
                Err(fault) if fault.kind == FaultKind::Memory => return Err(fault),
                // An unreadable item is refused on its own.
                Err(fault) => {
                    let reason = RefusedReason::Content(content_fault(&fault.kind));
                    self.refuse(Refused { path, reason });
                    self.broken = self.broken.take().or(Some(fault));
                }
                Ok(()) => self.whole += 1,
            }
        }
        self.scan.layout.gather(bytes, &mut self.meter)?;
        let refused = self.scan.refused_count;
        self.scan.layout.close(&open, refused, whole, context.resource, &mut self.meter)
    }

    fn span(&mut self, mut cursor: Cursor<'_>, context: &Context, path: ItemPath, whole: &Range<usize>) -> Result<(), Fault> {
        let (mut trace_id, mut span_id, mut parent): (&[u8], &[u8], &[u8]) = (&[], &[], &[]);
        let (mut start, mut end, mut failed) = (0, 0, false);
        let mut name = "";
        let mut said = ItemNames::default();
        while let Some(field) = cursor.next()? {
            if field.number == 9 {
                said.attribute(&self.session_keys, &cursor, &field, Type::Span)?;
                continue;
            }
            cursor.check(Type::Span, &field)?;
            match (field.number, field.payload) {
                (1, _) => trace_id = cursor.bytes(&field.value),
                (2, _) => span_id = cursor.bytes(&field.value),
                (4, _) => parent = cursor.bytes(&field.value),
                (5, _) => name = cursor.text(&field)?,
                (7, Payload::Number(time)) => start = TimeUnit::in_nanoseconds(time),
                (8, Payload::Number(time)) => end = TimeUnit::in_nanoseconds(time),
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
                let index = self.trace(trace_id, context, whole)?;
                let (scan, meter) = (&mut self.scan, &mut self.meter);
                let Some(part) = scan.parts.get_mut(index as usize) else {
                    return Ok(());
                };
                part.errors += usize::from(failed);
                part.times(start, end);
                if SpanId::from_bytes(parent).is_none() {
                    part.root_ended |= end != 0;
                    if part.root.as_ref().is_none_or(|(earlier, _)| start < *earlier) {
                        meter.take(name.len(), whole.start)?;
                        part.root = Some((start, name.to_owned()));
                    }
                }
                let is_root = SpanId::from_bytes(parent).is_none();
                return self.item(index, context, (&said, is_root, start), whole);
            }
            (None, _) => RefusedReason::TraceId(id_fault(trace_id, 16)),
            (_, None) => RefusedReason::SpanId(id_fault(span_id, 8)),
        };
        self.refuse(Refused { path, reason: fault });
        Ok(())
    }

    fn refuse(&mut self, refused: Refused) {
        self.scan.refused_count += 1;
        if self.scan.refused.len() < MAX_LISTED {
            self.scan.refused.push(refused);
        }
    }

    fn record(&mut self, mut cursor: Cursor<'_>, context: &mut Context, whole: &Range<usize>) -> Result<(), Fault> {
        let mut trace_id: &[u8] = &[];
        let (mut time, mut observed) = (0, 0);
        let mut said = ItemNames::default();
        while let Some(field) = cursor.next()? {
            if field.number == 6 {
                said.attribute(&self.session_keys, &cursor, &field, Type::LogRecord)?;
                continue;
            }
            cursor.check(Type::LogRecord, &field)?;
            match (field.number, field.payload) {
                (1, Payload::Number(at)) => time = TimeUnit::in_nanoseconds(at),
                (11, Payload::Number(at)) => observed = TimeUnit::in_nanoseconds(at),
                (9, _) => trace_id = cursor.bytes(&field.value),
                _ => {}
            }
        }
        let index = match (TraceId::from_bytes(trace_id), said.session(), context.loose) {
            (Some(trace_id), ..) => self.trace(trace_id, context, whole)?,
            (None, Some(session), _) => {
                self.meter.take(session.len(), whole.start)?;
                self.part(Key::Session(session.as_ref().into()), context, whole)?
            }
            (None, None, Some(index)) => index,
            (None, None, None) => {
                let session = context.names.session.clone().unwrap_or_default();
                *context.loose.insert(self.part(Key::Session(session), context, whole)?)
            }
        };
        let when = if time == 0 { observed } else { time };
        if let Some(part) = self.scan.parts.get_mut(index as usize) {
            part.times(when, when);
        }
        self.item(index, context, (&said, false, when), whole)
    }

    /// The part of a trace. Tries the latest one first, since spans of a trace often follow one another.
    fn trace(&mut self, trace_id: TraceId, context: &Context, whole: &Range<usize>) -> Result<u32, Fault> {
        let key = Key::Trace(trace_id);
        match self.scan.layout.found.last() {
            Some(last) if self.scan.parts.get(last.part as usize).is_some_and(|part| part.key == key) => Ok(last.part),
            _ => self.part(key, context, whole),
        }
    }

    /// The part with this key, created if necessary.
    fn part(&mut self, key: Key, context: &Context, whole: &Range<usize>) -> Result<u32, Fault> {
        let parts = &mut self.scan.parts;
        let next = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        if let Some(index) = self.places.get(&key) {
            return Ok(*index);
        }
        self.meter.take(PART_MEMORY, whole.start)?;
        let mut part = Part::new(key.clone());
        part.service.clone_from(&context.names.service);
        parts.push(part);
        self.places.insert(key, next);
        Ok(next)
    }

    /// Adds an item to its part.
    fn item(
        &mut self,
        index: u32,
        context: &Context,
        (said, is_root, start): (&ItemNames<'_>, bool, u64),
        whole: &Range<usize>,
    ) -> Result<(), Fault> {
        if let Some(part) = self.scan.parts.get_mut(index as usize) {
            part.items += 1;
            if let Some(service) = &context.names.service {
                match &part.service {
                    None => part.service = Some(Arc::clone(service)),
                    Some(first) if Arc::ptr_eq(first, service) => {}
                    Some(_) if part.further_services.len() >= Part::SERVICES || part.services().any(|known| known == &**service) => {}
                    Some(_) => {
                        self.meter.take(SERVICE + service.len(), whole.start)?;
                        part.further_services.push(Arc::clone(service));
                    }
                }
            }
            let names_root = is_root && said.session().is_some();
            let is_better = said.session().is_some() && (names_root, part.session_start) > (part.session_of_root, start);
            if part.session.is_none() || is_better {
                (part.session_of_root, part.session_start) = (names_root, start);
                part.session = match said.session() {
                    Some(session) => {
                        self.meter.take(session.len(), whole.start)?;
                        Some(session.as_ref().into())
                    }
                    None => context.names.session.clone(),
                };
            }
            if part.items == 1 {
                let length = |name: &Option<Arc<str>>| name.as_ref().map_or(0, |name| name.len());
                self.scan.names_shared += length(&context.names.service) + length(&context.names.session);
            }
        }
        self.scan
            .layout
            .add(index, (context.resource, context.scope), whole, &mut self.meter)
    }
}
