//! The agents of a sample, and the agent of each event.

use std::collections::{HashMap, VecDeque};

use super::input::PooledConversation;

/// An agent and its conversations.
pub(super) struct Frame {
    /// Its index in the builder.
    pub(super) agent: usize,
    pub(super) conversations: Vec<PooledConversation>,
    /// The last operation read.
    pub(super) last: Option<usize>,
    /// Model calls by the ids of the tool calls they made.
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

/// A span of the log: its events belong to an agent, and possibly to one of its tools.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scope {
    /// Index of the agent's frame.
    pub(super) frame: usize,
    /// The operation of the enclosing tool, if its event has been read.
    pub(super) tool: Option<usize>,
    /// Whether the span is the agent's own.
    pub(super) is_own: bool,
    /// Index of the enclosing scorer.
    pub(super) judge: Option<usize>,
    /// Whether the agent was created for the scorer.
    pub(super) is_judged: bool,
}

/// The spans of a sample by their ids.
#[derive(Default)]
pub(super) struct Scopes {
    by_id: HashMap<String, Scope>,
    /// Spans of tools whose events have not been read, by agent and tool name.
    tools: HashMap<(usize, String), VecDeque<String>>,
    /// Tools by the agents that their events refer to.
    pub(super) runs: HashMap<String, usize>,
}

impl Scopes {
    /// The scope with this id; events outside all spans belong to the first agent.
    pub(super) fn of(&self, id: Option<&str>) -> Scope {
        id.and_then(|id| self.by_id.get(id)).copied().unwrap_or_default()
    }

    pub(super) fn begin(&mut self, id: &str, scope: Scope) {
        self.by_id.insert(id.to_owned(), scope);
    }

    /// Begins the span of a tool whose event follows.
    pub(super) fn wait_for_tool(&mut self, frame: usize, name: &str, id: &str) {
        let key = (frame, name.to_owned());
        self.tools.entry(key).or_default().push_back(id.to_owned());
    }

    /// Assigns a tool's event to its span: events inside the span are then inside the tool.
    pub(super) fn tool(&mut self, frame: usize, name: &str, place: usize) {
        let key = (frame, name.to_owned());
        let id = self.tools.get_mut(&key).and_then(VecDeque::pop_front);
        if let Some(scope) = id.and_then(|id| self.by_id.get_mut(&id)) {
            scope.tool = Some(place);
        }
    }
}
