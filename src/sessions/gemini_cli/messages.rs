//! The list of messages built by the lines of a file.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::events::{Call, Event, Prompt, ToolResult, Unknown, fact};
use crate::operation::{Message, Part, Role, TokenCount};
use crate::sessions::{get, parts};
use crate::span::UnixNanos;

/// Begins a message that is not a prompt: the client describes the folder to the model, always with the same id.
const CONTEXT: &str = "<session_context>";

/// Messages by id, in order of their first occurrence.
#[derive(Debug, Default)]
pub(super) struct Messages {
    list: Vec<Value>,
    places: HashMap<String, usize>,
}

impl Messages {
    pub(super) fn line(&mut self, line: &Value, unknown: &mut Unknown) {
        if let Some(set) = line.get("$set") {
            get::list(set, "/messages").iter().for_each(|message| self.merge(message));
        } else if line.get("$rewindTo").is_some() {
            // Withdrawn messages did happen, so they stay.
        } else if get::text(line, "/type").is_some() {
            self.merge(line);
        } else if line.get("projectHash").is_some() {
            get::list(line, "/messages").iter().for_each(|message| self.merge(message));
        } else {
            unknown.count("no type");
        }
    }

    fn merge(&mut self, message: &Value) {
        let Some(id) = get::text(message, "/id") else { return };
        match self.places.get(id).and_then(|at| self.list.get_mut(*at)) {
            None => {
                self.places.insert(id.to_owned(), self.list.len());
                self.list.push(message.clone());
            }
            Some(have) => {
                let (Some(have), Some(came)) = (have.as_object_mut(), message.as_object()) else {
                    return;
                };
                // A checkpoint has less data than the message that it repeats, and another time.
                for (key, value) in came {
                    let grows = ["toolCalls", "tokens", "thoughts"].contains(&key.as_str());
                    let before = have.get(key).map_or(0, richness);
                    if before == 0 || grows && richness(value) >= before {
                        have.insert(key.clone(), value.clone());
                    }
                }
            }
        }
    }

    /// The tool calls that started agents, by the agent.
    pub(super) fn agents(&self, agents: &mut HashMap<String, String>) {
        for call in self.list.iter().flat_map(|message| get::list(message, "/toolCalls")) {
            if let (Some(agent), Some(id)) = (get::text(call, "/agentId"), get::text(call, "/id")) {
                agents.insert(agent.to_owned(), id.to_owned());
            }
        }
    }

    pub(super) fn events(self) -> Vec<Event> {
        let mut events = Vec::new();
        for message in &self.list {
            let at = get::time(message, "/timestamp");
            match get::text(message, "/type").unwrap_or_default() {
                "user" => user(message, at, &mut events),
                "gemini" => model(message, at, &mut events),
                "error" => events.push(Event::Failed(content(message).content(), at)),
                kind => {
                    let mut facts = Map::new();
                    let text = content(message).content();
                    fact(&mut facts, kind, Some(text));
                    events.push(Event::Facts(facts));
                }
            }
        }
        events
    }
}

/// The size of a value.
fn richness(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.iter().map(richness).sum::<usize>() + 1,
        Value::Object(map) => map.values().map(richness).sum::<usize>() + 1,
        Value::Null => 0,
        Value::String(text) if text.is_empty() => 0,
        _ => 1,
    }
}

fn content(message: &Value) -> Message {
    parts::of_gemini(Role::User, message.get("content").unwrap_or(&Value::Null))
}

fn user(message: &Value, at: Option<UnixNanos>, events: &mut Vec<Event>) {
    let said = content(message);
    let list = message.get("content").and_then(Value::as_array);
    let is_result = list.is_some_and(|list| list.iter().any(|part| part.get("functionResponse").is_some()));
    if is_result || said.parts.is_empty() {
        return;
    }
    let text = said.content();
    if text.starts_with(CONTEXT) {
        let role = Role::System;
        events.push(Event::Input(Message { role, ..said }));
        return;
    }
    events.push(Event::Prompt(Box::new(Prompt {
        id: get::owned(message, "/id").unwrap_or_default(),
        at,
        message: said,
        ..Prompt::default()
    })));
}

fn model(message: &Value, at: Option<UnixNanos>, events: &mut Vec<Event>) {
    let mut output = Message {
        role: Role::Assistant,
        ..Message::default()
    };
    for thought in get::list(message, "/thoughts") {
        let texts: Vec<&str> = ["/subject", "/description"]
            .iter()
            .filter_map(|key| get::text(thought, key))
            .collect();
        output.parts.push(Part::Reasoning {
            text: Some(texts.join("\n")),
            opaque: Map::new(),
        });
    }
    let said = content(message);
    output.parts.extend(
        said.parts
            .into_iter()
            .filter(|part| !matches!(part, Part::Text(text) if text.is_empty())),
    );
    let calls = get::list(message, "/toolCalls");
    for call in calls {
        output.tool_calls.push(parts::tool_call(
            get::text(call, "/id"),
            get::text(call, "/name"),
            get::some(call, "/args").cloned(),
        ));
    }
    let tokens = message.get("tokens").unwrap_or(&Value::Null);
    let thoughts = get::count(tokens, "/thoughts");
    let model = get::owned(message, "/model");
    let mut facts = Map::new();
    // Tokens from the provider's tools, which the input count excludes.
    fact(
        &mut facts,
        "tool_use_tokens",
        get::count(tokens, "/tool").filter(|count| *count > 0),
    );
    events.push(Event::Call(Box::new(Call {
        facts,
        id: get::owned(message, "/id").unwrap_or_default(),
        end: at,
        requested_model: model.clone(),
        response_model: model,
        provider: Some("gcp.gemini".to_owned()),
        finish_reason: Some(if calls.is_empty() { "stop" } else { "tool_calls" }.to_owned()),
        usage: TokenCount {
            input: get::count(tokens, "/input"),
            // The file's count excludes thoughts.
            output: get::count(tokens, "/output").map(|output| output.saturating_add(thoughts.unwrap_or_default())),
            total: get::count(tokens, "/total"),
            cache_read: get::count(tokens, "/cached"),
            cache_write: None,
            reasoning: thoughts,
        },
        output: Some(output),
        ..Call::default()
    })));
    for call in calls {
        events.extend(result(call).map(Box::new).map(Event::Result));
    }
}

fn result(call: &Value) -> Option<ToolResult> {
    let responses = get::list(call, "/result");
    let mut message: Option<Message> = None;
    let mut failed = get::text(call, "/status") == Some("error");
    for part in responses {
        let (said, is_error) = match part.get("functionResponse") {
            Some(response) => parts::of_function_response(response),
            None => (parts::of_gemini(Role::Tool, part), false),
        };
        failed |= is_error;
        match &mut message {
            None => message = Some(said),
            Some(message) => message.parts.extend(said.parts),
        }
    }
    let mut out = ToolResult {
        call_id: get::owned(call, "/id")?,
        end: get::time(call, "/timestamp"),
        message: Some(message.or_else(|| get::text(call, "/resultDisplay").map(|text| Message::text(Role::Tool, text)))?),
        is_error: failed,
        ..ToolResult::default()
    };
    fact(&mut out.facts, "status", get::text(call, "/status"));
    fact(&mut out.facts, "agent_id", get::text(call, "/agentId"));
    Some(out)
}
