//! The client's telemetry, which its session files repeat.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

use crate::events::{Call, ToolResult, fact};
use crate::sessions::get;
use crate::span::UnixNanos;

/// Records of model calls and tools that are not matched with a line yet.
#[derive(Debug, Default)]
pub(super) struct Telemetry {
    /// By input and output tokens.
    calls: HashMap<(Option<u64>, Option<u64>), VecDeque<Value>>,
    tools: HashMap<String, Value>,
}

impl Telemetry {
    /// Takes a record; returns one of another kind as a fact of the turn or an error.
    pub(super) fn note(&mut self, event: &Value) -> Option<Noted> {
        match get::text(event, "/event.name").unwrap_or_default() {
            "qwen-code.api_response" => {
                let tokens = (get::count(event, "/input_token_count"), get::count(event, "/output_token_count"));
                self.calls.entry(tokens).or_default().push_back(event.clone());
                None
            }
            "qwen-code.tool_call" => {
                let id = get::text(event, "/call_id")?;
                self.tools.insert(id.to_owned(), event.clone());
                None
            }
            "qwen-code.api_error" => {
                let text = get::text(event, "/error_message").or_else(|| get::text(event, "/error"));
                Some(Noted::Failed(text.unwrap_or("the model call failed").to_owned()))
            }
            name => Some(Noted::Other(name.to_owned())),
        }
    }

    pub(super) fn complete(&mut self, call: &mut Call) {
        let tokens = (call.usage.input, call.usage.output);
        let Some(event) = self.calls.get_mut(&tokens).and_then(VecDeque::pop_front) else {
            return;
        };
        let end = get::time(&event, "/event.timestamp");
        if let (Some(end), Some(took)) = (end, get::nanos(&event, "/duration_ms")) {
            call.start = Some(UnixNanos(end.0.saturating_sub(took)));
        }
        call.end = end.or(call.end);
        call.time_to_first_token = get::number(&event, "/ttft_ms").map(|millis| millis / 1e3);
        if let Some(id) = get::text(&event, "/response_id") {
            call.response_id = Some(id.to_owned());
        }
        fact(&mut call.facts, "prompt_id", get::text(&event, "/prompt_id"));
    }

    pub(super) fn complete_tool(&mut self, result: &mut ToolResult) {
        let Some(event) = self.tools.remove(&result.call_id) else { return };
        let end = get::time(&event, "/event.timestamp");
        if let (Some(end), Some(took)) = (end, get::nanos(&event, "/duration_ms")) {
            result.start = Some(UnixNanos(end.0.saturating_sub(took)));
        }
        result.end = end.or(result.end);
        fact(&mut result.facts, "decision", get::text(&event, "/decision"));
        fact(&mut result.facts, "error_type", get::text(&event, "/error_type"));
    }

    /// The unmatched model calls, as one fact.
    pub(super) fn rest(self) -> Option<Map<String, Value>> {
        let mut list: Vec<Value> = self.calls.into_values().flatten().collect();
        list.sort_by_cached_key(|event| get::owned(event, "/event.timestamp"));
        (!list.is_empty()).then(|| Map::from_iter([("auxiliary_calls".to_owned(), Value::Array(list))]))
    }
}

/// A record of telemetry that is neither a call nor a tool.
pub(super) enum Noted {
    Failed(String),
    Other(String),
}
