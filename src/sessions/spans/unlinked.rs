//! Sub-agents whose files do not tell which call asked for them.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::draft::{Draft, PREFIX};
use crate::sessions::recording::{Event, Thread, Under};
use crate::span::{SpanId, TraceId};

/// Tool calls by the texts in their arguments.
#[derive(Default)]
pub(super) struct Unlinked {
    /// So many drafts were looked at.
    looked: usize,
    calls: HashMap<String, VecDeque<usize>>,
}

impl Unlinked {
    /// The first tool call with the agent's prompt in its arguments that no other agent is under.
    pub(super) fn by_prompt(&mut self, drafts: &[Draft], thread: &Thread) -> Option<(TraceId, SpanId)> {
        self.look(drafts);
        let prompt = thread.events.iter().find_map(|event| match event {
            Event::Prompt(prompt) => Some(prompt.message.content()),
            _ => None,
        })?;
        let draft = drafts.get(self.calls.get_mut(prompt.trim())?.pop_front()?)?;
        Some((draft.trace, draft.id))
    }

    fn look(&mut self, drafts: &[Draft]) {
        let agents: HashSet<(TraceId, SpanId)> = drafts
            .iter()
            .filter(|draft| draft.operation.agent.id.is_some())
            .filter_map(|draft| Some((draft.trace, draft.parent?)))
            .collect();
        for (index, draft) in drafts.iter().enumerate().skip(self.looked) {
            let arguments = draft.operation.tool.as_ref().and_then(|tool| tool.arguments.as_ref());
            let texts = arguments
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(|arguments| arguments.values());
            if !agents.contains(&(draft.trace, draft.id)) {
                for text in texts.filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty()) {
                    self.calls.entry(text.to_owned()).or_default().push_back(index);
                }
            }
        }
        self.looked = drafts.len();
    }
}

/// The turn that the agent's file names: its call that ran a workflow, else its root.
pub(super) fn by_turn(drafts: &[Draft], thread: &Thread) -> Option<(TraceId, SpanId)> {
    let fact = |draft: &Draft, key: &str| draft.operation.unmapped.get(&format!("{PREFIX}{key}")).cloned();
    let prompt_id = thread.prompt_id.clone().map(Value::from);
    let is_named = |draft: &&Draft| match thread.under {
        Some(Under::Turn(trace)) => draft.trace == trace,
        _ => prompt_id.is_some() && fact(draft, "prompt_id") == prompt_id,
    };
    let root = drafts.iter().filter(|draft| draft.parent.is_none()).find(is_named)?;
    let mut workflows = drafts
        .iter()
        .filter(|draft| draft.trace == root.trace && fact(draft, "run_id").is_some());
    let named = workflows.next_back().unwrap_or(root);
    Some((named.trace, named.id))
}
