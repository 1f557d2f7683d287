//! Creates events from operations instead of conversations: words recorded only on agents, calls that are in no model's output,
//! separate operations.

use super::content;
use super::list::{List, Output, call};
use super::table::MESSAGE;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::operation::Kind;
use crate::run::{CallEntry, Run, Step, StepId};
use crate::span::UnixNanos;
use crate::transcript::facts as step_facts;
use crate::transcript::{calls, content as step_content};

/// What a memory returned: part of the output, not of the call.
const MEMORY_OUTPUT: [&str; 3] = ["results", "scores", "total_available"];

impl<'a> List<'a, '_> {
    /// Adds words recorded only on an agent, a chain or a user's separate operation.
    pub(super) fn words(&mut self, role: &'static str, content: Json<'a>, index: StepId, at: UnixNanos) {
        let is_null = content.is_null();
        let text = content.into_text();
        if is_null || text.trim().is_empty() {
            return;
        }
        let mut metadata = Object::new();
        let span = self.step(Some(index)).and_then(|step| step.span_id);
        metadata.add_filled("span_id", span.map(|span| span.to_string()));
        let event = MESSAGE.given([
            ("role", role.into()),
            ("content", text.into()),
            ("timestamp", self.timestamp(Some(index), at)),
        ]);
        self.push(event, metadata, Some(index), at);
    }

    /// Adds a user's words or answer recorded as an operation, with its other facts.
    pub(super) fn operation_words(&mut self, role: &'static str, content: Json<'a>, index: StepId) {
        let Some(step) = self.step(Some(index)) else { return };
        self.words(role, content, index, step.end_or_start());
        if let Some(draft) = self.drafts.last_mut().filter(|draft| draft.steps == [index]) {
            draft.metadata = content::metadata(self.run, step);
        }
    }

    /// Adds a model call without recorded words.
    pub(super) fn silent_turn(&mut self, index: StepId) {
        let Some(step) = self.step(Some(index)) else { return };
        let mut metadata = self.turn_metadata(step);
        if step.operation.failure.is_none() {
            let (name, value) = step_facts::silence(&step.operation);
            metadata.insert(name, value);
        }
        let at = step.end_or_start();
        let event = MESSAGE.given([
            ("role", "assistant".into()),
            ("content", Json::Null),
            ("timestamp", self.timestamp(Some(index), at)),
        ]);
        self.push(event, metadata, Some(index), at);
    }

    /// Adds calls that are in no model's output, as one assistant event.
    pub(super) fn lone_calls(&mut self, list: &[(Text<'a>, StepId)], why: &'static str) {
        let mut calls_made = Vec::new();
        let mut at: Option<UnixNanos> = None;
        let mut spans = Vec::new();
        for (call_id, index) in list {
            let Some(step) = self.step(Some(*index)) else { continue };
            let (arguments, wrapped) = self.lone_arguments(step);
            let name = lone_name(self.run, step);
            if self.contains_call(call_id, name, &arguments) {
                continue;
            }
            let id = self.bind(call_id.clone(), name.into(), arguments.clone());
            self.lose(step.span_id, format!("tool_calls[{id}]"), LossReason::Synthesized);
            if wrapped {
                self.lose(step.span_id, format!("tool_calls[{id}].function.arguments"), LossReason::Coerced);
            }
            at = Some(at.map_or(step.started_at, |at| at.min(step.started_at)));
            spans.extend(step.span_id.map(|span| span.to_string()));
            calls_made.push(call(id, name.into(), arguments));
        }
        let Some(at) = at else { return };
        let mut metadata = Object::from([("synthesized", why.into())]);
        if spans.len() == 1 {
            metadata.insert_filled("span_id", spans.pop());
        }
        let event = MESSAGE.given([
            ("role", "assistant".into()),
            ("content", Json::Null),
            ("tool_calls", calls_made.into()),
            ("timestamp", self.timestamp(list.first().map(|(_, step)| *step), at)),
        ]);
        self.push(event, metadata, None, at);
    }

    fn lone_arguments(&self, step: &'a Step) -> (Object<'a>, bool) {
        let input = step_content::input(self.run, step).filter(|input| !input.is_null());
        let key = match step.operation.kind {
            Kind::Retrieval | Kind::Rerank | Kind::MemoryRead => "query",
            Kind::MemoryWrite => "data",
            Kind::Handoff => "message",
            _ => {
                return match input {
                    Some(Json::Object(object)) => (object, false),
                    Some(Json::Text(text)) if text.is_empty() => (Object::new(), false),
                    Some(other) => (Object::from([("input", other)]), true),
                    None => (Object::new(), false),
                };
            }
        };
        let mut arguments = Object::new();
        let mut metadata = content::metadata(self.run, step);
        for group in ["memory", "state"] {
            if let Some(Json::Object(map)) = metadata.remove(group) {
                arguments.extend(map);
            }
        }
        for key in MEMORY_OUTPUT {
            arguments.remove(key);
        }
        if let Some(input) = input {
            arguments.insert_new(key, input);
        }
        (arguments, false)
    }

    /// Adds a call and an output for an operation without a call.
    pub(super) fn pair(&mut self, index: StepId) {
        let Some(step) = self.step(Some(index)) else { return };
        let call_id: Text<'a> = match step.span_id {
            Some(span) => span.to_string().into(),
            None => (&step.id).into(),
        };
        self.lone_calls(&[(call_id.clone(), index)], step.operation.kind.name());
        let result = Output {
            call_id,
            tool: Some(index),
            result: step_content::output(self.facts.results(), step).unwrap_or_default(),
            failure: step.operation.failure.as_ref(),
            name: None,
        };
        self.output(Some(index), step.end_or_start(), result, false);
        // The call has the other facts.
        if let Some(draft) = self.drafts.last_mut() {
            let memory = draft.metadata.remove("memory");
            draft.metadata.remove("state");
            let mut found = Object::new();
            if let Some(Json::Object(mut memory)) = memory {
                for key in MEMORY_OUTPUT {
                    if let Some(value) = memory
                        .remove(key)
                        .filter(|_| key != "results" || step.operation.kind != Kind::MemoryRead)
                    {
                        found.add(key, value);
                    }
                }
            }
            draft.metadata.insert_filled("memory", found);
        }
    }

    /// Adds the output of a call in a turn, if no entry of the conversation contains it.
    pub(super) fn asked_output(&mut self, index: StepId) {
        let Some(step) = self.step(Some(index)) else { return };
        match calls::call_id(self.run, step).filter(|id| self.is_bound(id)) {
            Some(call_id) => self.answer(index, call_id),
            None => self.pair(index),
        }
    }

    /// Adds this operation's output for a call in the list.
    pub(super) fn answer(&mut self, index: StepId, call_id: &'a str) {
        let Some(step) = self.step(Some(index)) else { return };
        let result = match step.operation.kind {
            Kind::Tool => self.facts.results().get(step).map(Json::from),
            _ => step_content::output(self.facts.results(), step),
        };
        let result = Output {
            call_id: call_id.into(),
            tool: Some(index),
            result: result.unwrap_or_default(),
            failure: step.operation.failure.as_ref(),
            name: None,
        };
        self.output(Some(index), step.end_or_start(), result, false);
    }

    /// Adds a call for a result whose call was not recorded, if its tool is known. Returns whether the call exists.
    pub(super) fn lone_call(&mut self, call_id: &Text<'a>, tool: Option<StepId>, name: Option<&'a str>, at: UnixNanos) -> bool {
        if let Some(index) = tool {
            self.lone_calls(&[(call_id.clone(), index)], "call");
        }
        if self.is_bound(call_id) {
            return true;
        }
        let Some(name) = name else { return false };
        let id = self.bind(call_id.clone(), name.into(), Object::new());
        self.lose(None, format!("tool_calls[{id}]"), LossReason::Synthesized);
        let event = MESSAGE.given([
            ("role", "assistant".into()),
            ("content", Json::Null),
            ("tool_calls", Json::List(vec![call(id, name.into(), Object::new())])),
        ]);
        let metadata = Object::from([("synthesized", "call".into())]);
        self.push(event, metadata, None, at);
        true
    }

    /// Adds consecutive calls without a result between them as one event.
    pub(super) fn call_entries(&mut self, entries: &[&'a CallEntry]) {
        let list: Vec<(Text<'a>, StepId)> = entries.iter().map(|entry| ((&entry.call_id).into(), entry.tool)).collect();
        self.lone_calls(&list, "call");
    }
}

fn lone_name<'a>(run: &'a Run, step: &'a Step) -> &'a str {
    let name = if step.operation.kind == Kind::Tool {
        calls::tool_name(run, step)
    } else {
        &step.operation.name
    };
    if name.trim().is_empty() { step.operation.kind.name() } else { name }
}
