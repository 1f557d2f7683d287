//! Messages between agents.

use serde_json::Value;

use super::RolloutReader;
use crate::events::Event;
use crate::operation::{Message, Role};
use crate::sessions::{get, parts};
use crate::span::UnixNanos;

/// The header above the text of a message.
const HEAD: &str = "Message Type: ";

/// The line before the text.
const WORDS: &str = "\nPayload:\n";

impl RolloutReader {
    /// A message of another agent, held back until the model answers, because it may have begun the turn.
    pub(super) fn mail(&mut self, payload: &Value, at: Option<UnixNanos>) {
        self.forget_words();
        let message = parts::message(Role::User, payload.get("content").unwrap_or(&Value::Null));
        // Some versions record it twice, on consecutive lines.
        let text = message.content();
        if self.last_mail.as_ref() == Some(&text) {
            return;
        }
        self.last_mail = Some(text);
        self.mail.push((message, at));
    }

    /// The model begins to answer: if no prompt began the turn, the first message did.
    pub(super) fn settle_mail(&mut self) {
        self.last_mail = None;
        for (message, at) in std::mem::take(&mut self.mail) {
            if self.awaits.is_none() {
                let role = Role::System;
                self.thread.events.push(Event::Input(Message { role, ..message }));
                continue;
            }
            let text = message.content();
            let words = text
                .strip_prefix(HEAD)
                .and_then(|rest| rest.split_once(WORDS))
                .map(|(_, words)| words);
            match words {
                Some(words) => self.push_prompt(Message::text(Role::User, words), Some(message), at),
                None => self.push_prompt(message, None, at),
            }
        }
    }
}

/// The message in a text: versions 0.12x to 0.13x record messages of agents as JSON, in the model's name.
pub(super) fn in_text(text: &str) -> Option<Value> {
    if !text.starts_with('{') || !text.contains("\"recipient\"") {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    let is_mail = get::text(&value, "/author").is_some() && get::text(&value, "/recipient").is_some();
    (is_mail && value.get("content").is_some() && value.get("trigger_turn").is_some()).then_some(value)
}
