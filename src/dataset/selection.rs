//! Selects the runs of a data set, and their side.

use std::collections::HashSet;

use serde::Serialize;

use super::expression::Expression;
use super::fingerprint::{self, Fingerprint};
use super::split::{Split, SplitBy};
use crate::run::Run;

/// What decides. Without anything it takes every run with agent work.
#[derive(Debug, Default)]
pub struct Selection {
    /// Only these runs.
    pub(super) filter: Option<Expression>,
    /// The sides.
    pub(super) split: Option<(Split, SplitBy)>,
    /// What was taken already, where equal runs are taken once.
    seen: Option<HashSet<Fingerprint>>,
}

/// Why a run is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// It contains no operation of an agent.
    NoAgentWork,
    /// The expression does not hold.
    Where,
    /// It is equal to one before it.
    Duplicate,
    /// The format has no document for it.
    NoDocument,
}

impl Skipped {
    /// Behind a count of runs.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NoAgentWork => "without agent operations",
            Self::Where => "by --where",
            Self::Duplicate => "equal to another",
            Self::NoDocument => "without a document",
        }
    }
}

/// What becomes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It belongs to the data set, on this side: the place in the list of sides, 0 without sides.
    Taken(usize),
    /// It does not.
    Skipped(Skipped),
}

impl Selection {
    /// Only runs for which the expression is true, on these sides.
    #[must_use]
    pub fn new(filter: Option<Expression>, split: Option<(Split, SplitBy)>) -> Self {
        let seen = None;
        Self { filter, split, seen }
    }

    /// The same, but equal runs are taken once: the first that comes.
    #[must_use]
    pub fn without_duplicates(mut self) -> Self {
        self.seen = Some(HashSet::new());
        self
    }

    /// Whether equal runs are taken once.
    #[must_use]
    pub fn drops_duplicates(&self) -> bool {
        self.seen.is_some()
    }

    /// The names of the sides; one without a name if there are none.
    #[must_use]
    pub fn sides(&self) -> Vec<Option<String>> {
        match &self.split {
            Some((split, _)) => split.names().map(|name| Some(name.to_owned())).collect(),
            None => vec![None],
        }
    }

    /// What becomes of this run. Asked once a run, in the order of the data set.
    pub fn take(&mut self, run: &Run) -> Verdict {
        if !run.has_agent_work() {
            return Verdict::Skipped(Skipped::NoAgentWork);
        }
        if self.filter.as_ref().is_some_and(|filter| !filter.matches(run)) {
            return Verdict::Skipped(Skipped::Where);
        }
        if let Some(seen) = &mut self.seen
            && let Some(fingerprint) = fingerprint::of(run)
            && !seen.insert(fingerprint)
        {
            return Verdict::Skipped(Skipped::Duplicate);
        }
        Verdict::Taken(self.split.as_ref().map_or(0, |(split, by)| split.side(&by.key(run))))
    }
}
