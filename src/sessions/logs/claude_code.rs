//! Claude Code's events: `claude_code.user_prompt`, `api_request`, `assistant_response`, `tool_decision`, `tool_result`, ...
//!
//! From 2.1 on they have `prompt.id`, `request_id`, `tool_use_id` and `agent_id`; 2.0 has none of these, and numbers as text.
//! They lack results of tools, and have prompts, answers and full requests (`bodies`) only if the user enables these.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::agents::{Agents, AskedBy};
use super::bodies;
use super::record::Record;
use crate::events::{Call, Compaction, Event, ToolResult};
use crate::operation::{Cost, Message, Part, Role, TokenCount};
use crate::span::UnixNanos;

/// Tools that start sub-agents.
const STARTS_AGENT: [&str; 2] = ["Task", "Agent"];

/// The attributes read from the record of a model call.
const OF_CALL: [&str; 14] = [
    "prompt.id",
    "model",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_creation_tokens",
    "cost_usd",
    "cost_usd_micros",
    "duration_ms",
    "ttft_ms",
    "request_id",
    "agent.name",
    "agent_id",
    "error",
];

/// The attributes read from the record of a tool.
const OF_TOOL: [&str; 12] = [
    "prompt.id",
    "tool_name",
    "tool_use_id",
    "use_id",
    "success",
    "duration_ms",
    "tool_input",
    "tool_parameters",
    "request_id",
    "agent_id",
    "error",
    "mcp_server_name",
];

pub(super) fn read(records: &[Record], agents: &mut Agents) {
    // A turn whose prompt is missing, or in another file, is identified by the id of the prompt.
    let known: HashSet<&str> = prompts(records).filter_map(|record| record.text("prompt.id")).collect();
    let mut begun = HashSet::new();
    for record in records {
        if let Some(id) = record.text("prompt.id").filter(|id| !known.contains(id) && begun.insert(*id)) {
            let own = format!("{} {id}", agents.session());
            agents.prompt(&own, None, record, &[], record.start().unwrap_or(record.at));
        }
        match record.event.as_str() {
            "user_prompt" => prompt(record, agents),
            "api_request" => call(record, agents),
            "api_error" => failed(record, agents),
            _ => {}
        }
    }
    bodies::read(records, agents);
    let mut tools = Tools::default();
    for record in records {
        match record.event.as_str() {
            "user_prompt" | "api_request" | "api_error" | "api_request_body" | "api_response_body" => {}
            "assistant_response" => answer(record, agents),
            "tool_decision" => tools.decision(record),
            "tool_result" => tools.result(record, agents),
            "subagent_completed" => tools.completed(record, agents),
            "compaction" => {
                let facts = record.facts(&["prompt.id", "success"]);
                let compaction = Compaction {
                    id: format!("logs {}", record.at.0),
                    at: Some(record.at),
                    facts,
                    ..Compaction::default()
                };
                agents.event(None, record.at, Event::Compacted(Box::new(compaction)));
            }
            other => agents.unknown(other),
        }
    }
    tools.rest(agents);
}

fn prompts(records: &[Record]) -> impl Iterator<Item = &Record> {
    records.iter().filter(|record| record.event == "user_prompt")
}

fn prompt(record: &Record, agents: &mut Agents) {
    let at = record.at.0.to_string();
    let id = format!("{} {}", agents.session(), record.text("prompt.id").unwrap_or(&at));
    let words = record.words("prompt").or_else(|| record.words("prompt_text"));
    agents.describe(None, None, None, record);
    agents.prompt(&id, words, record, &["prompt", "prompt_text", "prompt_length"], record.at);
}

/// The key of a record's agent; `None` for the main one. 2.1.197 names it only by its kind.
fn agent(record: &Record) -> Option<&str> {
    let source = record.text("query_source").filter(|source| source.starts_with("agent:"));
    record.text("agent_id").or(source)
}

fn call(record: &Record, agents: &mut Agents) {
    let key = agent(record);
    let name = record.text("agent.name");
    agents.describe(key, name, record.text("prompt.id"), record);
    let (read, written) = (record.count("cache_read_tokens"), record.count("cache_creation_tokens"));
    // The input count excludes cached tokens.
    let input = record.count("input_tokens").map(|input| {
        input
            .saturating_add(read.unwrap_or_default())
            .saturating_add(written.unwrap_or_default())
    });
    let millis = record.number("ttft_ms");
    let call = Call {
        start: record.start(),
        end: Some(record.at),
        requested_model: record.owned("model"),
        provider: Some("anthropic".to_owned()),
        response_id: record.owned("request_id"),
        usage: TokenCount {
            input,
            output: record.count("output_tokens"),
            cache_read: read,
            cache_write: written,
            ..TokenCount::default()
        },
        cost: Cost {
            total: record.number("cost_usd").filter(|cost| (0.0..1e9).contains(cost)),
            ..Cost::default()
        },
        time_to_first_token: millis.map(|millis| millis / 1e3),
        facts: record.facts(&OF_CALL),
        ..Call::default()
    };
    if record.text("query_source") == Some("compact") {
        // The call that wrote a summary is not part of the conversation.
        let compaction = Compaction {
            id: format!("logs {}", record.text("request_id").unwrap_or_default()),
            at: Some(record.at),
            usage: call.usage,
            cost: call.cost,
            facts: call.facts,
            ..Compaction::default()
        };
        agents.event(key, record.at, Event::Compacted(Box::new(compaction)));
        return;
    }
    agents.call(key, &[record.text("request_id")], call);
}

/// Handles a failed attempt.
fn failed(record: &Record, agents: &mut Agents) {
    let why = record.text("error").unwrap_or("the model call failed").to_owned();
    agents.event(agent(record), record.at, Event::Failed(why, Some(record.at)));
}

/// Handles the text of a model's answer.
fn answer(record: &Record, agents: &mut Agents) {
    let Some((words, id)) = record.words("response").zip(record.text("request_id")) else {
        return;
    };
    if agents.has_answer(id) {
        return;
    }
    let Some(call) = agents.call_with(id) else { return };
    let output = call.output.get_or_insert_with(|| Message {
        role: Role::Assistant,
        ..Message::default()
    });
    output.parts.push(Part::Text(words.to_owned()));
}

/// The tools of a session.
#[derive(Default)]
struct Tools<'r> {
    /// Decisions about tools without a result so far, by call id.
    decisions: HashMap<&'r str, &'r Record>,
    /// The number of calls without an id by name and time.
    nameless: HashMap<String, usize>,
    /// Calls that start agents: the end, and the id of the call.
    starts: Vec<(u64, String)>,
    completed: Vec<(u64, &'r str)>,
}

impl<'r> Tools<'r> {
    fn decision(&mut self, record: &'r Record) {
        if let Some(id) = record.text("tool_use_id") {
            self.decisions.insert(id, record);
        }
    }

    fn result(&mut self, record: &'r Record, agents: &mut Agents) {
        let id = record.text("tool_use_id").or_else(|| record.text("use_id"));
        if let Some(id) = id {
            self.decisions.remove(id);
        }
        self.add(record, id, agents);
    }

    fn add(&mut self, record: &'r Record, id: Option<&str>, agents: &mut Agents) {
        let name = record.owned("tool_name");
        let call_id = match id {
            Some(id) => id.to_owned(),
            None => self.own_id(name.as_deref().unwrap_or_default(), record.at),
        };
        if name.as_deref().is_some_and(|name| STARTS_AGENT.contains(&name)) {
            self.starts.push((record.at.0, call_id.clone()));
        }
        let is_rejected = record.event == "tool_decision";
        let is_error = is_rejected || record.flag("success") == Some(false);
        let arguments = record.json("tool_input").or_else(|| parameters(record));
        let server = arguments
            .as_ref()
            .and_then(|arguments| arguments.get("mcp_server_name")?.as_str())
            .or_else(|| record.text("mcp_server_name"))
            .map(str::to_owned);
        let error = record.owned("error").or_else(|| is_rejected.then(|| "rejected".to_owned()));
        let result = ToolResult {
            call_id,
            name,
            arguments,
            start: record.start(),
            end: Some(record.at),
            content_unknown: true,
            is_error,
            error,
            mcp_server: server,
            facts: record.facts(&OF_TOOL),
            ..ToolResult::default()
        };
        let asked_by = match record.text("request_id") {
            Some(id) => AskedBy::Id(id),
            None => AskedBy::Time(agent(record)),
        };
        agents.tool(&asked_by, result);
    }

    /// An id for a call without one.
    fn own_id(&mut self, name: &str, at: UnixNanos) -> String {
        let own = format!("{name} {}", at.0);
        let count = self.nameless.entry(own.clone()).or_default();
        *count += 1;
        if *count == 1 { own } else { format!("{own} {count}") }
    }

    fn completed(&mut self, record: &'r Record, agents: &mut Agents) {
        let Some(id) = record.text("agent_id") else { return };
        agents.describe(Some(id), record.text("agent_type"), record.text("prompt.id"), record);
        self.completed.push((record.at.0, id));
    }

    /// Adds tools that a person refused, and finds the call that started each agent: the client records that an agent has completed
    /// just before the result of the call.
    fn rest(mut self, agents: &mut Agents) {
        let mut refused: Vec<&Record> = std::mem::take(&mut self.decisions).into_values().collect();
        refused.retain(|record| record.text("decision") == Some("reject"));
        refused.sort_by_key(|record| (record.at, record.sequence));
        for record in refused {
            let id = record.text("tool_use_id");
            self.add(record, id, agents);
        }
        self.starts.sort();
        self.completed.sort_unstable();
        let mut starts = self.starts.into_iter().peekable();
        for (at, agent) in self.completed {
            while starts.peek().is_some_and(|(end, _)| *end < at) {
                starts.next();
            }
            if let Some((_, call_id)) = starts.next() {
                agents.started_by(agent, call_id);
            }
        }
    }
}

/// The arguments in a tool's parameters: the command of a shell, which is recorded along with its first word.
fn parameters(record: &Record) -> Option<Value> {
    let mut parameters = record.json("tool_parameters")?;
    if let Some(object) = parameters.as_object_mut()
        && let Some(command) = object.remove("full_command")
    {
        object.remove("bash_command");
        object.insert("command".to_owned(), command);
    }
    Some(parameters)
}
