//! Where the items of a request are, and what is around them, in as few bytes as their order allows.
//!
//! Items of one part that follow one another are one entry. A scope, or a resource, all of whose items are of one part is
//! one entry too, with all that is in it: only what several parts share is listed separately.

use std::ops::Range;

use super::wire::{Fault, FaultKind, fault};

/// No resource or scope around it.
pub(super) const NONE: u32 = u32::MAX;

/// An envelope in more pieces than these is copied into one: SDKs write one or two.
const PIECES: u32 = 8;

/// Fields of a request that are of one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) part: u32,
    /// The envelope of the resource around them; [`NONE`]: they are whole resources.
    pub(super) resource: u32,
    /// The envelope of the scope around them; [`NONE`]: they are whole scopes, or resources.
    pub(super) scope: u32,
    start: u32,
    end: u32,
}

impl Found {
    pub(super) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    pub(super) fn start(&self) -> u32 {
        self.start
    }

    pub(super) fn length(&self) -> usize {
        (self.end - self.start) as usize
    }
}

/// The fields of a resource or of a scope around its items.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Envelope {
    first: u32,
    /// From here on they come after the first item.
    middle: u32,
    last: u32,
    /// Bytes of all.
    pub(super) size: usize,
}

/// Fields that follow one another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    start: u32,
    end: u32,
    /// They are in what was copied together, not in the request.
    copied: bool,
}

/// The items of a request and their envelopes.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) found: Vec<Found>,
    pub(super) envelopes: Vec<Envelope>,
    fields: Vec<Fields>,
    copied: Vec<u8>,
}

/// A resource or a scope that is being read.
#[derive(Debug)]
pub(super) struct Open {
    found: usize,
    envelope: usize,
    refused: usize,
}

/// Asks for memory before it is taken.
pub(super) struct Meter<'m> {
    ask: &'m mut dyn FnMut(usize) -> bool,
    asked: usize,
    left: usize,
}

impl<'m> Meter<'m> {
    pub(super) fn new(ask: &'m mut dyn FnMut(usize) -> bool) -> Self {
        Self { ask, asked: 0, left: 0 }
    }

    #[inline]
    pub(super) fn take(&mut self, bytes: usize, at: usize) -> Result<(), Fault> {
        if let Some(left) = self.left.checked_sub(bytes) {
            self.left = left;
            return Ok(());
        }
        // A quarter more: few questions, and little that is not used.
        let more = (bytes - self.left).max(self.asked / 4).max(512);
        if !(self.ask)(more) {
            return Err(fault(at, FaultKind::Memory));
        }
        self.asked += more;
        self.left = self.left + more - bytes;
        Ok(())
    }

    fn give_back(&mut self, bytes: usize) {
        self.left += bytes;
    }
}

/// A list doubles when it grows, so that each entry may take twice its size.
const FOUND: usize = 2 * size_of::<Found>();
const ENVELOPE: usize = 2 * size_of::<Envelope>();
const FIELDS: usize = 2 * size_of::<Fields>();

impl Layout {
    /// Begins a resource or a scope; its envelope's number.
    pub(super) fn open(&mut self, refused: usize, at: usize, meter: &mut Meter<'_>) -> Result<(Open, u32), Fault> {
        meter.take(ENVELOPE, at)?;
        let open = Open {
            found: self.found.len(),
            envelope: self.envelopes.len(),
            refused,
        };
        let first = number(self.fields.len());
        self.envelopes.push(Envelope {
            first,
            middle: first,
            last: first,
            size: 0,
        });
        let envelope = number(open.envelope);
        Ok((open, envelope))
    }

    /// Adds a field to the envelope that was begun last; `behind`: an item came before it.
    pub(super) fn field(&mut self, behind: bool, whole: &Range<usize>, meter: &mut Meter<'_>) -> Result<(), Fault> {
        let (start, end) = (number(whole.start), number(whole.end));
        let Some(envelope) = self.envelopes.last_mut() else { return Ok(()) };
        envelope.size += whole.len();
        let is_first = envelope.last == if behind { envelope.middle } else { envelope.first };
        match self.fields.last_mut() {
            Some(last) if !is_first && last.end == start => {
                last.end = end;
                return Ok(());
            }
            _ => {}
        }
        meter.take(FIELDS, whole.start)?;
        self.fields.push(Fields { start, end, copied: false });
        envelope.last += 1;
        if !behind {
            envelope.middle = envelope.last;
        }
        Ok(())
    }

    /// Copies an envelope together that is in many pieces. It must be the one that was begun last.
    pub(super) fn gather(&mut self, request: &[u8], meter: &mut Meter<'_>) -> Result<(), Fault> {
        let Some(envelope) = self.envelopes.last_mut() else { return Ok(()) };
        if envelope.last - envelope.first <= PIECES {
            return Ok(());
        }
        meter.take(2 * envelope.size, 0)?;
        let start = number(self.copied.len());
        for fields in self.fields.drain(envelope.first as usize..) {
            let range = fields.start as usize..fields.end as usize;
            self.copied.extend_from_slice(request.get(range).unwrap_or_default());
        }
        self.fields.push(Fields {
            start,
            end: number(self.copied.len()),
            copied: true,
        });
        meter.give_back((envelope.last - envelope.first - 1) as usize * FIELDS);
        envelope.last = envelope.first + 1;
        envelope.middle = envelope.last;
        Ok(())
    }

    /// Adds an item, or more of the part that was added last.
    #[inline]
    pub(super) fn add(
        &mut self,
        part: u32,
        (resource, scope): (u32, u32),
        whole: &Range<usize>,
        meter: &mut Meter<'_>,
    ) -> Result<(), Fault> {
        let (start, end) = (number(whole.start), number(whole.end));
        if let Some(last) = self.found.last_mut()
            && (last.part, last.resource, last.scope, last.end) == (part, resource, scope, start)
        {
            last.end = end;
            return Ok(());
        }
        meter.take(FOUND, whole.start)?;
        self.found.push(Found {
            part,
            resource,
            scope,
            start,
            end,
        });
        Ok(())
    }

    /// Ends a resource or a scope. If it has no items it is forgotten; if all of them are of one part, and none was
    /// refused, it becomes one entry, within `around`.
    pub(super) fn close(
        &mut self,
        open: &Open,
        refused: usize,
        whole: &Range<usize>,
        around: u32,
        meter: &mut Meter<'_>,
    ) -> Result<(), Fault> {
        let inside = self.found.get(open.found..).unwrap_or_default();
        let Some(first) = inside.first() else {
            self.forget(open, meter);
            return Ok(());
        };
        let part = first.part;
        if refused > open.refused || inside.iter().any(|found| found.part != part) {
            return Ok(());
        }
        self.forget(open, meter);
        self.add(part, (around, NONE), whole, meter)
    }

    /// Forgets what was found since, and the envelopes.
    fn forget(&mut self, open: &Open, meter: &mut Meter<'_>) {
        let before = (self.found.len(), self.envelopes.len(), self.fields.len());
        if let Some(envelope) = self.envelopes.get(open.envelope) {
            self.fields.truncate(envelope.first as usize);
        }
        self.found.truncate(open.found);
        self.envelopes.truncate(open.envelope);
        let (found, envelopes, fields) = (
            before.0 - self.found.len(),
            before.1 - self.envelopes.len(),
            before.2 - self.fields.len(),
        );
        meter.give_back(found * FOUND + envelopes * ENVELOPE + fields * FIELDS);
    }

    /// The bytes of an envelope, those before the items and those behind them.
    pub(super) fn envelope<'a>(&'a self, number: u32, request: &'a [u8]) -> [impl Iterator<Item = &'a [u8]> + Clone; 2] {
        let envelope = self.envelopes.get(number as usize).copied().unwrap_or_default();
        [envelope.first..envelope.middle, envelope.middle..envelope.last].map(|fields| {
            let fields = self.fields.get(fields.start as usize..fields.end as usize).unwrap_or_default();
            fields.iter().map(move |fields| {
                let bytes = if fields.copied { &self.copied } else { request };
                bytes.get(fields.start as usize..fields.end as usize).unwrap_or_default()
            })
        })
    }

    pub(super) fn size(&self, envelope: u32) -> usize {
        self.envelopes.get(envelope as usize).map_or(0, |envelope| envelope.size)
    }
}

/// Places and counts in a message of less than 4 GiB.
fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
