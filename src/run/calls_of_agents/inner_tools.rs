//! Tools that ran during one model call, which records only the final answer, or all its turns in one message.
//!
//! A client that calls functions by itself (Google GenAI's automatic function calling), or a harness with one span for everything,
//! records one call with the last text, and the tools below it. A tool that ended before that text cannot have followed it. Others
//! (Mastra without its steps, Latitude's first spans of Claude Code) record the calls in the same message as the text.

use std::ops::Range;

use super::unseen_calls::call_and_result;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, Message, Operation, Role, ToolUse};
use crate::run::id::NodeId;
use crate::run::node::Nodes;
use crate::span::{SpanId, UnixNanos};
use crate::trace::{Finding, FindingKind};

/// Inserts the calls of such tools, and their results, before the answer of the model call.
pub(super) fn show(nodes: &mut Nodes) {
    show_unseen(nodes);
    split_merged(nodes);
}

fn show_unseen(nodes: &mut Nodes) {
    let above = nodes.nearest_above(|kind| !matches!(kind, Kind::Plain | Kind::Chain));
    let call_above = |tool: &NodeId| above.known(*tool).filter(|up| nodes.kind(*up) == Kind::Llm);
    let tools = nodes.of_kind(Kind::Tool).into_iter();
    let below: Vec<(NodeId, NodeId)> = tools.filter_map(|tool| Some((tool, call_above(&tool)?))).collect();
    if below.is_empty() {
        return;
    }
    let calls = nodes.of_kind(Kind::Llm);
    let shown = ShownCalls::of(nodes, &calls);
    let mut by_call: HashMap<NodeId, Vec<NodeId>> = HashMap::default();
    for (tool, call) in below {
        if is_inside(nodes, tool, call, &shown) {
            by_call.entry(call).or_default().push(tool);
        }
    }
    for call in calls {
        let Some(tools) = by_call.remove(&call) else { continue };
        let (exchange, spans) = exchange(nodes, &tools);
        let answer = nodes.get_mut(call).and_then(|node| node.operation.output_messages.as_mut());
        if let Some(answer) = answer.filter(|list| is_answer(list)) {
            let _ = answer.splice(0..0, exchange);
            nodes.findings.extend(spans.into_iter().map(finding));
        }
    }
}

/// Splits answers that are several turns in one message: text plus calls that were all asked for, run and answered during the model
/// call. The text came last.
///
/// A client that runs tools while the answer still streams passes the results to another call. So only the last call of an agent is
/// split, and only if no call received the results. A call whose span is around its tools (ADK) ends with them, without further text.
fn split_merged(nodes: &mut Nodes) {
    let mut merged: Vec<NodeId> = nodes
        .of_kind(Kind::Llm)
        .into_iter()
        .filter(|call| is_merged(nodes, *call))
        .collect();
    if merged.is_empty() {
        return;
    }
    let agents = nodes.nearest_above(|kind| kind == Kind::Agent);
    let calls = nodes.of_kind(Kind::Llm).into_iter();
    let last: HashMap<Option<NodeId>, NodeId> = calls.map(|call| (agents.known(call), call)).collect();
    merged.retain(|call| last.get(&agents.known(*call)) == Some(call));
    let mut given: HashSet<String> = HashSet::default();
    let mut heard = ExaminedRanges::default();
    for operation in nodes
        .of_kind(Kind::Llm)
        .into_iter()
        .filter_map(|call| Some(&nodes.get(call)?.operation))
    {
        for message in heard.new_of(operation) {
            let asked = message.tool_calls.iter().filter_map(|call| call.recorded_id());
            asked.chain(message.tool_call_id.as_deref()).for_each(|id| add(&mut given, id));
        }
    }
    let mut by_id: HashMap<String, NodeId> = HashMap::default();
    for tool in nodes.of_kind(Kind::Tool) {
        let used = nodes.get(tool).and_then(|node| node.operation.tool.as_deref());
        if let Some(id) = used.and_then(|used| used.call_id.clone()) {
            let _ = by_id.insert(id, tool);
        }
    }
    // A result is copied to one call only, however many have its id.
    let mut taken: HashSet<NodeId> = HashSet::default();
    for call in merged {
        let Some((results, spans)) = results_inside(nodes, call, &given, &by_id, &mut taken) else {
            continue;
        };
        let Some(node) = nodes.get_mut(call) else { continue };
        if node.beside.ended_by_itself {
            node.operation.finish_reason = Some("stop".to_owned());
        }
        let answer = node.operation.output_messages.as_mut();
        let Some((answer, mut words)) = answer.and_then(|list| list.pop().map(|words| (list, words))) else {
            continue;
        };
        let asking = Message {
            role: Role::Assistant,
            tool_calls: std::mem::take(&mut words.tool_calls),
            ..Message::default()
        };
        answer.push(asking);
        answer.extend(results);
        answer.push(words);
        nodes.findings.extend(spans.into_iter().map(merged_finding));
    }
}

/// Whether the answer of a call is text plus tool calls, and nothing says that the calls came last.
fn is_merged(nodes: &Nodes, call: NodeId) -> bool {
    let Some(node) = nodes.get(call).filter(|node| node.agent_turn.is_none()) else {
        return false;
    };
    let Some([answer]) = node.operation.output_messages.as_deref() else {
        return false;
    };
    let reason = node.operation.finish_reason.as_deref();
    let ends_with_calls = reason == Some("tool_call") && !node.beside.ended_by_itself;
    answer.role == Role::Assistant && answer.has_words() && answer.asks_for_tools() && !ends_with_calls
}

/// The results of all calls of an answer, if the tools ran during the model call and no other call received the results.
fn results_inside(
    nodes: &Nodes,
    call: NodeId,
    given: &HashSet<String>,
    by_id: &HashMap<String, NodeId>,
    taken: &mut HashSet<NodeId>,
) -> Option<(Vec<Message>, Vec<SpanId>)> {
    let node = nodes.get(call)?;
    let [answer] = node.operation.output_messages.as_deref()? else {
        return None;
    };
    let (mut results, mut spans) = (Vec::new(), Vec::new());
    for asked in &answer.tool_calls {
        let id = asked.recorded_id().filter(|id| !given.contains(*id))?;
        let place = by_id.get(id).copied().filter(|place| taken.insert(*place))?;
        let tool = nodes.get(place)?;
        let is_below = nodes.parent(place) == Some(call);
        let (from, to) = (node.start, node.end?);
        let (begun, ended) = (tool.start, tool.end?);
        // A client may give all spans of a turn the turn's times.
        let of_turn = is_below && (begun, ended) == (from, to);
        let inside = of_turn || begun > from && ended < to && has_time_for_words(from, ended, to);
        let used = tool.operation.tool.as_deref().filter(|_| inside)?;
        results.push(call_and_result(used).1.unwrap_or_else(|| no_result(used)));
        spans.push(tool.span_id);
    }
    Some((results, spans))
}

/// Whether a model call had a tenth of its time left to write text when a tool ended.
fn has_time_for_words(from: UnixNanos, tool_ended: UnixNanos, to: UnixNanos) -> bool {
    let (left, whole) = (to.0.saturating_sub(tool_ended.0), to.0.saturating_sub(from.0));
    left.saturating_mul(10) >= whole
}

/// The calls that messages of any model call show.
#[derive(Default)]
struct ShownCalls {
    ids: HashSet<String>,
    names: HashSet<String>,
    /// The tools of calls without an id.
    names_without_id: HashSet<String>,
    /// Whether a result does not identify its call in any way.
    has_nameless_result: bool,
}

impl ShownCalls {
    fn of(nodes: &Nodes, calls: &[NodeId]) -> Self {
        let mut out = Self::default();
        let mut heard = ExaminedRanges::default();
        for operation in calls.iter().filter_map(|call| Some(&nodes.get(*call)?.operation)) {
            let said = operation.output_messages.iter().flatten();
            for message in said.chain(heard.new_of(operation)) {
                for call in &message.tool_calls {
                    match call.recorded_id() {
                        Some(id) => add(&mut out.ids, id),
                        None => add(&mut out.names_without_id, &call.name),
                    }
                    add(&mut out.names, &call.name);
                }
                match (&message.tool_call_id, &message.name) {
                    _ if message.role != Role::Tool => {}
                    (Some(id), _) => add(&mut out.ids, id),
                    (None, Some(name)) => add(&mut out.names_without_id, name),
                    (None, None) => out.has_nameless_result = true,
                }
            }
        }
        out
    }

    fn may_have(&self, tool: &ToolUse) -> bool {
        let is_named = |names: &HashSet<String>| tool.name.as_ref().is_some_and(|name| names.contains(name));
        self.has_nameless_result
            || is_named(&self.names_without_id)
            || match &tool.call_id {
                Some(id) => self.ids.contains(id),
                None => is_named(&self.names),
            }
    }
}

/// Ranges of shared lists that were examined already: calls that continue one another repeat the same messages.
#[derive(Default)]
struct ExaminedRanges(HashMap<usize, Range<usize>>);

impl ExaminedRanges {
    /// The input of a call, without messages that an earlier call with the same list had.
    fn new_of<'o>(&mut self, operation: &'o Operation) -> &'o [Message] {
        let Some(messages) = &operation.input_messages else { return &[] };
        let Some((number, list, range)) = messages.in_shared() else {
            return messages;
        };
        let before = self.0.entry(number).or_insert(range.start..range.start);
        let goes_on = before.start <= range.start && range.start <= before.end;
        let from = if goes_on { before.end } else { range.start };
        *before = if goes_on {
            before.start..before.end.max(range.end)
        } else {
            range.clone()
        };
        list.get(from..range.end).unwrap_or_default()
    }
}

fn add(to: &mut HashSet<String>, text: &str) {
    if !to.contains(text) {
        let _ = to.insert(text.to_owned());
    }
}

/// Whether a message list is one answer of text only.
fn is_answer(list: &[Message]) -> bool {
    matches!(list, [answer] if answer.role == Role::Assistant && answer.has_words() && answer.tool_calls.is_empty())
}

/// Whether a tool that no message shows ran during the call.
fn is_inside(nodes: &Nodes, tool: NodeId, call: NodeId, shown: &ShownCalls) -> bool {
    let (Some(tool), Some(call)) = (nodes.get(tool), nodes.get(call)) else {
        return false;
    };
    let Some(used) = tool.operation.tool.as_deref().filter(|used| used.name.is_some()) else {
        return false;
    };
    let ended = tool.end.zip(call.end).is_some_and(|(tool, call)| tool <= call);
    // A client may give all spans of a turn the turn's times.
    let of_turn = tool.start == call.start && tool.end == call.end && call.end > Some(call.start);
    call.agent_turn.is_none() && !shown.may_have(used) && ended && (tool.start > call.start || of_turn)
}

/// One turn that asks for all the tools, and their results: most clients run tools that were asked for together one after the other.
fn exchange(nodes: &Nodes, tools: &[NodeId]) -> (Vec<Message>, Vec<SpanId>) {
    let mut asking = Message {
        role: Role::Assistant,
        ..Message::default()
    };
    let (mut results, mut spans) = (Vec::new(), Vec::new());
    for tool in tools.iter().filter_map(|tool| nodes.get(*tool)) {
        let Some(used) = tool.operation.tool.as_deref() else { continue };
        let (call, result) = call_and_result(used);
        asking.tool_calls.push(call);
        // Without a result between them, the call and the answer would be choices of one turn.
        results.push(result.unwrap_or_else(|| no_result(used)));
        spans.push(tool.span_id);
    }
    results.insert(0, asking);
    (results, spans)
}

/// An empty message in place of a result that is not recorded.
fn no_result(used: &ToolUse) -> Message {
    Message {
        role: Role::Tool,
        name: used.name.clone().filter(|_| used.call_id.is_none()),
        tool_call_id: used.call_id.clone(),
        ..Message::default()
    }
}

fn merged_finding(tool: SpanId) -> Finding {
    let detail = "it ran while the model call went on that has its call beside words: the words are taken for what was said after it";
    Finding::new(Some(tool), FindingKind::AmbiguousCall, detail)
}

fn finding(tool: SpanId) -> Finding {
    let detail = "it ran while a model call went on that has only its last words: a turn before these is taken for the one that asked";
    Finding::new(Some(tool), FindingKind::AmbiguousCall, detail)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::operation::Messages;
    use crate::operation::messages::SharedMessages;

    #[test]
    fn messages_that_calls_share_are_looked_at_once() {
        let mut list = SharedMessages::new(0);
        for _ in 0..90 {
            let _ = list.push(Message::default());
        }
        let list = Arc::new(list);
        let mut heard = ExaminedRanges::default();
        let mut looked_at = |count: usize| {
            let messages = Messages::shared(&list, count, 0);
            let operation = Operation {
                input_messages: Some(messages),
                ..Operation::default()
            };
            heard.new_of(&operation).len()
        };
        assert_eq!([10, 40, 20, 90].map(&mut looked_at), [10, 30, 0, 50]);
        // Others have a list of their own.
        let own = Operation {
            input_messages: Some(vec![Message::default(); 3].into()),
            ..Operation::default()
        };
        assert_eq!([heard.new_of(&own).len(), heard.new_of(&own).len()], [3, 3]);
    }
}
