//! Finds tools with sub-agents by the calls that requested them.

use crate::hash::HashMap;
use crate::run::{IdVec, Run, ScopeId, StepId};

/// The tool steps, by position and by id of their calls.
#[derive(Debug, Default)]
pub(super) struct SubAgentCalls<'a> {
    by_place: HashMap<(StepId, usize), Vec<StepId>>,
    by_id: HashMap<ScopeId, HashMap<&'a str, Vec<StepId>>>,
}

impl<'a> SubAgentCalls<'a> {
    pub(super) fn of(run: &'a Run, tools: impl Iterator<Item = StepId>, hosts: &IdVec<ScopeId, ScopeId>) -> Self {
        let mut asked = Self::default();
        for (tool, step) in tools.filter_map(|tool| Some((tool, run.steps.get(tool)?))) {
            if let Some(place) = step.dispatched_by.zip(step.call_index) {
                asked.by_place.entry(place).or_default().push(tool);
            }
            let id = step.operation.tool.as_ref().and_then(|used| used.call_id.as_deref());
            if let (Some(id), Some(host)) = (id, hosts.get(step.scope)) {
                asked.by_id.entry(*host).or_default().entry(id).or_default().push(tool);
            }
        }
        asked
    }

    /// The tools by model call and position of the call.
    pub(super) fn by_place(&self, place: (StepId, usize)) -> impl Iterator<Item = StepId> {
        self.by_place.get(&place).into_iter().flatten().copied()
    }

    /// The tools by stream and id of the call.
    pub(super) fn by_id(&self, stream: ScopeId, id: &str) -> impl Iterator<Item = StepId> {
        let of_stream = self.by_id.get(&stream).and_then(|ids| ids.get(id));
        of_stream.into_iter().flatten().copied()
    }
}
