//! What the client adds to a person's text: files, notes, output of hooks, and text typed while the agent worked.

use serde_json::{Value, json};

use super::reader::AgentReader;
use crate::events::Event;
use crate::operation::{Message, Part, Role};
use crate::sessions::{get, parts};

/// Pointers to the content that the model receives, by type of attachment. Versions from 2.1.332 on record it as sent, those from
/// 2.1.97 on only its parts.
const CONTENT_POINTERS: &[(&str, &str)] = &[
    ("file", "/content/file/content"),
    ("directory", "/content"),
    ("edited_text_file", "/snippet"),
    ("nested_memory", "/content/content"),
    ("plan_file_reference", "/planContent"),
    ("hook_additional_context", "/content"),
    ("critical_system_reminder", "/content"),
];

impl AgentReader {
    pub(super) fn attachment(&mut self, line: &Value) {
        let kind = get::text(line, "/attachment/type").unwrap_or_default();
        if kind == "prompt_snapshot" {
            let blocks = get::list(line, "/attachment/systemPrompt");
            let texts: Vec<&str> = blocks.iter().filter_map(Value::as_str).collect();
            if !texts.is_empty() {
                self.system = Some(texts.join("\n\n").into());
            }
            return;
        }
        if kind.starts_with("hook") {
            self.facts("hooks", line.get("attachment").cloned().unwrap_or_default());
        }
        if kind == "queued_command" {
            // Text typed while the agent works, and the client's notices to the model, belong to the turn.
            let mut said = parts::message(Role::User, line.pointer("/attachment/prompt").unwrap_or(&Value::Null));
            self.is_told(&said.content(), true);
            if is_of_client(line) {
                said.role = Role::System;
            }
            self.thread.events.push(Event::Input(said));
            return;
        }
        let mut heard = Message {
            role: Role::System,
            ..Message::default()
        };
        let rendered = get::list(line, "/rendered");
        for rendered in rendered {
            let content = parts::message(Role::System, rendered.get("content").unwrap_or(&Value::Null));
            heard.parts.extend(content.parts);
        }
        if rendered.is_empty() {
            heard.parts = attachment_parts(kind, line.get("attachment").unwrap_or(&Value::Null));
        }
        if !heard.parts.is_empty() {
            self.thread.events.push(Event::Input(heard));
        }
    }
}

/// Whether a queued message is the client's: a notice that an agent or a command has ended.
fn is_of_client(line: &Value) -> bool {
    get::text(line, "/attachment/commandMode") == Some("task-notification")
        || get::text(line, "/attachment/origin/kind").is_some_and(|kind| kind != "human")
}

/// The content of an attachment that the model received, as far as the file has it: its origin, and its text or image.
fn attachment_parts(kind: &str, attachment: &Value) -> Vec<Part> {
    let Some((_, place)) = CONTENT_POINTERS.iter().find(|(known, _)| *known == kind) else {
        return Vec::new();
    };
    let mut out = Message::default();
    match attachment.pointer(place) {
        Some(Value::String(text)) if !text.is_empty() => parts::add(&mut out, &json!(text)),
        Some(Value::Array(texts)) => texts
            .iter()
            .filter(|text| text.is_string())
            .for_each(|text| parts::add(&mut out, text)),
        _ => {}
    }
    if let Some(data) = get::text(attachment, "/content/file/base64") {
        let source = json!({"data": data, "media_type": attachment.pointer("/content/file/type")});
        parts::add(&mut out, &json!({"type": "image", "source": source}));
    }
    let from = get::text(attachment, "/filename").or_else(|| get::text(attachment, "/path"));
    if let Some(from) = from.filter(|_| !out.parts.is_empty()) {
        out.parts.insert(0, Part::Text(from.to_owned()));
    }
    out.parts
}
