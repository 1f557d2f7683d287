//! Gemini CLI's events, and those of its fork Qwen Code: `user_prompt`, `api_request`, `api_response`, `api_error`,
//! `tool_call`.
//!
//! The answer is in `response_text`: chunks of the API's stream as JSON, or its text. Tool results are in the next request.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::agents::{Agents, AskedBy};
use super::record::Record;
use crate::events::{Call, Event, ToolResult};
use crate::operation::{Message, Part, Role, TokenCount, ToolCallId};
use crate::sessions::client::Client;
use crate::sessions::{get, parts};

/// The attributes read from the record of a model call.
const OF_CALL: [&str; 15] = [
    "model",
    "duration_ms",
    "ttft_ms",
    "input_token_count",
    "output_token_count",
    "cached_content_token_count",
    "thoughts_token_count",
    "total_token_count",
    "tool_token_count",
    "response_text",
    "response_id",
    "finish_reasons",
    "subagent_name",
    "status_code",
    "http.status_code",
];

/// The attributes read from the record of a tool.
const OF_TOOL: [&str; 14] = [
    "function_name",
    "function_args",
    "call_id",
    "duration_ms",
    "success",
    "status",
    "execution_status",
    "error",
    "error.message",
    "error.type",
    "mcp_server_name",
    "response_id",
    "start_time",
    "end_time",
];

pub(super) fn read(client: Client, records: &[Record], agents: &mut Agents) {
    let (mut results, mut asked) = (Results::default(), Asked::default());
    for record in records {
        let key = agent(record);
        match record.event.as_str() {
            "user_prompt" => {
                let own = format!("{} {}", agents.session(), record.at.0);
                let id = match record.text("prompt_id") {
                    Some(id) => format!("{id} {own}"),
                    None => own,
                };
                agents.describe(None, None, None, record);
                agents.prompt(
                    &id,
                    record.words("prompt"),
                    record,
                    &["prompt", "prompt_length", "auth_type"],
                    record.at,
                );
            }
            "api_request" => {
                let words = results.note(record);
                if let (Some(key), Some(words)) = (key, words) {
                    agents.asked_of(key, &words, record);
                }
            }
            "api_response" => {
                let call = call(client, record);
                asked.note(&call);
                agents.describe(key, record.text("subagent_name"), None, record);
                if let Some(started_by) = key.and_then(started_by) {
                    agents.started_by(key.unwrap_or_default(), started_by.to_owned());
                }
                agents.call(key, &[record.text("response_id")], call);
            }
            "api_error" => {
                let why = ["error_message", "error.message", "error"].iter().find_map(|key| record.text(key));
                let why = why.unwrap_or("the model call failed").to_owned();
                agents.event(key, record.at, Event::Failed(why, Some(record.at)));
            }
            _ => {}
        }
    }
    for record in records.iter().filter(|record| record.event == "tool_call") {
        tool(record, agents, &mut results, &mut asked);
    }
}

/// The sub-agent of a record, from the id of the prompt: `AGENT#TURN` in Gemini CLI, `SESSION#NAME-CALL#TURN` in Qwen Code. The main
/// agent has `SESSION########TURN`, or an id without `#`.
fn agent(record: &Record) -> Option<&str> {
    let mut parts = record.text("prompt_id")?.split('#');
    let (first, second) = (parts.next()?, parts.next()?);
    match parts.next() {
        None => Some(first),
        Some(_) => Some(second),
    }
    .filter(|agent| !agent.is_empty())
}

/// The tool call that started a sub-agent of Qwen Code: the end of its id.
fn started_by(agent: &str) -> Option<&str> {
    agent.find("call_").and_then(|at| agent.get(at..))
}

/// Ids of calls without a tool record so far, by the tool's name and arguments.
#[derive(Default)]
struct Asked(HashMap<(String, String), VecDeque<String>>);

impl Asked {
    fn note(&mut self, call: &Call) {
        for asked in call.output.iter().flat_map(|output| &output.tool_calls) {
            if let Some(id) = asked.recorded_id() {
                let key = Self::key(&asked.name, asked.arguments.as_ref());
                self.0.entry(key).or_default().push_back(id.to_owned());
            }
        }
    }

    fn take(&mut self, name: &str, arguments: Option<&Value>) -> Option<String> {
        self.0.get_mut(&Self::key(name, arguments))?.pop_front()
    }

    fn key(name: &str, arguments: Option<&Value>) -> (String, String) {
        let mut arguments = arguments.cloned().unwrap_or_default();
        arguments.sort_all_objects();
        (name.to_owned(), arguments.to_string())
    }
}

fn call(client: Client, record: &Record) -> Call {
    let thoughts = record.count("thoughts_token_count");
    let mut call = Call {
        start: record.start(),
        end: Some(record.at),
        requested_model: record.owned("model"),
        response_id: record.owned("response_id"),
        usage: TokenCount {
            input: record.count("input_token_count"),
            // Gemini's count excludes thoughts.
            output: record.count("output_token_count").map(|output| match client {
                Client::GeminiCli => output.saturating_add(thoughts.unwrap_or_default()),
                _ => output,
            }),
            cache_read: record.count("cached_content_token_count"),
            reasoning: thoughts,
            ..TokenCount::default()
        },
        time_to_first_token: record.number("ttft_ms").map(|millis| millis / 1e3),
        facts: record.facts(&OF_CALL),
        ..Call::default()
    };
    if let Some(text) = record.words("response_text") {
        let chunks: Option<Value> = serde_json::from_str(text).ok();
        match chunks
            .as_ref()
            .filter(|chunks| chunks.is_array() || chunks.get("candidates").is_some())
        {
            Some(chunks) => add_chunks(&mut call, chunks),
            None => call.output = Some(Message::text(Role::Assistant, text)),
        }
    }
    call
}

fn add_chunks(call: &mut Call, chunks: &Value) {
    let mut output = Message {
        role: Role::Assistant,
        ..Message::default()
    };
    let one = std::slice::from_ref(chunks);
    for chunk in chunks.as_array().map_or(one, Vec::as_slice) {
        let content = chunk.pointer("/candidates/0/content/parts").unwrap_or(&Value::Null);
        let more = parts::of_gemini(Role::Assistant, content);
        for part in more.parts {
            match (output.parts.last_mut(), part) {
                (Some(Part::Text(before)), Part::Text(text)) => before.push_str(&text),
                (_, part) => output.parts.push(part),
            }
        }
        output.tool_calls.extend(more.tool_calls);
        call.response_id = call.response_id.take().or_else(|| get::owned(chunk, "/responseId"));
        call.response_model = call.response_model.take().or_else(|| get::owned(chunk, "/modelVersion"));
        let reason = get::owned(chunk, "/candidates/0/finishReason");
        call.finish_reason = reason.or(call.finish_reason.take());
    }
    // Calls of a sub-agent have no ids.
    for (number, asked) in output.tool_calls.iter_mut().enumerate() {
        let own = || ToolCallId::Recorded(format!("{} {} {number}", asked.name, call.end.unwrap_or_default().0));
        asked.id = asked.id.take().or_else(|| Some(own()));
    }
    call.output = Some(output);
}

/// Tool results in requests, by name of the tool, in order.
#[derive(Default)]
struct Results {
    by_name: HashMap<String, VecDeque<Value>>,
    /// The number of a conversation's messages already read, since each request repeats all earlier ones.
    taken: HashMap<Option<String>, usize>,
}

impl Results {
    /// Notes the results in a request. Returns the prompt if the request is the first of a conversation.
    fn note(&mut self, record: &Record) -> Option<String> {
        // Qwen Code truncates long requests.
        let Some(Value::Array(contents)) = record.json("request_text") else {
            return None;
        };
        let is_first = !self.taken.contains_key(&agent(record).map(str::to_owned));
        let key = agent(record).map(str::to_owned);
        let taken = self.taken.entry(key).or_default();
        let parts = contents.iter().flat_map(|content| get::list(content, "/parts"));
        let given: Vec<&Value> = parts.filter_map(|part| part.get("functionResponse")).collect();
        for response in given.iter().skip(*taken) {
            let name = get::owned(response, "/name").unwrap_or_default();
            let given = response.get("response").cloned().unwrap_or_default();
            self.by_name.entry(name).or_default().push_back(given);
        }
        *taken = given.len();
        let words = contents.first().and_then(|content| get::list(content, "/parts").last());
        words.filter(|_| is_first).and_then(|part| get::owned(part, "/text"))
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.by_name.get_mut(name)?.pop_front()
    }
}

fn tool(record: &Record, agents: &mut Agents, results: &mut Results, asked: &mut Asked) {
    let name = record.owned("function_name");
    let arguments = record.json("function_args");
    let known = record.owned("call_id");
    let known = known.or_else(|| asked.take(name.as_deref()?, arguments.as_ref()));
    let call_id = known.unwrap_or_else(|| format!("{} {}", name.as_deref().unwrap_or_default(), record.at.0));
    let started = record.json("metadata");
    if let Some(agent) = started.as_ref().and_then(|metadata| get::text(metadata, "/agentId")) {
        agents.started_by(agent, call_id.clone());
    }
    let given = name.as_deref().and_then(|name| results.take(name));
    let message = given.map(
        |given| match given.get("output").or_else(|| given.get("error")).and_then(Value::as_str) {
            Some(text) => Message::text(Role::Tool, text),
            None => Message {
                role: Role::Tool,
                result: Some(Box::new(given)),
                ..Message::default()
            },
        },
    );
    let result = ToolResult {
        call_id,
        arguments,
        start: record.start(),
        end: Some(record.at),
        content_unknown: message.is_none(),
        message,
        is_error: record.flag("success") == Some(false),
        error: ["error", "error.message"].iter().find_map(|key| record.owned(key)),
        mcp_server: record.owned("mcp_server_name"),
        facts: record.facts(&OF_TOOL),
        name,
        ..ToolResult::default()
    };
    let asked_by = match record.text("response_id") {
        Some(id) => AskedBy::Id(id),
        None => AskedBy::Time(agent(record)),
    };
    agents.tool(&asked_by, result);
}
