//! Splits a request into one valid message per part, with its resources and scopes, without decoding. Each message is assembled on demand
//! from pieces of the request with new lengths between them.

use super::layout::{Layout, LayoutEntry, NONE};
use super::scan::{Part, Scan};

/// The messages of a request's parts.
#[derive(Debug, Clone)]
pub struct Cuts {
    layout: Layout,
    /// For each part, where its entries end.
    ends: Vec<u32>,
    /// Length of the request, if it is the message of its only part unchanged.
    whole: Option<usize>,
}

/// A piece of a message.
#[derive(Debug, Clone, Copy)]
pub enum Piece<'a> {
    /// A run of bytes of the request.
    Bytes(&'a [u8]),
    /// The key and length of a field.
    Header(Header),
}

/// The key and the length of a length-delimited field.
#[derive(Debug, Clone, Copy, Default)]
pub struct Header {
    bytes: [u8; 11],
    length: u8,
}

/// A piece of a part, outermost level first. Envelopes are numbered; [`Cuts::envelope`] returns their bytes.
#[derive(Debug, Clone)]
pub enum Entry<'a> {
    /// Whole resources, fields of the request.
    Resources(&'a [u8]),
    /// Some items of a resource.
    OfResource {
        /// The resource's fields around them.
        envelope: u32,
        /// Its scopes.
        scopes: Vec<OfScope<'a>>,
    },
}

/// A piece of a part within a resource.
#[derive(Debug, Clone)]
pub enum OfScope<'a> {
    /// Whole scopes, fields of the resource.
    Scopes(&'a [u8]),
    /// Some items of a scope.
    Items {
        /// The scope's fields around them.
        envelope: u32,
        /// The items, as fields of the scope.
        items: Vec<&'a [u8]>,
    },
}

impl Piece<'_> {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Header(header) => header.bytes(),
        }
    }
}

impl Header {
    /// The header of the field with this number, which must be below 16.
    #[must_use]
    pub fn new(field: u8, length: usize) -> Self {
        let mut header = Self::default();
        header.push(field << 3 | 2);
        let mut rest = length;
        while rest >= 0x80 {
            header.push(u8::try_from(rest & 0x7f).unwrap_or_default() | 0x80);
            rest >>= 7;
        }
        header.push(u8::try_from(rest).unwrap_or_default());
        header
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(usize::from(self.length)) {
            *place = byte;
            self.length += 1;
        }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }
}

/// The length of a field including its header.
#[must_use]
pub(crate) fn with_header(length: usize) -> usize {
    let mut size = 2;
    let mut rest = length;
    while rest >= 0x80 {
        rest >>= 7;
        size += 1;
    }
    size + length
}

impl Scan {
    /// Splits the request into its parts and their messages. A request with a single part and nothing refused is kept unchanged; `length`
    /// is the request's length.
    #[must_use]
    pub fn cut(self, length: usize) -> (Vec<Part>, Cuts) {
        let mut layout = self.layout;
        let whole = Some(length).filter(|_| self.parts.len() == 1 && self.refused_count == 0);
        layout.found.sort_unstable_by_key(|found| (found.part, found.start()));
        let mut ends = vec![0; self.parts.len()];
        for (at, found) in layout.found.iter().enumerate() {
            if let Some(end) = ends.get_mut(found.part as usize) {
                *end = u32::try_from(at + 1).unwrap_or(u32::MAX);
            }
        }
        (self.parts, Cuts { layout, ends, whole })
    }
}

impl Cuts {
    /// A request kept unchanged as its only message.
    #[must_use]
    pub fn whole(length: usize) -> Self {
        Self {
            layout: Layout::default(),
            ends: vec![0],
            whole: Some(length),
        }
    }

    /// Whether the only message is the unchanged request.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    fn found(&self, part: usize) -> &[LayoutEntry] {
        let begin = part.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(part).copied().unwrap_or(begin);
        self.layout.found.get(begin as usize..end as usize).unwrap_or_default()
    }

    /// Length of a part's message in bytes.
    #[must_use]
    pub fn length(&self, part: usize) -> usize {
        let by_resource = self.found(part).chunk_by(|a, b| a.resource == b.resource);
        self.whole.unwrap_or_else(|| {
            by_resource
                .map(|found| match found.first() {
                    Some(first) if first.resource != NONE => with_header(self.resource_length(first.resource, found)),
                    _ => length_of(found),
                })
                .sum()
        })
    }

    fn resource_length(&self, resource: u32, found: &[LayoutEntry]) -> usize {
        let by_scope = found.chunk_by(|a, b| a.scope == b.scope).map(|found| match found.first() {
            Some(first) if first.scope != NONE => with_header(self.layout.size(first.scope) + length_of(found)),
            _ => length_of(found),
        });
        self.layout.size(resource) + by_scope.sum::<usize>()
    }

    /// Emits a part's message piece by piece.
    pub fn pieces<'a>(&'a self, part: usize, request: &'a [u8], emit: &mut dyn FnMut(Piece<'a>)) {
        if self.whole.is_some() {
            return emit(Piece::Bytes(request));
        }
        for found in self.found(part).chunk_by(|a, b| a.resource == b.resource) {
            match found.first() {
                Some(first) if first.resource != NONE => {
                    emit(Piece::Header(Header::new(1, self.resource_length(first.resource, found))));
                    let [before, behind] = self.layout.envelope(first.resource, request);
                    before.for_each(|bytes| emit(Piece::Bytes(bytes)));
                    self.scopes(found, request, emit);
                    behind.for_each(|bytes| emit(Piece::Bytes(bytes)));
                }
                _ => emit_found(found, request, emit),
            }
        }
    }

    fn scopes<'a>(&'a self, found: &[LayoutEntry], request: &'a [u8], emit: &mut dyn FnMut(Piece<'a>)) {
        for found in found.chunk_by(|a, b| a.scope == b.scope) {
            match found.first() {
                Some(first) if first.scope != NONE => {
                    emit(Piece::Header(Header::new(2, self.layout.size(first.scope) + length_of(found))));
                    let [before, behind] = self.layout.envelope(first.scope, request);
                    before.for_each(|bytes| emit(Piece::Bytes(bytes)));
                    emit_found(found, request, emit);
                    behind.for_each(|bytes| emit(Piece::Bytes(bytes)));
                }
                _ => emit_found(found, request, emit),
            }
        }
    }

    /// Assembles a part's message.
    #[must_use]
    pub fn message(&self, part: usize, request: &[u8]) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.length(part));
        self.pieces(part, request, &mut |piece| message.extend_from_slice(piece.bytes()));
        message
    }

    /// The entries of a part, without their envelopes.
    #[must_use]
    pub fn entries<'a>(&self, part: usize, request: &'a [u8]) -> Vec<Entry<'a>> {
        let slice = |found: &LayoutEntry| request.get(found.range()).unwrap_or_default();
        if self.whole.is_some() {
            return vec![Entry::Resources(request)];
        }
        let mut entries = Vec::new();
        for of_resource in self.found(part).chunk_by(|a, b| a.resource == b.resource) {
            let Some(first) = of_resource.first().filter(|first| first.resource != NONE) else {
                entries.extend(of_resource.iter().map(|found| Entry::Resources(slice(found))));
                continue;
            };
            let mut scopes = Vec::new();
            for of_scope in of_resource.chunk_by(|a, b| a.scope == b.scope) {
                match of_scope.first() {
                    Some(first) if first.scope != NONE => scopes.push(OfScope::Items {
                        envelope: first.scope,
                        items: of_scope.iter().map(slice).collect(),
                    }),
                    _ => scopes.extend(of_scope.iter().map(|found| OfScope::Scopes(slice(found)))),
                }
            }
            entries.push(Entry::OfResource {
                envelope: first.resource,
                scopes,
            });
        }
        entries
    }

    /// The number of envelopes.
    #[must_use]
    pub fn envelopes(&self) -> usize {
        self.layout.envelopes.len()
    }

    /// The length of an envelope in bytes.
    #[must_use]
    pub fn envelope_length(&self, envelope: u32) -> usize {
        self.layout.size(envelope)
    }

    /// The bytes of an envelope: first those before the items, then those after them.
    pub fn envelope<'a>(&'a self, envelope: u32, request: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.layout.envelope(envelope, request).into_iter().flatten()
    }

    /// Emits the envelopes that a part needs (`true` for a resource's); returns the part's length without them.
    pub fn needs(&self, part: usize, emit: &mut dyn FnMut(bool, u32)) -> usize {
        let mut length = 0;
        for of_resource in self.found(part).chunk_by(|a, b| a.resource == b.resource) {
            if let Some(first) = of_resource.first().filter(|first| first.resource != NONE) {
                emit(true, first.resource);
                let of_scopes = of_resource.chunk_by(|a, b| a.scope == b.scope).filter_map(<[LayoutEntry]>::first);
                for first in of_scopes.filter(|first| first.scope != NONE) {
                    emit(false, first.scope);
                }
            }
            length += length_of(of_resource);
        }
        self.whole.unwrap_or(length)
    }
}

fn length_of(found: &[LayoutEntry]) -> usize {
    found.iter().map(LayoutEntry::length).sum()
}

fn emit_found<'a>(found: &[LayoutEntry], request: &'a [u8], emit: &mut dyn FnMut(Piece<'a>)) {
    for found in found {
        emit(Piece::Bytes(request.get(found.range()).unwrap_or_default()));
    }
}
