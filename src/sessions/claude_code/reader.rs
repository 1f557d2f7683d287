//! What is known of a file while its lines are read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::queue::Queue;
use super::request::Requests;
use super::sent::Sent;
use crate::events::{Event, Thread};
use crate::operation::{Message, Role};
use crate::sessions::get;

/// Reads one file.
pub(super) struct Reader {
    pub(super) thread: Thread,
    /// What lines were like, but for their ids: a client may write the history once more, under new ones.
    pub(super) likes: HashSet<u64>,
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
    pub(super) queue: Queue,
    /// The line that says that the conversation was compacted, until the one with the summary: its id, and where its event is.
    pub(super) boundary: Option<(String, usize)>,
    /// Tool calls without a result yet: the event of the model call that asked for each, and its place among that one's.
    pub(super) asked: HashMap<String, (usize, usize)>,
    /// Whose models these are.
    pub(super) provider: Option<&'static str>,
}

impl Reader {
    /// Of an agent with this id, unless its lines have another.
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

    /// What was typed while the agent worked.
    pub(super) fn queued(&mut self, line: &Value) {
        let content = get::text(line, "/content");
        match get::text(line, "/operation").unwrap_or_default() {
            "enqueue" => self.queue.add(content.unwrap_or_default()),
            // It has a line of its own.
            "dequeue" => {
                self.queue.take(content);
            }
            "remove" => {
                if let Some(words) = self.queue.take(content) {
                    self.queue.heard_at(&words, self.thread.events.len());
                    self.thread.events.push(Event::Heard(Message::text(Role::User, words)));
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

    /// A line has words that may have been in the queue: it tells where they were heard.
    pub(super) fn is_told(&mut self, words: &str, in_turn: bool) {
        if let Some(event) = self.queue.told(words, in_turn).and_then(|event| self.thread.events.get_mut(event)) {
            *event = Event::Facts(Map::new());
        }
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
