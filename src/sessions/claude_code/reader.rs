//! State while the lines of a file are read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::queue::Queue;
use super::request::Requests;
use super::sent::Sent;
use crate::events::{Event, Thread};
use crate::operation::{Message, Role};
use crate::sessions::get;

/// Reads one agent's lines of a file.
pub(super) struct AgentReader {
    pub(super) thread: Thread,
    /// Hashes of lines without their ids: a client may repeat the history under new ids.
    pub(super) likes: HashSet<u64>,
    /// The model call of each message id.
    pub(super) calls: HashMap<String, usize>,
    pub(super) requests: Requests,
    pub(super) sent: Sent,
    /// The system prompt, in versions that write it separately.
    pub(super) system: Option<Arc<str>>,
    /// The turn's id, which all user lines of it share.
    pub(super) prompt_id: Option<String>,
    /// The index of the last prompt among the events.
    pub(super) prompt: Option<usize>,
    /// Whether the last prompt is a command whose text for the model is still to come.
    pub(super) command: bool,
    pub(super) queue: Queue,
    /// The line that announces a compaction, until the one with the summary: its id, and the index of its event.
    pub(super) boundary: Option<(String, usize)>,
    /// Tool calls without a result so far: the event of the model call, and the index among its calls.
    pub(super) asked: HashMap<String, (usize, usize)>,
    /// The provider of the models.
    pub(super) provider: Option<&'static str>,
}

impl AgentReader {
    /// A reader for an agent with this id, unless its lines have another.
    pub(super) fn new(id: &str, provider: Option<&'static str>) -> Self {
        Self {
            thread: Thread {
                id: id.to_owned(),
                ..Thread::default()
            },
            likes: HashSet::new(),
            calls: HashMap::new(),
            requests: Requests::default(),
            sent: Sent::default(),
            system: None,
            prompt_id: None,
            prompt: None,
            command: false,
            queue: Queue::default(),
            boundary: None,
            asked: HashMap::new(),
            provider,
        }
    }

    pub(super) fn finish(mut self) -> Thread {
        self.end_command();
        let unsent = self.queue.unsent();
        if !unsent.is_empty() {
            self.facts("unsent_prompts", unsent);
        }
        self.thread
    }

    /// Handles text typed while the agent worked.
    pub(super) fn queued(&mut self, line: &Value) {
        let content = get::text(line, "/content");
        match get::text(line, "/operation").unwrap_or_default() {
            "enqueue" => self.queue.add(content.unwrap_or_default()),
            // It has a separate line.
            "dequeue" => {
                self.queue.take(content);
            }
            "remove" => {
                if let Some(words) = self.queue.take(content) {
                    self.queue.note_event(&words, self.thread.events.len());
                    self.thread.events.push(Event::Input(Message::text(Role::User, words)));
                }
            }
            "popAll" => {
                let taken_back = self.queue.unsent();
                if !taken_back.is_empty() {
                    self.facts("taken_back_prompts", taken_back);
                }
            }
            operation => self.thread.unknown.count(&format!("queue-operation/{operation}")),
        }
    }

    /// A line has a text that may have been in the queue: the line's event replaces an earlier one.
    pub(super) fn is_told(&mut self, words: &str, in_turn: bool) {
        if let Some(event) = self
            .queue
            .recorded(words, in_turn)
            .and_then(|event| self.thread.events.get_mut(event))
        {
            *event = Event::Facts(Map::new());
        }
    }

    /// A command without a model call after it is not a turn: the client ran it by itself.
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
