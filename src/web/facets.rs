//! A cache of the values that list filters compare. Reading the summary of each run takes several times as long.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::listing::{Score, Summary};
use crate::hash::{HashMap, HashSet};
use crate::span::TraceId;
use crate::store::TraceRow;

/// Maximum number of cached runs, about 60 bytes each. When it is reached, the cache is cleared.
const RUNS: usize = 1 << 18;
/// Maximum bytes of distinct facets. When it is reached, the cache is cleared.
const NAMES: usize = 8 << 20;

/// The values of one run that filters compare.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Facet {
    /// Whether an agent did anything.
    pub(crate) agent_work: bool,
    /// [`Summary::status`].
    pub(crate) status: String,
    /// The root agent, and all active agents.
    pub(crate) agents: Vec<String>,
    /// The models.
    pub(crate) models: Vec<String>,
    /// [`Summary::version`].
    pub(crate) version: Option<String>,
    /// The labels and scores, as `feedback=good`.
    pub(crate) labels: Vec<String>,
    /// Whether a person judged it.
    pub(crate) judged: bool,
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
            version: summary.version.clone(),
            labels: summary.scores.iter().map(Score::words).collect(),
            judged: summary.is_judged(),
        }
    }

    fn bytes(&self) -> usize {
        let names = self
            .agents
            .iter()
            .chain(&self.models)
            .chain(&self.labels)
            .chain(&self.version)
            .map(|name| name.len() + size_of::<String>());
        size_of::<Self>() + names.sum::<usize>()
    }
}

/// The facets of runs, each for a revision.
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

    /// The facets of a run, if cached for this revision.
    pub(crate) fn get(&self, trace_id: TraceId, revision: u64) -> Option<Arc<Facet>> {
        let known = self.known();
        let (of, facet) = known.of.get(&trace_id)?;
        (*of == revision).then(|| Arc::clone(facet))
    }

    /// Caches the facets of a run whose summary is settled.
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn row(number: u32, revision: u64) -> TraceRow {
        let mut id = [1; 16];
        id[..4].copy_from_slice(&number.to_be_bytes());
        TraceRow {
            trace_id: TraceId::from_bytes(&id).unwrap(),
            root: None,
            root_ended: true,
            service: None,
            session: None,
            start: 0,
            end: 0,
            spans: 1,
            logs: 0,
            errors: 0,
            bytes: 0,
            revision,
        }
    }

    fn summary(agent: &str) -> Summary {
        Summary {
            agent: Some(agent.to_owned()),
            ..Summary::default()
        }
    }

    #[test]
    fn a_facet_is_known_at_its_revision_alone() {
        let facets = Facets::default();
        facets.put(&row(1, 5), &summary("a"));
        let of = |revision| facets.get(row(1, 0).trace_id, revision).map(|facet| facet.agents.clone());
        assert_eq!((of(4), of(5), of(6)), (None, Some(vec!["a".to_owned()]), None));
    }

    #[test]
    fn memory_has_a_bound() {
        let facets = Facets::default();
        let most = u32::try_from(RUNS).unwrap();
        for number in 0..most + 10 {
            facets.put(&row(number, 1), &summary("a"));
        }
        assert_eq!(facets.known().of.len(), 10);
        let long = "a".repeat(NAMES / 4);
        for number in 0..10 {
            facets.put(&row(number, 2), &summary(&format!("{long}{number}")));
            assert!(facets.known().bytes < 2 * NAMES);
        }
        assert!(facets.known().of.len() < 10);
    }
}
