//! A request, and its turn as recorded by the client's agent: the rounds of the model, with calls and results.

use serde_json::{Map, Value};

use crate::events::{Call, Event, ToolResult, fact};
use crate::operation::{Message, Part, Role, TokenCount};
use crate::sessions::{get, parts};
use crate::span::UnixNanos;

pub(super) struct Turn<'r> {
    pub(super) request: &'r Value,
    pub(super) metadata: &'r Value,
    pub(super) id: String,
    pub(super) at: Option<UnixNanos>,
    pub(super) end: Option<UnixNanos>,
}

impl Turn<'_> {
    /// The rounds of the model, each with its calls and their results.
    pub(super) fn rounds(&self, rounds: &[Value]) -> Vec<Event> {
        let mut events = Vec::new();
        for (number, round) in rounds.iter().enumerate() {
            let (is_last, next) = (number + 1 == rounds.len(), rounds.get(number + 1));
            let mut output = Message::text(Role::Assistant, "");
            output.parts.clear();
            if let Some(thinking) = get::some(round, "/thinking") {
                let text = get::owned(thinking, "/text").or_else(|| lines_of(get::list(thinking, "/text")));
                output.parts.push(Part::Reasoning {
                    text,
                    opaque: parts::without(thinking, &["text", "tokens"]),
                });
            }
            output.parts.extend(get::owned(round, "/response").map(Part::Text));
            let calls = get::list(round, "/toolCalls");
            for call in calls {
                // JSON text, as the model wrote it.
                let arguments = get::some(call, "/arguments").map(|arguments| match arguments.as_str() {
                    Some("") => Value::Object(Map::new()),
                    Some(text) => serde_json::from_str(text).unwrap_or_else(|_| arguments.clone()),
                    None => arguments.clone(),
                });
                output
                    .tool_calls
                    .push(parts::tool_call(get::text(call, "/id"), get::text(call, "/name"), arguments));
            }
            let mut call = self.call(number, output);
            call.start = get::millis(round, "/timestamp").or(self.at.filter(|_| number == 0));
            call.end = next.map_or(self.end, |next| get::millis(next, "/timestamp"));
            call.usage = if is_last { self.usage() } else { TokenCount::default() };
            call.usage.reasoning = get::count(round, "/thinking/tokens");
            call.response_model = get::owned(round, "/modelId").or(call.response_model);
            if !calls.is_empty() && call.end.is_some() {
                // Its end is not recorded, so the start of the next round, after the tools, is used.
                fact(&mut call.facts, "includes_tools", Some(true));
            }
            events.push(Event::Call(Box::new(call)));
            for call in calls {
                events.extend(self.result(call).map(|result| Event::Result(Box::new(result))));
            }
        }
        events
    }

    pub(super) fn call(&self, number: usize, output: Message) -> Call {
        Call {
            id: format!("{} {number}", self.id),
            requested_model: get::text(self.request, "/modelId").map(|model| model.trim_start_matches("copilot/").to_owned()),
            response_model: get::owned(self.metadata, "/resolvedModel"),
            output: Some(output),
            ..Call::default()
        }
    }

    /// The usage of a turn's last call, which the client records once per turn.
    pub(super) fn usage(&self) -> TokenCount {
        let count = |key: &str, at_request: &str| get::count(self.metadata, key).or_else(|| get::count(self.request, at_request));
        TokenCount {
            input: count("/promptTokens", "/promptTokens"),
            output: count("/outputTokens", "/completionTokens"),
            ..TokenCount::default()
        }
    }

    fn result(&self, call: &Value) -> Option<ToolResult> {
        let call_id = get::text(call, "/id")?;
        let result = self.metadata.get("toolCallResults").and_then(|results| results.get(call_id))?;
        let mut words = String::new();
        for part in get::list(result, "/content") {
            words_of(part.get("value").unwrap_or(part), &mut words);
        }
        Some(ToolResult {
            call_id: call_id.to_owned(),
            name: get::owned(call, "/name"),
            message: Some(Message::text(Role::Tool, words)),
            is_error: get::flag(result, "/hasError") || get::flag(result, "/isError"),
            ..ToolResult::default()
        })
    }
}

pub(super) fn lines_of(list: &[Value]) -> Option<String> {
    let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Appends the text of a result: a string, or a tree of elements (`@vscode/prompt-tsx`) with text in its leaves.
fn words_of(value: &Value, words: &mut String) {
    if let Some(text) = value.as_str() {
        words.push_str(text);
        return;
    }
    let mut waiting = vec![value.get("node").unwrap_or(value)];
    while let Some(node) = waiting.pop() {
        if let Some(text) = node.get("text").and_then(Value::as_str) {
            if get::flag(node, "/lineBreakBefore") && !words.is_empty() {
                words.push('\n');
            }
            words.push_str(text);
        }
        waiting.extend(get::list(node, "/children").iter().rev());
    }
}
