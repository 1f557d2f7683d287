//! Converts the output of `claude --print --output-format stream-json` to lines of a session file.
//!
//! The messages are the same, but with other names around them, no time, and the call that a sub-agent works for. Prompts are missing,
//! unless they were passed with `--input-format stream-json --replay-user-messages`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::sessions::get;

/// Lines that repeat others, or report progress.
const PASSED: &[&str] = &["stream_event", "tool_progress", "auth_status", "rate_limit_event", "keep_alive"];

/// The same for system lines.
const PASSED_OF_SYSTEM: &[&str] = &[
    "status",
    "hook_started",
    "hook_progress",
    "task_started",
    "task_progress",
    "task_notification",
    "files_persisted",
    "session_state_changed",
];

/// Whether a line is printed by Claude Code, or by Qwen Code, which prints the same.
pub(in crate::sessions) fn is_line(line: &Value) -> bool {
    is_printed(line)
        && (begins(line) && (is_of_claude(line) || is_of_qwen(line)) || is_message(line) && line.get("parent_tool_use_id").is_some())
}

/// Whether a line begins the output of Qwen Code.
pub(in crate::sessions) fn is_of_qwen(line: &Value) -> bool {
    line.get("qwen_code_version").is_some() || get::text(line, "/subtype") == Some("session_start")
}

/// Whether a line begins the output of another agent: some print messages like these, and their tools' work on separate lines.
pub(in crate::sessions) fn is_of_another(line: &Value) -> bool {
    is_printed(line) && begins(line) && !is_of_claude(line) && !is_of_qwen(line)
}

/// Claude Code has always printed its tools and its model in this line, and its version since 2.0.
fn is_of_claude(line: &Value) -> bool {
    line.get("claude_code_version").is_some() || line.get("tools").is_some_and(Value::is_array) && get::text(line, "/model").is_some()
}

/// Whether a line names its session as printed lines do.
pub(in crate::sessions) fn is_printed(line: &Value) -> bool {
    line.get("session_id").is_some() && line.get("sessionId").is_none()
}

fn begins(line: &Value) -> bool {
    get::text(line, "/type") == Some("system") && matches!(get::text(line, "/subtype"), Some("init" | "session_start"))
}

fn is_message(line: &Value) -> bool {
    matches!(get::text(line, "/type"), Some("assistant" | "user")) && line.get("message").is_some()
}

/// State from earlier lines.
#[derive(Default)]
pub(super) struct Printed {
    head: Map<String, Value>,
    /// The model of the session, for answers that name none.
    model: Option<String>,
    /// The id of the last line of each agent, by the call that it works for.
    last: HashMap<Option<String>, String>,
    count: usize,
    session: Option<String>,
}

impl Printed {
    /// The session, if the file is printed output, whose name is not the session's.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The line in the form of a session file; `None` for parts of messages and progress, which repeat others.
    pub(super) fn line(&mut self, line: Value) -> Option<Value> {
        if !is_printed(&line) {
            return Some(line);
        }
        let subtype = get::text(&line, "/subtype").unwrap_or_default();
        match get::text(&line, "/type").unwrap_or_default() {
            // Old versions do not record the call that a message works for.
            "assistant" | "user" if is_message(&line) => self.message(line),
            "system" if begins(&line) => {
                self.begin(&line);
                None
            }
            "system" if PASSED_OF_SYSTEM.contains(&subtype) => None,
            "system" => Some(self.of_system(line)),
            kind if PASSED.contains(&kind) => None,
            // The cost and the end of the run; also unknown lines, which are counted.
            _ => Some(line),
        }
    }

    fn begin(&mut self, line: &Value) {
        self.model = get::owned(line, "/model").or(self.model.take());
        for (to, from) in [
            ("cwd", "/cwd"),
            ("version", "/claude_code_version"),
            ("version", "/qwen_code_version"),
            ("permissionMode", "/permissionMode"),
            ("permissionMode", "/permission_mode"),
        ] {
            if let Some(value) = get::some(line, from) {
                self.head.insert(to.to_owned(), value.clone());
            }
        }
    }

    /// A system line about the session.
    fn of_system(&self, line: Value) -> Value {
        let Value::Object(members) = line else { return line };
        let mut out = self.head.clone();
        out.extend(members);
        if let Some(about) = out.remove("compact_metadata") {
            let mut kept = Map::new();
            for (key, value) in about.as_object().into_iter().flatten() {
                let key = if key == "pre_tokens" { "preTokens" } else { key.as_str() };
                kept.insert(key.to_owned(), value.clone());
            }
            out.insert("compactMetadata".to_owned(), kept.into());
        }
        Value::Object(out)
    }

    fn message(&mut self, line: Value) -> Option<Value> {
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
