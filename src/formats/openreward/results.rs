//! Writes TOOL_RESULT blocks, and pairs of call and result for one operation.

use super::calls::tool_name;
use super::facts;
use super::list::List;
use super::write::{BlockParts, BlockWriter, Moment, StreamState, ToolOutcome};
use crate::blocks::document::SubType;
use crate::blocks::limits::{above, pieces};
use crate::document::json::{Json, Object};
use crate::document::loss::LossReason;
use crate::operation::{Failure, Operation};
use crate::run::{ScopeId, StepId};
use crate::span::UnixNanos;
use crate::transcript::calls::arguments_object;

impl<'a> BlockWriter<'a, '_> {
    pub(super) fn result(&mut self, talk: &mut StreamState<'a, '_>, entry: ToolOutcome<'a>, at: UnixNanos) {
        let tool = entry.tool.and_then(|tool| self.step(tool));
        let by_place = tool.and_then(|tool| talk.places.get(&(tool.dispatched_by?, tool.call_index?)).copied());
        let known = talk.calls.get(&entry.call_id).copied().or(by_place);
        let call = match known {
            Some(call) if tool.is_none() && is_repeated(talk.list, call, &entry) => {
                self.lose(None, format!("tool_result {}: repeated", entry.call_id), LossReason::Ambiguous);
                return;
            }
            Some(call) => call,
            None if tool.is_none() && blank(&entry) => {
                self.lose(None, "tool_result without a call and without content", LossReason::NoPlace);
                return;
            }
            None => match entry.tool.and_then(|tool| self.step(tool)).map(tool_name).or(entry.name) {
                Some(name) => self.call_for_result(talk, &entry, name, at),
                None => return self.result_of_nothing(talk.list, entry),
            },
        };
        let mut metadata = self.origin(entry.tool);
        if let Some(tool) = tool {
            let about = beside_call(talk.list, call, &entry.result, &tool.operation);
            metadata.extend(facts::of_step(self.run, tool, about));
        }
        if entry.attempt > 0 {
            metadata.insert("attempt", entry.attempt);
        }
        let moment = Moment { step: entry.tool, at };
        let made = BlockParts::below(call, SubType::ToolResult, moment, metadata).by_its_step();
        let place = self.push_outcome(talk.list, talk.scope, made, entry.result, entry.failure);
        let Some(place) = place else { return };
        let Some(step) = entry.tool else { return };
        let plan = self.plan;
        for scope in plan.inner.get(&step).into_iter().flatten() {
            self.sub_agent(talk, *scope, place);
        }
    }

    /// Writes a result whose call and tool were not recorded. A block for it would need a named call, so the previous block holds it.
    fn result_of_nothing(&mut self, list: &mut List<'a>, entry: ToolOutcome<'a>) {
        let what = format!("tool_result {}: neither its call nor its tool was recorded", entry.call_id);
        self.lose(None, what, LossReason::NoPlace);
        let presented = Object::from([("call_id", entry.call_id.into()), ("output", entry.result)]);
        if let Some(block) = list.drafts.len().checked_sub(1).and_then(|last| list.block(last)) {
            block.push("results_without_call", presented);
        }
    }

    /// Writes an execution without a result on the block of its call; on a model's call it goes to `around`.
    pub(super) fn annotate_call(&mut self, list: &mut List<'a>, tool: StepId, call: usize) {
        let Some(step) = self.step(tool).filter(|_| self.covered.insert(tool)) else {
            return;
        };
        let is_own = list.drafts.get(call).is_some_and(|draft| draft.author == Some(tool));
        let about = beside_call(list, call, &Json::Null, &step.operation);
        let mut presented = Object::new();
        if !is_own {
            presented.insert("kind", step.operation.kind.name());
            presented.insert("name", step.operation.name.as_str());
            presented.extend(facts::origin(self.run, step));
        }
        presented.extend(facts::of_step(self.run, step, about));
        presented.extend(facts::error(&step.operation));
        let Some(block) = list.block(call) else { return };
        if is_own {
            block.annotate_all(presented);
        } else {
            block.push("around", presented);
        }
    }

    /// Writes a TOOL_CALL and a TOOL_RESULT for one operation.
    pub(super) fn pair(&mut self, talk: &mut StreamState<'a, '_>, index: StepId) {
        let Some(step) = self.step(index) else { return };
        let pair = super::pairs::pair(step);
        let facts = facts::of_step(self.run, step, pair.beside);
        let mut made = self.unasked(talk, Some(index), step.started_at, "an operation on its own");
        made.metadata.insert("kind", step.operation.kind.name());
        let wanted = self.span_text(Some(index));
        let id = talk.list.free_call_id(&wanted, || self.prefix(talk.scope, false, Some(index)));
        let what = format!("{} {}: written as a tool call", step.operation.kind.name(), pair.name);
        self.lose(step.span_id, what, LossReason::Synthesized);
        let call = self.push_call(talk.list, talk.scope, made, id, pair.name.into(), pair.arguments);
        if let Some(block) = talk.list.block(call)
            && block.raw.is_none()
        {
            block.raw = Some(pair.raw.into());
        }
        let failed = step.operation.failure.as_ref();
        if step.ended_at.is_none() && failed.is_none() && pair.output.is_null() {
            // A running operation has no result yet.
            let _ = self.covered.insert(index);
            if let Some(block) = talk.list.block(call) {
                block.annotate_all(facts);
            }
            return;
        }
        let mut metadata = self.origin(Some(index));
        metadata.extend(facts);
        let moment = Moment {
            step: Some(index),
            at: step.end_or_start(),
        };
        let made = BlockParts::below(call, SubType::ToolResult, moment, metadata).by_its_step();
        let _ = self.push_outcome(talk.list, talk.scope, made, pair.output, failed);
    }

    /// Writes the result, or the failure with any result in its metadata.
    fn push_outcome(
        &mut self,
        list: &mut List<'a>,
        stream: ScopeId,
        made: BlockParts<'a>,
        result: Json<'a>,
        failure: Option<&'a Failure>,
    ) -> Option<usize> {
        let Some(failure) = failure else {
            return self.push_result(list, stream, made, result);
        };
        let place = self.push_result(list, stream, made, error(failure))?;
        let block = list.block(place)?;
        block.annotate_extra("status", "error");
        if let Some(word) = &failure.error_type {
            block.annotate("error_type", word.as_str());
        }
        if let Some(trace) = &failure.stacktrace {
            block.annotate("stacktrace", trace.as_str());
        }
        if !result.is_null() && result.as_str() != Some(failure.text()) {
            block.annotate("result", result);
        }
        Some(place)
    }

    /// Writes one TOOL_RESULT, or several deltas if it is too long; returns the index of the last.
    fn push_result(&mut self, list: &mut List<'a>, stream: ScopeId, made: BlockParts<'a>, output: Json<'a>) -> Option<usize> {
        let id = list.block(made.parent?)?.call_id()?;
        let Moment { step, .. } = made.moment;
        self.covered.extend(step);
        let Some(bytes) = above(&output, self.limits.result) else {
            let payload = Object::from([("call_id", id.into()), ("output", output)]);
            return Some(self.push(list, stream, made, payload));
        };
        let span = self.span_of(made.moment);
        self.lose(span, format!("tool_result output of {bytes} bytes"), LossReason::Split);
        let encoding = if output.as_str().is_some() { "text" } else { "json" };
        let text = output.into_text();
        let parts = pieces(&text, self.limits.result);
        let count = parts.len();
        let mut last = None;
        for (index, part) in parts.into_iter().enumerate() {
            let metadata = match index + 1 == count {
                true => made.metadata.clone(),
                false => self.origin(step),
            };
            let mut delta = BlockParts { metadata, ..made };
            let place = [("index", index.into()), ("count", count.into()), ("encoding", encoding.into())];
            delta.metadata.insert("part", Object::from(place));
            let payload = Object::from([("call_id", id.clone().into()), ("delta", part.to_owned().into())]);
            last = Some(self.push(list, stream, delta, payload));
        }
        last
    }
}

/// The facts of an execution that its call and its result do not contain.
fn beside_call<'a>(list: &mut List<'a>, call: usize, result: &Json<'a>, operation: &'a Operation) -> Object<'a> {
    let mut about = facts::about(operation);
    let Some(block) = list.block(call) else { return about };
    let Some(presented) = block.payload.as_object() else { return about };
    let is_written = |key: &str, value: &Json<'a>| presented.get(key).is_some_and(|presented| *presented == *value);
    let metadata = block.metadata.as_ref().and_then(Json::as_object);
    let is_whole = || !metadata.is_some_and(|metadata| metadata.contains_key("arguments_omitted"));
    let is_id = |value: &Json<'a>| {
        metadata
            .and_then(|metadata| metadata.get("call_id"))
            .is_some_and(|id| *id == *value)
    };
    about.retain(|key, value| match key {
        "tool_name" => !is_written("name", value),
        "tool_call_id" => !is_written("call_id", value) && !is_id(value),
        // A client may run a tool with other arguments than the model's.
        "arguments" => {
            let own = operation.tool.as_ref().and_then(|tool| tool.arguments.as_ref());
            is_whole() && !is_written("arguments", &arguments_object(own).0.into())
        }
        "result" => value != result,
        _ => true,
    });
    about
}

/// The output of a failed call.
fn error(failure: &Failure) -> Json<'_> {
    Object::from([("error", failure.text().into())]).into()
}

/// Whether a result without an execution repeats one that the call already has.
fn is_repeated(list: &mut List<'_>, call: usize, entry: &ToolOutcome<'_>) -> bool {
    let output = entry.failure.map_or_else(|| entry.result.clone(), error);
    list.outputs(call).contains(&output.to_string())
}

fn blank(entry: &ToolOutcome<'_>) -> bool {
    entry.failure.is_none() && (entry.result.is_null() || entry.result.as_str().is_some_and(|text| text.trim().is_empty()))
}
