//! The conversation so far in a trajectory, and what a step adds to it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::formats::back::{At, HistoryId, TraceBuilder};
use crate::operation::{Message, ToolDefinition};
use crate::span::UnixNanos;

/// Embedded trajectories by id, until a result refers to them.
#[derive(Default)]
pub(super) struct Embedded<'a> {
    list: Vec<Option<At<'a>>>,
    places: HashMap<String, usize>,
}

impl<'a> Embedded<'a> {
    /// Adds a trajectory; returns `false` if an earlier one has this id.
    pub(super) fn add(&mut self, id: &str, at: At<'a>) -> bool {
        let is_new = self.places.insert(id.to_owned(), self.list.len()).is_none();
        self.list.push(Some(at));
        is_new
    }

    /// Takes the trajectory with this id, unless a result already referred to it.
    pub(super) fn take(&mut self, id: &str) -> Option<At<'a>> {
        self.list.get_mut(*self.places.get(id)?)?.take()
    }

    /// The trajectories that no result refers to.
    pub(super) fn left(self) -> impl Iterator<Item = At<'a>> {
        self.list.into_iter().flatten()
    }
}

/// The conversation so far in a trajectory.
pub(super) struct TrajectoryConversation<'a> {
    pub(super) agent: usize,
    pub(super) depth: usize,
    pub(super) tools: Vec<ToolDefinition>,
    pub(super) model: Option<String>,
    /// The messages of each agent: one trajectory can have agents that follow one another.
    histories: HashMap<Option<String>, HistoryId>,
    /// Messages not yet passed to a model call.
    pub(super) waiting: Vec<(Message, Option<UnixNanos>, String)>,
    pub(super) embedded: Embedded<'a>,
    /// Whether a model call follows the last copied step.
    pub(super) has_spoken: bool,
    /// Ids that other operations name as their parent.
    pub(super) agents: Vec<String>,
}

/// A step's message and its other facts.
pub(super) struct StepContent {
    pub(super) message: Message,
    pub(super) extra: Map<String, Value>,
    pub(super) stamp: Option<UnixNanos>,
}

impl<'a> TrajectoryConversation<'a> {
    pub(super) fn new(agent: usize, depth: usize, tools: Vec<ToolDefinition>, model: Option<String>) -> Self {
        Self {
            agent,
            depth,
            tools,
            model,
            histories: HashMap::new(),
            waiting: Vec::new(),
            embedded: Embedded::default(),
            has_spoken: false,
            agents: Vec::new(),
        }
    }

    pub(super) fn wait(&mut self, message: Message, stamp: Option<UnixNanos>, at: &At<'_>) {
        self.waiting.push((message, stamp, at.own.clone()));
    }

    /// Starts the conversation anew: context copied after a model call is all that a continuation was given.
    pub(super) fn forget(&mut self) {
        self.histories.clear();
        self.waiting.clear();
        self.has_spoken = false;
    }

    /// The history of an agent, with the pending messages added.
    pub(super) fn history(&mut self, agent: Option<String>, builder: &mut TraceBuilder) -> HistoryId {
        let waiting = std::mem::take(&mut self.waiting);
        let history = *self.histories.entry(agent).or_insert_with(|| builder.begin_history());
        builder.history(history).extend(waiting.into_iter().map(|(message, ..)| message));
        history
    }
}
