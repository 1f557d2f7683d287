//! Selects the runs of a data set, and their sides.

use std::collections::HashSet;

use serde::Serialize;

use super::expression::Expression;
use super::fingerprint::{self, Fingerprint};
use super::split::{Split, SplitBy};
use crate::run::Run;

/// The criteria. Without any, every run with agent work is selected.
#[derive(Debug, Default)]
pub struct Selection {
    /// Only these runs.
    pub(super) filter: Option<Expression>,
    /// The sides.
    pub(super) split: Option<(Split, SplitBy)>,
    /// Fingerprints of selected runs, if only the first of equal runs is kept.
    seen: Option<HashSet<Fingerprint>>,
}

/// The reason for leaving out a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// It contains no operation of an agent.
    NoAgentWork,
    /// The expression is not true for it.
    Where,
    /// It equals an earlier one.
    Duplicate,
    /// The format produces no document for it.
    NoDocument,
}

impl Skipped {
    /// A description to follow a count of runs.
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

/// The decision about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is selected, for the side with this index; 0 without sides.
    Taken(usize),
    /// It is left out.
    Skipped(Skipped),
}

impl Selection {
    /// Selects only runs for which the expression is true, and assigns them to these sides.
    #[must_use]
    pub fn new(filter: Option<Expression>, split: Option<(Split, SplitBy)>) -> Self {
        let seen = None;
        Self { filter, split, seen }
    }

    /// Keeps only the first of several equal runs.
    #[must_use]
    pub fn without_duplicates(mut self) -> Self {
        self.seen = Some(HashSet::new());
        self
    }

    /// Whether only the first of several equal runs is kept.
    #[must_use]
    pub fn drops_duplicates(&self) -> bool {
        self.seen.is_some()
    }

    /// The names of the sides; one unnamed side if there is no split.
    #[must_use]
    pub fn sides(&self) -> Vec<Option<String>> {
        match &self.split {
            Some((split, _)) => split.names().map(|name| Some(name.to_owned())).collect(),
            None => vec![None],
        }
    }

    /// Decides about a run. Must be called once per run, in the order of the data set.
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
