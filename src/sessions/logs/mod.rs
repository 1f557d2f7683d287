//! Converts log records of coding agents to spans if the client exports no spans, the default of Claude Code, Codex and Gemini CLI.
//!
//! A record is written after something has happened. Like session files, a session's records become agents with prompts, model calls
//! and tools in order of time, and then spans. Ids derive from the session's ids and from times, so repeated records, or more
//! records of a session, yield the same spans. The conventions are those of each client's telemetry documentation.

mod agents;
mod bodies;
mod claude_code;
mod codex;
mod gemini_cli;
mod record;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use agents::Agents;
use record::Record;
use sha2::{Digest as _, Sha256};

use super::client::Client;
use crate::dialect::call_events;
use crate::dialect::write::{AttributeWriter, Vocabulary};
use crate::events;
use crate::span::{LOGS_SCOPE, LogRecord, Scope, Span};

/// Whether a message of log records may contain such sessions, that is, names of their events.
pub(crate) fn may_have_sessions(message: &[u8]) -> bool {
    record::EVENTS
        .iter()
        .any(|(prefix, ..)| memchr::memmem::find(message, prefix.as_bytes()).is_some())
}

/// The spans built from the log records of sessions.
#[derive(Debug, Default)]
pub(crate) struct FromLogs {
    /// Spans of sessions without exported spans.
    pub(crate) alone: Vec<Span>,
    /// Spans by session, for those whose exported spans do not form a run: Gemini CLI begins a trace with each call and each tool, and
    /// Qwen Code has sub-agents and helpers in separate traces. The exported spans must be joined with these, as with those of a file.
    pub(crate) whole: BTreeMap<String, Vec<Span>>,
}

/// The spans of model calls that are recorded only by events of other programs, given the traces of `spans`.
pub(crate) fn of_call_events(records: &mut [LogRecord], spans: &[Span]) -> Vec<Span> {
    call_events::spans_of(records, spans, record::is_of_client)
}

/// Whether a client spreads the spans of a turn over several traces.
fn is_in_pieces(client: Client) -> bool {
    matches!(client, Client::GeminiCli | Client::QwenCode)
}

/// Whether a span is from a client that spreads the spans of a turn over several traces.
pub(crate) fn is_piece(span: &Span) -> bool {
    matches!(span.scope.name.as_str(), "gemini-cli" | "qwen-code")
}

/// The spans of the records' sessions. `exported`: sessions with exported spans.
pub(crate) fn of_records(records: &[LogRecord], exported: &HashSet<String>) -> FromLogs {
    let mut sessions: BTreeMap<(Client, String), Vec<Record>> = BTreeMap::new();
    for record in records {
        let is_read = |(client, session): &(Client, String)| is_in_pieces(*client) || !exported.contains(session);
        if let Some(key) = record::session_of(record).filter(is_read) {
            sessions.entry(key).or_default().push(Record::of(record));
        }
    }
    let writer = AttributeWriter::new(Vocabulary::GenAi);
    let scope = Arc::new(Scope {
        name: LOGS_SCOPE.to_owned(),
        ..Scope::default()
    });
    let mut out = FromLogs::default();
    for ((client, session), mut records) in sessions {
        // Clients record milliseconds: records with equal times keep the order of arrival.
        let mut known: HashSet<[u8; 32]> = HashSet::new();
        records.retain(|record| known.insert(Sha256::digest(format!("{record:?}")).into()));
        records.sort_by_key(|record| (record.at, record.sequence));
        let mut agents = Agents::new(
            session.clone(),
            match client {
                // In Codex, a tool may run before the response is complete.
                Client::Codex => |call| call.start.or(call.end),
                _ => |call| call.end,
            },
        );
        match client {
            Client::ClaudeCode => claude_code::read(&records, &mut agents),
            Client::Codex => codex::read(&records, &mut agents),
            Client::GeminiCli | Client::QwenCode => gemini_cli::read(client, &records, &mut agents),
            Client::CopilotCli | Client::OpenCode | Client::Pi | Client::Vscode => {}
        }
        let mut spans = events::spans(client.name(), agents.threads(), &scope, &writer, &|_| false);
        if exported.contains(&session) {
            // Without model calls they add nothing to the exported spans.
            let has_calls = spans.iter().any(|span| span.name.starts_with("chat"));
            if has_calls {
                out.whole.insert(session, spans);
            }
        } else {
            out.alone.append(&mut spans);
        }
    }
    out
}
