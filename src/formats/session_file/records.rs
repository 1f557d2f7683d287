//! The trait of a client's records: how the events of a conversation are written, and ids.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::operation::{Message, Operation, Part, Role, TokenCount};
use crate::run::{Run, Step};
use crate::span::{UnixNanos, hex};
use crate::transcript::content::media_mark;

/// The records of one file while they are written.
pub(super) trait Records {
    /// Facts that may have a place, by their names in [`facts::all`](crate::transcript::facts::all).
    const PLACED: &'static [&'static str];
    /// Whether model calls keep when they started.
    const HAS_STARTS: bool;
    /// Whether a record of a model call contains this fact, one of [`PLACED`](Self::PLACED).
    fn contains(fact: &str, call: &Operation) -> bool;
    /// The counts of tokens that it has no place for.
    fn unwritten_counts(usage: &TokenCount) -> impl Iterator<Item = &'static str>;
    /// Of the main agent, or of a sub-agent with this id.
    fn new(run: &Run, agent: Option<String>) -> Self;
    /// A turn begins.
    fn begin(&mut self, run: &Run);
    /// The system prompt of the conversation.
    fn system_prompt(&mut self, run: &Run, at: UnixNanos, text: &str);
    /// What a person typed, or (`is_meta`) the client added.
    fn user(&mut self, run: &Run, at: UnixNanos, message: &Message, is_meta: bool);
    /// A summary that replaces the conversation so far.
    fn summary(&mut self, run: &Run, at: UnixNanos, message: &Message);
    /// A model's turn, and its call if it is known.
    fn assistant(&mut self, run: &Run, at: UnixNanos, message: Option<&Message>, call: Option<&Step>, calls: Vec<Asked>);
    /// What a tool gave.
    fn result(&mut self, run: &Run, given: Given);
    /// All of them.
    fn finish(self) -> Vec<Value>;
}

/// A call of a tool.
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) name: String,
    /// An object.
    pub(super) arguments: Value,
}

/// What a tool gave.
pub(super) struct Given {
    pub(super) at: UnixNanos,
    pub(super) call_id: String,
    /// A text, or content blocks.
    pub(super) value: Value,
    pub(super) is_error: bool,
    /// The sub-agent that the call started.
    pub(super) agent: Option<String>,
}

/// The session's id; one that is no UUID becomes one.
pub(super) fn session_id(run: &Run) -> String {
    let session = run.session_id.clone().unwrap_or_else(|| run.trace_id.to_string());
    if is_uuid(&session) { session } else { uuid(&session) }
}

/// The folder that the agent worked in.
pub(super) fn cwd(run: &Run) -> String {
    let root = run.root.and_then(|root| run.steps.get(root));
    let cwd = root.and_then(|root| root.operation.unmapped.get("spanbridge.session.cwd")?.as_str());
    cwd.unwrap_or("/").to_owned()
}

/// A text, or the JSON of what is none.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a message is of the system.
pub(super) fn is_system(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

/// A UUID that a text always gives.
pub(super) fn uuid(text: &str) -> String {
    let digest = hex(Sha256::digest(text.as_bytes()).get(..16).unwrap_or_default());
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    format!(
        "{}-{}-4{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    )
}

pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && text.chars().all(|letter| letter == '-' || letter.is_ascii_hexdigit())
}

/// A part that a message of text has no place for, as text.
pub(super) fn block_text(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Media(media) => media_mark(media),
        Part::Other(value) => value.to_string(),
        Part::Reasoning { text, .. } => text.clone().unwrap_or_default(),
    }
}
