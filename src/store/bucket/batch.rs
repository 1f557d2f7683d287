//! Entries of chunks that are written to a database together.

use std::time::Duration;

use prost::Message as _;
use slatedb::WriteBatch;
use slatedb::bytes::Bytes;
use slatedb::config::{PutOptions, Ttl};

use super::keys::{self, COUNTER, Owner};
use super::prepare::Prepared;
use super::records::{ArrivalRecord, Counter, Head};
use crate::store::chunk::ChunkKind;

pub(super) struct Batch {
    batch: WriteBatch,
    options: PutOptions,
}

impl Batch {
    /// `ttl`: how long its entries are kept; `None`: forever.
    pub(super) fn new(ttl: Option<Duration>) -> Self {
        let millis = |ttl: Duration| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        Self {
            batch: WriteBatch::new(),
            options: PutOptions {
                ttl: ttl.map_or(Ttl::NoExpiry, |ttl| Ttl::ExpireAfterMillis(millis(ttl))),
            },
        }
    }

    /// Entries added from now on are kept until this time, in milliseconds since 1970; `None`: forever.
    pub(super) fn keep_until(&mut self, millis: Option<i64>) {
        self.options.ttl = millis.map_or(Ttl::NoExpiry, Ttl::ExpireAtMillis);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    fn put(&mut self, key: Bytes, value: Bytes) {
        self.batch.put_bytes_with_options(key, value, &self.options);
    }

    /// Adds a chunk with the next number. Its arrival time is `now`, unless it has one already.
    pub(super) fn add(&mut self, chunk: &Prepared, now: u64, counter: &mut Counter) -> Head {
        let came = if chunk.head.arrival == 0 { now } else { chunk.head.arrival };
        // Numbers must be in order of time.
        counter.last = counter.last.max(came);
        let head = Head {
            number: counter.next,
            arrival: counter.last,
            ..chunk.head.clone()
        };
        let kept = (chunk.kind != ChunkKind::Metrics).then_some(&chunk.digest[..]);
        self.put_chunk(&chunk.owner, kept, &head, chunk.packed.clone(), counter);
        head
    }

    /// Adds a chunk that has a number; without a digest it can only be found by its arrival.
    pub(super) fn put_chunk(&mut self, owner: &Owner, digest: Option<&[u8]>, head: &Head, packed: Bytes, counter: &mut Counter) {
        let came = ArrivalRecord {
            owner: owner.bytes().to_vec(),
            kind: head.kind,
            time: head.arrival,
            before: counter.bytes,
            bytes: head.bytes,
        };
        self.put(owner.chunk(head.number), packed);
        self.put(keys::arrival(head.number), came.encode_to_vec().into());
        if let Some(digest) = digest {
            self.put(owner.head(digest), head.encode_to_vec().into());
        }
        if let Some(trace_id) = owner.trace_id() {
            let place = keys::place(head.start, trace_id);
            if let Some(session) = &head.session {
                let session = keys::Owner::session(session).prefix(keys::BY_SESSION);
                self.put([session, place.clone()].concat().into(), Bytes::new());
            }
            if head.kind() == Some(ChunkKind::Spans) {
                self.put([vec![keys::BY_START], place].concat().into(), Bytes::new());
            }
        }
        counter.next = counter.next.max(head.number + 1);
        counter.last = counter.last.max(head.arrival);
        counter.bytes += head.bytes;
        counter.chunks = counter.chunks.map(|chunks| chunks + 1);
    }

    /// Records further claims of a chunk that is stored already.
    pub(super) fn claim(&mut self, key: &Bytes, head: &mut Head, claims: &[u64]) {
        let new: Vec<u64> = claims.iter().filter(|claim| !head.claims.contains(claim)).copied().collect();
        if !new.is_empty() {
            head.claims.extend(new);
            self.put(key.clone(), head.encode_to_vec().into());
        }
    }

    /// The batch with the counter added.
    pub(super) fn with(mut self, counter: &Counter) -> WriteBatch {
        let forever = PutOptions { ttl: Ttl::NoExpiry };
        let (key, value) = (Bytes::from_static(COUNTER), counter.encode_to_vec().into());
        self.batch.put_bytes_with_options(key, value, &forever);
        self.batch
    }
}
