//! The ids of new traces that are not yet sorted into the table `ids`. The writing thread keeps them in memory, so that it
//! need not search the file.

use std::path::Path;

use rusqlite::Connection;

use super::checkpoints::Checkpoints;
use super::connection::{self, failure};
use crate::hash::HashMap;
use crate::span::TraceId;
use crate::store::error::Error;

/// How many ids are sorted together: about as many as touch one page each in an index of three million traces. A reader that
/// has just opened the index scans up to twice as many rows to find a trace.
const SORT_BATCH: usize = 1 << 13;

/// The index, as owned by the writing thread.
#[derive(Debug)]
pub(in crate::store) struct Index {
    /// Before the connection, so that it is dropped first.
    _checkpoints: Checkpoints,
    connection: Connection,
    recent: RecentIds,
}

impl Index {
    /// Opens the index, creating it if needed.
    pub(in crate::store) fn open(directory: &Path) -> Result<Self, Error> {
        let mut connection = connection::open(directory)?;
        let checkpoints = Checkpoints::of(&mut connection, directory).map_err(failure("set up"))?;
        Self::of(connection, checkpoints)
    }

    /// An empty index that is deleted when it is closed.
    pub(in crate::store) fn temporary() -> Result<Self, Error> {
        Self::of(connection::temporary()?, Checkpoints::default())
    }

    fn of(connection: Connection, checkpoints: Checkpoints) -> Result<Self, Error> {
        Ok(Self {
            _checkpoints: checkpoints,
            recent: RecentIds::load(&connection).map_err(failure("read"))?,
            connection,
        })
    }

    pub(in crate::store) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether there are ids to sort.
    pub(in crate::store) fn is_young(&self) -> bool {
        !self.recent.ids.is_empty()
    }

    /// The connection and the unsorted ids, which are reloaded after a transaction that was rolled back.
    pub(super) fn parts(&mut self) -> Result<(&Connection, &mut RecentIds), Error> {
        if self.recent.uncommitted {
            self.recent = RecentIds::load(&self.connection).map_err(failure("read"))?;
        }
        Ok((&self.connection, &mut self.recent))
    }
}

/// Ids not yet in the sorted table, by trace.
#[derive(Debug)]
pub(super) struct RecentIds {
    ids: HashMap<TraceId, i64>,
    /// The id of the next row: larger than all sorted ids, even if rows were removed.
    next_id: i64,
    /// The ids being sorted, in reverse order, and the largest of them.
    sorting: Option<(Vec<(TraceId, i64)>, i64)>,
    /// Changed by a transaction that is not committed.
    uncommitted: bool,
}

impl RecentIds {
    fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let mut rows = connection.prepare("SELECT trace, id FROM traces WHERE id > (SELECT sorted FROM covered)")?;
        let rows = rows.query_map([], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?)))?;
        let ids = rows.filter_map(|row| row.map(|(trace, id)| Some((TraceId::from_bytes(&trace)?, id))).transpose());
        const LAST: &str = "SELECT max(sorted, (SELECT coalesce(max(id), 0) FROM traces)) FROM covered";
        Ok(Self {
            next_id: connection.query_row(LAST, [], |row| row.get::<_, i64>(0))? + 1,
            ids: ids.collect::<rusqlite::Result<_>>()?,
            sorting: None,
            uncommitted: false,
        })
    }

    pub(super) fn next_id(&mut self) -> i64 {
        self.uncommitted = true;
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    pub(super) fn get(&self, trace_id: TraceId) -> Option<i64> {
        self.ids.get(&trace_id).copied()
    }

    /// Adds an id. True: all must be sorted now, because there are too many.
    pub(super) fn add(&mut self, trace_id: TraceId, id: i64) -> bool {
        self.uncommitted = true;
        self.ids.insert(trace_id, id);
        if self.ids.len() >= SORT_BATCH {
            self.begin();
        }
        self.ids.len() >= 2 * SORT_BATCH
    }

    /// Starts sorting the current ids.
    pub(super) fn begin(&mut self) {
        if self.sorting.is_none()
            && let Some(last) = self.ids.values().copied().max()
        {
            let mut ids: Vec<(TraceId, i64)> = self.ids.iter().map(|(trace_id, id)| (*trace_id, *id)).collect();
            ids.sort_unstable_by(|a, b| b.cmp(a));
            self.sorting = Some((ids, last));
        }
    }

    /// The next id to insert.
    pub(super) fn next(&mut self) -> Option<(TraceId, i64)> {
        let (ids, _) = self.sorting.as_mut()?;
        self.uncommitted = true;
        ids.pop()
    }

    /// Once all ids being sorted are inserted, forgets them and returns the largest.
    pub(super) fn sorted(&mut self) -> Option<i64> {
        let (_, last) = self.sorting.take_if(|(ids, _)| ids.is_empty())?;
        self.ids.retain(|_, id| *id > last);
        Some(last)
    }

    pub(super) fn committed(&mut self) {
        self.uncommitted = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::{encode, scan};
    use crate::span::{Signal, Span, SpanId};
    use crate::store::index::{IndexTransaction, Reading};
    use crate::store::log::Position;
    use crate::store::{Chunk, index};

    /// Ids in no order.
    fn id(number: usize) -> TraceId {
        let mixed = (number as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        TraceId::from_bytes(&mixed.to_be_bytes()).expect("an id")
    }

    fn chunk(number: usize) -> Chunk {
        let span = Span::new(id(number), SpanId::from_bytes(&[1; 8]).expect("an id"), "alone");
        let bytes = encode::traces(&[span]);
        let scanned = scan::scan(&bytes, Signal::Traces, &[]).expect("a request");
        Chunk::of_request(scanned, bytes).remove(0)
    }

    fn at(number: usize) -> Position {
        Position {
            segment: 0,
            offset: number as u64,
        }
    }

    fn add(transaction: &mut IndexTransaction<'_>, numbers: std::ops::Range<usize>) {
        for number in numbers {
            transaction.add(&chunk(number).listed(), at(number)).expect("adds");
        }
    }

    /// Traces below `count` have their one chunk, and none is above.
    fn matches(reading: &mut Reading, count: usize) {
        for number in (0..count).rev().step_by(7) {
            let places = reading.trace(id(number)).expect("reads").expect("is there").chunks;
            assert_eq!(
                places.iter().map(|place| place.at).collect::<Vec<_>>(),
                [at(number)],
                "trace {number} of {count}"
            );
        }
        assert!(reading.trace(id(count)).expect("reads").is_none(), "trace {count} is not there yet");
    }

    /// What a crash leaves of the index is one of its commits: each of them is a whole index, in the middle of sorting too.
    #[test]
    fn each_commit_is_an_index_while_ids_are_put_in_order() {
        const STEP: usize = 3_000;
        let directory = tempfile::tempdir().expect("a directory");
        let mut index = Index::open(directory.path()).expect("opens");
        let mut beside = Reading::new(index::open_beside(directory.path()).expect("opens"));
        let mut sorting = Vec::new();
        for count in (STEP..=9 * STEP).step_by(STEP) {
            let mut transaction = IndexTransaction::begin(&mut index).expect("begins");
            add(&mut transaction, count - STEP..count);
            transaction.commit(at(count)).expect("commits");
            sorting.push(index.recent.sorting.is_some());
            matches(&mut beside, count);
            matches(&mut Reading::new(index::open_beside(directory.path()).expect("opens")), count);
            // Who opens it after a crash goes on from this commit.
            let recent = RecentIds::load(index.connection()).expect("reads");
            assert_eq!(
                (recent.ids, recent.next_id),
                (index.recent.ids.clone(), index.recent.next_id),
                "{count} traces"
            );
        }
        // The test is of use only if commits fell before the sorting, into it and behind it.
        let turns: Vec<bool> = sorting.chunk_by(|a, b| a == b).map(|run| run.contains(&true)).collect();
        assert!(turns.starts_with(&[false, true, false]), "{sorting:?}");
    }

    /// What a transaction added that was given up is unknown afterwards, and can be added again; what was added before it is
    /// known.
    #[test]
    fn what_was_not_committed_is_forgotten() {
        // Given up among recent ids, in the middle of sorting, and behind it.
        for given_up in [2, SORT_BATCH, 3 * SORT_BATCH] {
            let directory = tempfile::tempdir().expect("a directory");
            let mut index = Index::open(directory.path()).expect("opens");
            let mut transaction = IndexTransaction::begin(&mut index).expect("begins");
            add(&mut transaction, 0..SORT_BATCH - 1);
            transaction.commit(at(SORT_BATCH)).expect("commits");
            let mut transaction = IndexTransaction::begin(&mut index).expect("begins");
            add(&mut transaction, SORT_BATCH - 1..SORT_BATCH - 1 + given_up);
            drop(transaction);
            matches(
                &mut Reading::new(index::open_beside(directory.path()).expect("opens")),
                SORT_BATCH - 1,
            );
            let mut transaction = IndexTransaction::begin(&mut index).expect("begins");
            add(&mut transaction, SORT_BATCH - 1..SORT_BATCH + 5);
            transaction.commit(at(SORT_BATCH + 5)).expect("commits");
            let mut reading = Reading::new(index::open_beside(directory.path()).expect("opens"));
            matches(&mut reading, SORT_BATCH + 5);
            let mut transaction = IndexTransaction::begin(&mut index).expect("begins");
            transaction.add(&chunk(0).listed(), at(SORT_BATCH + 6)).expect("adds");
            transaction.commit(at(SORT_BATCH + 6)).expect("commits");
            let places = reading.trace(id(0)).expect("reads").expect("is there").chunks;
            assert_eq!(places.len(), 2, "trace 0 was known after {given_up} were given up");
        }
    }
}
