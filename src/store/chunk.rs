//! The unit of storage: the spans or log records of one trace from one request, or the metrics of a request.
//!
//! The chunks of a request share its bytes. If each would repeat much of what surrounds its items, they are stored in the
//! form of the module `shared`; that depends on the request alone.

pub(in crate::store) mod kind;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use super::log::record::{HEAD, Head, RecordKind};
use super::shared::{self, Entry, Envelope, Shared};
use crate::otlp::Fault;
use crate::otlp::cut::{Cuts, Piece};
use crate::otlp::scan::{self, Key, Names, Part, Scan};
use crate::span::{Signal, TraceId};
pub use kind::ChunkKind;

/// One chunk.
#[derive(Debug, Clone)]
pub struct Chunk {
    request: Arc<Request>,
    /// Its index in the request.
    part: u32,
    is_packed: bool,
}

/// A request divided into chunks.
#[derive(Debug)]
struct Request {
    bytes: Bytes,
    signal: Signal,
    parts: Vec<Part>,
    cuts: Cuts,
    /// For each chunk, [`Listed::checksum`].
    checksums: Vec<u32>,
    /// For each envelope, the CRC-32 if it is stored once for all chunks. `None`: nothing is shared.
    shared: Option<Vec<Option<u32>>>,
}

/// The chunks of a request, and their sizes.
#[derive(Debug)]
pub struct Divided {
    /// The chunks.
    pub chunks: Vec<Chunk>,
    /// Bytes on disk.
    pub stored: usize,
    /// Total size of the messages, each taken by itself.
    pub messages: usize,
}

/// What the index records of a chunk.
#[derive(Debug, Clone)]
pub struct Listed<'a> {
    /// Its kind.
    pub kind: ChunkKind,
    /// The result of the scan.
    pub part: Cow<'a, Part>,
    /// CRC-32 of the message; for a chunk that shares envelopes, of its own bytes and the envelopes' checksums.
    pub checksum: u32,
    /// Length of the message in bytes.
    pub length: usize,
}

/// What is known of a stored envelope.
#[derive(Debug, Clone, Default)]
pub(super) struct StoredEnvelope {
    /// The description of the items, if this is a resource envelope.
    pub(super) names: Names,
    pub(super) checksum: u32,
    pub(super) length: usize,
}

/// Chunks may copy up to this many times the size of the request before they share envelopes.
const MAX_COPY_FACTOR: usize = 2;
/// Maximum bytes of a reference to an envelope, including the counts around it.
const MAX_PLACE_BYTES: usize = 12;

impl Chunk {
    /// The chunks of a scanned request. They share its bytes.
    #[must_use]
    pub fn of_request(scan: Scan, request: impl Into<Bytes>) -> Vec<Self> {
        Self::divide(scan, request).chunks
    }

    /// The chunks of a scanned request, and their sizes.
    #[must_use]
    pub fn divide(scan: Scan, request: impl Into<Bytes>) -> Divided {
        let bytes = request.into();
        let signal = scan.signal;
        let (parts, cuts) = scan.cut(bytes.len());
        let messages = (0..parts.len()).map(|part| cuts.length(part)).fold(0, usize::saturating_add);
        let copied = messages.saturating_add(parts.len() * HEAD);
        let sharing = (copied > MAX_COPY_FACTOR * bytes.len() && !cuts.is_whole()).then(|| Sharing::of(&cuts, parts.len()));
        let sharing = sharing.filter(|sharing| sharing.stored < copied);
        let stored = sharing.as_ref().map_or(copied, |sharing| sharing.stored);
        let shared = sharing.map(|sharing| sharing.checksums(&cuts, &bytes));
        let mut request = Request {
            bytes,
            signal,
            parts,
            cuts,
            checksums: Vec::new(),
            shared,
        };
        request.checksums = (0..request.parts.len()).map(|part| request.checksum(part)).collect();
        let request = Arc::new(request);
        let parts = 0..u32::try_from(request.parts.len()).unwrap_or(u32::MAX);
        Divided {
            chunks: parts
                .map(|part| Self {
                    request: Arc::clone(&request),
                    part,
                    is_packed: false,
                })
                .collect(),
            stored,
            messages,
        }
    }

    /// A metrics request as received, with this many data points.
    #[must_use]
    pub fn of_metrics(points: usize, request: impl Into<Bytes>) -> Self {
        let bytes = request.into();
        let request = Request {
            checksums: vec![crc32fast::hash(&bytes)],
            cuts: Cuts::whole(bytes.len()),
            bytes,
            signal: Signal::Metrics,
            parts: vec![Part::apart(points)],
            shared: None,
        };
        Self {
            request: Arc::new(request),
            part: 0,
            is_packed: false,
        }
    }

    /// Compresses the chunk when it is written rather than when its segment is sealed: for spans built from documents.
    #[must_use]
    pub fn packed(self) -> Self {
        Self { is_packed: true, ..self }
    }

    pub(super) fn is_packed(&self) -> bool {
        self.is_packed
    }

    fn part_number(&self) -> usize {
        self.part as usize
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ChunkKind {
        match (&self.part().key, self.request.signal) {
            (Key::Trace(_), Signal::Traces) => ChunkKind::Spans,
            (Key::Trace(_), _) => ChunkKind::Logs,
            (Key::Session(_), Signal::Metrics) => ChunkKind::Metrics,
            (Key::Session(_), _) => ChunkKind::LooseLogs,
        }
    }

    /// The result of the scan.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "a chunk is made for each part")]
    pub fn part(&self) -> &Part {
        &self.request.parts[self.part_number()]
    }

    /// [`Listed::checksum`].
    #[must_use]
    pub fn checksum(&self) -> u32 {
        self.request.checksums.get(self.part_number()).copied().unwrap_or_default()
    }

    /// What the index records of the chunk.
    #[must_use]
    pub fn listed(&self) -> Listed<'_> {
        Listed {
            kind: self.kind(),
            part: Cow::Borrowed(self.part()),
            checksum: self.checksum(),
            length: self.length(),
        }
    }

    /// The trace; `None` for loose log records and for metrics.
    #[must_use]
    pub fn trace_id(&self) -> Option<TraceId> {
        match self.part().key {
            Key::Trace(trace_id) => Some(trace_id),
            Key::Session(_) => None,
        }
    }

    /// Length of the OTLP message in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.request.cuts.length(self.part_number())
    }

    /// Bytes of the request that are only in this chunk; the whole message if nothing is shared.
    #[must_use]
    pub fn own_length(&self) -> usize {
        match self.request.shared {
            Some(_) => self.request.cuts.needs(self.part_number(), &mut |_, _| {}),
            None => self.length(),
        }
    }

    /// The OTLP message.
    #[must_use]
    pub fn message(&self) -> Vec<u8> {
        self.request.cuts.message(self.part_number(), &self.request.bytes)
    }

    /// Passes the OTLP message to `tell`, piece by piece.
    pub(super) fn pieces<'a>(&'a self, tell: &mut dyn FnMut(Piece<'a>)) {
        self.request.cuts.pieces(self.part_number(), &self.request.bytes, tell);
    }

    /// Whether the message equals these bytes.
    #[must_use]
    pub fn is(&self, message: &[u8]) -> bool {
        let mut rest = Some(message);
        self.pieces(&mut |piece| rest = rest.and_then(|rest| rest.strip_prefix(piece.bytes())));
        rest.is_some_and(<[u8]>::is_empty)
    }

    /// The message in the form of the module `shared`, with numbers for envelopes; `None`: it is stored as it is.
    pub(super) fn shared(&self) -> Option<Vec<u8>> {
        let shared = self.request.shared.as_ref()?;
        Some(self.request.shared_message(self.part_number(), shared))
    }

    /// Identifies the chunk's request for as long as the chunk lives.
    pub(super) fn request(&self) -> usize {
        Arc::as_ptr(&self.request) as usize
    }

    /// The bytes of an envelope.
    pub(super) fn envelope(&self, number: u64) -> impl Iterator<Item = &[u8]> + Clone {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        self.request.cuts.envelope(number, &self.request.bytes)
    }

    /// The CRC-32 of a shared envelope.
    pub(super) fn envelope_checksum(&self, number: u64) -> u32 {
        let shared = self.request.shared.as_deref().unwrap_or_default();
        let checksum = usize::try_from(number).ok().and_then(|number| shared.get(number).copied());
        checksum.flatten().unwrap_or_default()
    }
}

impl Request {
    fn checksum(&self, part: usize) -> u32 {
        let mut checksum = crc32fast::Hasher::new();
        let Some(shared) = &self.shared else {
            self.cuts.pieces(part, &self.bytes, &mut |piece| checksum.update(piece.bytes()));
            return checksum.finalize();
        };
        let message = self.shared_message(part, shared);
        let Some(apart) = Shared::read(&message) else { return 0 };
        let of = |number: u64| {
            usize::try_from(number)
                .ok()
                .and_then(|number| shared.get(number).copied().flatten())
        };
        shared_checksum(&apart, &|number| of(number).unwrap_or_default())
    }

    fn shared_message(&self, part: usize, shared: &[Option<u32>]) -> Vec<u8> {
        let is_shared = |number: u32| shared.get(number as usize).is_some_and(Option::is_some);
        shared::of_part(&self.cuts, part, &self.bytes, &is_shared)
    }
}

/// The checksum of a chunk's own bytes and of its envelopes' checksums.
fn shared_checksum(apart: &Shared<'_>, of: &dyn Fn(u64) -> u32) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&apart.without_places());
    for (_, at) in apart.envelopes() {
        checksum.update(&of(at).to_le_bytes());
    }
    checksum.finalize()
}

/// Which envelopes are stored once for all chunks of a request.
struct Sharing {
    /// For each envelope, the number of chunks that use it.
    uses: Vec<u32>,
    stored: usize,
}

impl Sharing {
    fn of(cuts: &Cuts, parts: usize) -> Self {
        let mut uses = vec![0_u32; cuts.envelopes()];
        let mut stored = 0;
        for part in 0..parts {
            let mut places = 0;
            let own = cuts.needs(part, &mut |_, envelope| {
                places += 1;
                if let Some(uses) = uses.get_mut(envelope as usize) {
                    *uses = uses.saturating_add(1);
                }
            });
            stored += HEAD + own + places * MAX_PLACE_BYTES;
        }
        for (number, uses) in uses.iter_mut().enumerate() {
            let size = cuts.envelope_length(u32::try_from(number).unwrap_or(u32::MAX));
            // A separate record has a cost, too.
            if size.saturating_mul(*uses as usize) <= size + HEAD + MAX_PLACE_BYTES {
                stored += size * *uses as usize;
                *uses = 0;
            } else {
                stored += HEAD + size;
            }
        }
        Self { uses, stored }
    }

    fn checksums(self, cuts: &Cuts, request: &[u8]) -> Vec<Option<u32>> {
        let of = |(number, uses): (usize, u32)| {
            let mut checksum = crc32fast::Hasher::new();
            let number = u32::try_from(number).ok().filter(|_| uses > 0)?;
            cuts.envelope(number, request).for_each(|bytes| checksum.update(bytes));
            Some(checksum.finalize())
        };
        self.uses.into_iter().enumerate().map(of).collect()
    }
}

impl StoredEnvelope {
    /// Reads the record of an envelope.
    pub(super) fn of_record(head: Head, bytes: &[u8], session_keys: &[&str]) -> Option<Self> {
        let names = match head.kind()? {
            RecordKind::OfResource => scan::names_of(bytes, session_keys).unwrap_or_default(),
            RecordKind::OfScope => Names::default(),
            RecordKind::Chunk(_) | RecordKind::Shared(_) => return None,
        };
        Some(Self {
            names,
            checksum: head.checksum,
            length: bytes.len(),
        })
    }
}

impl Listed<'static> {
    /// The chunk of a record; `None` if the message is not of the declared kind.
    ///
    /// # Errors
    ///
    /// The message is malformed, although its checksum is correct.
    pub fn of_record(kind: ChunkKind, message: &[u8], checksum: u32, session_keys: &[&str]) -> Result<Option<Self>, Fault> {
        // More than one part: other keys named a session when the record was written; the first part has everything.
        let part = scan::scan(message, kind.signal(), session_keys)?.parts.into_iter().next();
        Ok(part.map(|part| Self {
            kind,
            part: Cow::Owned(part),
            checksum,
            length: message.len(),
        }))
    }

    /// The chunk of a record that shares envelopes, which are looked up by distance. Takes time linear in its own bytes.
    ///
    /// # Errors
    ///
    /// As [`Listed::of_record`].
    pub(super) fn of_shared(
        kind: ChunkKind,
        message: &[u8],
        session_keys: &[&str],
        envelope: &dyn Fn(u64) -> StoredEnvelope,
    ) -> Result<Option<Self>, Fault> {
        let Some(apart) = Shared::read(message) else { return Ok(None) };
        let pieces: Vec<(Vec<u8>, Names)> = apart
            .0
            .iter()
            .map(|entry| {
                let names = match entry {
                    Entry::OfResource {
                        envelope: Envelope::At(at),
                        ..
                    } => envelope(*at).names,
                    _ => Names::default(),
                };
                (entry.message(), names)
            })
            .collect();
        let pieces = pieces.iter().map(|(bytes, names)| (bytes.as_slice(), names));
        let part = scan::part_of(pieces, kind.signal(), session_keys)?;
        Ok(part.map(|part| Self {
            kind,
            part: Cow::Owned(part),
            checksum: shared_checksum(&apart, &|at| envelope(at).checksum),
            length: apart.length(&|at| envelope(at).length),
        }))
    }
}
