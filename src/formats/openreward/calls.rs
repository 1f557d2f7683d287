//! Writes TOOL_CALL blocks with ids that are unique in the trace and arguments within the limits.

use super::digest::sha256;
use super::list::List;
use super::write::{BlockParts, BlockWriter, Moment, StreamState, ToolOutcome};
use crate::blocks::document::SubType;
use crate::blocks::limits::above;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::document::text::compact;
use crate::operation::{ToolCall, is_counter};
use crate::run::{CallEntry, ScopeId, Step, StepId};
use crate::span::UnixNanos;
use crate::transcript::calls::arguments_object;

impl<'a> BlockWriter<'a, '_> {
    /// Writes a model's TOOL_CALL; returns `None` if it repeats an earlier one of the conversation.
    pub(super) fn call(
        &mut self,
        talk: &mut StreamState<'a, '_>,
        call: &'a ToolCall,
        asked: Option<(StepId, usize)>,
        mut made: BlockParts<'a>,
    ) -> Option<usize> {
        let (step, span) = (made.moment.step, self.span_of(made.moment));
        let (arguments, coerced) = arguments_object(call.arguments.as_ref());
        if coerced {
            let what = format!("tool_call {}: arguments are not an object", call.name);
            self.lose(span, what, LossReason::Coerced);
        }
        let recorded = call.id.as_deref().filter(|id| !id.is_empty());
        let name = if call.name.trim().is_empty() {
            self.lose(span, "tool_call without a name", LossReason::Synthesized);
            "unknown"
        } else {
            &call.name
        };
        // With ids that restart in each answer, it is a different call.
        if let Some(earlier) = recorded.filter(|id| !is_counter(id)).and_then(|id| talk.calls.get(id)).copied() {
            let same = talk
                .list
                .block(earlier)
                .and_then(|block| block.payload.as_object())
                .is_some_and(|payload| {
                    payload.get("name").is_some_and(|value| value.as_str() == Some(name))
                        && payload.get("arguments").is_some_and(|value| value.as_object() == Some(&arguments))
                });
            if same {
                if let Some(asked) = asked {
                    let _ = talk.places.insert(asked, earlier);
                }
                let what = format!("tool_call {name}: asked for again with the same id");
                self.lose(span, what, LossReason::Ambiguous);
                return None;
            }
        }
        let wanted: Text<'a> = match recorded {
            Some(id) => id.into(),
            None => {
                let index = asked.map_or(talk.calls.len(), |(_, index)| index);
                format!("{}:{index}", self.span_text(step)).into()
            }
        };
        if call.recorded_id().is_none() {
            made.metadata.insert("call_id_derived", true);
            self.lose(span, format!("tool_call {name}: call_id"), LossReason::Synthesized);
        }
        let repeated = recorded.is_some_and(|id| talk.calls.contains_key(id));
        let id = talk.list.free_call_id(&wanted, || self.prefix(talk.scope, repeated, step));
        if id != wanted {
            made.metadata.insert("call_id", wanted.clone());
        }
        let raw = call
            .arguments_text
            .as_ref()
            .filter(|text| coerced || compact(&arguments) != **text)
            .map(|text| Object::from([("arguments", text.into())]));
        let place = self.push_call(talk.list, talk.scope, made, id, name.into(), arguments);
        if let Some(raw) = raw
            && let Some(block) = talk.list.block(place)
            && block.raw.is_none()
        {
            block.raw = Some(raw.into());
        }
        let _ = talk.calls.insert(wanted, place);
        if let Some(asked) = asked {
            let _ = talk.places.insert(asked, place);
        }
        Some(place)
    }

    /// Writes a call that only the tool's span records.
    pub(super) fn lone_call(&mut self, talk: &mut StreamState<'a, '_>, entry: &'a CallEntry, at: UnixNanos) {
        let Some(step) = self.step(entry.tool) else { return };
        let span = step.span_id;
        let mut made = self.unasked(talk, Some(entry.tool), at, "no model call asks for it");
        let tool = step.operation.tool.as_ref();
        let name = tool_name(step);
        if entry.call_id.is_derived() {
            made.metadata.insert("call_id_derived", true);
        }
        let what = format!("tool_call {name}: no model call asks for it");
        self.lose(span, what, LossReason::Synthesized);
        let (arguments, coerced) = arguments_object(tool.and_then(|tool| tool.arguments.as_ref()));
        if coerced {
            self.lose(span, format!("tool_call {name}: arguments are not an object"), LossReason::Coerced);
        }
        let wanted = Text::from(&entry.call_id);
        let repeated = talk.calls.contains_key(&wanted);
        let id = talk
            .list
            .free_call_id(&wanted, || self.prefix(talk.scope, repeated, Some(entry.tool)));
        if id != wanted {
            made.metadata.insert("call_id", entry.call_id.as_str());
        }
        let place = self.push_call(talk.list, talk.scope, made, id, name.into(), arguments);
        let _ = talk.calls.insert(wanted, place);
    }

    pub(super) fn call_for_result(
        &mut self,
        talk: &mut StreamState<'a, '_>,
        entry: &ToolOutcome<'a>,
        name: &'a str,
        at: UnixNanos,
    ) -> usize {
        let span = entry.tool.and_then(|tool| self.span(tool));
        let step = entry.tool.and_then(|tool| self.step(tool));
        let (arguments, _) = arguments_object(step.and_then(|step| step.operation.tool.as_ref()?.arguments.as_ref()));
        let what = format!("tool_call {name}: a result without its call");
        self.lose(span, what, LossReason::Synthesized);
        let made = self.unasked(talk, entry.tool, at, "result without a call");
        let wanted = if entry.call_id.is_empty() {
            self.span_text(entry.tool)
        } else {
            entry.call_id.clone()
        };
        let id = talk.list.free_call_id(&wanted, || self.prefix(talk.scope, false, entry.tool));
        let place = self.push_call(talk.list, talk.scope, made, id, name.into(), arguments);
        let _ = talk.calls.insert(entry.call_id.clone(), place);
        place
    }

    /// A TOOL_CALL that no model's message has, below the nearest message. `reason`: why it is there.
    pub(super) fn unasked(
        &mut self,
        talk: &mut StreamState<'a, '_>,
        step: Option<StepId>,
        at: UnixNanos,
        reason: &'static str,
    ) -> BlockParts<'a> {
        let moment = Moment { step, at };
        let (parent, _) = self.parent(talk, moment, reason);
        let mut metadata = self.origin(step);
        metadata.insert("parent_reason", reason);
        BlockParts::below(parent, SubType::ToolCall, moment, metadata).by_its_step()
    }

    pub(super) fn push_call(
        &mut self,
        list: &mut List<'a>,
        stream: ScopeId,
        mut made: BlockParts<'a>,
        id: Text<'a>,
        name: Text<'a>,
        arguments: Object<'a>,
    ) -> usize {
        let mut arguments = Json::Object(arguments);
        let mut whole = None;
        if let Some(bytes) = above(&arguments, self.limits.arguments) {
            let text = arguments.to_string();
            let stand_in = Object::from([("omitted_bytes", bytes.into()), ("sha256", sha256(text.as_bytes()).into())]);
            let omitted = std::mem::replace(&mut arguments, stand_in.into());
            whole = Some(Object::from([("arguments", omitted)]).into());
            made.metadata.insert("arguments_omitted", true);
            let span = self.span_of(made.moment);
            self.lose(span, format!("tool_call {name}: arguments of {bytes} bytes"), LossReason::Coerced);
        }
        let payload = Object::from([("call_id", id.into()), ("name", name.into()), ("arguments", arguments)]);
        let place = self.push(list, stream, made, payload);
        if let Some(block) = list.block(place) {
            block.raw = whole;
        }
        place
    }

    /// The prefix that makes a call id of this conversation unique.
    pub(super) fn prefix(&self, scope: ScopeId, repeated: bool, step: Option<StepId>) -> Text<'a> {
        if repeated {
            return self.span_text(step);
        }
        let agent = self.run.scopes.get(scope).and_then(|scope| scope.agent.as_ref());
        agent
            .map(Text::from)
            .or_else(|| self.scope_span(scope).map(|span| span.to_string().into()))
            .unwrap_or_else(|| format!("conversation-{scope}").into())
    }
}

pub(super) fn tool_name(step: &Step) -> &str {
    let name = step.operation.tool.as_ref().and_then(|tool| tool.name.as_deref());
    [name, Some(step.operation.name.as_str())]
        .into_iter()
        .flatten()
        .find(|name| !name.trim().is_empty())
        .unwrap_or("unknown")
}
