//! One log record of a coding agent: its event, its time, and its attributes.

use serde_json::{Map, Value};

use crate::sessions::client::Client;
use crate::span::{LogRecord, UnixNanos};
use crate::withheld::is_withheld;

/// A client's log record about a session.
#[derive(Debug, PartialEq)]
pub(super) struct Record {
    /// The event, without the client's name.
    pub(super) event: String,
    pub(super) at: UnixNanos,
    /// Its number in the session, if the client numbers records.
    pub(super) sequence: u64,
    /// The client's version.
    pub(super) version: Option<String>,
    attributes: Map<String, Value>,
}

/// The prefixes of each client's event names and instrumentation scopes.
pub(super) const EVENTS: [(&str, Client, &str); 4] = [
    ("claude_code.", Client::ClaudeCode, "com.anthropic.claude_code"),
    ("codex.", Client::Codex, "codex"),
    ("gemini_cli.", Client::GeminiCli, "gemini-cli"),
    ("qwen-code.", Client::QwenCode, "qwen-code"),
];

/// Attributes that name the session.
const SESSION: [&str; 2] = ["session.id", "conversation.id"];

/// Attributes that every record of a session repeats, and those that are read from the record itself.
const COMMON: [&str; 8] = [
    "event.name",
    "event.timestamp",
    "event.sequence",
    "session.id",
    "conversation.id",
    "installation.id",
    "app.version",
    "terminal.type",
];

/// The client and the session of a record; `None` if it is not from a coding agent's session.
pub(super) fn session_of(record: &LogRecord) -> Option<(Client, String)> {
    let name = record.name();
    let (_, client, scope) = EVENTS.iter().find(|(prefix, ..)| name.starts_with(prefix))?;
    // An application may use the same names for its own events.
    let own = record.scope.name.as_str();
    if !own.is_empty() && !own.starts_with(scope) {
        return None;
    }
    let places = [&record.attributes, &record.resource.attributes];
    let mut ids = places
        .into_iter()
        .flat_map(|place| SESSION.iter().filter_map(|key| place.text(key)));
    Some((*client, ids.find(|id| !id.is_empty())?.to_owned()))
}

/// Whether a coding agent wrote a record, whose work is then read from its own events.
pub(super) fn is_of_client(record: &LogRecord) -> bool {
    let scope = record.scope.name.as_str();
    EVENTS.iter().any(|(_, _, own)| scope.starts_with(own))
}

impl Record {
    pub(super) fn of(record: &LogRecord) -> Self {
        let name = record.name();
        let event = name.split_once('.').map_or(name, |(_, event)| event).to_owned();
        let attributes: Map<String, Value> = record
            .attributes
            .iter()
            .map(|(key, value)| (key.clone(), value.to_json()))
            .filter(|(_, value)| !value.is_null())
            .collect();
        let version = record
            .attributes
            .text("app.version")
            .or_else(|| record.resource.attributes.text("service.version"));
        let mut out = Self {
            event,
            at: record.when(),
            sequence: 0,
            version: version.map(str::to_owned),
            attributes,
        };
        out.sequence = out.count("event.sequence").unwrap_or_default();
        out
    }

    /// A text that is not empty.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.attributes.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    pub(super) fn owned(&self, key: &str) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    /// A text, unless the client withheld it.
    pub(super) fn words(&self, key: &str) -> Option<&str> {
        self.text(key).filter(|text| !is_withheld(text))
    }

    /// A count; Claude Code 2.0 and Codex write numbers as text.
    pub(super) fn count(&self, key: &str) -> Option<u64> {
        match self.attributes.get(key)? {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        }
        // `12.0` is a count too.
        .or_else(|| {
            let number = self.number(key)?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in range")]
            (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
        })
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        match self.attributes.get(key)? {
            Value::String(text) => text.parse().ok(),
            other => other.as_f64(),
        }
        .filter(|number: &f64| number.is_finite())
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        match self.attributes.get(key)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A value recorded as JSON text, or the text if it is not JSON.
    pub(super) fn json(&self, key: &str) -> Option<Value> {
        let text = self.words(key)?;
        Some(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
    }

    /// When the operation began: clients write a record at its end.
    pub(super) fn start(&self) -> Option<UnixNanos> {
        let millis = self.number("duration_ms")?;
        (millis >= 0.0).then(|| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not negative, and it saturates"
            )]
            UnixNanos(self.at.0.saturating_sub((millis * 1e6) as u64))
        })
    }

    /// The attributes not in `read`. Every record names the user, which is kept only as a fact of the turn.
    pub(super) fn facts(&self, read: &[&str]) -> Map<String, Value> {
        let is_of_turn = self.event == "user_prompt";
        let rest = self.attributes.iter().filter(|(key, value)| {
            let is_read = read.contains(&key.as_str()) || COMMON.contains(&key.as_str());
            !is_read && (is_of_turn || !key.starts_with("user.")) && value.as_str() != Some("")
        });
        rest.map(|(key, value)| (key.clone(), value.clone())).collect()
    }
}
