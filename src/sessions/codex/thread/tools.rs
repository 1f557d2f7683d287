//! Tools as the client records them, in addition to the model's items: what ran, how it ended, which agents it started.

use std::collections::HashMap;

use serde_json::Value;

use super::{PromptRecord, RolloutReader, items};
use crate::events::Event;
use crate::sessions::get;
use crate::span::UnixNanos;

impl RolloutReader {
    pub(super) fn completed(&mut self, payload: &Value, at: Option<UnixNanos>, started: &mut HashMap<String, String>) {
        let item = payload.get("item").unwrap_or(&Value::Null);
        match get::text(item, "/type").unwrap_or_default() {
            "UserMessage" => self.record_prompt(PromptRecord::Item, items::user_message(item), at),
            "AgentMessage" | "Reasoning" | "ContextCompaction" | "Plan" => {}
            // The work of an agent is in the agent's file.
            "SubAgentActivity" => self.activity(item, "/id", started),
            kind => {
                let Some(id) = get::text(item, "/id") else { return };
                let mut result = items::completed(item, payload);
                if let Some(Event::Result(known)) = self.results.get(id).and_then(|index| self.thread.events.get_mut(*index)) {
                    known.start = result.start;
                    known.is_error |= result.is_error;
                    known.facts.append(&mut result.facts);
                    known.mcp_server = result.mcp_server;
                } else if kind == "CollabAgentToolCall" || self.outer.is_none() || self.is_asked(id) {
                    self.completed.insert(id.to_owned(), result);
                } else {
                    // A tool that ran inside another one, without a separate call of the model.
                    result.inside.clone_from(&self.outer);
                    self.thread.events.push(Event::Result(Box::new(result)));
                }
                if kind == "CollabAgentToolCall" && get::text(item, "/tool") == Some("spawn_agent") {
                    for thread in get::list(item, "/receiver_thread_ids").iter().filter_map(Value::as_str) {
                        self.has_started(thread, id, started);
                    }
                }
            }
        }
    }

    /// Notes that a tool, called by the model directly or inside another tool, started an agent.
    pub(super) fn has_started(&self, thread: &str, call: &str, started: &mut HashMap<String, String>) {
        let asked = if self.is_asked(call) {
            Some(call.to_owned())
        } else {
            self.outer.clone()
        };
        if let Some(asked) = asked {
            started.insert(thread.to_owned(), asked);
        }
    }

    /// An agent's activity, of which only the start by a tool matters. `call`: the pointer to the call's id.
    pub(super) fn activity(&self, about: &Value, call: &str, started: &mut HashMap<String, String>) {
        if get::text(about, "/kind") == Some("started")
            && let (Some(thread), Some(call)) = (get::text(about, "/agent_thread_id"), get::text(about, call))
        {
            self.has_started(thread, call, started);
        }
    }

    /// Notes the agent named by the result of `spawn_agent`, in versions that record it nowhere else.
    pub(super) fn spawned(&self, call: &str, output: &Value, started: &mut HashMap<String, String>) {
        let text = output
            .as_str()
            .filter(|text| text.starts_with('{') && text.contains("\"agent_id\""));
        let about: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
        if let Some(thread) = about.as_ref().and_then(|about| get::text(about, "/agent_id"))
            && self.asked_for(call) == Some("spawn_agent")
        {
            started.entry(thread.to_owned()).or_insert_with(|| call.to_owned());
        }
    }

    /// The end of a tool as versions before `item_completed` record it, before or after its result.
    pub(super) fn ended(&mut self, payload: &Value) {
        let Some(id) = get::text(payload, "/call_id") else { return };
        let mut ended = items::ended(payload);
        let is_wanted = self.is_asked(id) && !self.completed.contains_key(id);
        match self.results.get(id).and_then(|index| self.thread.events.get_mut(*index)) {
            Some(Event::Result(known)) => {
                known.is_error |= ended.is_error;
                known.facts.append(&mut ended.facts);
                known.mcp_server = known.mcp_server.take().or(ended.mcp_server);
            }
            _ if is_wanted => _ = self.completed.insert(id.to_owned(), ended),
            _ => {}
        }
    }

    /// Whether the model made a tool call with this id.
    fn is_asked(&self, id: &str) -> bool {
        self.asked_for(id).is_some()
    }

    /// The tool that the model called with this id. Only recent events are searched, since a tool ends soon after it was called.
    fn asked_for(&self, id: &str) -> Option<&str> {
        const LAST: usize = 64;
        self.thread.events.iter().rev().take(LAST).find_map(|event| match event {
            Event::Call(call) => {
                let mut calls = call.output.iter().flat_map(|output| &output.tool_calls);
                calls.find(|call| call.recorded_id() == Some(id)).map(|call| call.name.as_str())
            }
            _ => None,
        })
    }
}
