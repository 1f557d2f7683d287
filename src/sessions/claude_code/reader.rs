//! What is known of a file while its lines are read.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::request::Requests;
use crate::sessions::recording::{Event, Thread};

/// Reads one file.
pub(super) struct Reader {
    pub(super) thread: Thread,
    /// The model call of each message id.
    pub(super) calls: HashMap<String, usize>,
    /// The lines read before, by their id: a line may be there twice.
    pub(super) seen: HashSet<String>,
    pub(super) requests: Requests,
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
    pub(super) fn new(path: &Path) -> Self {
        let mut thread = Thread::default();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_prefix("agent-").unwrap_or(name).clone_into(&mut thread.id);
        Self {
            thread,
            calls: HashMap::new(),
            seen: HashSet::new(),
            requests: Requests::default(),
            system: None,
            prompt_id: None,
            prompt: None,
            command: false,
        }
    }

    pub(super) fn finish(self) -> Thread {
        self.thread
    }

    /// Adds a fact of the turn.
    pub(super) fn facts(&mut self, key: &str, value: impl Into<Value>) {
        let facts = Map::from_iter([(key.to_owned(), value.into())]);
        self.thread.events.push(Event::Facts(facts));
    }
}
