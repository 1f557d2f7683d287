//! What `claude --print --output-format stream-json` prints, as the lines of a session file.
//!
//! The messages are the same; around them are other names, no time, and the call that a sub-agent works for. What was asked is not there,
//! unless it came in by `--input-format stream-json --replay-user-messages`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::sessions::get;

/// Whether a line is one of those that are printed.
pub(in crate::sessions) fn is_line(line: &Value) -> bool {
    let kind = get::text(line, "/type").unwrap_or_default();
    line.get("session_id").is_some()
        && line.get("sessionId").is_none()
        && (kind == "system" && get::text(line, "/subtype") == Some("init")
            || matches!(kind, "assistant" | "user") && line.get("parent_tool_use_id").is_some() && line.get("message").is_some())
}

/// What is known from the lines before.
#[derive(Default)]
pub(super) struct Printed {
    head: Map<String, Value>,
    has_begun: bool,
    /// The model of the session, for answers that name none.
    model: Option<String>,
    /// The last line of each agent, by the call that it works for.
    last: HashMap<Option<String>, String>,
    count: usize,
    session: Option<String>,
}

impl Printed {
    /// The session, if the file is one that was printed: its name is not the session's.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The line as a session file has it; `None` for what repeats others: parts of messages, progress.
    pub(super) fn line(&mut self, line: Value) -> Option<Value> {
        if line.get("session_id").is_none() || line.get("sessionId").is_some() {
            return Some(line);
        }
        // Old versions do not tell which call a message works for.
        let is_message = || matches!(get::text(&line, "/type"), Some("assistant" | "user")) && line.get("message").is_some();
        if !(is_line(&line) || self.has_begun && is_message()) {
            // What the run cost, and how it ended.
            return (get::text(&line, "/type") == Some("result")).then_some(line);
        }
        if get::text(&line, "/type") == Some("system") {
            self.has_begun = true;
            self.model = get::owned(&line, "/model").or(self.model.take());
            for (to, from) in [
                ("cwd", "/cwd"),
                ("version", "/claude_code_version"),
                ("permissionMode", "/permissionMode"),
            ] {
                if let Some(value) = get::some(&line, from) {
                    self.head.insert(to.to_owned(), value.clone());
                }
            }
            return None;
        }
        let agent = get::owned(&line, "/parent_tool_use_id");
        let session = get::owned(&line, "/session_id").unwrap_or_default();
        self.session.get_or_insert_with(|| session.clone());
        self.count += 1;
        let id = get::owned(&line, "/uuid").unwrap_or_else(|| format!("{session}:{}", self.count));
        let Value::Object(members) = line else { return None };
        let mut out = self.head.clone();
        out.extend(members);
        let before = self.last.insert(agent.clone(), id.clone());
        for (key, value) in [
            ("sessionId", session.into()),
            ("isSidechain", agent.is_some().into()),
            ("parentUuid", before.map_or(Value::Null, Value::String)),
            ("uuid", id.into()),
        ] {
            out.insert(key.to_owned(), value);
        }
        if let Some(Value::Object(message)) = out.get_mut("message")
            && message.get("role").is_some_and(|role| role == "assistant")
            && !message.contains_key("model")
            && let Some(model) = &self.model
        {
            message.insert("model".to_owned(), model.clone().into());
        }
        if let Some(result) = out.remove("tool_use_result") {
            out.insert("toolUseResult".to_owned(), result);
        }
        Some(Value::Object(out))
    }
}
