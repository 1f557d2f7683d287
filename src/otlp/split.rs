//! A request as one valid message a trace, with its resources and scopes, without decoding and without copying: each
//! message is a list of pieces of the request.

use std::ops::Range;

use super::scan::{Envelope, Found, Scan};

/// A message that consists of pieces of a request and of headers between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    pieces: Vec<Piece>,
    headers: Vec<u8>,
    length: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Request(Range<usize>),
    Header(Range<usize>),
}

impl Cut {
    /// A request of this length, as it came.
    #[must_use]
    pub fn whole(length: usize) -> Self {
        Self {
            pieces: vec![Piece::Request(0..length)],
            headers: Vec::new(),
            length,
        }
    }

    fn new() -> Self {
        Self {
            pieces: Vec::new(),
            headers: Vec::new(),
            length: 0,
        }
    }

    /// Its length in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Its bytes, of the request that it was cut from: one slice after the other.
    pub fn slices<'a>(&'a self, request: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + Clone {
        self.pieces.iter().map(move |piece| match piece {
            Piece::Request(range) => request.get(range.clone()).unwrap_or_default(),
            Piece::Header(range) => self.headers.get(range.clone()).unwrap_or_default(),
        })
    }

    fn copy(&mut self, ranges: &[Range<usize>]) {
        for range in ranges {
            self.length += range.len();
            match self.pieces.last_mut() {
                Some(Piece::Request(last)) if last.end == range.start => last.end = range.end,
                _ => self.pieces.push(Piece::Request(range.clone())),
            }
        }
    }

    /// The key of a length-delimited field (numbers below 16), and the length.
    fn header(&mut self, field: u8, length: usize) {
        let from = self.headers.len();
        self.headers.push(field << 3 | 2);
        let mut rest = length;
        while rest >= 0x80 {
            self.headers.push(u8::try_from(rest & 0x7f).unwrap_or_default() | 0x80);
            rest >>= 7;
        }
        self.headers.push(u8::try_from(rest).unwrap_or_default());
        let to = self.headers.len();
        self.length += to - from;
        match self.pieces.last_mut() {
            Some(Piece::Header(last)) => last.end = to,
            _ => self.pieces.push(Piece::Header(from..to)),
        }
    }
}

impl Scan {
    /// The message of each part, in the order of [`Scan::parts`]. A request that is one part whole is that part as it came;
    /// `length` is the request's.
    #[must_use]
    pub fn split(&self, length: usize) -> Vec<Cut> {
        if self.parts.len() == 1 && self.refused_count == 0 {
            return vec![Cut::whole(length)];
        }
        let mut order: Vec<&Found> = self.found.iter().collect();
        order.sort_by_key(|found| found.part);
        order.chunk_by(|a, b| a.part == b.part).map(|items| self.part(items)).collect()
    }

    fn part(&self, items: &[&Found]) -> Cut {
        let mut cut = Cut::new();
        for of_resource in items.chunk_by(|a, b| a.resource == b.resource) {
            let scopes: Vec<(&Envelope, &[&Found])> = of_resource
                .chunk_by(|a, b| a.scope == b.scope)
                .filter_map(|of_scope| Some((self.scopes.get(of_scope.first()?.scope)?, of_scope)))
                .collect();
            let Some(resource) = of_resource.first().and_then(|item| self.resources.get(item.resource)) else {
                continue;
            };
            let scope_sizes: Vec<usize> = scopes
                .iter()
                .map(|(scope, items)| scope.size() + items.iter().map(|item| item.whole.len()).sum::<usize>())
                .collect();
            let size = resource.size() + scope_sizes.iter().map(|size| 1 + varint_size(*size) + size).sum::<usize>();
            cut.header(1, size);
            cut.copy(&resource.before);
            for ((scope, items), size) in scopes.iter().zip(scope_sizes) {
                cut.header(2, size);
                cut.copy(&scope.before);
                for item in *items {
                    cut.copy(std::slice::from_ref(&item.whole));
                }
                cut.copy(&scope.after);
            }
            cut.copy(&resource.after);
        }
        cut
    }
}

impl Envelope {
    fn size(&self) -> usize {
        self.before.iter().chain(&self.after).map(Range::len).sum()
    }
}

fn varint_size(mut value: usize) -> usize {
    let mut size = 1;
    while value >= 0x80 {
        value >>= 7;
        size += 1;
    }
    size
}
