//! Calls missing from every model output, of an agent whose span has only its answer.

use crate::hash::HashSet;
use crate::operation::{Message, Role, ToolCall, ToolCallId, ToolUse};
use crate::run::id::NodeId;
use crate::run::node::Nodes;
use crate::span::SpanId;
use crate::trace::{Finding, FindingKind};

/// A model's output, and the results that followed.
pub(super) type Round = (Option<Message>, Vec<Message>);

/// The turn that asked for tools whose spans have a call id, and these tools, if the agent's span has only the answer: only a model
/// assigns such ids. Calls that the history shows are not part of this answer.
pub(super) fn round(nodes: &Nodes, history: &[Message], rounds: &[Round], tools: &[NodeId]) -> Option<(Round, Vec<SpanId>)> {
    let [(Some(answer), _)] = rounds else { return None };
    if !answer.tool_calls.is_empty() {
        return None;
    }
    let (mut asking, mut results, mut spans) = (Message::text(Role::Assistant, ""), Vec::new(), Vec::new());
    asking.parts.clear();
    let asked = history.iter().flat_map(|message| &message.tool_calls);
    let mut known: HashSet<&str> = asked.filter_map(|call| call.id.as_deref()).collect();
    for tool in tools.iter().filter_map(|tool| nodes.get(*tool)) {
        let Some(used) = tool.operation.tool.as_deref() else { continue };
        let Some(id) = used.call_id.as_deref().filter(|_| used.name.is_some()) else {
            continue;
        };
        if !known.insert(id) {
            continue;
        }
        let (call, result) = call_and_result(used);
        asking.tool_calls.push(call);
        results.extend(result);
        spans.push(tool.span_id);
    }
    (!spans.is_empty()).then_some(((Some(asking), results), spans))
}

/// The call that a tool ran for, and its result, in the form of messages.
pub(super) fn call_and_result(used: &ToolUse) -> (ToolCall, Option<Message>) {
    let call = ToolCall {
        id: used.call_id.clone().map(ToolCallId::Recorded),
        name: used.name.clone().unwrap_or_default(),
        arguments: used.arguments.clone(),
        ..ToolCall::default()
    };
    let result = used.result.as_ref().map(|result| Message {
        role: Role::Tool,
        name: used.name.clone().filter(|_| used.call_id.is_none()),
        tool_call_id: used.call_id.clone(),
        result: Some(result.clone().into()),
        ..Message::default()
    });
    (call, result)
}

pub(super) fn finding(tool: SpanId) -> Finding {
    let detail = "it has a call's id, and no output shows the call: a turn before the agent's answer is taken for the one that asked";
    Finding::new(Some(tool), FindingKind::AmbiguousCall, detail)
}
