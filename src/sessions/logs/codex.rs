//! Codex's events: `codex.user_prompt`, `sse_event`, `websocket_event`, `tool_decision`, `tool_result`, ...
//!
//! A model call is the event `response.completed`, which has its tokens. No event has the model's text.

use std::collections::HashSet;

use super::agents::{Agents, AskedBy};
use super::record::Record;
use crate::events::{Call, Event, ToolResult};
use crate::operation::{Message, Role, TokenCount};
use crate::span::UnixNanos;

/// The attributes read from the record of a model call.
const OF_CALL: [&str; 14] = [
    "event.kind",
    "model",
    "slug",
    "duration_ms",
    "ttft_ms",
    "input_token_count",
    "output_token_count",
    "cached_token_count",
    "cache_write_token_count",
    "reasoning_token_count",
    "tool_token_count",
    "error.message",
    "auth_mode",
    "originator",
];

/// The attributes read from the record of a tool.
const OF_TOOL: [&str; 11] = [
    "tool_name",
    "call_id",
    "arguments",
    "duration_ms",
    "success",
    "output",
    "mcp_server",
    "model",
    "slug",
    "auth_mode",
    "originator",
];

pub(super) fn read(records: &[Record], agents: &mut Agents) {
    let mut started = None;
    for record in records {
        match record.event.as_str() {
            "user_prompt" => {
                let id = format!("{} {}", agents.session(), record.at.0);
                agents.describe(None, None, None, record);
                agents.prompt(
                    &id,
                    record.words("prompt"),
                    record,
                    &["prompt", "prompt_length", "slug", "model"],
                    record.at,
                );
            }
            "api_request" | "websocket_request" => started = record.start().or(started),
            "sse_event" | "websocket_event" => match record.text("event.kind").unwrap_or_default() {
                // A response is recorded twice: on arrival, and with its tokens.
                "response.completed" if record.count("output_token_count").is_some() => call(record, agents, started.take()),
                "response.created" if started.is_none() => started = Some(record.at),
                "response.failed" => {
                    started = None;
                    let why = record.text("error.message").unwrap_or("the model call failed");
                    agents.event(None, record.at, Event::Failed(why.to_owned(), Some(record.at)));
                }
                _ => {}
            },
            "conversation_starts" | "tool_decision" | "tool_result" | "turn_ttft" | "websocket_connect" => {}
            other => agents.unknown(other),
        }
    }
    let mut with_result = HashSet::new();
    for record in records.iter().filter(|record| record.event == "tool_result") {
        with_result.extend(record.text("call_id"));
        tool(record, agents);
    }
    for record in records.iter().filter(|record| record.event == "tool_decision") {
        let is_refused = matches!(record.text("decision"), Some("denied" | "abort"));
        if is_refused && !record.text("call_id").is_some_and(|id| with_result.contains(id)) {
            tool(record, agents);
        }
    }
}

fn call(record: &Record, agents: &mut Agents, start: Option<UnixNanos>) {
    agents.call(
        None,
        &[],
        Call {
            start,
            end: Some(record.at),
            requested_model: record.owned("model"),
            provider: Some("openai".to_owned()),
            usage: TokenCount {
                input: record.count("input_token_count"),
                output: record.count("output_token_count"),
                cache_read: record.count("cached_token_count"),
                cache_write: record.count("cache_write_token_count"),
                reasoning: record.count("reasoning_token_count"),
                ..TokenCount::default()
            },
            time_to_first_token: record.number("ttft_ms").map(|millis| millis / 1e3),
            facts: record.facts(&OF_CALL),
            ..Call::default()
        },
    );
}

fn tool(record: &Record, agents: &mut Agents) {
    let is_refused = record.event == "tool_decision";
    let call_id = match record.text("call_id") {
        Some(id) => id.to_owned(),
        None => format!("{} {}", record.text("tool_name").unwrap_or_default(), record.at.0),
    };
    let output = record.words("output").map(|output| Message::text(Role::Tool, output));
    let result = ToolResult {
        call_id,
        name: record.owned("tool_name"),
        arguments: record.json("arguments"),
        start: record.start(),
        end: Some(record.at),
        content_unknown: output.is_none(),
        message: output,
        is_error: is_refused || record.flag("success") == Some(false),
        error: is_refused.then(|| "rejected".to_owned()),
        mcp_server: record.owned("mcp_server"),
        facts: record.facts(&OF_TOOL),
        ..ToolResult::default()
    };
    agents.tool(&AskedBy::Time(None), result);
}
