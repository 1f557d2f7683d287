//! Events that no conversation has: words that agents alone hold, calls that no model's output shows, operations that
//! stand on their own.

use serde_json::{Map, Value};

use super::content;
use super::document::Message;
use super::list::{List, call};
use crate::formats::{LossReason, calls, io};
use crate::operation::Kind;
use crate::operation::message::arguments_object;
use crate::run::{CallEntry, ResultEntry, Run, Step};
use crate::span::UnixNanos;

/// What a memory gave back: part of the output, not of the call.
const FOUND: [&str; 3] = ["results", "scores", "total_available"];

impl List<'_> {
    /// Words that only an agent, a chain or a person's own operation tells of.
    pub(super) fn words(&mut self, role: &str, content: &Value, index: usize, at: UnixNanos) {
        let text = io::text(content);
        if content.is_null() || text.trim().is_empty() {
            return;
        }
        let mut metadata = Map::new();
        if let Some(span) = self.step(Some(index)).and_then(|step| step.span_id) {
            metadata.insert("span_id".into(), span.to_string().into());
        }
        let event = Message {
            role: role.to_owned(),
            content: Some(text.into()),
            timestamp: Some(at.rfc3339_offset()),
            ..Message::default()
        };
        self.push(event, metadata, Some(index), at);
    }

    /// A person's words or answer that an operation tells of, with what else it says.
    pub(super) fn told(&mut self, role: &str, content: &Value, index: usize) {
        let Some(step) = self.step(Some(index)) else { return };
        self.words(role, content, index, step.end_or_start());
        if let Some(draft) = self.drafts.last_mut().filter(|draft| draft.steps == [index]) {
            draft.metadata = content::metadata(self.run, step);
        }
    }

    /// A model call of which no words are recorded: that it took place.
    pub(super) fn silent_turn(&mut self, index: usize) {
        let Some(step) = self.step(Some(index)) else { return };
        let mut metadata = self.turn_metadata(step);
        if step.operation.failure.is_none() {
            metadata.insert("content_captured".into(), false.into());
        }
        let at = step.end_or_start();
        let event = Message {
            role: "assistant".to_owned(),
            content: Some(Value::Null),
            timestamp: Some(at.rfc3339_offset()),
            ..Message::default()
        };
        self.push(event, metadata, Some(index), at);
    }

    /// Calls that no model's output shows, as one assistant event.
    pub(super) fn lone_calls(&mut self, list: &[(&str, usize)], why: &str) {
        let mut calls_made = Vec::new();
        let mut at: Option<UnixNanos> = None;
        let mut spans = Vec::new();
        for &(call_id, index) in list {
            let Some(step) = self.step(Some(index)) else { continue };
            let (arguments, wrapped) = self.lone_arguments(step);
            let name = lone_name(self.run, step);
            if self.stands(call_id, &name, &arguments) {
                continue;
            }
            let id = self.bind(call_id, &name, arguments.clone());
            self.lose(step.span_id, format!("tool_calls[{id}]"), LossReason::Synthesized);
            if wrapped {
                self.lose(step.span_id, format!("tool_calls[{id}].function.arguments"), LossReason::Coerced);
            }
            at = Some(at.map_or(step.started_at, |at| at.min(step.started_at)));
            spans.extend(step.span_id.map(|span| Value::from(span.to_string())));
            calls_made.push(call(&id, &name, arguments));
        }
        let Some(at) = at else { return };
        let mut metadata = Map::from_iter([("synthesized".to_owned(), Value::from(why))]);
        if let Some(span) = spans.first().filter(|_| spans.len() == 1) {
            metadata.insert("span_id".into(), span.clone());
        }
        let event = Message {
            role: "assistant".to_owned(),
            content: Some(Value::Null),
            tool_calls: Some(Some(calls_made)),
            timestamp: Some(at.rfc3339_offset()),
            ..Message::default()
        };
        self.push(event, metadata, None, at);
    }

    fn lone_arguments(&self, step: &Step) -> (Map<String, Value>, bool) {
        let input = io::input(self.run, step).filter(|input| !input.is_null());
        let key = match step.operation.kind {
            Kind::Retrieval | Kind::Rerank | Kind::MemoryRead => "query",
            Kind::MemoryWrite => "data",
            Kind::Handoff => "message",
            _ => return arguments_object(input.as_ref()),
        };
        let mut arguments = Map::new();
        let mut said = content::metadata(self.run, step);
        for group in ["memory", "state"] {
            if let Some(Value::Object(map)) = said.shift_remove(group) {
                arguments.extend(map);
            }
        }
        for key in FOUND {
            arguments.shift_remove(key);
        }
        if let Some(input) = input {
            arguments.entry(key).or_insert(input);
        }
        (arguments, false)
    }

    /// A call and its output for an operation that stands on its own.
    pub(super) fn pair(&mut self, index: usize) {
        let Some(step) = self.step(Some(index)) else { return };
        let call_id = step.span_id.map_or_else(|| step.id.clone(), |span| span.to_string());
        self.lone_calls(&[(&call_id, index)], step.operation.kind.name());
        let result = ResultEntry {
            call_id,
            tool: Some(index),
            result: io::output(self.run, step).unwrap_or_default(),
            failure: step.operation.failure.clone(),
            attempt: 0,
        };
        self.output(Some(index), step.end_or_start(), &result, false);
        // The call holds the rest.
        if let Some(draft) = self.drafts.last_mut() {
            let memory = draft.metadata.shift_remove("memory");
            draft.metadata.shift_remove("state");
            let found = memory.and_then(|memory| memory.as_object().cloned()).unwrap_or_default();
            let found: Map<String, Value> = FOUND
                .into_iter()
                .filter(|key| *key != "results" || step.operation.kind != Kind::MemoryRead)
                .filter_map(|key| Some((key.to_owned(), found.get(key)?.clone())))
                .collect();
            if !found.is_empty() {
                draft.metadata.insert("memory".into(), found.into());
            }
        }
    }

    /// The output of a call that stands in a turn, where no entry of the conversation tells of it.
    pub(super) fn asked_output(&mut self, index: usize) {
        let Some(step) = self.step(Some(index)) else { return };
        match calls::call_id(self.run, step).filter(|id| self.is_bound(id)) {
            Some(call_id) => self.answer(index, call_id),
            None => self.pair(index),
        }
    }

    /// The output of a call that stands in the list, as this operation tells it.
    pub(super) fn answer(&mut self, index: usize, call_id: &str) {
        let Some(step) = self.step(Some(index)) else { return };
        let result = match step.operation.kind {
            Kind::Tool => calls::result(self.run, step).cloned(),
            _ => io::output(self.run, step),
        };
        let result = ResultEntry {
            call_id: call_id.to_owned(),
            tool: Some(index),
            result: result.unwrap_or_default(),
            failure: step.operation.failure.clone(),
            attempt: 0,
        };
        self.output(Some(index), step.end_or_start(), &result, false);
    }

    /// A result whose call nobody recorded gets one.
    pub(super) fn lone_calls_or_unknown(&mut self, call_id: &str, tool: Option<usize>, at: UnixNanos) {
        if let Some(index) = tool {
            self.lone_calls(&[(call_id, index)], "call");
        }
        if self.is_bound(call_id) {
            return;
        }
        let id = self.bind(call_id, "unknown", Map::new());
        self.lose(None, format!("tool_calls[{id}]"), LossReason::Synthesized);
        let event = Message {
            role: "assistant".to_owned(),
            content: Some(Value::Null),
            tool_calls: Some(Some(vec![call(&id, "unknown", Map::new())])),
            ..Message::default()
        };
        let metadata = Map::from_iter([("synthesized".to_owned(), "call".into())]);
        self.push(event, metadata, None, at);
    }

    /// Calls that stand one after another without a result between them: one event.
    pub(super) fn call_entries(&mut self, entries: &[&CallEntry]) {
        let list: Vec<(&str, usize)> = entries.iter().map(|entry| (entry.call_id.as_str(), entry.tool)).collect();
        self.lone_calls(&list, "call");
    }
}

fn lone_name(run: &Run, step: &Step) -> String {
    let name = if step.operation.kind == Kind::Tool {
        calls::tool_name(run, step)
    } else {
        &step.operation.name
    };
    if name.trim().is_empty() {
        step.operation.kind.name().to_owned()
    } else {
        name.to_owned()
    }
}
