//! Sub-agents whose files do not name the call that asked for them.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::facts::PREFIX;
use crate::events::draft::Draft;
use crate::events::event::{Event, Thread, Under};
use crate::span::{SpanId, TraceId};

/// A sub-agent that is not placed yet, with its first prompt.
pub(super) type UnplacedThread = (Thread, Option<String>);

/// Tool calls by the texts in their arguments.
#[derive(Default)]
pub(super) struct Unlinked {
    /// The number of indexed drafts.
    indexed: usize,
    calls: HashMap<String, VecDeque<usize>>,
    /// Calls that already have an agent under them.
    taken: HashSet<(TraceId, SpanId)>,
}

impl Unlinked {
    /// The first tool call with this prompt in its arguments and no agent under it yet.
    pub(super) fn by_prompt(&mut self, drafts: &[Draft], prompt: &str) -> Option<usize> {
        self.index(drafts);
        let calls = self.calls.get_mut(prompt)?;
        while let Some(call) = calls.pop_front() {
            let draft = drafts.get(call)?;
            if self.taken.insert((draft.trace, draft.id)) {
                return Some(call);
            }
        }
        None
    }

    fn index(&mut self, drafts: &[Draft]) {
        for (index, draft) in drafts.iter().enumerate().skip(self.indexed) {
            if draft.operation.agent.id.is_some() {
                let above = draft.parent.and_then(|parent| drafts.get(parent));
                self.taken.extend(above.map(|above| (above.trace, above.id)));
            }
            let arguments = draft.operation.tool.as_ref().and_then(|tool| tool.arguments.as_ref());
            let texts = arguments
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(|arguments| arguments.values());
            for text in texts.filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty()) {
                self.calls.entry(text.to_owned()).or_default().push_back(index);
            }
        }
        self.indexed = drafts.len();
    }
}

/// The first prompt of an agent.
pub(super) fn prompt_of(thread: &Thread) -> Option<String> {
    let prompt = thread.events.iter().find_map(|event| match event {
        Event::Prompt(prompt) => Some(prompt.message.content()),
        _ => None,
    })?;
    Some(prompt.trim().to_owned())
}

/// Turns by the ids that files use for them.
pub(super) struct Turns {
    by_trace: HashMap<TraceId, usize>,
    by_prompt_id: HashMap<String, TraceId>,
    /// The last call of each turn that ran a workflow.
    workflows: HashMap<TraceId, usize>,
}

impl Turns {
    pub(super) fn of(drafts: &[Draft]) -> Self {
        let mut turns = Self {
            by_trace: HashMap::new(),
            by_prompt_id: HashMap::new(),
            workflows: HashMap::new(),
        };
        let (prompt_id, run_id) = (format!("{PREFIX}prompt_id"), format!("{PREFIX}run_id"));
        for (place, draft) in drafts.iter().enumerate() {
            let facts = &draft.operation.unmapped;
            if draft.parent.is_none() {
                let _ = turns.by_trace.entry(draft.trace).or_insert(place);
                if let Some(id) = facts.get(&prompt_id).and_then(Value::as_str) {
                    let _ = turns.by_prompt_id.entry(id.to_owned()).or_insert(draft.trace);
                }
            }
            if facts.contains_key(&run_id) {
                turns.workflows.insert(draft.trace, place);
            }
        }
        turns
    }

    /// The turn that the agent's file names: its call that ran a workflow, else its root.
    pub(super) fn place_of(&self, thread: &Thread) -> Option<usize> {
        let trace = match thread.under {
            Some(Under::Turn(trace)) => trace,
            _ => *self.by_prompt_id.get(thread.prompt_id.as_ref()?)?,
        };
        let root = self.by_trace.get(&trace)?;
        Some(*self.workflows.get(&trace).unwrap_or(root))
    }
}
