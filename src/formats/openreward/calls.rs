//! TOOL_CALL blocks: ids that are unique in the trace, arguments that fit.

use serde_json::{Map, Value, json};

use super::digest::sha256;
use super::document::SubType;
use super::facts;
use super::limits::size;
use super::list::List;
use super::write::{Conversation, Made, Writer, object};
use crate::formats::LossReason;
use crate::operation::ToolCall;
use crate::operation::message::arguments_object;
use crate::run::{CallEntry, ResultEntry, Step};
use crate::span::UnixNanos;

impl Writer<'_> {
    /// A model's TOOL_CALL. `None` where it repeats an earlier one of the conversation.
    #[expect(clippy::too_many_arguments, reason = "one call's facts, each used once")]
    pub(super) fn call(
        &mut self,
        list: &mut List,
        talk: &mut Conversation,
        call: &ToolCall,
        asked: Option<(usize, usize)>,
        step: Option<usize>,
        parent: usize,
        mut metadata: Map<String, Value>,
        at: UnixNanos,
    ) -> Option<usize> {
        let span = step.and_then(|step| self.span(step));
        let (arguments, coerced) = call.arguments_object();
        if coerced {
            self.lose(
                span,
                format!("tool_call {}: arguments are no object", call.name),
                LossReason::Coerced,
            );
        }
        let recorded = call.id.as_deref().filter(|id| !id.is_empty());
        let name = if call.name.trim().is_empty() {
            self.lose(span, "tool_call without a name", LossReason::Synthesized);
            "unknown"
        } else {
            &call.name
        };
        if let Some(earlier) = recorded.and_then(|id| talk.calls.get(id)).copied() {
            let same = list.block(earlier).is_some_and(|block| {
                block.payload.get("name").and_then(Value::as_str) == Some(name)
                    && block.payload.get("arguments") == Some(&Value::Object(arguments.clone()))
            });
            if same {
                if let Some(asked) = asked {
                    let _ = talk.places.insert(asked, earlier);
                }
                self.lose(
                    span,
                    format!("tool_call {name}: asked for again with the same id"),
                    LossReason::Ambiguous,
                );
                return None;
            }
        }
        let derived = asked.is_some_and(|(step, index)| self.id_is_derived(step, index));
        let wanted = recorded.map_or_else(
            || {
                let index = asked.map_or(talk.calls.len(), |(_, index)| index);
                format!("{}:{index}", self.span_text(step))
            },
            str::to_owned,
        );
        if recorded.is_none() || derived {
            facts::put(&mut metadata, "call_id_derived", true);
            self.lose(span, format!("tool_call {name}: call_id"), LossReason::Synthesized);
        }
        let prefix = self.prefix(talk.scope, recorded.is_some_and(|id| talk.calls.contains_key(id)), step);
        let id = list.free_call_id(&wanted, &prefix);
        if id != wanted {
            facts::put(&mut metadata, "call_id", wanted.as_str());
        }
        let made = Made {
            sub_type: SubType::ToolCall,
            role: "call",
            author: None,
            at,
            parent: Some(parent),
            metadata,
        };
        let raw = call
            .arguments_text
            .as_ref()
            .filter(|text| coerced || serde_json::to_string(&arguments).ok().as_ref() != Some(text))
            .map(|text| json!({ "arguments": text }));
        let place = self.push_call(list, talk.scope, made, &id, name, arguments, step);
        if let Some(raw) = raw
            && let Some(block) = list.block(place)
            && block.raw.is_none()
        {
            block.raw = Some(raw);
        }
        let _ = talk.calls.insert(wanted, place);
        if let Some(asked) = asked {
            let _ = talk.places.insert(asked, place);
        }
        Some(place)
    }

    /// A call that only the tool's span tells of.
    pub(super) fn lone_call(&mut self, list: &mut List, talk: &mut Conversation, entry: &CallEntry, at: UnixNanos) {
        let Some(step) = self.step(entry.tool) else { return };
        let span = step.span_id;
        let (parent, _) = self.parent(list, talk, Some(entry.tool), at, "no model call asks for it");
        let mut metadata = self.origin(Some(entry.tool));
        facts::put(&mut metadata, "parent_reason", "no model call asks for it");
        let tool = step.operation.tool.as_ref();
        let name = tool_name(step);
        if tool.and_then(|tool| tool.call_id.as_deref()) != Some(entry.call_id.as_str()) {
            facts::put(&mut metadata, "call_id_derived", true);
        }
        self.lose(
            span,
            format!("tool_call {name}: no model call asks for it"),
            LossReason::Synthesized,
        );
        let (arguments, coerced) = arguments_object(tool.and_then(|tool| tool.arguments.as_ref()));
        if coerced {
            self.lose(span, format!("tool_call {name}: arguments are no object"), LossReason::Coerced);
        }
        let prefix = self.prefix(talk.scope, talk.calls.contains_key(&entry.call_id), Some(entry.tool));
        let id = list.free_call_id(&entry.call_id, &prefix);
        if id != entry.call_id {
            facts::put(&mut metadata, "call_id", entry.call_id.as_str());
        }
        let made = Made {
            sub_type: SubType::ToolCall,
            role: "call",
            author: Some(entry.tool),
            at,
            parent: Some(parent),
            metadata,
        };
        let place = self.push_call(list, talk.scope, made, &id, &name, arguments, Some(entry.tool));
        let _ = talk.calls.insert(entry.call_id.clone(), place);
    }

    pub(super) fn call_for_result(&mut self, list: &mut List, talk: &mut Conversation, entry: &ResultEntry, at: UnixNanos) -> usize {
        let span = entry.tool.and_then(|tool| self.span(tool));
        let step = entry.tool.and_then(|tool| self.step(tool));
        let name = step.map_or_else(|| "unknown".to_owned(), tool_name);
        let (arguments, _) = arguments_object(step.and_then(|step| step.operation.tool.as_ref()?.arguments.as_ref()));
        self.lose(
            span,
            format!("tool_call {name}: a result without its call"),
            LossReason::Synthesized,
        );
        let (parent, _) = self.parent(list, talk, entry.tool, at, "result without a call");
        let mut metadata = self.origin(entry.tool);
        facts::put(&mut metadata, "parent_reason", "result without a call");
        let wanted = if entry.call_id.is_empty() {
            self.span_text(entry.tool)
        } else {
            entry.call_id.clone()
        };
        let prefix = self.prefix(talk.scope, false, entry.tool);
        let id = list.free_call_id(&wanted, &prefix);
        let made = Made {
            sub_type: SubType::ToolCall,
            role: "call",
            author: entry.tool,
            at,
            parent: Some(parent),
            metadata,
        };
        let place = self.push_call(list, talk.scope, made, &id, &name, arguments, entry.tool);
        let _ = talk.calls.insert(entry.call_id.clone(), place);
        place
    }

    #[expect(clippy::too_many_arguments, reason = "one call's facts, each used once")]
    pub(super) fn push_call(
        &mut self,
        list: &mut List,
        stream: usize,
        mut made: Made,
        id: &str,
        name: &str,
        arguments: Map<String, Value>,
        step: Option<usize>,
    ) -> usize {
        let mut arguments = Value::Object(arguments);
        let bytes = size(&arguments);
        let mut whole = None;
        if bytes > self.limits.arguments {
            let text = arguments.to_string();
            let stand_in = json!({"omitted_bytes": bytes, "sha256": sha256(text.as_bytes())});
            whole = Some(json!({"arguments": std::mem::replace(&mut arguments, stand_in)}));
            facts::put(&mut made.metadata, "arguments_omitted", true);
            let span = step.and_then(|step| self.span(step));
            self.lose(span, format!("tool_call {name}: arguments of {bytes} bytes"), LossReason::Coerced);
        }
        let payload = object([("call_id", id.into()), ("name", name.into()), ("arguments", arguments)]);
        let place = self.push(list, stream, made, payload, step);
        if let Some(block) = list.block(place) {
            block.raw = whole;
        }
        place
    }

    /// What makes a call id of this conversation its own.
    pub(super) fn prefix(&self, scope: usize, repeated: bool, step: Option<usize>) -> String {
        if repeated {
            return self.span_text(step);
        }
        self.run
            .scopes
            .get(scope)
            .and_then(|scope| scope.agent.clone())
            .or_else(|| self.scope_span(scope).map(|span| span.to_string()))
            .unwrap_or_else(|| format!("conversation-{scope}"))
    }

    /// Whether the model's output had no id where the conversation has one.
    pub(super) fn id_is_derived(&self, step: usize, index: usize) -> bool {
        self.step(step)
            .and_then(|step| step.operation.output_messages.as_ref()?.first()?.tool_calls.get(index))
            .is_some_and(|call| call.id.is_none())
    }
}

fn tool_name(step: &Step) -> String {
    let name = step.operation.tool.as_ref().and_then(|tool| tool.name.as_deref());
    [name, Some(step.operation.name.as_str())]
        .into_iter()
        .flatten()
        .find(|name| !name.trim().is_empty())
        .unwrap_or("unknown")
        .to_owned()
}
