//! What is known of a file while its lines are read.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::request::Requests;
use super::sent::Sent;
use crate::sessions::recording::{Event, Thread};

/// Reads one file.
pub(super) struct Reader {
    pub(super) thread: Thread,
    /// The model call of each message id.
    pub(super) calls: HashMap<String, usize>,
    pub(super) requests: Requests,
    pub(super) sent: Sent,
    /// The system prompt of versions that write it by itself.
    pub(super) system: Option<Arc<str>>,
    /// The turn's id, which all lines of a person share.
    pub(super) prompt_id: Option<String>,
    /// Where the last prompt is among the events.
    pub(super) prompt: Option<usize>,
    /// A command, until the line with what the model was given for it.
    pub(super) command: bool,
}

impl Reader {
    /// Of an agent with this id, unless its lines have another.
    pub(super) fn new(id: &str) -> Self {
        Self {
            thread: Thread {
                id: id.to_owned(),
                ..Thread::default()
            },
            calls: HashMap::new(),
            requests: Requests::default(),
            sent: Sent::default(),
            system: None,
            prompt_id: None,
            prompt: None,
            command: false,
        }
    }

    pub(super) fn finish(mut self) -> Thread {
        self.end_command();
        self.thread
    }

    /// A command that no model call followed is no turn: the client ran it by itself.
    pub(super) fn end_command(&mut self) {
        if !std::mem::take(&mut self.command) {
            return;
        }
        let Some(at) = self.prompt else { return };
        let events = &mut self.thread.events;
        let is_turn = |event: &Event| matches!(event, Event::Call(_) | Event::Result(_) | Event::Failed(..));
        if events.iter().skip(at).any(is_turn) {
            return;
        }
        if let Some(event) = events.get_mut(at)
            && let Event::Prompt(prompt) = event
        {
            let text = prompt.message.content();
            *event = Event::Facts(Map::from_iter([("local_commands".to_owned(), text.into())]));
            self.prompt = None;
            self.prompt_id = None;
        }
    }

    /// Adds a fact of the turn.
    pub(super) fn facts(&mut self, key: &str, value: impl Into<Value>) {
        let facts = Map::from_iter([(key.to_owned(), value.into())]);
        self.thread.events.push(Event::Facts(facts));
    }
}
