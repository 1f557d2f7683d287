//! Opening a log with its index: catches the index up to the end of the log, or rebuilds it.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use super::chunk::{Listed, StoredEnvelope};
use super::deletion::Deletions;
use super::disk::Disk;
use super::error::Error;
use super::index::{self, Index, IndexTransaction, Places};
use super::log::record::HEAD;
use super::log::{Damage, Log, Position, RecordKind, Recovery, unpacked};
use super::losses;
use super::lost_records;
use super::options::{OpenOptions, Retention};

pub(super) fn open_and_replay(options: &OpenOptions, disk: &Arc<dyn Disk>) -> Result<(Log, Index, Recovery), Error> {
    match replay(options, disk) {
        Ok(Replayed::Opened(opened)) => Ok(*opened),
        Ok(Replayed::Behind(known)) => rebuild(options, disk, "it covered more than the log contains".to_owned(), known),
        Err(Error::Index { source, .. }) if index::is_corrupt(&source) => rebuild(options, disk, source.to_string(), Places::new()),
        Err(error) => Err(error),
    }
}

/// Rebuilds the index. `known`: records of the former index that may be missing from the log.
pub(super) fn rebuild(options: &OpenOptions, disk: &Arc<dyn Disk>, why: String, known: Places) -> Result<(Log, Index, Recovery), Error> {
    index::remove(&options.directory)?;
    let Replayed::Opened(opened) = replay(options, disk)? else {
        return Err(Error::Closed);
    };
    let (log, index, mut recovery) = *opened;
    recovery.index_rebuilt = Some(why);
    if let Some(first) = known.keys().next() {
        let now = index::places_from(index.connection(), first.segment)?;
        recovery.lost.extend(lost_records::gone(&**disk, known, &now));
        // The new index does not have them, so they could not be found again. If they cannot be recorded, they are reported only this time.
        let _ = losses::keep(&options.directory, &recovery.lost);
    }
    if let Some(torn) = &mut recovery.torn {
        torn.acknowledged = recovery.lost.iter().any(|lost| lost.segment == torn.at.segment);
    }
    Ok((log, index, recovery))
}

/// Retention removes whole segments, so none may span much more time than the retention age.
fn segment_age(retention: Retention) -> Option<u64> {
    let age = (retention.age? / Retention::SEGMENTS).as_nanos();
    Some(u64::try_from(age).unwrap_or(u64::MAX))
}

enum Replayed {
    Opened(Box<(Log, Index, Recovery)>),
    /// The log ends before the covered position; these are the records in the index from the log's last segment on.
    Behind(Places),
}

/// Opens the log and the index, and catches the index up to the log's end.
fn replay(options: &OpenOptions, disk: &Arc<dyn Disk>) -> Result<Replayed, Error> {
    let mut index = Index::open(&options.directory)?;
    let covered = index::covered(index.connection())?;
    let mut transaction = IndexTransaction::begin(&mut index)?;
    let keys: Vec<&str> = options.session_keys.iter().map(String::as_str).collect();
    // Envelopes of the current segment: they precede the chunks that refer to them.
    let mut envelopes: HashMap<(u64, u64), StoredEnvelope> = HashMap::new();
    let mut incomplete = Vec::new();
    let mut last = covered;
    let deleted = Deletions::of(&options.directory)?;
    let (log, mut recovery) = Log::open(
        Arc::clone(disk),
        &options.directory,
        (options.segment_size, segment_age(options.retention)),
        covered,
        &mut |at, head, message: Vec<u8>| {
            if at.segment > last.segment && last.segment > 0 {
                transaction.end(last)?;
            }
            last = Position {
                segment: at.segment,
                offset: at.offset + HEAD as u64 + u64::from(head.length),
            };
            if head.trace_id.is_some_and(|trace_id| deleted.has(trace_id)) || deleted.has_loose(at) {
                return Ok(());
            }
            let length = head.length;
            // The checksum is correct, so a message that cannot be decompressed is from a later version, and stays in the log.
            let Some((head, message)) = unpacked(head, message) else {
                return Ok(());
            };
            let listed = match head.kind() {
                Some(RecordKind::Chunk(kind)) => Listed::of_record(kind, &message, head.checksum, &keys),
                Some(RecordKind::Shared(kind)) => {
                    let is_whole = Cell::new(true);
                    let envelope = |distance| {
                        let offset = at.offset.saturating_sub(distance);
                        let found = envelopes.get(&(at.segment, offset));
                        let was_read = Position { offset, ..at } >= covered;
                        is_whole.set(is_whole.get() && (found.is_some() || !was_read));
                        found.cloned().unwrap_or_default()
                    };
                    let listed = Listed::of_shared(kind, &message, &keys, &envelope);
                    if !is_whole.get() && covered.segment > 0 {
                        // A crash may keep the end of a write and lose its beginning. The index has what was written before,
                        // but not this record: so its trace is not marked as damaged by a record that was never
                        // acknowledged. A rebuilt index cannot tell, and marks the trace.
                        let bytes = HEAD as u64 + u64::from(length);
                        incomplete.push(Damage { at, bytes });
                        return Ok(());
                    }
                    listed
                }
                Some(RecordKind::OfResource | RecordKind::OfScope) => {
                    envelopes.retain(|(segment, _), _| *segment == at.segment);
                    if let Some(envelope) = StoredEnvelope::of_record(head, &message, &keys) {
                        envelopes.insert((at.segment, at.offset), envelope);
                    }
                    return Ok(());
                }
                None => Ok(None),
            };
            match listed {
                Ok(Some(listed)) => transaction.add(&listed, at),
                // A kind or message of a later version stays in the log.
                Ok(None) | Err(_) => Ok(()),
            }
        },
    )?;
    recovery.damaged.extend(incomplete);
    recovery.damaged.sort_by_key(|damage| damage.at);
    let end = log.end();
    if end < covered {
        drop(transaction);
        return index::places_from(index.connection(), end.segment).map(Replayed::Behind);
    }
    if end.segment > last.segment && last.segment > 0 {
        transaction.end(last)?;
    }
    transaction.commit(end)?;
    Ok(Replayed::Opened(Box::new((log, index, recovery))))
}
