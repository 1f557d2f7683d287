//! Compares the index with the log: builds a second index from the log and compares each trace.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::Arc;

use super::disk::Directory;
use super::error::{Error, of_io};
use super::index::{self, Index, IndexItem, IndexTransaction};
use super::log::{Position, RecordKind, file_name, segments_of};
use super::segments::{Listing, Segments};
use crate::span::TraceId;

/// The differences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    /// Traces that the index lacks, that only the index has, that it does not find by id, or that differ in chunks, counts,
    /// times or names.
    pub traces: Vec<TraceId>,
    /// How many other traces have a different session in the log.
    pub sessions: u64,
    /// Whether log records without a trace differ.
    pub loose: bool,
}

/// Hashes of the content of an index.
#[derive(Debug, Default)]
struct Digests {
    traces: HashMap<TraceId, Digest>,
    loose: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Digest {
    row: u64,
    session: u64,
    /// Sum over all chunks, independent of their order.
    chunks: u64,
}

/// Compares the index of a directory with the part of the log that it covers, except for damaged segments. Another process
/// may write meanwhile.
///
/// # Errors
///
/// The index or the log cannot be read.
pub(crate) fn compare(directory: &Path, session_keys: &[String]) -> Result<Compared, Error> {
    let disk = Directory::read_only(directory);
    let connection = index::open_to_compare(directory)?;
    let covered = index::covered(&connection)?;
    let segments = segments_of(&disk).map_err(|source| of_io("list", directory, source))?;
    let mut expected = Index::temporary()?;
    let unsound = fill(&mut expected, directory, session_keys, &segments, covered)?;
    let is_sound = |segment: u64| segments.binary_search(&segment).is_ok() && !unsound.contains(&segment);

    let hasher = RandomState::new();
    let should = Digests::of(expected.connection(), &hasher, &mut |_, _| {})?;
    let mut skip = BTreeSet::new();
    let mut is = Digests::of(&connection, &hasher, &mut |trace_id, segment| {
        if !is_sound(segment) {
            skip.insert(trace_id);
        }
    })?;
    let mut compared = Compared {
        loose: unsound.is_empty() && should.loose != is.loose,
        ..Compared::default()
    };
    for (trace_id, should) in should.traces {
        match is.traces.remove(&trace_id) {
            _ if skip.contains(&trace_id) => {}
            Some(is) if (is.row, is.chunks) == (should.row, should.chunks) => {
                compared.sessions += u64::from(is.session != should.session);
            }
            _ => compared.traces.push(trace_id),
        }
    }
    compared
        .traces
        .extend(is.traces.into_keys().filter(|trace_id| !skip.contains(trace_id)));
    compared.traces.sort_unstable();
    Ok(compared)
}

/// Adds the content of the log up to a position, and returns the damaged segments.
fn fill(index: &mut Index, directory: &Path, session_keys: &[String], numbers: &[u64], covered: Position) -> Result<BTreeSet<u64>, Error> {
    let segments = Segments::new(directory, Arc::new(Directory::read_only(directory)));
    let mut listing = Listing::new(&segments, session_keys);
    let mut transaction = IndexTransaction::begin(index)?;
    let mut unsound = BTreeSet::new();
    for number in numbers.iter().copied().filter(|number| *number <= covered.segment) {
        let segment = match segments.segment(number) {
            // Retention removed it first.
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                unsound.insert(number);
                continue;
            }
            segment => segment?,
        };
        let mut places = Vec::new();
        let scanned = segment.scan(0, &mut |row, head, _| {
            let is_chunk = matches!(head.kind(), Some(RecordKind::Chunk(_) | RecordKind::Shared(_)));
            let at = Position {
                segment: number,
                offset: row.raw,
            };
            if is_chunk && at < covered {
                places.push(at);
            }
            Ok::<(), Infallible>(())
        });
        let scanned = scanned.map_err(|source| of_io("read", &directory.join(file_name(number)), source))?;
        let is_whole = scanned.is_ok_and(|scanned| scanned.damaged.is_empty() && (scanned.rest == 0 || number == covered.segment));
        if !is_whole {
            unsound.insert(number);
        }
        for at in places {
            if let Some(listed) = listing.of(at)? {
                transaction.add(&listed, at)?;
            }
        }
        segments.forget(number);
    }
    transaction.commit(covered)?;
    Ok(unsound)
}

impl Digests {
    /// Calls `chunk` with the segment of each chunk.
    fn of(connection: &rusqlite::Connection, hasher: &RandomState, chunk: &mut dyn FnMut(TraceId, u64)) -> Result<Self, Error> {
        let mut digests = Self::default();
        index::each_item(connection, &mut |item| match item {
            IndexItem::Row {
                trace_id,
                row,
                session,
                is_found,
            } => {
                let digest = digests.traces.entry(trace_id).or_default();
                // A second row of the same trace changes the digest, too.
                digest.row = digest.row.wrapping_add(hasher.hash_one((&row, is_found)));
                digest.session = hasher.hash_one(&session);
            }
            IndexItem::Chunk { trace_id, values } => {
                let digest = digests.traces.entry(trace_id).or_default();
                digest.chunks = digest.chunks.wrapping_add(hasher.hash_one(values));
                let [_, segment, ..] = values;
                chunk(trace_id, segment.cast_unsigned());
            }
            IndexItem::Loose { values } => digests.loose = digests.loose.wrapping_add(hasher.hash_one(values)),
        })?;
        Ok(digests)
    }
}
