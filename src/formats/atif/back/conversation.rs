//! The conversation of a trajectory so far, and what a step adds to it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::formats::back::{At, HistoryId, Story};
use crate::operation::{Message, ToolDefinition};
use crate::span::UnixNanos;

/// Trajectories inside of one, by their ids, until a result names them.
pub(super) type Embedded<'a> = Vec<(Option<String>, At<'a>)>;

/// What was said so far in a trajectory.
pub(super) struct Conversation<'a> {
    pub(super) agent: usize,
    pub(super) depth: usize,
    pub(super) tools: Vec<ToolDefinition>,
    pub(super) model: Option<String>,
    /// What each agent was told and said: agents that follow one another speak in one trajectory.
    histories: HashMap<Option<String>, HistoryId>,
    /// Said, and given to no model call yet.
    pub(super) waiting: Vec<(Message, Option<UnixNanos>, String)>,
    pub(super) embedded: Embedded<'a>,
    /// A model call stands after the last copied step.
    pub(super) has_spoken: bool,
    /// Ids that others have as their parents'.
    pub(super) agents: Vec<String>,
}

/// A step's own words, and what it says beside them.
pub(super) struct StepContent {
    pub(super) message: Message,
    pub(super) extra: Map<String, Value>,
    pub(super) stamp: Option<UnixNanos>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(agent: usize, depth: usize, tools: Vec<ToolDefinition>, model: Option<String>) -> Self {
        Self {
            agent,
            depth,
            tools,
            model,
            histories: HashMap::new(),
            waiting: Vec::new(),
            embedded: Vec::new(),
            has_spoken: false,
            agents: Vec::new(),
        }
    }

    pub(super) fn wait(&mut self, message: Message, stamp: Option<UnixNanos>, at: &At<'_>) {
        self.waiting.push((message, stamp, at.own.clone()));
    }

    /// Context that is copied after a model call begins the conversation anew: a continuation has no more of it.
    pub(super) fn forget(&mut self) {
        self.histories.clear();
        self.waiting.clear();
        self.has_spoken = false;
    }

    /// The history of an agent with all that was said since.
    pub(super) fn history(&mut self, agent: Option<String>, story: &mut Story) -> HistoryId {
        let waiting = std::mem::take(&mut self.waiting);
        let history = *self.histories.entry(agent).or_insert_with(|| story.begin_history());
        story.history(history).extend(waiting.into_iter().map(|(message, ..)| message));
        history
    }
}
