//! Facts computed once per run and used by each of its lists.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::nearest::Ranges;
use crate::run::Run;
use crate::transcript::calls::Results;
use crate::transcript::{CallPlace, ScopeId, StepId, Transcript};

/// A run with its transcript and its results.
pub(super) struct RunFacts<'a> {
    run: &'a Run,
    results: Results<'a>,
    pub(super) transcript: Transcript<'a>,
    ranges: OnceCell<Ranges>,
}

impl<'a> RunFacts<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        Self {
            run,
            results: Results::of(run),
            transcript: Transcript::of(run),
            ranges: OnceCell::new(),
        }
    }

    /// The ranges of the run's steps.
    pub(super) fn ranges(&self) -> &Ranges {
        self.ranges.get_or_init(|| Ranges::of(self.run))
    }

    /// The tools' results in the conversations.
    pub(super) fn results(&self) -> &Results<'a> {
        &self.results
    }

    /// The id assigned to a call that was recorded without one.
    pub(super) fn answer(&self, caller: StepId, index: usize) -> Option<&'a str> {
        self.transcript.answer(CallPlace { caller, index })
    }

    /// The scopes of each list: the run's own (`None`), and one list per tool step that called agents.
    pub(super) fn lists(&self) -> BTreeMap<Option<StepId>, Vec<ScopeId>> {
        self.transcript.scopes_by_tool()
    }
}
