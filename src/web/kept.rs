//! Digests of rows that clients were sent, so that later answers contain only what is new.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::span::TraceId;

/// Maximum number of digests: 16 MiB.
const MAX_DIGESTS: usize = 2 << 20;

/// A trace at a revision.
type Key = (TraceId, u64);

/// The digests of the rows of watched traces. The oldest are evicted first: a client that asks for changes since then is
/// sent everything.
#[derive(Debug, Default)]
pub(crate) struct SentDigests {
    digests: Mutex<VecDeque<(Key, Arc<[u64]>)>>,
}

impl SentDigests {
    /// The digests of a trace at a revision.
    pub(crate) fn of(&self, trace: TraceId, revision: u64) -> Option<Arc<[u64]>> {
        let kept = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(key, _)| *key == (trace, revision));
        found.map(|(_, digests)| Arc::clone(digests))
    }

    /// Stores the digests.
    pub(crate) fn keep(&self, trace: TraceId, revision: u64, digests: Vec<u64>) {
        let mut kept = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if digests.len() > MAX_DIGESTS || kept.iter().any(|(key, _)| *key == (trace, revision)) {
            return;
        }
        kept.push_back(((trace, revision), digests.into()));
        let mut all: usize = kept.iter().map(|(_, digests)| digests.len()).sum();
        while all > MAX_DIGESTS
            && let Some((_, oldest)) = kept.pop_front()
        {
            all -= oldest.len();
        }
    }
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_first() {
        let kept = SentDigests::default();
        let trace = TraceId::from_hex(&"0b".repeat(16)).expect("an id");
        for revision in 0..3 {
            kept.keep(trace, revision, vec![revision; MAX_DIGESTS / 2]);
        }
        let lengths = [0, 1, 2, 3].map(|revision| kept.of(trace, revision).map(|digests| digests.first().copied()));
        assert_eq!(lengths, [None, Some(Some(1)), Some(Some(2)), None]);
        kept.keep(trace, 3, vec![0; MAX_DIGESTS + 1]);
        assert!(
            kept.of(trace, 3).is_none() && kept.of(trace, 2).is_some(),
            "what is too large forgets nothing"
        );
    }
}
