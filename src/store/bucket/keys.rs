//! The keys of a writer's database.
//!
//! ```text
//! h OWNER DIGEST           what lists show of a chunk, by the digest of its message, so that a repeated chunk has the same key
//! c OWNER NUMBER           a chunk's message, compressed
//! a NUMBER                 a chunk in order of arrival: its owner, arrival time, bytes
//! s START TRACE            a chunk of spans by its start, both inverted: the newest first
//! n SESSION START TRACE    the same of a session
//! f READER                 how far a reader of the arrivals is
//! g                        when the database was adopted
//! p                        present while tables contain deleted data
//! z                        how many chunks there are
//!
//! OWNER    t and 16 bytes: a trace.  s, four bytes of length, and a name: a session.  m: metrics
//! NUMBER   8 bytes, big-endian
//! ```
//!
//! A list of traces follows `s`. A trace has an entry there for each of its chunks, and its place in the list is the one at its
//! earliest start, which is in its heads.

use slatedb::bytes::Bytes;
use slatedb::{PrefixExtractor, PrefixTarget};

use crate::otlp::scan::Key;
use crate::span::TraceId;
use crate::store::chunk::ChunkKind;
use crate::store::lists::TraceCursor;

/// Heads of chunks.
pub(super) const HEADS: u8 = b'h';
/// Messages of chunks.
pub(super) const CHUNKS: u8 = b'c';
/// Chunks in order of arrival.
pub(super) const ARRIVALS: u8 = b'a';
/// Traces by start.
pub(super) const BY_START: u8 = b's';
/// Traces of a session by start.
pub(super) const BY_SESSION: u8 = b'n';
/// Positions of the readers of the arrivals.
pub(super) const READERS: u8 = b'f';
/// Key of the adoption time.
pub(super) const ADOPTED: &[u8] = b"g";
/// Key that is present while tables still contain deleted data.
pub(super) const UNPURGED: &[u8] = b"p";
/// Key of the counter.
pub(super) const COUNTER: &[u8] = b"z";

/// The trace, session or metrics a chunk belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Owner(Vec<u8>);

impl Owner {
    pub(super) fn trace(trace_id: TraceId) -> Self {
        Self([b"t", &trace_id.bytes()[..]].concat())
    }

    pub(super) fn session(name: &str) -> Self {
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX).to_be_bytes();
        Self([b"s", &length[..], name.as_bytes()].concat())
    }

    pub(super) fn of(kind: ChunkKind, key: &Key) -> Self {
        match (kind, key) {
            (ChunkKind::Metrics, _) => Self(b"m".to_vec()),
            (_, Key::Trace(trace_id)) => Self::trace(*trace_id),
            (_, Key::Session(session)) => Self::session(session),
        }
    }

    /// The owner as an arrival stores it.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.to_owned())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn trace_id(&self) -> Option<TraceId> {
        self.0.strip_prefix(b"t").and_then(TraceId::from_bytes)
    }

    /// The session's name, if the owner is a session.
    pub(super) fn session_name(&self) -> Option<&str> {
        let (length, rest) = self.0.strip_prefix(b"s")?.split_first_chunk::<4>()?;
        let name = rest.get(..u32::from_be_bytes(*length) as usize)?;
        std::str::from_utf8(name).ok()
    }

    /// The prefix of all its keys in a table.
    pub(super) fn prefix(&self, table: u8) -> Vec<u8> {
        [&[table], &self.0[..]].concat()
    }

    pub(super) fn head(&self, digest: &[u8]) -> Bytes {
        [&self.prefix(HEADS), digest].concat().into()
    }

    pub(super) fn chunk(&self, number: u64) -> Bytes {
        [&self.prefix(CHUNKS), &number.to_be_bytes()[..]].concat().into()
    }
}

/// Name of the session in a head's key.
pub(super) fn session_of(key: &[u8]) -> Option<String> {
    let owner = Owner::from_bytes(key.strip_prefix(&[HEADS])?);
    owner.session_name().map(str::to_owned)
}

/// Key of an arrival.
pub(super) fn arrival(number: u64) -> Bytes {
    [&[ARRIVALS], &number.to_be_bytes()[..]].concat().into()
}

/// Key of a reader of arrivals.
pub(super) fn reader(name: &str) -> Bytes {
    [&[READERS], name.as_bytes()].concat().into()
}

/// The number at the end of a key.
pub(super) fn number_of(key: &[u8]) -> Option<u64> {
    key.last_chunk::<8>().map(|number| u64::from_be_bytes(*number))
}

/// A start and a trace id in the form in which keys of lists end: newest first.
pub(super) fn place(start: u64, trace_id: TraceId) -> Vec<u8> {
    let mut place = start.to_be_bytes().to_vec();
    place.extend_from_slice(trace_id.bytes());
    place.iter().map(|byte| !byte).collect()
}

/// The key just before all traces that start earlier: a prefix of [`place`].
pub(super) fn before(start: u64) -> Vec<u8> {
    start.to_be_bytes().iter().map(|byte| !byte).collect()
}

/// Parses what [`place`] made.
pub(super) fn placed(key: &[u8]) -> Option<TraceCursor> {
    let place: Vec<u8> = key.last_chunk::<24>()?.iter().map(|byte| !byte).collect();
    let (start, trace_id) = place.split_first_chunk::<8>()?;
    Some(TraceCursor {
        start: u64::from_be_bytes(*start),
        trace_id: TraceId::from_bytes(trace_id)?,
    })
}

/// Extracts the owner from a key, so that the filters know all owners and tables without the owner are not read.
#[derive(Debug)]
pub(super) struct ByOwner;

impl PrefixExtractor for ByOwner {
    fn name(&self) -> &str {
        "owner"
    }

    fn prefix_len(&self, target: &PrefixTarget) -> Option<usize> {
        let (PrefixTarget::Point(key) | PrefixTarget::Prefix(key)) = target;
        let [HEADS | CHUNKS, owner @ ..] = &key[..] else { return None };
        let length = match owner {
            [b't', ..] => 17,
            [b's', a, b, c, d, ..] => 5 + u32::from_be_bytes([*a, *b, *c, *d]) as usize,
            [b'm', ..] => 1,
            _ => return None,
        };
        (owner.len() >= length).then_some(1 + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_place_is_the_first_key() {
        let trace = |byte: u8| TraceId::from_bytes(&[byte; 16]).expect("an id");
        let places = [(1, 1), (1, 2), (2, 1), (u64::MAX, 9)];
        let mut keys: Vec<Vec<u8>> = places.iter().map(|(start, id)| place(*start, trace(*id))).collect();
        let read: Vec<_> = keys
            .iter()
            .filter_map(|key| placed(key))
            .map(|place| (place.start, place.trace_id))
            .collect();
        assert_eq!(read, places.map(|(start, id)| (start, trace(id))));
        keys.reverse();
        assert!(keys.is_sorted());
        assert!(before(2) < place(2, trace(0xff)) && place(3, trace(1)) < before(2));
    }

    #[test]
    fn a_prefix_is_the_owner_and_nothing_of_another() {
        let owner = Owner::session("a");
        let of = |target| ByOwner.prefix_len(&target);
        let length = owner.prefix(HEADS).len();
        assert_eq!(of(PrefixTarget::Point(owner.head(&[1; 16]))), Some(length));
        assert_eq!(of(PrefixTarget::Prefix(owner.prefix(HEADS).into())), Some(length));
        assert_eq!(of(PrefixTarget::Prefix(Bytes::from_static(b"hs\0\0\0"))), None);
        assert_eq!(of(PrefixTarget::Point(arrival(1))), None);
    }
}
