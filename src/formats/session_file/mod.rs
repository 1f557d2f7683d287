//! Session files of coding agents, in the form from which agents resume and which this program's own reader (`sessions/`) reads:
//! a list of records, written to files one per line (`.jsonl`). One file has the session's turns, and each sub-agent has a separate file;
//! `--session` writes all turns of a session into one.
//!
//! # What is lost
//!
//! Cost, the time to the first token, Codex's parameters and starts of model calls, rewards and evaluations, facts of agents and of the
//! run; tools that no model asked for and other operations outside conversations. An assistant message that was input, and an answer that
//! only an agent's span has, are written as a model's output (coerced). If the history was edited or cut, the file continues with the
//! messages that are left.

mod assemble;
mod claude_code;
mod codex;
mod records;

use std::io::{self, Write};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::document::choice::Options;
use crate::document::text;
use crate::formats::format::{Assembled, Container, Format};
use crate::run::Run;

/// Claude Code's session files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaudeCode;

/// Codex's session files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Codex;

/// Implements the format of a client's session files: its name, what it keeps, its records, and the name of a file.
macro_rules! session_format {
    ($name:ident, $id:literal, $keeps:literal, $records:ty, $file_name:expr) => {
        impl Format for $name {
            const ID: &'static str = $id;
            const KEEPS: &'static str = $keeps;
            const LOSES: &'static str = "cost, rewards, judgements, operations outside the conversation; Codex: parameters and start times";
            const CONTAINER: Option<Container> = Some(Container {
                ending: "jsonl",
                pack: lines,
                #[cfg(feature = "server")]
                unpack: None,
            });
            const WHOLE_INPUTS: bool = false;
            type Document<'a> = Vec<Value>;

            fn assemble(runs: &[Run], _: &Options) -> Vec<Assembled<Vec<Value>>> {
                assemble::assemble::<$records>(runs)
            }

            fn file_name(document: &Vec<Value>) -> Option<String> {
                let name: fn(&[Value]) -> Option<String> = $file_name;
                name(document)
            }

            fn write(document: &Vec<Value>, out: &mut Vec<u8>) -> Result<(), String> {
                write_lines(document, out).map_err(|error| error.to_string())
            }

            fn stream(document: &Vec<Value>, out: &mut dyn Write) -> io::Result<()> {
                write_lines(document, out)
            }
        }
    };
}

session_format!(
    ClaudeCode,
    "claude-code",
    "session files of Claude Code: prompts, answers, thoughts, tool calls with results, tokens",
    claude_code::ClaudeRecords,
    |document| {
        let text = |key| document.iter().find_map(|record| record.get(key)?.as_str()).map(in_a_name);
        Some(match text("agentId") {
            Some(agent) => format!("agent-{agent}.jsonl"),
            None => format!("{}.jsonl", text("sessionId")?),
        })
    }
);

session_format!(
    Codex,
    "codex",
    "session files (rollouts) of Codex: prompts, answers, thoughts, tool calls with results, tokens",
    codex::CodexRecords,
    |document| {
        let meta = document.first()?.get("payload")?;
        let text = |key: &str| meta.get(key)?.as_str().map(in_a_name);
        let to_the_second: String = text("timestamp")?.chars().take(19).collect();
        Some(format!("rollout-{to_the_second}-{}.jsonl", text("id")?))
    }
);

/// An id for use in a file name, with letters that could lead to another folder replaced.
fn in_a_name(id: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            letter
        } else {
            '-'
        }
    };
    id.chars().map(plain).collect()
}

/// Writes a list of records as lines.
fn write_lines(document: &[Value], out: &mut dyn Write) -> io::Result<()> {
    for (index, record) in document.iter().enumerate() {
        if index > 0 {
            out.write_all(b"\n")?;
        }
        text::stream(record, out)?;
    }
    Ok(())
}

/// The records of a JSON list as lines.
fn lines(json: &str) -> Result<Vec<u8>, String> {
    let records: Vec<&RawValue> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let mut out = Vec::with_capacity(json.len());
    for record in records {
        out.extend_from_slice(text::without_blanks(record.get()).as_bytes());
        out.push(b'\n');
    }
    Ok(out)
}
