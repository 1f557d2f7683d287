//! Tool calls in their three places made one: a model's output, a tool's span, the next model input.

use serde_json::Value;

use super::conversation::{Asked, Conversation};
use super::names::{self, Fit};
use super::node::Nodes;
use super::scope::Scopes;
use crate::operation::{Failure, Kind, ToolUse};
use crate::span::UnixNanos;
use crate::trace::{Finding, FindingKind};

/// Finds the tool span of each call, and lets each side fill what the other lacks. Gives the tools that no call asks
/// for, with the conversation that they belong to.
pub(super) fn tools(nodes: &mut Nodes, scopes: &Scopes, conversations: &mut [Conversation]) -> Vec<(usize, usize)> {
    let mut free: Vec<usize> = (0..nodes.list.len())
        .filter(|index| nodes.stands(*index) && matches!(nodes.kind(*index), Kind::Tool | Kind::Handoff))
        .collect();
    let mut loose = Vec::new();
    for (at, conversation) in conversations.iter_mut().enumerate() {
        let mut mine: Vec<usize> = free
            .iter()
            .copied()
            .filter(|index| conversation.scopes.contains(&scopes.scope_of(*index)))
            .collect();
        let passes: [fn(&mut Nodes, &mut Conversation, usize) -> bool; 4] = [by_id, by_arguments, by_part, by_name];
        for pass in passes {
            mine.retain(|tool| !pass(nodes, conversation, *tool));
        }
        free.retain(|index| !conversation.calls.iter().any(|asked| asked.tools.contains(index)));
        loose.extend(mine.into_iter().map(|tool| (at, tool)));
    }
    // Ids are unique enough to be trusted across scopes.
    loose.retain(|(_, tool)| !conversations.iter_mut().any(|conversation| by_id(nodes, conversation, *tool)));
    free.retain(|index| !loose.iter().any(|(_, tool)| tool == index));
    for index in free {
        if !conversations
            .iter()
            .any(|conversation| conversation.calls.iter().any(|asked| asked.tools.contains(&index)))
            && !conversations.iter_mut().any(|conversation| by_id(nodes, conversation, index))
        {
            loose.push((usize::MAX, index));
        }
    }
    for conversation in conversations.iter() {
        for asked in &conversation.calls {
            name_call(nodes, asked);
            for tool in &asked.tools {
                share(nodes, *tool, asked);
            }
        }
    }
    loose
}

fn tool(nodes: &Nodes, index: usize) -> Option<&ToolUse> {
    nodes.get(index)?.operation.tool.as_ref()
}

/// The call with the tool span's call id. A second span with that id is another attempt.
fn by_id(nodes: &mut Nodes, conversation: &mut Conversation, index: usize) -> bool {
    let Some(id) = tool(nodes, index).and_then(|tool| tool.call_id.clone()) else {
        return false;
    };
    match conversation
        .calls
        .iter_mut()
        .rev()
        .find(|asked| asked.call.id.as_ref() == Some(&id))
    {
        Some(asked) => {
            asked.tools.push(index);
            true
        }
        None => false,
    }
}

fn by_arguments(nodes: &mut Nodes, conversation: &mut Conversation, index: usize) -> bool {
    take_first(nodes, conversation, index, |fit, _| fit == Fit::Same)
}

fn by_part(nodes: &mut Nodes, conversation: &mut Conversation, index: usize) -> bool {
    take_first(nodes, conversation, index, |fit, _| fit >= Fit::Unknown)
}

fn by_name(nodes: &mut Nodes, conversation: &mut Conversation, index: usize) -> bool {
    let known = tool(nodes, index).is_some_and(|tool| tool.arguments.is_some());
    let taken = take_first(nodes, conversation, index, |_, _| true);
    if taken
        && known
        && let Some(node) = nodes.get(index)
    {
        let finding = Finding::new(
            Some(node.span_id),
            FindingKind::AmbiguousCall,
            "paired with a call of this name by order; the arguments differ",
        );
        nodes.findings.push(finding);
    }
    taken
}

/// The first open call of this tool's name (ids were compared before: a client may have ids of its own on tools), asked before the tool began, that fits.
fn take_first(nodes: &Nodes, conversation: &mut Conversation, index: usize, fits: impl Fn(Fit, &Asked) -> bool) -> bool {
    let Some(node) = nodes.get(index) else { return false };
    let Some(used) = node.operation.tool.as_ref() else { return false };
    let handoff = node.kind() == Kind::Handoff;
    let target = node
        .operation
        .state
        .as_ref()
        .and_then(|state| state.new_value.as_ref())
        .and_then(Value::as_str);
    let target = target
        .or_else(|| node.operation.name.strip_prefix("handoff to "))
        .or_else(|| node.operation.name.strip_prefix("transfer to "));
    let found = conversation.calls.iter_mut().find(|asked| {
        let same_name = used.name.as_ref().is_some_and(|name| names::same_tool(name, &asked.call.name))
            || handoff && target.is_some_and(|agent| names::is_transfer_to(&asked.call.name, agent));
        let before = asked.by.and_then(|by| nodes.get(by)).is_none_or(|call| call.start <= node.start);
        asked.tools.is_empty()
            && same_name
            && before
            && (handoff || fits(names::fit(used.arguments.as_ref(), asked.call.arguments.as_ref()), asked))
    });
    match found {
        Some(asked) => {
            asked.tools.push(index);
            true
        }
        None => false,
    }
}

/// A model's output takes the call's id where its span lacks it.
fn name_call(nodes: &mut Nodes, asked: &Asked) {
    let known = asked
        .call
        .id
        .clone()
        .or_else(|| asked.tools.iter().find_map(|tool| self::tool(nodes, *tool)?.call_id.clone()));
    let said = asked
        .by
        .and_then(|by| nodes.get_mut(by))
        .and_then(|node| node.operation.output_messages.as_mut())
        .and_then(|list| list.first_mut());
    if let Some(call) = said.and_then(|message| message.tool_calls.get_mut(asked.index))
        && known.is_some()
    {
        call.id = known;
    }
}

/// The tool's span takes id, arguments and result from the messages where it lacks them.
fn share(nodes: &mut Nodes, index: usize, asked: &Asked) {
    let Some(node) = nodes.get_mut(index) else { return };
    let failed = node.operation.failure.is_some();
    let Some(tool) = node.operation.tool.as_mut() else { return };
    if tool.call_id.is_none() {
        tool.call_id.clone_from(&asked.call.id);
    }
    if tool.name.is_none() {
        tool.name = Some(asked.call.name.clone());
    }
    let bare = !matches!(tool.arguments, Some(Value::Object(_)));
    if bare && asked.call.arguments.as_ref().is_some_and(Value::is_object) {
        tool.arguments.clone_from(&asked.call.arguments);
    }
    let Some((answer, _)) = &asked.answer else { return };
    if asked.tools.last() != Some(&index) {
        return;
    }
    let said = answer.result_value();
    if !failed && tool.result.is_none() {
        tool.result = Some(said.clone());
    }
    if answer.is_error && !failed {
        node.operation.failure = Some(Failure {
            message: Some(words(&said)),
            ..Failure::default()
        });
    } else if let Some(failure) = &mut node.operation.failure
        && failure.message.is_none()
    {
        failure.message = Some(words(&said)).filter(|words| !words.is_empty());
    }
}

/// A result's text.
pub(super) fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Results that stand on the agent's span (adk-rust): each to the tool of its name that ended right before.
pub(super) fn results_of_children(nodes: &mut Nodes) {
    for agent in 0..nodes.list.len() {
        let results = nodes.get(agent).map(|node| node.child_results.clone()).unwrap_or_default();
        let mut used: Vec<usize> = Vec::new();
        for result in results {
            let mut tools: Vec<(UnixNanos, usize)> = nodes
                .of_kind(Kind::Tool)
                .into_iter()
                .filter(|index| !used.contains(index) && nodes.ancestors(*index).any(|up| up == agent))
                .filter_map(|index| nodes.get(index).map(|node| (node, index)))
                .filter(|(node, _)| {
                    node.operation
                        .tool
                        .as_ref()
                        .is_some_and(|tool| tool.name.as_deref() == Some(&result.tool))
                        && node.end_or_start() <= result.at
                })
                .map(|(node, index)| (node.end_or_start(), index))
                .collect();
            tools.sort();
            let Some((_, index)) = tools.first().copied() else { continue };
            used.push(index);
            let Some(node) = nodes.get_mut(index) else { continue };
            if let (Some(tool), Some(value)) = (node.operation.tool.as_mut(), &result.result)
                && tool.result.is_none()
            {
                tool.result = Some(value.clone());
            }
            if let (Some(error), None) = (&result.error, &node.operation.failure) {
                node.operation.failure = Some(Failure {
                    message: Some(error.clone()),
                    ..Failure::default()
                });
            }
        }
    }
}
