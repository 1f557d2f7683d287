//! The trait of a client's records: how events of a conversation are written; and ids.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::operation::{Message, Operation, Part, Role, TokenCount};
use crate::run::{Run, Step};
use crate::span::{UnixNanos, hex};
use crate::transcript::content::media_mark;

/// The records of one file under construction.
pub(super) trait Records {
    /// Names of facts that may have a place, as in [`facts::all`](crate::transcript::facts::all).
    const PLACED: &'static [&'static str];
    /// Whether model calls store when they started.
    const HAS_STARTS: bool;
    /// Whether a record of a model call contains this fact, one of [`PLACED`](Self::PLACED).
    fn contains(fact: &str, call: &Operation) -> bool;
    /// The token counts without a place.
    fn unwritten_counts(usage: &TokenCount) -> impl Iterator<Item = &'static str>;
    /// Records of the main agent, or of a sub-agent with this id.
    fn new(run: &Run, agent: Option<String>) -> Self;
    /// Begins a turn.
    fn begin(&mut self, run: &Run);
    /// Writes the system prompt of the conversation.
    fn system_prompt(&mut self, run: &Run, at: UnixNanos, text: &str);
    /// Writes a user's message, or (`is_meta`) one that the client added.
    fn user(&mut self, run: &Run, at: UnixNanos, message: &Message, is_meta: bool);
    /// Writes a summary that replaces the conversation so far.
    fn summary(&mut self, run: &Run, at: UnixNanos, message: &Message);
    /// Writes a model's turn, and its call if known.
    fn assistant(&mut self, run: &Run, at: UnixNanos, message: Option<&Message>, call: Option<&Step>, calls: Vec<ToolRequest>);
    /// Writes a tool's result.
    fn result(&mut self, run: &Run, given: ToolOutput);
    /// The finished records.
    fn finish(self) -> Vec<Value>;
}

/// A tool call.
pub(super) struct ToolRequest {
    pub(super) id: String,
    pub(super) name: String,
    /// Always an object.
    pub(super) arguments: Value,
}

/// A tool's result.
pub(super) struct ToolOutput {
    pub(super) at: UnixNanos,
    pub(super) call_id: String,
    /// Text, or content blocks.
    pub(super) value: Value,
    pub(super) is_error: bool,
    /// The sub-agent that the call started.
    pub(super) agent: Option<String>,
}

/// The session's id; one that is not a UUID is hashed to one.
pub(super) fn session_id(run: &Run) -> String {
    let session = run.session_id.clone().unwrap_or_else(|| run.trace_id.to_string());
    if is_uuid(&session) { session } else { uuid(&session) }
}

/// The agent's working directory.
pub(super) fn cwd(run: &Run) -> String {
    let root = run.root.and_then(|root| run.steps.get(root));
    let cwd = root.and_then(|root| root.operation.unmapped.get("spanbridge.session.cwd")?.as_str());
    cwd.unwrap_or("/").to_owned()
}

/// A text, or the JSON text of any other value.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether this is a system message.
pub(super) fn is_system(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

/// A UUID derived from a text.
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

/// A part as text, for messages that can only hold text.
pub(super) fn block_text(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Media(media) => media_mark(media),
        Part::Other(value) => value.to_string(),
        Part::Reasoning { text, .. } => text.clone().unwrap_or_default(),
    }
}
