//! A request as one valid message a trace, with its resources and scopes copied, without decoding.

use std::borrow::Cow;
use std::ops::Range;

use super::scan::{Envelope, Found, Scan};

impl Scan {
    /// The bytes of each part, in the order of [`Scan::parts`]. A request that is one part whole is that part as it came.
    #[must_use]
    pub fn split<'a>(&self, bytes: &'a [u8]) -> Vec<Cow<'a, [u8]>> {
        if self.parts.len() == 1 && self.refused_count == 0 {
            return vec![Cow::Borrowed(bytes)];
        }
        let mut order: Vec<&Found> = self.found.iter().collect();
        order.sort_by_key(|found| found.part);
        order
            .chunk_by(|a, b| a.part == b.part)
            .map(|items| Cow::Owned(self.part(bytes, items)))
            .collect()
    }

    fn part(&self, bytes: &[u8], items: &[&Found]) -> Vec<u8> {
        let lengths: usize = items.iter().map(|item| item.whole.len()).sum();
        let mut out = Vec::with_capacity(lengths + 512);
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
            put_header(&mut out, 1, size);
            copy(&mut out, bytes, &resource.before);
            for ((scope, items), size) in scopes.iter().zip(scope_sizes) {
                put_header(&mut out, 2, size);
                copy(&mut out, bytes, &scope.before);
                for item in *items {
                    out.extend_from_slice(bytes.get(item.whole.clone()).unwrap_or_default());
                }
                copy(&mut out, bytes, &scope.after);
            }
            copy(&mut out, bytes, &resource.after);
        }
        out
    }
}

impl Envelope {
    fn size(&self) -> usize {
        self.before.iter().chain(&self.after).map(Range::len).sum()
    }
}

fn copy(out: &mut Vec<u8>, bytes: &[u8], ranges: &[Range<usize>]) {
    for range in ranges {
        out.extend_from_slice(bytes.get(range.clone()).unwrap_or_default());
    }
}

/// The key of a length-delimited field (numbers below 16), and the length.
fn put_header(out: &mut Vec<u8>, field: u8, length: usize) {
    out.push(field << 3 | 2);
    let mut rest = length;
    while rest >= 0x80 {
        out.push(u8::try_from(rest & 0x7f).unwrap_or_default() | 0x80);
        rest >>= 7;
    }
    out.push(u8::try_from(rest).unwrap_or_default());
}

fn varint_size(mut value: usize) -> usize {
    let mut size = 1;
    while value >= 0x80 {
        value >>= 7;
        size += 1;
    }
    size
}
