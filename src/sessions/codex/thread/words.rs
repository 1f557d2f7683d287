//! The model's text, in an item of its response or only in an event; and tool calls without an id.

use serde_json::Value;

use super::{RolloutReader, items, mail};
use crate::events::{Event, ToolResult};
use crate::operation::{Message, Part};
use crate::sessions::get;
use crate::span::UnixNanos;

impl RolloutReader {
    /// Handles text in an item.
    pub(super) fn answer(&mut self, message: Message, at: Option<UnixNanos>) {
        let text = message.content().trim().to_owned();
        if let Some(mail) = mail::in_text(&text) {
            self.mail(&mail, at);
            return;
        }
        self.words.has_items = true;
        if self.words.held.take_if(|(held, _)| *held == text).is_none() {
            self.flush_held();
            if self.words.last.take_if(|(last, by_event)| *by_event && *last == text).is_some() {
                return;
            }
        }
        if !self.has_ends && self.has_spoken() {
            self.close();
        }
        if let Some(output) = self.output(at) {
            output.parts.extend(message.parts);
        }
        self.words.last = Some((text, false));
    }

    /// Handles text in an event. Other programs that write such files may have it nowhere else.
    pub(super) fn hold(&mut self, text: &str, at: Option<UnixNanos>) {
        self.flush_held();
        let text = text.trim();
        if let Some(mail) = mail::in_text(text) {
            self.mail(&mail, at);
        } else if !text.is_empty() && self.words.last.as_ref().is_none_or(|(last, _)| last != text) {
            self.words.held = Some((text.to_owned(), at));
        }
    }

    /// Adds the text recorded by an event, since no item has it.
    pub(super) fn flush_held(&mut self) {
        let Some((text, at)) = self.words.held.take() else { return };
        if !self.has_ends && self.has_spoken() {
            self.close();
        }
        if let Some(output) = self.output(at) {
            output.parts.push(Part::Text(text.clone()));
        }
        self.words.last = Some((text, true));
    }

    /// Before the tokens of a call: if no item has text, the text of an event belongs to this call.
    pub(super) fn flush_before_tokens(&mut self) {
        if !self.words.has_items {
            self.flush_held();
        }
    }

    /// A new turn or a tool's result: the same text from now on is new.
    pub(super) fn forget_words(&mut self) {
        self.flush_held();
        self.words.last = None;
    }

    /// Handles a tool call.
    pub(super) fn asked(&mut self, payload: &Value, kind: &str, at: Option<UnixNanos>) {
        self.flush_held();
        let (mut call, runs_others) = items::call(payload, kind);
        if kind == "tool_call" && call.id.is_none() {
            self.words.count += 1;
            let id = format!("{} tool {}", self.thread.id, self.words.count);
            self.words.nameless.push((call.name.clone(), id.clone()));
            call.id = Some(crate::operation::ToolCallId::Recorded(id));
        }
        let id = call.recorded_id().map(str::to_owned);
        if let Some(output) = self.output(at) {
            output.tool_calls.push(call);
        }
        if runs_others {
            self.outer = id;
        }
    }

    /// Handles the result of a call without an id, matching it with a recent open call by name.
    pub(super) fn nameless_result(&mut self, payload: &Value, at: Option<UnixNanos>) {
        self.forget_words();
        let name = get::text(payload, "/name").unwrap_or_default();
        let own = get::owned(payload, "/call_id");
        let waiting = &mut self.words.nameless;
        const LAST: usize = 64;
        let from = waiting.len().saturating_sub(LAST);
        let place = waiting.iter().skip(from).position(|(known, _)| name.is_empty() || known == name);
        let Some(call_id) = own.or_else(|| place.map(|place| waiting.remove(from + place).1)) else {
            self.thread.unknown.count("response_item/tool_result");
            return;
        };
        self.has_result = true;
        let content = payload.get("result").or_else(|| payload.get("output")).unwrap_or(&Value::Null);
        let (mut message, failed) = items::output(content);
        if content.is_object() && message.parts.iter().any(|part| matches!(part, Part::Other(_))) {
            message.parts.clear();
            message.result = Some(content.clone().into());
        }
        let result = ToolResult {
            call_id,
            end: at,
            is_error: failed || get::number(content, "/exitCode").is_some_and(|code| code != 0.0),
            message: Some(message),
            ..ToolResult::default()
        };
        self.thread.events.push(Event::Result(Box::new(result)));
    }
}
