//! Recognises a file by its content: the client and the session that it belongs to.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::claude_code::printed;
use super::client::Client;
use super::codex;
use super::elements;
use super::get;
use super::opened;
use crate::forms::Forms;

/// A recognised session file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    /// The client that wrote it.
    pub(super) client: Client,
    /// The key that files of one session share.
    pub(super) key: String,
    /// The session that this one is part of, if it has a separate id.
    pub(super) within: Option<Within>,
}

impl Found {
    /// The client that wrote it.
    pub(crate) fn client(&self) -> Client {
        self.client
    }

    /// The session that its spans name; `None` if that is only known after reading.
    pub(crate) fn session(&self) -> Option<&str> {
        match &self.within {
            Some(Within::Session(session)) => Some(session),
            _ => Some(self.key.as_str()).filter(|key| !key.contains('/')),
        }
    }
}

/// The session that asked for the sub-agent of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Within {
    /// A known session.
    Session(String),
    /// A session that contains the sub-agent's id somewhere.
    Unknown,
}

/// Maximum number of bytes of a file examined.
const MAX_HEAD: u64 = 256 << 10;

/// Maximum number of records examined.
const MAX_RECORDS: usize = 24;

/// The first bytes of every SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The beginning of a file.
fn head_of(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    // A compressed file may be truncated.
    let _ = opened::decompressed(path).ok()?.take(MAX_HEAD).read_to_end(&mut head);
    Some(head)
}

/// The first records of a text: members of a list, or lines.
fn records(text: &[u8]) -> Vec<&[u8]> {
    match text.starts_with(b"[") {
        true => elements::first(text, MAX_RECORDS),
        false => text.split(|byte| *byte == b'\n').take(MAX_RECORDS).collect(),
    }
}

/// Whether a file is a client's printed output.
pub(super) fn is_printed(path: &Path) -> bool {
    let head = head_of(path).unwrap_or_default();
    let mut values = records(head.trim_ascii_start())
        .into_iter()
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    values.any(|value| printed::is_line(&value))
}

/// The client and the session of a file; `None` if it is not a session file, or cannot be read.
pub(crate) fn recognised(path: &Path) -> Option<Found> {
    let head = head_of(path)?;
    if head.starts_with(SQLITE) {
        return of_database(path);
    }
    let text = head.trim_ascii_start();
    if !text.starts_with(b"{") && !text.starts_with(b"[") {
        return None;
    }
    match of_records(&records(text), path) {
        Ok(None) if text.starts_with(b"{") => {}
        Ok(found) => return found,
        Err(OfAnother) => return None,
    }
    let whole = (head.len() as u64) < MAX_HEAD;
    let found = |client, key: Option<&str>| Some(of_client(client, key, path));
    // A document of several lines, or one long line.
    let value = if whole { serde_json::from_slice::<Value>(text).ok() } else { None };
    if let Some(value) = value {
        if let Some(root) = tree_of(&value, path) {
            return found(Client::OpenCode, root.to_str());
        }
        let within = get::owned(&value, "/info/parentID").map(Within::Session);
        let found = of_document(&value).and_then(|(client, key)| found(client, Some(&key)));
        return found.map(|found| Found { within, ..found });
    }
    let text = String::from_utf8_lossy(text);
    let begin: String = text.chars().take(4_096).filter(|letter| !letter.is_whitespace()).collect();
    if begin.contains("\"projectHash\":") && begin.contains("\"sessionId\":") {
        return found(Client::GeminiCli, after(&begin, "\"sessionId\":\""));
    }
    if begin.contains("\"responderUsername\":") && begin.contains("\"requests\":[") {
        // The session's id is at the end of the document.
        return found(Client::Vscode, None);
    }
    if begin.starts_with("{\"info\":{") && begin.contains("\"id\":\"ses_") {
        return found(Client::OpenCode, after(&begin, "\"id\":\""));
    }
    if begin.contains("\"api-request-") || begin.contains("\"attachment\":") && begin.contains("\"parentUuid\":") {
        return found(Client::ClaudeCode, after(&begin, "\"sessionId\":\""));
    }
    if begin.contains("\"type\":\"session_meta\"") {
        return found(
            Client::Codex,
            after(&begin, "\"session_id\":\"").or_else(|| after(&begin, "\"id\":\"")),
        );
    }
    None
}

fn of_client(client: Client, key: Option<&str>, path: &Path) -> Found {
    let key = key.filter(|key| !key.is_empty());
    let key = key.map_or_else(|| path.display().to_string(), str::to_owned);
    Found { client, key, within: None }
}

/// A line shows that the file belongs to another program, although other lines resemble a client's.
struct OfAnother;

/// Recognises a file by the first record that shows its client.
fn of_records(records: &[&[u8]], path: &Path) -> Result<Option<Found>, OfAnother> {
    for record in records {
        let Ok(value) = serde_json::from_slice::<Value>(record) else {
            continue;
        };
        // Qoder's transcripts, whose messages resemble Claude Code's.
        let is_of_qoder = get::text(&value, "/type") == Some("session_meta") && value.get("payload").is_none();
        // The tables are asked about lines that look printed alone: to read them takes longer than a small file.
        let has_form = || printed::is_printed(&value) && Forms::built_in().log_of(&value).is_some();
        if is_of_qoder || printed::is_of_another(&value) || has_form() {
            return Err(OfAnother);
        }
        if let Some((client, key)) = of_record(&value) {
            let is_part = client == Client::GeminiCli && get::text(&value, "/kind") == Some("subagent");
            let folder = folder_of_chats(path).filter(|_| client == Client::GeminiCli);
            let within = (is_part && folder.is_none()).then_some(Within::Unknown);
            let within = within.or_else(|| of_thread(&value).filter(|_| client == Client::Codex));
            let found = of_client(client, folder.as_deref().or(key), path);
            return Ok(Some(Found { within, ..found }));
        }
    }
    Ok(None)
}

/// The session of the thread that asked for a Codex sub-agent, if the sub-agent's file does not have that session's id.
fn of_thread(value: &Value) -> Option<Within> {
    let meta = value.get("payload")?;
    let session = get::text(meta, "/session_id");
    let parent = codex::parent_of(meta).filter(|_| session.is_none() || session == get::text(meta, "/id"));
    parent.map(|parent| Within::Session(parent.to_owned()))
}

/// The text between these words and the next quotation mark.
fn after<'t>(text: &'t str, words: &str) -> Option<&'t str> {
    text.split_once(words)?.1.split('"').next()
}

/// The client that writes such records, and the session; `None` if the record does not show it.
fn of_record(value: &Value) -> Option<(Client, Option<&str>)> {
    let kind = get::text(value, "/type").unwrap_or_default();
    let session = get::text(value, "/sessionId");
    let has = |key: &str| value.get(key).is_some();
    if session.is_some() && has("projectHash") && has("startTime") {
        return Some((Client::GeminiCli, session));
    }
    if has("payload") && has("timestamp") && matches!(kind, "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted") {
        let id = get::text(value, "/payload/session_id").or_else(|| get::text(value, "/payload/id"));
        return Some((Client::Codex, id.filter(|_| kind == "session_meta")));
    }
    if session.is_some() && has("uuid") && (has("provenance") || has("systemPayload") || value.pointer("/message/parts").is_some()) {
        return Some((Client::QwenCode, session));
    }
    if session.is_some() && !kind.is_empty() && is_of_claude(value, kind) {
        return Some((Client::ClaudeCode, session));
    }
    if kind == "session.start" && has("data") {
        return Some((Client::CopilotCli, get::text(value, "/data/sessionId")));
    }
    if printed::is_line(value) {
        let client = if printed::is_of_qwen(value) {
            Client::QwenCode
        } else {
            Client::ClaudeCode
        };
        return Some((client, get::text(value, "/session_id")));
    }
    if is_of_vscode(value) || get::count(value, "/kind") == Some(0) && value.get("v").is_some_and(is_of_vscode) {
        let session = session.or_else(|| get::text(value, "/v/sessionId"));
        return Some((Client::Vscode, session));
    }
    // From before records had an envelope.
    if kind.is_empty() && has("id") && has("timestamp") && has("instructions") {
        return Some((Client::Codex, get::text(value, "/id")));
    }
    // The first version has the model instead of a version.
    if kind == "session" && (has("version") || has("modelId")) && has("cwd") && has("id") {
        return Some((Client::Pi, get::text(value, "/id")));
    }
    None
}

/// Whether a document is a session of Copilot Chat.
fn is_of_vscode(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    value.get("requests").is_some_and(Value::is_array) && (has("responderUsername") || has("creationDate") || has("requesterUsername"))
}

fn is_of_claude(value: &Value, kind: &str) -> bool {
    const META: &[&str] = &[
        "queue-operation",
        "last-prompt",
        "mode",
        "permission-mode",
        "file-history-snapshot",
        "atis-latch",
        "tools-used",
        "cost-state",
        "api-request",
        "api-request-shape",
        "api-request-blob",
        "custom-title",
        "ai-title",
    ];
    // Other programs that write such files omit the ids of lines.
    let is_said = || matches!(kind, "user" | "assistant") && value.pointer("/message/content").is_some();
    META.contains(&kind) || value.get("uuid").is_some() && value.get("parentUuid").is_some() || is_said()
}

/// The name of the folder below `chats`: the session of a Gemini sub-agent.
fn folder_of_chats(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    (folder.parent()?.file_name()? == "chats").then(|| Some(folder.file_name()?.to_string_lossy().into_owned()))?
}

/// The client of a file that is one JSON document.
fn of_document(value: &Value) -> Option<(Client, String)> {
    if value.get("projectHash").is_some() {
        return Some((Client::GeminiCli, get::owned(value, "/sessionId")?));
    }
    if is_of_vscode(value) {
        return Some((Client::Vscode, get::owned(value, "/sessionId").unwrap_or_default()));
    }
    let session = get::text(value, "/info/id").filter(|id| id.starts_with("ses_"))?;
    value.get("messages").map(|_| (Client::OpenCode, session.to_owned()))
}

/// The folder `storage` of `OpenCode` 1.1 that a session, message or part document belongs to.
fn tree_of(value: &Value, path: &Path) -> Option<PathBuf> {
    let id = get::text(value, "/id")?;
    let folder = match id.get(..4)? {
        "ses_" => "session",
        "msg_" => "message",
        "prt_" => "part",
        _ => return None,
    };
    let above = path.parent()?.parent()?;
    (above.file_name()? == folder).then(|| above.parent().map(Path::to_owned))?
}

fn of_database(path: &Path) -> Option<Found> {
    super::opencode::is_database(path).then(|| Found {
        client: Client::OpenCode,
        key: path.display().to_string(),
        within: None,
    })
}
