//! The agents of a sample, and the agent of each event.

use std::collections::{HashMap, VecDeque};

use super::input::Conversation;

/// An agent, and its conversations.
pub(super) struct Frame {
    /// Its place in the builder.
    pub(super) agent: usize,
    pub(super) conversations: Vec<Conversation>,
    /// The operation read last.
    pub(super) last: Option<usize>,
    /// The model calls by the ids of the calls that they made.
    pub(super) callers: HashMap<String, usize>,
}

impl Frame {
    pub(super) fn of(agent: usize) -> Self {
        Self {
            agent,
            conversations: Vec::new(),
            last: None,
            callers: HashMap::new(),
        }
    }
}

/// A span of the log: what is inside belongs to an agent, and maybe to a tool of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scope {
    /// The place of the agent among the frames.
    pub(super) frame: usize,
    /// The operation of the tool around, if its event came.
    pub(super) tool: Option<usize>,
    /// Whether the span is the agent's own.
    pub(super) is_own: bool,
    /// The place of the scorer around among the scorers.
    pub(super) judge: Option<usize>,
    /// Whether the agent is the scorer's.
    pub(super) is_judged: bool,
}

/// The spans of a sample by their ids.
#[derive(Default)]
pub(super) struct Scopes {
    by_id: HashMap<String, Scope>,
    /// Spans of tools whose events are still to come, by the agent and the tool's name.
    tools: HashMap<(usize, String), VecDeque<String>>,
    /// Tools by the agents that their events name.
    pub(super) runs: HashMap<String, usize>,
}

impl Scopes {
    /// The span with this id; what is in none is the first agent's.
    pub(super) fn of(&self, id: Option<&str>) -> Scope {
        id.and_then(|id| self.by_id.get(id)).copied().unwrap_or_default()
    }

    pub(super) fn begin(&mut self, id: &str, scope: Scope) {
        self.by_id.insert(id.to_owned(), scope);
    }

    /// The span of a tool, whose event comes next.
    pub(super) fn wait_for_tool(&mut self, frame: usize, name: &str, id: &str) {
        let key = (frame, name.to_owned());
        self.tools.entry(key).or_default().push_back(id.to_owned());
    }

    /// The event of a tool: what is inside of its span is inside of the tool.
    pub(super) fn tool(&mut self, frame: usize, name: &str, place: usize) {
        let key = (frame, name.to_owned());
        let id = self.tools.get_mut(&key).and_then(VecDeque::pop_front);
        if let Some(scope) = id.and_then(|id| self.by_id.get_mut(&id)) {
            scope.tool = Some(place);
        }
    }
}
