//! A turn as it was shown: text, thoughts and tools in order. Output after tools belongs to the model's next call.

use serde_json::{Map, Value};

use super::turn::{Turn, lines_of};
use crate::events::{Event, ToolResult, fact};
use crate::operation::{Message, Part, Role};
use crate::sessions::{get, parts};

pub(super) fn events(turn: &Turn<'_>) -> Vec<Event> {
    let mut draft = CallDraft::default();
    let mut left = Map::new();
    for part in get::list(turn.request, "/response") {
        let kind = get::text(part, "/kind").unwrap_or_default();
        match kind {
            "" | "markdownContent" | "markdownVuln" => {
                let words = ["/value", "/content/value", "/content"]
                    .iter()
                    .find_map(|place| get::text(part, place));
                if let Some(words) = words {
                    draft.add_text(turn, words);
                }
            }
            // A file or a symbol named in the text.
            "inlineReference" => {
                let name = [
                    "/name",
                    "/inlineReference/name",
                    "/inlineReference/path",
                    "/inlineReference/uri/path",
                ];
                if let Some(name) = name.iter().find_map(|place| get::text(part, place)) {
                    draft.add_text(turn, &format!("`{name}`"));
                }
            }
            "thinking" => draft.think(turn, part),
            "toolInvocationSerialized" | "toolInvocation" => draft.tool(turn, part),
            // Edits, progress, buttons: not text.
            other => {
                let count = left.entry(other.to_owned()).or_insert_with(|| Value::from(0));
                *count = Value::from(count.as_u64().unwrap_or_default() + 1);
            }
        }
    }
    draft.give(turn);
    if let Some(Event::Call(last)) = draft.events.iter_mut().rev().find(|event| matches!(event, Event::Call(_))) {
        last.usage = turn.usage();
        last.end = last.end.or(turn.end);
        fact(&mut last.facts, "other_parts", Some(left).filter(|left| !left.is_empty()));
    }
    draft.events
}

#[derive(Default)]
struct CallDraft {
    events: Vec<Event>,
    message: Option<Message>,
    results: Vec<ToolResult>,
    calls: usize,
}

impl CallDraft {
    /// The model's current message; a new one after tools.
    fn message(&mut self, turn: &Turn<'_>) -> &mut Message {
        if !self.results.is_empty() {
            self.give(turn);
        }
        self.message.get_or_insert_with(|| Message {
            role: Role::Assistant,
            ..Message::default()
        })
    }

    fn add_text(&mut self, turn: &Turn<'_>, words: &str) {
        let message = self.message(turn);
        match message.parts.last_mut() {
            Some(Part::Text(text)) => text.push_str(words),
            _ => message.parts.push(Part::Text(words.to_owned())),
        }
    }

    fn think(&mut self, turn: &Turn<'_>, part: &Value) {
        let text = get::owned(part, "/value").or_else(|| lines_of(get::list(part, "/value")));
        if text.is_some() {
            let opaque = Map::new();
            self.message(turn).parts.push(Part::Reasoning { text, opaque });
        }
    }

    fn tool(&mut self, turn: &Turn<'_>, part: &Value) {
        let message = self.message.get_or_insert_with(|| Message {
            role: Role::Assistant,
            ..Message::default()
        });
        let given = format!("{} {}", turn.id, self.events.len() + message.tool_calls.len());
        let call_id = get::owned(part, "/toolCallId").unwrap_or(given);
        let name = get::owned(part, "/toolId");
        message
            .tool_calls
            .push(parts::tool_call(Some(&call_id), name.as_deref(), arguments(part)));
        let words: Vec<&str> = get::list(part, "/resultDetails/output")
            .iter()
            .filter_map(|output| get::text(output, "/value"))
            .collect();
        let mut result = ToolResult {
            call_id,
            name,
            content_unknown: words.is_empty(),
            message: (!words.is_empty()).then(|| Message::text(Role::Tool, words.join("\n"))),
            is_error: get::flag(part, "/resultDetails/isError"),
            ..ToolResult::default()
        };
        let told = [
            "/pastTenseMessage/value",
            "/pastTenseMessage",
            "/invocationMessage/value",
            "/invocationMessage",
        ];
        fact(&mut result.facts, "shown", told.iter().find_map(|place| get::text(part, place)));
        fact(&mut result.facts, "confirmed", get::some(part, "/isConfirmed").cloned());
        self.results.push(result);
    }

    fn give(&mut self, turn: &Turn<'_>) {
        let Some(message) = self.message.take() else { return };
        let mut call = turn.call(self.calls, message);
        call.start = turn.at.filter(|_| self.calls == 0);
        self.calls += 1;
        self.events.push(Event::Call(Box::new(call)));
        self.events
            .extend(self.results.drain(..).map(|result| Event::Result(Box::new(result))));
    }
}

/// A tool's arguments: the input of an MCP tool, or the command of a terminal.
fn arguments(part: &Value) -> Option<Value> {
    if let Some(input) = get::some(part, "/resultDetails/input").or_else(|| get::some(part, "/toolSpecificData/rawInput")) {
        let opened = input.as_str().and_then(|text| serde_json::from_str(text).ok());
        return Some(opened.unwrap_or_else(|| input.clone()));
    }
    let places = [
        "/toolSpecificData/commandLine/original",
        "/toolSpecificData/commandLine",
        "/toolSpecificData/command",
    ];
    let command = places.iter().find_map(|place| get::text(part, place))?;
    Some(Map::from_iter([("command".to_owned(), command.into())]).into())
}
