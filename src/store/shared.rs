//! Chunks that share envelopes.
//!
//! If the envelopes of a request are large and its chunks have few items, the chunks do not repeat them: each envelope (the
//! fields of a resource or of a scope around its items) is a separate record, before the first chunk that needs it and in
//! the same segment. Such a chunk's message is, with numbers as protobuf varints:
//!
//! ```text
//! chunk     entry, again and again
//! entry     length * 2, bytes                         whole resources, as they are in the request
//!           count * 2 + 1, envelope, count of-resource    items of a resource
//! of-resource
//!           length * 2, bytes                         whole scopes, as they are in the resource
//!           length * 2 + 1, envelope, bytes           items of a scope
//! envelope  length * 2, bytes                         here
//!           distance * 2 + 1                          this many bytes before this record, in the raw segment
//! ```

use std::collections::HashMap;

use crate::otlp::cut::{self, Header, with_header};

/// The fields around items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Envelope<'a> {
    Here(&'a [u8]),
    /// In another record: on disk, the distance back to it; else the number of the envelope in its request.
    At(u64),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    Resources(&'a [u8]),
    OfResource { envelope: Envelope<'a>, scopes: Vec<OfScope<'a>> },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum OfScope<'a> {
    Scopes(&'a [u8]),
    Items { envelope: Envelope<'a>, items: &'a [u8] },
}

/// A parsed message of a chunk with shared envelopes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shared<'a>(pub(super) Vec<Entry<'a>>);

/// Room for the numbers in a message with one or two items.
const PLACES_BYTES: usize = 64;

/// Writes the message of a part of a request; shared envelopes are replaced by their numbers.
pub(super) fn of_part(cuts: &cut::Cuts, part: usize, request: &[u8], is_shared: &dyn Fn(u32) -> bool) -> Vec<u8> {
    // Shared envelopes take only a few bytes each, so this is enough.
    let mut out = Vec::with_capacity(cuts.length(part) + PLACES_BYTES);
    let envelope = |out: &mut Vec<u8>, number: u32| {
        if is_shared(number) {
            return put(out, u64::from(number), true);
        }
        put(out, cuts.envelope_length(number) as u64, false);
        cuts.envelope(number, request).for_each(|bytes| out.extend_from_slice(bytes));
    };
    for entry in cuts.entries(part, request) {
        match entry {
            cut::Entry::Resources(bytes) => put_bytes(&mut out, bytes),
            cut::Entry::OfResource { envelope: number, scopes } => {
                put(&mut out, scopes.len() as u64, true);
                envelope(&mut out, number);
                for scope in scopes {
                    match scope {
                        cut::OfScope::Scopes(bytes) => put_bytes(&mut out, bytes),
                        cut::OfScope::Items { envelope: number, items } => {
                            put(&mut out, items.iter().map(|item| item.len() as u64).sum(), true);
                            envelope(&mut out, number);
                            items.iter().for_each(|item| out.extend_from_slice(item));
                        }
                    }
                }
            }
        }
    }
    out
}

impl<'a> Shared<'a> {
    /// Parses a message; `None`: it is malformed.
    pub(super) fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            entries.push(match take(&mut bytes)? {
                (length, false) => Entry::Resources(take_bytes(&mut bytes, length)?),
                (count, true) => {
                    let envelope = take_envelope(&mut bytes)?;
                    let mut scopes = Vec::new();
                    for _ in 0..count {
                        scopes.push(match take(&mut bytes)? {
                            (length, false) => OfScope::Scopes(take_bytes(&mut bytes, length)?),
                            (length, true) => OfScope::Items {
                                envelope: take_envelope(&mut bytes)?,
                                items: take_bytes(&mut bytes, length)?,
                            },
                        });
                    }
                    Entry::OfResource { envelope, scopes }
                }
            });
        }
        Some(Self(entries))
    }

    /// Writes it with the places of envelopes mapped by `place`.
    pub(super) fn write(&self, place: &dyn Fn(u64) -> u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes() + PLACES_BYTES);
        let put_envelope = |out: &mut Vec<u8>, envelope: &Envelope<'_>| match envelope {
            Envelope::Here(bytes) => put_bytes(out, bytes),
            Envelope::At(at) => put(out, place(*at), true),
        };
        for entry in &self.0 {
            match entry {
                Entry::Resources(bytes) => put_bytes(&mut out, bytes),
                Entry::OfResource { envelope, scopes } => {
                    put(&mut out, scopes.len() as u64, true);
                    put_envelope(&mut out, envelope);
                    for scope in scopes {
                        match scope {
                            OfScope::Scopes(bytes) => put_bytes(&mut out, bytes),
                            OfScope::Items { envelope, items } => {
                                put(&mut out, items.len() as u64, true);
                                put_envelope(&mut out, envelope);
                                out.extend_from_slice(items);
                            }
                        }
                    }
                }
            }
        }
        out
    }

    /// Size without the envelopes in other records.
    fn bytes(&self) -> usize {
        let here = |envelope: &Envelope<'_>| match envelope {
            Envelope::Here(bytes) => bytes.len(),
            Envelope::At(_) => 0,
        };
        let of_scope = |scope: &OfScope<'_>| match scope {
            OfScope::Scopes(bytes) => bytes.len(),
            OfScope::Items { envelope, items } => here(envelope) + items.len(),
        };
        let of_entry = |entry: &Entry<'_>| match entry {
            Entry::Resources(bytes) => bytes.len(),
            Entry::OfResource { envelope, scopes } => here(envelope) + scopes.iter().map(of_scope).sum::<usize>(),
        };
        self.0.iter().map(of_entry).sum()
    }

    /// The message without the places of its envelopes.
    pub(super) fn without_places(&self) -> Vec<u8> {
        self.write(&|_| 0)
    }

    /// The places of its envelopes, in order; true: of a resource.
    pub(super) fn envelopes(&self) -> impl Iterator<Item = (bool, u64)> {
        self.0.iter().flat_map(|entry| {
            let (outer, scopes) = match entry {
                Entry::OfResource { envelope, scopes } => (Some(envelope), scopes.as_slice()),
                Entry::Resources(_) => (None, [].as_slice()),
            };
            let inner = scopes.iter().filter_map(|scope| match scope {
                OfScope::Items { envelope, .. } => Some((false, envelope)),
                OfScope::Scopes(_) => None,
            });
            let envelopes = outer.map(|envelope| (true, envelope)).into_iter().chain(inner);
            envelopes.filter_map(|(of_resource, envelope)| match envelope {
                Envelope::At(at) => Some((of_resource, *at)),
                Envelope::Here(_) => None,
            })
        })
    }

    /// Length of the OTLP message, given the lengths of the envelopes.
    pub(super) fn length(&self, of: &dyn Fn(u64) -> usize) -> usize {
        self.0.iter().map(|entry| entry.length(of)).sum()
    }

    /// The OTLP message, as one chunk.
    pub(super) fn message(&self, envelopes: &HashMap<u64, Vec<u8>>) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.length(&|at| envelopes.get(&at).map_or(0, Vec::len)));
        self.0.iter().for_each(|entry| entry.put(envelopes, &mut out));
        out
    }
}

impl Entry<'_> {
    /// The OTLP message without the envelopes in other records.
    pub(super) fn message(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.put(&HashMap::new(), &mut out);
        out
    }

    fn put(&self, envelopes: &HashMap<u64, Vec<u8>>, out: &mut Vec<u8>) {
        let (envelope, scopes) = match self {
            Self::Resources(bytes) => return out.extend_from_slice(bytes),
            Self::OfResource { envelope, scopes } => (envelope, scopes),
        };
        let inner = self.inner_length(&|at| envelopes.get(&at).map_or(0, Vec::len));
        out.extend_from_slice(Header::new(1, inner).bytes());
        out.extend_from_slice(envelope.bytes(envelopes));
        for scope in scopes {
            match scope {
                OfScope::Scopes(bytes) => out.extend_from_slice(bytes),
                OfScope::Items { envelope, items } => {
                    let envelope = envelope.bytes(envelopes);
                    out.extend_from_slice(Header::new(2, envelope.len() + items.len()).bytes());
                    out.extend_from_slice(envelope);
                    out.extend_from_slice(items);
                }
            }
        }
    }

    fn length(&self, of: &dyn Fn(u64) -> usize) -> usize {
        match self {
            Self::Resources(bytes) => bytes.len(),
            Self::OfResource { .. } => with_header(self.inner_length(of)),
        }
    }

    fn inner_length(&self, of: &dyn Fn(u64) -> usize) -> usize {
        let Self::OfResource { envelope, scopes } = self else { return 0 };
        let of_scopes = scopes.iter().map(|scope| match scope {
            OfScope::Scopes(bytes) => bytes.len(),
            OfScope::Items { envelope, items } => with_header(envelope.length(of) + items.len()),
        });
        envelope.length(of) + of_scopes.sum::<usize>()
    }
}

impl Envelope<'_> {
    fn bytes<'a>(&'a self, envelopes: &'a HashMap<u64, Vec<u8>>) -> &'a [u8] {
        match self {
            Self::Here(bytes) => bytes,
            Self::At(at) => envelopes.get(at).map_or(&[], Vec::as_slice),
        }
    }

    fn length(&self, of: &dyn Fn(u64) -> usize) -> usize {
        match self {
            Self::Here(bytes) => bytes.len(),
            Self::At(at) => of(*at),
        }
    }
}

fn put(out: &mut Vec<u8>, number: u64, flag: bool) {
    prost::encoding::encode_varint(number << 1 | u64::from(flag), out);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64, false);
    out.extend_from_slice(bytes);
}

fn take(bytes: &mut &[u8]) -> Option<(u64, bool)> {
    let number = prost::encoding::decode_varint(bytes).ok()?;
    Some((number >> 1, number & 1 == 1))
}

fn take_bytes<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(taken)
}

fn take_envelope<'a>(bytes: &mut &'a [u8]) -> Option<Envelope<'a>> {
    match take(bytes)? {
        (length, false) => take_bytes(bytes, length).map(Envelope::Here),
        (at, true) => Some(Envelope::At(at)),
    }
}
