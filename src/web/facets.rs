//! What the filters of a list ask of runs, in memory: reading the summary of each takes several times as long.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::listing::Summary;
use crate::hash::{HashMap, HashSet};
use crate::span::TraceId;
use crate::store::TraceRow;

/// So many runs are known, about 60 bytes each, before all are forgotten.
const RUNS: usize = 1 << 18;
/// The bytes of names in facets that differ, before all are forgotten.
const NAMES: usize = 8 << 20;

/// What the filters of a list ask of one run.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Facet {
    /// Whether an agent did anything.
    pub(crate) agent_work: bool,
    /// [`Summary::status`].
    pub(crate) status: String,
    /// The root agent, and all that did something.
    pub(crate) agents: Vec<String>,
    /// The models.
    pub(crate) models: Vec<String>,
}

impl Facet {
    pub(crate) fn of(summary: &Summary) -> Self {
        let mut agents = summary.agents.clone();
        agents.extend(summary.agent.clone().filter(|agent| !summary.agents.contains(agent)));
        Self {
            agent_work: summary.agent_work,
            status: summary.status.clone(),
            agents,
            models: summary.models.clone(),
        }
    }

    fn bytes(&self) -> usize {
        let names = self.agents.iter().chain(&self.models).map(|name| name.len() + size_of::<String>());
        size_of::<Self>() + names.sum::<usize>()
    }
}

/// The facets of runs at a revision.
#[derive(Debug, Default)]
pub(crate) struct Facets(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    of: HashMap<TraceId, (u64, Arc<Facet>)>,
    distinct: HashSet<Arc<Facet>>,
    bytes: usize,
}

impl Facets {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of a run, if they are known at this revision.
    pub(crate) fn get(&self, trace_id: TraceId, revision: u64) -> Option<Arc<Facet>> {
        let known = self.known();
        let (of, facet) = known.of.get(&trace_id)?;
        (*of == revision).then(|| Arc::clone(facet))
    }

    /// Keeps those of a run whose summary is settled.
    pub(super) fn put(&self, row: &TraceRow, summary: &Summary) {
        let facet = Facet::of(summary);
        let mut known = self.known();
        if known.of.len() >= RUNS || known.bytes >= NAMES {
            *known = Known::default();
        }
        let facet = match known.distinct.get(&facet) {
            Some(same) => Arc::clone(same),
            None => {
                known.bytes += facet.bytes();
                let facet = Arc::new(facet);
                known.distinct.insert(Arc::clone(&facet));
                facet
            }
        };
        known.of.insert(row.trace_id, (row.revision, facet));
    }
}
