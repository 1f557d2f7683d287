//! Session files of coding agents, as the agents resume them and this program's own reader (`sessions/`) reads them: a list of records,
//! in files one a line (`.jsonl`). One file has the session's turns, each sub-agent has a file of its own; `--session` writes all turns
//! of a session into one.
//!
//! # What is lost
//!
//! Cost, the time to the first token, Codex's parameters and starts of model calls, rewards and judgements, facts of agents and of the run; tools that
//! no model asked for and other operations outside of conversations. An assistant message that was input, and an answer that only an
//! agent's span has, are written as if a model had said them (coerced). Where the history was edited or cut, the file goes on with what
//! it has.

mod assemble;
mod claude_code;
mod codex;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::document::choice::Options;
use crate::document::text;
use crate::formats::format::{Assembled, Container, Format};
use crate::operation::{Message, Part, Role};
use crate::run::{Run, Step};
use crate::span::{UnixNanos, hex};
use crate::transcript::content::media_mark;

/// Claude Code's.
#[derive(Debug, Clone, Copy)]
pub struct ClaudeCode;

/// Codex's.
#[derive(Debug, Clone, Copy)]
pub struct Codex;

const CONTAINER: Option<Container> = Some(Container {
    ending: "jsonl",
    pack: lines,
});

const LOSES: &str = "cost, rewards, judgements, operations outside the conversation; Codex: parameters and start times";

impl Format for ClaudeCode {
    const ID: &'static str = "claude-code";
    const HOLDS: &'static str = "session files of Claude Code: prompts, answers, thoughts, tool calls with results, tokens";
    const LOSES: &'static str = LOSES;
    const CONTAINER: Option<Container> = CONTAINER;
    const WHOLE_INPUTS: bool = false;
    type Document<'a> = Vec<Value>;

    fn assemble(runs: &[Run], _: &Options) -> Vec<Assembled<Vec<Value>>> {
        assemble::assemble::<claude_code::ClaudeRecords>(runs)
    }

    fn write(document: &Vec<Value>, out: &mut Vec<u8>) -> Result<(), String> {
        write_lines(document, out)
    }
}

impl Format for Codex {
    const ID: &'static str = "codex";
    const HOLDS: &'static str = "session files (rollouts) of Codex: prompts, answers, thoughts, tool calls with results, tokens";
    const LOSES: &'static str = LOSES;
    const CONTAINER: Option<Container> = CONTAINER;
    const WHOLE_INPUTS: bool = false;
    type Document<'a> = Vec<Value>;

    fn assemble(runs: &[Run], _: &Options) -> Vec<Assembled<Vec<Value>>> {
        assemble::assemble::<codex::CodexRecords>(runs)
    }

    fn write(document: &Vec<Value>, out: &mut Vec<u8>) -> Result<(), String> {
        write_lines(document, out)
    }
}

/// The records of one file while they are written.
trait Records {
    /// Whether model calls keep their parameters.
    const HAS_PARAMETERS: bool;
    /// Of the main agent, or of a sub-agent with this id.
    fn new(run: &Run, agent: Option<String>) -> Self;
    /// A turn begins.
    fn begin(&mut self, run: &Run);
    /// The system prompt of the conversation.
    fn system_prompt(&mut self, run: &Run, at: UnixNanos, text: &str);
    /// What a person typed, or (`is_meta`) the client added.
    fn user(&mut self, run: &Run, at: UnixNanos, message: &Message, is_meta: bool);
    /// A summary that takes the place of what was said.
    fn summary(&mut self, run: &Run, at: UnixNanos, message: &Message);
    /// What a model said, in this call where one is known.
    fn assistant(&mut self, run: &Run, at: UnixNanos, message: Option<&Message>, call: Option<&Step>, calls: Vec<Asked>);
    /// What a tool gave.
    fn result(&mut self, run: &Run, given: Given);
    /// All of them.
    fn finish(self) -> Vec<Value>;
}

/// A call of a tool.
struct Asked {
    id: String,
    name: String,
    /// An object.
    arguments: Value,
}

/// What a tool gave.
struct Given {
    at: UnixNanos,
    call_id: String,
    /// A text, or content blocks.
    value: Value,
    is_error: bool,
    /// The sub-agent that the call started.
    agent: Option<String>,
}

/// A list of records as lines.
fn write_lines(document: &[Value], out: &mut Vec<u8>) -> Result<(), String> {
    for (index, record) in document.iter().enumerate() {
        if index > 0 {
            out.push(b'\n');
        }
        text::write(record, out)?;
    }
    Ok(())
}

/// The same of their JSON text.
fn lines(json: &str) -> Result<Vec<u8>, String> {
    let records: Vec<Value> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let mut out = Vec::with_capacity(json.len());
    write_lines(&records, &mut out)?;
    out.push(b'\n');
    Ok(out)
}

/// The session's id; one that is no UUID becomes one.
fn session_id(run: &Run) -> String {
    let session = run.session_id.clone().unwrap_or_else(|| run.trace_id.to_string());
    if is_uuid(&session) { session } else { uuid(&session) }
}

/// The folder that the agent worked in.
fn cwd(run: &Run) -> String {
    let root = run.root.and_then(|root| run.steps.get(root));
    let cwd = root.and_then(|root| root.operation.unmapped.get("spanbridge.session.cwd")?.as_str());
    cwd.unwrap_or("/").to_owned()
}

/// A text, or the JSON of what is none.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a message is of the system.
fn is_system(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

/// A UUID that a text always gives.
fn uuid(text: &str) -> String {
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

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && text.chars().all(|letter| letter == '-' || letter.is_ascii_hexdigit())
}

/// A part that a message of text has no place for, as text.
fn block_text(part: &Part) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Media(media) => media_mark(media),
        Part::Other(value) => value.to_string(),
        Part::Reasoning { text, .. } => text.clone().unwrap_or_default(),
    }
}
