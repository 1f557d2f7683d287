//! A cache of summaries of traces; a bridge recomputes what was evicted.

use std::sync::{Mutex, PoisonError};

use crate::hash::HashMap;
use crate::span::TraceId;

/// Maximum bytes of cached summaries.
const MAX_SUMMARY_BYTES: usize = 16 << 20;

/// Summaries, each for a revision of its trace.
#[derive(Debug, Default)]
pub(super) struct Summaries(Mutex<CachedSummaries>);

#[derive(Debug, Default)]
struct CachedSummaries {
    of: HashMap<TraceId, (u64, String)>,
    bytes: usize,
}

impl Summaries {
    pub(super) fn get(&self, trace_id: TraceId, revision: u64) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, summary) = kept.of.get(&trace_id)?;
        (*of == revision).then(|| summary.clone())
    }

    pub(super) fn forget(&self, trace_id: TraceId) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, old)) = kept.of.remove(&trace_id) {
            kept.bytes -= old.len();
        }
    }

    pub(super) fn put(&self, trace_id: TraceId, revision: u64, summary: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + summary.len() > MAX_SUMMARY_BYTES {
            *kept = CachedSummaries::default();
        }
        kept.bytes += summary.len();
        if let Some((_, old)) = kept.of.insert(trace_id, (revision, summary.to_owned())) {
            kept.bytes -= old.len();
        }
    }
}
