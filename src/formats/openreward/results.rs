//! TOOL_RESULT blocks, and pairs of call and result made of one operation.

use super::document::SubType;
use super::facts;
use super::limits::{above, pieces};
use super::list::List;
use super::write::{BlockWriter, Conversation, Made, Outcome};
use crate::formats::json::{Json, Object};
use crate::formats::loss::LossReason;
use crate::operation::Failure;
use crate::run::{ScopeId, StepId};
use crate::span::UnixNanos;

impl<'a> BlockWriter<'a, '_> {
    pub(super) fn result(&mut self, list: &mut List<'a>, talk: &mut Conversation<'a>, entry: Outcome<'a>, at: UnixNanos) {
        let tool = entry.tool.and_then(|tool| self.step(tool));
        let by_place = tool.and_then(|tool| talk.places.get(&(tool.dispatched_by?, tool.call_index?)).copied());
        let known = talk.calls.get(&entry.call_id).copied().or(by_place);
        let call = match known {
            Some(call) if tool.is_none() && retold(list, call, &entry) => {
                self.lose(None, format!("tool_result {}: told again", entry.call_id), LossReason::Ambiguous);
                return;
            }
            Some(call) => call,
            None if tool.is_none() && blank(&entry) => {
                self.lose(None, "tool_result without a call and without content", LossReason::NoPlace);
                return;
            }
            None => self.call_for_result(list, talk, &entry, at),
        };
        let output = entry.failure.map_or_else(|| entry.result.clone(), error);
        let place = self.push_result(list, talk.scope, call, output, entry.tool, at, entry.attempt);
        let Some(place) = place else { return };
        if let Some(failure) = entry.failure
            && let Some(block) = list.block(place)
        {
            block.annotate_extra("status", "error");
            if let Some(word) = &failure.error_type {
                block.annotate("error_type", word.as_str());
            }
            if let Some(trace) = &failure.stacktrace {
                block.annotate("stacktrace", trace.as_str());
            }
            if !entry.result.is_null() && entry.result.as_str() != Some(failure.text()) {
                block.annotate("result", entry.result);
            }
        }
        let Some(step) = entry.tool else { return };
        let plan = self.plan;
        for scope in plan.inner.get(&step).into_iter().flatten() {
            self.sub_agent(list, talk, *scope, place);
        }
    }

    /// A TOOL_CALL and a TOOL_RESULT made of one operation.
    pub(super) fn pair(&mut self, list: &mut List<'a>, talk: &mut Conversation<'a>, index: StepId) {
        let Some(step) = self.step(index) else { return };
        let pair = super::pairs::pair(step);
        let (parent, _) = self.parent(list, talk, Some(index), step.started_at, "an operation on its own");
        let mut metadata = self.origin(Some(index));
        metadata.insert("parent_reason", "an operation on its own");
        metadata.insert("kind", step.operation.kind.name());
        let wanted = self.span_text(Some(index));
        let id = list.free_call_id(&wanted, || self.prefix(talk.scope, false, Some(index)));
        self.lose(
            step.span_id,
            format!("{} {}: told as a tool call", step.operation.kind.name(), pair.name),
            LossReason::Synthesized,
        );
        let made = Made {
            sub_type: SubType::ToolCall,
            role: "call",
            author: Some(index),
            at: step.started_at,
            parent: Some(parent),
            metadata,
        };
        let call = self.push_call(list, talk.scope, made, id, pair.name.into(), pair.arguments, Some(index));
        if let Some(block) = list.block(call)
            && block.raw.is_none()
        {
            block.raw = Some(pair.raw.into());
        }
        let failed = step.operation.failure.as_ref();
        if step.ended_at.is_none() && failed.is_none() && pair.output.is_null() {
            // What still runs has no result yet.
            let _ = self.covered.insert(index);
            if let Some(block) = list.block(call) {
                for (key, value) in facts::details(step) {
                    block.annotate(key, value);
                }
            }
            return;
        }
        let output = failed.map_or(pair.output, error);
        if let Some(place) = self.push_result(list, talk.scope, call, output, Some(index), step.end_or_start(), 0)
            && failed.is_some()
            && let Some(block) = list.block(place)
        {
            block.annotate_extra("status", "error");
        }
    }

    /// One TOOL_RESULT, or several deltas if it is too long: the place of the last.
    #[expect(clippy::too_many_arguments, reason = "one result's facts, each used once")]
    pub(super) fn push_result(
        &mut self,
        list: &mut List<'a>,
        stream: ScopeId,
        call: usize,
        output: Json<'a>,
        step: Option<StepId>,
        at: UnixNanos,
        attempt: u32,
    ) -> Option<usize> {
        let id = list.block(call)?.call_id()?;
        let mut metadata = self.origin(step);
        if let Some(tool) = step.and_then(|step| self.step(step)) {
            for (key, value) in facts::details(tool) {
                metadata.insert(key, value);
            }
            if let Some(server) = tool.operation.tool.as_ref().and_then(|tool| tool.mcp_server.as_deref()) {
                metadata.insert("server", server);
            }
        }
        if let Some(step) = step {
            let _ = self.covered.insert(step);
        }
        if attempt > 0 {
            metadata.insert("attempt", attempt);
        }
        let made = |metadata: Object<'a>| Made {
            sub_type: SubType::ToolResult,
            role: "result",
            author: step,
            at,
            parent: Some(call),
            metadata,
        };
        let Some(bytes) = above(&output, self.limits.result) else {
            let payload = Object::from([("call_id", id.into()), ("output", output)]);
            return Some(self.push(list, stream, made(metadata), payload, step));
        };
        let span = step.and_then(|step| self.span(step));
        self.lose(span, format!("tool_result output of {bytes} bytes"), LossReason::Split);
        let encoding = if output.as_str().is_some() { "text" } else { "json" };
        let text = output.into_text();
        let parts = pieces(&text, self.limits.result);
        let count = parts.len();
        let mut last = None;
        for (index, part) in parts.into_iter().enumerate() {
            let mut metadata = if index + 1 == count {
                std::mem::take(&mut metadata)
            } else {
                self.origin(step)
            };
            let place = [("index", index.into()), ("count", count.into()), ("encoding", encoding.into())];
            metadata.insert("part", Object::from(place));
            let payload = Object::from([("call_id", id.clone().into()), ("delta", part.to_owned().into())]);
            last = Some(self.push(list, stream, made(metadata), payload, step));
        }
        last
    }
}

/// What a failure gives back.
fn error(failure: &Failure) -> Json<'_> {
    Object::from([("error", failure.text().into())]).into()
}

/// Whether a result that no execution stands behind is one that the call has already.
fn retold(list: &mut List<'_>, call: usize, entry: &Outcome<'_>) -> bool {
    let output = entry.failure.map_or_else(|| entry.result.clone(), error);
    list.outputs(call).contains(&output.to_string())
}

fn blank(entry: &Outcome<'_>) -> bool {
    entry.failure.is_none() && (entry.result.is_null() || entry.result.as_str().is_some_and(|text| text.trim().is_empty()))
}
