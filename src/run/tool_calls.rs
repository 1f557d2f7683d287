//! Stage "tool calls": takes the nodes, the scopes and the conversations, and joins the three records of each tool call: a model's
//! output, a tool's span, the next model input. Returns the tools that no call asks for.
//!
//! This runs after the conversations, which contain the calls, and before the steps: each record fills gaps in the others, and steps
//! take over the completed operations.
//!
//! The order of rules: ids first, the strongest evidence; then names with arguments within the tool's own conversation (equal
//! arguments before equal results, unknown and then other arguments); then the time; then the conversations around and below.
//! Results without an id follow, for calls that have no result. Results that only an agent's own span has are last.

mod by_id;
mod by_order;
mod by_result;
mod by_time;
mod of_agents;
mod other_scopes;
mod unmatched;

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use super::arguments::{self, Fit};
use super::conversation::{self, Conversations, DraftCall};
use super::id::{ConversationId, IdVec, NodeId};
use super::node::Nodes;
use super::results::{answer_text, has_more, without_class};
use super::scopes::Scopes;
use crate::operation::{Failure, Kind, ToolCallId, ToolUse};
use crate::trace::{Finding, FindingKind};
use by_id::CallsById;
use by_time::Asks;
use other_scopes::OtherScopes;
use unmatched::{ONLY_PLACE, UnmatchedCalls};

/// Tools that no call asks for.
#[derive(Debug, Default)]
pub(super) struct UnaskedTools {
    /// Those of agents with a conversation, by conversation.
    pub(super) of_conversation: IdVec<ConversationId, Vec<NodeId>>,
    /// Those of agents without a conversation.
    pub(super) of_silent_agents: Vec<NodeId>,
}

/// Finds the tool span of each call, and lets each fill gaps in the other.
pub(super) fn join(nodes: &mut Nodes, scopes: &Scopes, conversations: &mut Conversations) -> UnaskedTools {
    let by_id = CallsById::of(nodes, scopes, conversations);
    let mut unasked = UnaskedTools {
        of_conversation: IdVec::filled(Vec::new(), conversations.len()),
        of_silent_agents: Vec::new(),
    };
    for (tool, _) in nodes
        .list
        .enumerate()
        .filter(|(_, node)| matches!(node.kind(), Kind::Tool | Kind::Handoff))
    {
        if by_id.give(nodes, scopes, conversations, tool) {
            continue;
        }
        let conversation = by_id.conversation_of(scopes, tool);
        match conversation.and_then(|id| unasked.of_conversation.get_mut(id)) {
            Some(list) => list.push(tool),
            None => unasked.of_silent_agents.push(tool),
        }
    }
    for id in conversations.ids() {
        let Some(tools) = unasked.of_conversation.get_mut(id).filter(|tools| !tools.is_empty()) else {
            continue;
        };
        let mut unmatched = UnmatchedCalls::of(nodes, conversations, id);
        let has_arguments = |tool: &NodeId| self::tool(nodes, *tool).is_some_and(|used| used.arguments.is_some());
        let (mut named, mut nameless): (Vec<NodeId>, Vec<NodeId>) = tools.iter().copied().partition(has_arguments);
        named.retain(|tool| !by_name(nodes, conversations, &mut unmatched, *tool, Fit::Same, &ONLY_PLACE));
        nameless.append(&mut named);
        nameless.sort_unstable();
        *tools = nameless;
        if let Some(conversation) = conversations.get_mut(id) {
            by_result::give(nodes, conversation, tools);
        }
        for least in [Fit::Same, Fit::Unknown, Fit::Other] {
            tools.retain(|tool| !by_name(nodes, conversations, &mut unmatched, *tool, least, &ONLY_PLACE));
        }
        if let Some(conversation) = conversations.get_mut(id) {
            by_time::give(nodes, conversation, tools, Asks::Maybe);
        }
    }
    if !unasked.of_silent_agents.is_empty() {
        let mut others = OtherScopes::of(nodes, scopes, conversations);
        for least in [Fit::Same, Fit::Unknown] {
            unasked.of_silent_agents.retain(|tool| {
                let within = others.within(scopes.scope_of(*tool));
                !within.is_some_and(|within| by_name(nodes, conversations, &mut others.unmatched, *tool, least, &within))
            });
        }
    }
    if !unasked.of_silent_agents.is_empty() {
        let around = by_id.conversations_around(scopes);
        let (mut of_conversation, mut left): (BTreeMap<ConversationId, Vec<NodeId>>, Vec<NodeId>) = Default::default();
        for tool in unasked.of_silent_agents {
            match around.get(scopes.scope_of(tool)).copied().flatten() {
                Some(conversation) => of_conversation.entry(conversation).or_default().push(tool),
                None => left.push(tool),
            }
        }
        for (id, mut tools) in of_conversation {
            if let Some(conversation) = conversations.get_mut(id) {
                by_time::give(nodes, conversation, &mut tools, Asks::Surely);
            }
            left.append(&mut tools);
        }
        left.sort_unstable();
        unasked.of_silent_agents = left;
    }
    for (conversation, tools) in conversations.iter_mut().zip(unasked.of_conversation.iter()) {
        by_order::give_results(nodes, conversation, tools);
    }
    of_agents::give_results(nodes, conversations);
    conversation::report_stray_results(nodes, conversations);
    for call in conversations.iter().flat_map(|conversation| &conversation.calls) {
        name_call(nodes, call);
        for tool in &call.tools {
            complete_tool(nodes, *tool, call);
        }
    }
    unasked
}

fn tool(nodes: &Nodes, id: NodeId) -> Option<&ToolUse> {
    nodes.get(id)?.operation.tool.as_deref()
}

/// Gives the tool to the first unmatched call that fits at least this well. (Ids were compared before, and clients may put their own
/// ids on tools.)
fn by_name(
    nodes: &mut Nodes,
    conversations: &mut Conversations,
    unmatched: &mut UnmatchedCalls,
    tool: NodeId,
    least: Fit,
    within: &Range<usize>,
) -> bool {
    let Some(node) = nodes.get(tool) else { return false };
    let Some(place) = unmatched.first(node, conversations, least, within) else {
        return false;
    };
    let has_arguments = node.operation.tool.as_ref().is_some_and(|used| used.arguments.is_some());
    let ambiguous = least == Fit::Other && has_arguments && node.kind() != Kind::Handoff;
    let span_id = node.span_id;
    if let Some(call) = place.of_mut(conversations) {
        call.tools.push(tool);
    }
    if ambiguous {
        nodes.findings.push(Finding::new(
            Some(span_id),
            FindingKind::AmbiguousCall,
            "paired with a call of this name by order; the arguments differ",
        ));
    }
    true
}

/// Adds the call's id to a model's output that lacks it.
fn name_call(nodes: &mut Nodes, call: &DraftCall) {
    let known = call.call.id.clone().or_else(|| {
        call.tools
            .iter()
            .find_map(|tool| self::tool(nodes, *tool)?.call_id.clone().map(ToolCallId::Recorded))
    });
    let output = call
        .by
        .and_then(|by| nodes.get_mut(by))
        .and_then(|node| node.operation.output_messages.as_mut())
        .and_then(|list| list.first_mut());
    if let Some(recorded) = output.and_then(|message| message.tool_calls.get_mut(call.index))
        && known.is_some()
    {
        recorded.id = known;
    }
}

/// Adds id, arguments and result from the messages to a tool's span that lacks them.
fn complete_tool(nodes: &mut Nodes, id: NodeId, call: &DraftCall) {
    let Some(node) = nodes.get_mut(id) else { return };
    let failed = node.operation.failure.is_some();
    let Some(tool) = node.operation.tool.as_mut() else { return };
    if tool.call_id.is_none() || tool.call_id == call.shared_id {
        tool.call_id = call.call.id.as_deref().map(str::to_owned);
    }
    if tool.name.is_none() {
        tool.name = Some(call.call.name.clone());
    }
    let bare = match &tool.arguments {
        Some(positional @ Value::Object(_)) => arguments::is_by_position(positional),
        _ => true,
    };
    if bare && call.call.arguments.as_ref().is_some_and(Value::is_object) {
        tool.arguments.clone_from(&call.call.arguments);
    }
    let Some(seen) = &call.result else { return };
    let answer = &seen.message;
    if call.tools.last() != Some(&id) {
        return;
    }
    // A failure may consist of only a type: the result is what the model received.
    let has_other = || {
        let failure = node.operation.failure.as_ref();
        failure.is_some_and(|failure| {
            has_more(answer, failure) && !answer_text(answer).contains(without_class(failure.message.as_deref().unwrap_or_default()))
        })
    };
    if tool.result.is_none() && !answer.is_without_result() && (!failed || has_other()) {
        tool.result = Some(answer.result_value());
    }
    if answer.is_error && !failed {
        node.operation.failure = Some(Failure {
            message: Some(answer_text(answer).into_owned()),
            ..Failure::default()
        });
    } else if let Some(failure) = &mut node.operation.failure
        && failure.message.as_ref().is_none_or(|words| words.eq_ignore_ascii_case("error"))
        && !answer.is_without_result()
    {
        failure.message = Some(answer_text(answer).into_owned()).filter(|words| !words.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::{Message, Role, ToolCall};
    use crate::run::conversation;
    use crate::run::id::Id;
    use crate::run::node::Node;
    use crate::run::testing::{nodes, reading};

    fn asking(number: u64, calls: &[(&str, i64)]) -> Node {
        let mut node = reading(number, Kind::Llm, 10..20);
        let call = |(id, number): &(&str, i64)| ToolCall {
            id: Some(ToolCallId::Recorded((*id).to_owned())),
            name: "look".to_owned(),
            arguments: Some(json!({"at": number})),
            ..ToolCall::default()
        };
        node.operation.output_messages = Some(vec![Message {
            tool_calls: calls.iter().map(call).collect(),
            ..Message::text(Role::Assistant, "")
        }]);
        node
    }

    fn tool(number: u64, call_id: Option<&str>, argument: i64) -> Node {
        let mut node = reading(number, Kind::Tool, 30 + number..40 + number);
        node.operation.tool = Some(Box::new(ToolUse {
            name: Some("look".to_owned()),
            call_id: call_id.map(str::to_owned),
            arguments: Some(json!({"at": argument})),
            ..ToolUse::default()
        }));
        node
    }

    /// The tools of each call, by their places among the nodes, and the number of those that no call asks for.
    fn joined<const N: usize>(list: [(Node, Option<usize>); N]) -> (Vec<Vec<usize>>, usize) {
        let mut nodes = nodes(list);
        let scopes = Scopes::of(&nodes);
        let mut conversations = conversation::reconstruct(&mut nodes, &scopes);
        let unasked = join(&mut nodes, &scopes, &mut conversations);
        let calls = conversations.iter().flat_map(|conversation| &conversation.calls);
        let tools = calls.map(|call| call.tools.iter().map(|tool| tool.index()).collect());
        (
            tools.collect(),
            unasked.of_conversation.iter().map(Vec::len).sum::<usize>() + unasked.of_silent_agents.len(),
        )
    }

    #[test]
    fn an_id_is_a_stronger_sign_than_order() {
        let found = joined([
            (asking(1, &[("a51f3c9e7d24b6", 1), ("b51f3c9e7d24b6", 2)]), None),
            (tool(2, Some("b51f3c9e7d24b6"), 2), None),
            (tool(3, Some("a51f3c9e7d24b6"), 1), None),
        ]);
        assert_eq!(found, (vec![vec![2], vec![1]], 0));
    }

    #[test]
    fn without_ids_equal_arguments_join() {
        let found = joined([
            (asking(1, &[("a51f3c9e7d24b6", 1), ("b51f3c9e7d24b6", 2)]), None),
            (tool(2, None, 2), None),
            (tool(3, None, 1), None),
            (tool(4, None, 9), None),
        ]);
        assert_eq!(found, (vec![vec![2], vec![1]], 1));
    }

    #[test]
    fn a_tool_before_the_call_ran_for_nobody() {
        let mut early = tool(2, None, 1);
        early.start = crate::span::UnixNanos(1);
        let found = joined([(early, None), (asking(1, &[("a51f3c9e7d24b6", 1)]), None)]);
        assert_eq!(found, (vec![vec![]], 1));
    }
}
