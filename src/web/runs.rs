//! A cache of runs: a list, a summary and all documents of a trace at one revision build it only once.
//!
//! Their memory is reserved from the memory for reading, and released when another request needs it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::allowance::Allowance;
use super::places::Places;
use super::readers::{Reservation, Spare};
use super::reply::Problem;
use crate::documents::awaits_root;
use crate::run::Run;
use crate::span::TraceId;

/// How long an unused run is kept.
pub(crate) const CACHE_LIFETIME: Duration = Duration::from_secs(60);
/// For a run that changes with time or is damaged: just long enough for the requests already waiting for it.
const BRIEF_LIFETIME: Duration = Duration::from_secs(1);
/// Smaller runs are not cached but built again.
const MIN_CACHED_BYTES: usize = 4 << 20;
/// How often to check whether the client still waits.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The cached run of a trace.
#[derive(Debug)]
pub(crate) struct Built {
    /// `None`: the trace has nothing to build a run from.
    pub(crate) run: Option<Run>,
    /// Damaged records, which were left out.
    pub(crate) damaged: Vec<String>,
    /// The chunks of its spans.
    pub(crate) places: Places,
    /// Further memory needed to write a document of it.
    on_top: usize,
    held: Reservation,
}

/// The result of building a run.
#[derive(Debug)]
pub(crate) struct BuildResult {
    /// `None`: the trace has nothing to build a run from.
    pub(crate) run: Option<Run>,
    /// Damaged records, which were left out.
    pub(crate) damaged: Vec<String>,
    /// The chunks of its spans.
    pub(crate) places: Places,
}

/// The cached runs of one store.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    kept: Mutex<HashMap<TraceId, CachedRun>>,
    changed: Condvar,
}

#[derive(Debug)]
struct CachedRun {
    revision: u64,
    /// `None` while a request builds it.
    built: Option<Arc<Built>>,
    until: Instant,
}

impl Runs {
    fn kept(&self) -> MutexGuard<'_, HashMap<TraceId, CachedRun>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run of a trace at a revision. If it is not cached, `build` builds it, and other requests wait.
    pub(crate) fn get(
        &self,
        trace_id: TraceId,
        revision: u64,
        answer: &mut Allowance,
        build: impl FnOnce(&mut Allowance) -> Result<BuildResult, Problem>,
    ) -> Result<Arc<Built>, Problem> {
        let mut kept = self.kept();
        loop {
            let now = Instant::now();
            match kept.get_mut(&trace_id).filter(|kept| kept.revision == revision) {
                Some(CachedRun {
                    built: Some(built), until, ..
                }) if *until > now => {
                    if built.is_settled() {
                        *until = now + CACHE_LIFETIME;
                    }
                    let built = Arc::clone(built);
                    drop(kept);
                    answer.reserve(built.on_top)?;
                    return Ok(built);
                }
                Some(CachedRun { built: None, .. }) => {
                    kept = self
                        .changed
                        .wait_timeout(kept, POLL_INTERVAL)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0;
                    answer.check()?;
                }
                _ => break,
            }
        }
        kept.insert(
            trace_id,
            CachedRun {
                revision,
                built: None,
                until: Instant::now(),
            },
        );
        drop(kept);
        let building = Building {
            runs: self,
            trace_id,
            revision,
        };
        let before = answer.reserved();
        let BuildResult { run, damaged, places } = build(answer)?;
        let taken = answer.reserved().saturating_sub(before);
        let on_top = taken / 4;
        let built = Arc::new(Built {
            run,
            damaged,
            places,
            on_top,
            held: answer.split(taken - on_top),
        });
        building.ended(&built);
        Ok(built)
    }

    /// Drops the runs of these traces.
    pub(super) fn forget(&self, traces: &[TraceId]) {
        let mut kept = self.kept();
        for trace_id in traces {
            kept.remove(trace_id);
        }
    }

    /// Gives up what nobody has asked for of late; `false`: that is nothing.
    pub(crate) fn forget_idle(&self) -> bool {
        let now = Instant::now();
        let mut kept = self.kept();
        let before = kept.len();
        kept.retain(|_, kept| kept.built.is_none() || kept.until > now);
        kept.len() < before
    }
}

impl Built {
    /// The run, if an agent did something in it.
    pub(crate) fn work(&self) -> Option<&Run> {
        self.run.as_ref().filter(|run| run.has_agent_work())
    }

    /// Whether it stays the same until more data arrives for the trace.
    pub(crate) fn is_settled(&self) -> bool {
        self.damaged.is_empty() && !self.run.as_ref().is_some_and(awaits_root)
    }
}

impl Spare for Runs {
    /// Drops the least recently used run. One still used by a request would not free memory.
    fn give_back(&self) -> bool {
        let mut kept = self.kept();
        let is_free = |kept: &CachedRun| kept.built.as_ref().is_some_and(|built| Arc::strong_count(built) == 1);
        let oldest = kept.iter().filter(|(_, kept)| is_free(kept)).min_by_key(|(_, kept)| kept.until);
        let oldest = oldest.map(|(trace_id, _)| *trace_id);
        oldest.is_some_and(|trace_id| kept.remove(&trace_id).is_some())
    }
}

/// A run being built by a request. If it fails, a waiting request builds it.
struct Building<'a> {
    runs: &'a Runs,
    trace_id: TraceId,
    revision: u64,
}

impl Building<'_> {
    fn ended(&self, built: &Arc<Built>) {
        let mut kept = self.runs.kept();
        let mine = kept.get_mut(&self.trace_id).filter(|kept| kept.revision == self.revision);
        if let Some(mine) = mine
            && built.held.bytes() >= MIN_CACHED_BYTES
        {
            mine.until = Instant::now() + if built.is_settled() { CACHE_LIFETIME } else { BRIEF_LIFETIME };
            mine.built = Some(Arc::clone(built));
        }
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        let mut kept = self.runs.kept();
        let is_mine = kept
            .get(&self.trace_id)
            .is_some_and(|kept| kept.revision == self.revision && kept.built.is_none());
        if is_mine {
            kept.remove(&self.trace_id);
        }
        drop(kept);
        self.runs.changed.notify_all();
    }
}
