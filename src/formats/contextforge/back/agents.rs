//! Finds the agent, chain or check that a step belongs to, if such operations are in the metadata of a step or the run.

use std::collections::HashMap;
use std::ops::Range;

use crate::formats::back::TraceBuilder;
use crate::operation::Kind;
use crate::span::UnixNanos;

/// Operations that contain others, in order of start, by the step whose metadata lists them (0 is the root).
#[derive(Debug, Default)]
pub(super) struct Agents(HashMap<usize, Vec<Agent>>);

#[derive(Debug)]
struct Agent {
    place: usize,
    start: UnixNanos,
    end: UnixNanos,
    /// Index of the enclosing agent in the list.
    around: Option<usize>,
    /// Overlaps another agent's time, so a time does not determine which of them a step belongs to.
    overlaps: bool,
}

impl Agents {
    /// Takes the agents among the operations read from one step's metadata, and nests them.
    pub(super) fn take(&mut self, home: usize, read: Range<usize>, builder: &mut TraceBuilder) {
        let drafts = builder.drafts.iter().enumerate().take(read.end).skip(read.start);
        let mut list: Vec<Agent> = drafts
            .filter(|(_, draft)| matches!(draft.operation.kind, Kind::Agent | Kind::Chain | Kind::Evaluator | Kind::Guardrail))
            .filter_map(|(place, draft)| {
                let start = draft.start?;
                let end = draft.end.unwrap_or(UnixNanos(u64::MAX));
                Some(Agent {
                    place,
                    start,
                    end,
                    around: None,
                    overlaps: false,
                })
            })
            .collect();
        list.sort_by_key(|agent| (agent.start, std::cmp::Reverse(agent.end), agent.place));
        let mut open: Vec<usize> = Vec::new();
        for index in 0..list.len() {
            let Some((start, end)) = list.get(index).map(|agent| (agent.start, agent.end)) else {
                continue;
            };
            let mut overlaps = false;
            while let Some(before) = open
                .last()
                .and_then(|before| list.get_mut(*before))
                .filter(|before| before.end < end)
            {
                let both = before.end > start;
                before.overlaps |= both;
                overlaps |= both;
                open.pop();
            }
            if let Some(agent) = list.get_mut(index) {
                agent.around = open.last().copied();
                agent.overlaps = overlaps;
            }
            open.push(index);
        }
        for agent in &list {
            let around = agent.around.and_then(|around| list.get(around)).map(|agent| agent.place);
            if let (Some(around), Some(draft)) = (around, builder.drafts.get_mut(agent.place)) {
                draft.parent = Some(around);
            }
        }
        if !list.is_empty() {
            self.0.insert(home, list);
        }
    }

    /// The innermost agent listed at this step that was running at this time.
    pub(super) fn around(&self, home: usize, at: UnixNanos) -> Option<usize> {
        let list = self.0.get(&home)?;
        let mut index = list.partition_point(|agent| agent.start <= at).checked_sub(1);
        while let Some(agent) = index.and_then(|index| list.get(index)) {
            if agent.end >= at && !agent.overlaps {
                return Some(agent.place);
            }
            index = agent.around;
        }
        None
    }
}
