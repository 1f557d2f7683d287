//! Stores where the items of a request and their envelopes are, as compactly as their order allows.
//!
//! Consecutive items of one part form one entry. A scope or resource whose items all belong to one part is also one entry, with everything
//! inside it; only what several parts share is listed separately.

use std::ops::Range;

use super::wire::{Fault, FaultKind, fault};

/// Marks an entry without an enclosing resource or scope.
pub(super) const NONE: u32 = u32::MAX;

/// Maximum number of pieces of an envelope; SDKs write one or two. An envelope with more is copied into one.
const MAX_PIECES: u32 = 8;

/// Consecutive fields of a request that belong to one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LayoutEntry {
    pub(super) part: u32,
    /// The envelope of the enclosing resource; [`NONE`] if these are whole resources.
    pub(super) resource: u32,
    /// The envelope of the enclosing scope; [`NONE`] if these are whole scopes or resources.
    pub(super) scope: u32,
    start: u32,
    end: u32,
}

impl LayoutEntry {
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

/// The fields of a resource or scope around its items.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Envelope {
    first: u32,
    /// The first field after an item.
    middle: u32,
    last: u32,
    /// Total size of the fields in bytes.
    pub(super) size: usize,
}

/// Consecutive fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    start: u32,
    end: u32,
    /// Whether they are in [`Layout::copied`] instead of the request.
    copied: bool,
}

/// The items of a request and their envelopes.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) found: Vec<LayoutEntry>,
    pub(super) envelopes: Vec<Envelope>,
    fields: Vec<Fields>,
    copied: Vec<u8>,
}

/// A resource or scope that is still being read.
#[derive(Debug)]
pub(super) struct Open {
    found: usize,
    envelope: usize,
    refused: usize,
}

/// Reserves memory before it is used.
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
        // Ask for a quarter more: this keeps both the number of questions and the unused memory small.
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

/// A growing list doubles, so each entry may take twice its size.
const ENTRY_MEMORY: usize = 2 * size_of::<LayoutEntry>();
const ENVELOPE_MEMORY: usize = 2 * size_of::<Envelope>();
const FIELDS_MEMORY: usize = 2 * size_of::<Fields>();

impl Layout {
    /// Starts a resource or scope; returns the number of its envelope.
    pub(super) fn open(&mut self, refused: usize, at: usize, meter: &mut Meter<'_>) -> Result<(Open, u32), Fault> {
        meter.take(ENVELOPE_MEMORY, at)?;
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

    /// Adds a field to the latest envelope; `behind` means that an item came before it.
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
        meter.take(FIELDS_MEMORY, whole.start)?;
        self.fields.push(Fields { start, end, copied: false });
        envelope.last += 1;
        if !behind {
            envelope.middle = envelope.last;
        }
        Ok(())
    }

    /// Copies the latest envelope into one piece if it has too many.
    pub(super) fn gather(&mut self, request: &[u8], meter: &mut Meter<'_>) -> Result<(), Fault> {
        let Some(envelope) = self.envelopes.last_mut() else { return Ok(()) };
        if envelope.last - envelope.first <= MAX_PIECES {
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
        meter.give_back((envelope.last - envelope.first - 1) as usize * FIELDS_MEMORY);
        envelope.last = envelope.first + 1;
        envelope.middle = envelope.last;
        Ok(())
    }

    /// Adds an item, or extends the last entry if it belongs to the same part.
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
        meter.take(ENTRY_MEMORY, whole.start)?;
        self.found.push(LayoutEntry {
            part,
            resource,
            scope,
            start,
            end,
        });
        Ok(())
    }

    /// Ends a resource or scope. Without items it is dropped; if all items belong to one part and none was refused, it becomes one entry
    /// within `around`.
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

    /// Drops everything found since `open`, with its envelopes.
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
        meter.give_back(found * ENTRY_MEMORY + envelopes * ENVELOPE_MEMORY + fields * FIELDS_MEMORY);
    }

    /// The bytes of an envelope before the items and after them.
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

/// A position or count in a message of less than 4 GiB.
fn number(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
