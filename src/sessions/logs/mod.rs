//! Log records of coding agents as spans, where the client exports no spans: the default of Claude Code, Codex and Gemini CLI.
//!
//! A record is written when something has happened. A session's records become agents with prompts, model calls and tools in order of
//! time, as session files do, and spans by the same way. Ids derive from the session's own and from times, so records that come again,
//! or more of a session, give the same spans. The conventions are each client's documentation of its telemetry.

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

/// Whether a message of log records may be of such sessions: the names of their events are in it.
pub(crate) fn may_have_sessions(message: &[u8]) -> bool {
    record::EVENTS
        .iter()
        .any(|(prefix, ..)| memchr::memmem::find(message, prefix.as_bytes()).is_some())
}

/// The spans of the sessions that log records are of.
#[derive(Debug, Default)]
pub(crate) struct FromLogs {
    /// Of sessions without spans of their exporter.
    pub(crate) alone: Vec<Span>,
    /// By session, of those with such spans where these make no run: Gemini CLI begins a trace with each call and each tool, and Qwen
    /// Code has sub-agents and helpers in traces of their own. The exported spans are to be joined with them, as with those of a file.
    pub(crate) whole: BTreeMap<String, Vec<Span>>,
}

/// The spans of the model calls that only events of other programs tell, where the traces of `spans` are known.
pub(crate) fn of_call_events(records: &mut [LogRecord], spans: &[Span]) -> Vec<Span> {
    call_events::spans_of(records, spans, record::is_of_client)
}

/// Whether a client has the spans of a turn in several traces.
fn is_in_pieces(client: Client) -> bool {
    matches!(client, Client::GeminiCli | Client::QwenCode)
}

/// Whether a span is of a client that has the spans of a turn in several traces.
pub(crate) fn is_piece(span: &Span) -> bool {
    matches!(span.scope.name.as_str(), "gemini-cli" | "qwen-code")
}

/// The spans of the sessions that records are of. `exported`: sessions that have spans of their exporter.
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
        // Clients write milliseconds: records of one time stay in the order in which they came.
        let mut known: HashSet<[u8; 32]> = HashSet::new();
        records.retain(|record| known.insert(Sha256::digest(format!("{record:?}")).into()));
        records.sort_by_key(|record| (record.at, record.sequence));
        let mut agents = Agents::new(
            session.clone(),
            match client {
                // A tool of Codex runs before the response is complete.
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
            // Without the calls of models they are no more than the exporter has.
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
