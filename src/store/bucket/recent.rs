//! An in-memory filter of recently written chunks.
//!
//! Whether a chunk exists is looked up in the database by key, which gets slower as the database gets more tables. Most
//! chunks need no lookup: nothing is sent before its last span has ended, so a chunk that ended after this writer started
//! its filter exists only if it is in the filter.
//!
//! If an application's clock is ahead by more than [`MAX_CLOCK_LEAD`], and its chunk is sent again after a restart, the
//! chunk is stored a second time under the same key: readers see one.

use std::time::Duration;

use fastbloom::BloomFilter;

use super::prepare::Prepared;

/// How far an application's clock may be ahead of this one.
const MAX_CLOCK_LEAD: u64 = Duration::from_secs(10).as_nanos() as u64;

/// Chunks in a generation. Two generations cover a minute or more of a busy bridge, in 5 MiB.
const GENERATION_CHUNKS: usize = 2_000_000;

/// Fraction of new chunks that are looked up needlessly.
const FALSE_POSITIVES: f64 = 0.01;

struct Generation {
    /// Covers everything written since this time, in nanoseconds since 1970.
    since: u64,
    noted: usize,
    filter: BloomFilter,
}

impl Generation {
    fn new(since: u64) -> Self {
        let filter = BloomFilter::with_false_pos(FALSE_POSITIVES)
            .seed(&0)
            .expected_items(GENERATION_CHUNKS);
        Self { since, noted: 0, filter }
    }
}

/// A filter of recently written chunks, in two generations.
pub(super) struct Recent {
    filling: Generation,
    full: Option<Generation>,
}

impl Recent {
    /// An empty filter. `now`: in nanoseconds since 1970.
    pub(super) fn new(now: u64) -> Self {
        Self {
            filling: Generation::new(now),
            full: None,
        }
    }

    /// Whether the database may have a chunk already; also adds the chunk to the filter.
    pub(super) fn may_be_there(&mut self, chunk: &Prepared, now: u64) -> bool {
        // Any part of a digest can serve as a hash.
        let hash = chunk.digest.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        if self.filling.noted >= GENERATION_CHUNKS {
            self.full = Some(std::mem::replace(&mut self.filling, Generation::new(now)));
        }
        let since = self.full.as_ref().unwrap_or(&self.filling).since;
        let is_noted = self.full.as_ref().is_some_and(|full| full.filter.contains_hash(hash)) | self.filling.filter.insert_hash(hash);
        self.filling.noted += 1;
        // A chunk with a claim always needs the lookup: the claims of the stored one are compared.
        is_noted || !chunk.head.claims.is_empty() || chunk.head.end <= since.saturating_add(MAX_CLOCK_LEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::Owner;
    use super::super::records::Head;
    use super::*;
    use crate::store::chunk::ChunkKind;

    fn chunk(number: u64, end: u64) -> Prepared {
        let mut digest = [0; 16];
        digest[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        Prepared {
            owner: Owner::session("a"),
            digest,
            kind: ChunkKind::Spans,
            head: Head { end, ..Head::default() },
            packed: Default::default(),
        }
    }

    #[test]
    fn only_what_ended_since_is_known_to_be_new_and_only_once() {
        let mut recent = Recent::new(1_000);
        let late = 1_000 + MAX_CLOCK_LEAD + 1;
        assert!(recent.may_be_there(&chunk(1, late - 1), 1_000));
        assert!(!recent.may_be_there(&chunk(2, late), 1_000));
        assert!(recent.may_be_there(&chunk(2, late), 1_000));
        let mut claimed = chunk(3, late);
        claimed.head.claims.push(1);
        assert!(recent.may_be_there(&claimed, 1_000));
    }

    #[test]
    fn two_generations_are_known_and_nothing_that_ended_before_them_is_new() {
        let mut recent = Recent::new(0);
        let generation = GENERATION_CHUNKS as u64;
        for number in 0..2 * generation {
            recent.may_be_there(&chunk(number, 2 * MAX_CLOCK_LEAD), number);
        }
        // With this one the first generation is forgotten; the second one began at the time `generation`.
        assert!(recent.may_be_there(&chunk(2 * generation, generation + MAX_CLOCK_LEAD), 2 * generation));
        assert_eq!(recent.full.as_ref().expect("is full").since, generation);
        assert!(recent.may_be_there(&chunk(0, generation + MAX_CLOCK_LEAD), 0));
        for number in [generation, 2 * generation] {
            assert!(recent.may_be_there(&chunk(number, 3 * MAX_CLOCK_LEAD), 0), "{number}");
        }
        let looked_up = (3 * generation..)
            .take(10_000)
            .filter(|number| recent.may_be_there(&chunk(*number, 3 * MAX_CLOCK_LEAD), 0));
        assert!(looked_up.count() < 500);
    }
}
