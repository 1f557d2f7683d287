//! Tool calls in their three places made one: a model's output, a tool's span, the next model input.

use std::ops::Range;

use serde_json::Value;

use super::asked_by::AskedBy;
use super::beside::Beside;
use super::conversation::{Asked, Conversation};
use super::dispatch;
use super::names::Fit;
use super::node::{Node, Nodes};
use super::open::{self, Open};
use super::scope::Scopes;
use crate::operation::{Failure, Kind, ToolUse};
use crate::trace::{Finding, FindingKind};

/// Finds the tool span of each call, and lets each side fill what the other lacks. Gives the tools that no call asks
/// for, with the conversation that they belong to (`usize::MAX`: none).
pub(super) fn tools(nodes: &mut Nodes, scopes: &Scopes, conversations: &mut [Conversation]) -> Vec<(usize, usize)> {
    let asked_by = AskedBy::of(nodes, scopes, conversations);
    let mut mine: Vec<Vec<usize>> = vec![Vec::new(); conversations.len()];
    let mut loose: Vec<(usize, usize)> = Vec::new();
    for index in 0..nodes.list.len() {
        if !nodes.stands(index) || !matches!(nodes.kind(index), Kind::Tool | Kind::Handoff) {
            continue;
        }
        if asked_by.give(nodes, scopes, conversations, index) {
            continue;
        }
        match asked_by.conversation_of(scopes, index).and_then(|at| mine.get_mut(at)) {
            Some(list) => list.push(index),
            None => loose.push((usize::MAX, index)),
        }
    }
    for (at, mut mine) in mine.into_iter().enumerate() {
        let Some(conversation) = conversations.get(at) else { continue };
        if mine.is_empty() {
            continue;
        }
        let mut open = Open::of(nodes, at, conversation);
        for pass in [Fit::Same, Fit::Unknown, Fit::Other] {
            mine.retain(|tool| !by_name(nodes, conversations, &mut open, *tool, pass, &open::EVERYWHERE));
        }
        if let Some(conversation) = conversations.get_mut(at) {
            dispatch::by_time(nodes, conversation, &mut mine);
        }
        loose.extend(mine.into_iter().map(|tool| (at, tool)));
    }
    if loose.iter().any(|(at, _)| *at == usize::MAX) {
        let mut beside = Beside::of(nodes, scopes, conversations);
        for pass in [Fit::Same, Fit::Unknown] {
            loose.retain(|(at, tool)| *at != usize::MAX || !beside.give(nodes, conversations, *tool, pass));
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
    nodes.get(index)?.operation.tool.as_deref()
}

/// Gives the tool to the first open call that fits at least so well. (Ids were compared before: a client may have ids of its
/// own on tools.)
pub(super) fn by_name(
    nodes: &mut Nodes,
    conversations: &mut [Conversation],
    open: &mut Open,
    index: usize,
    least: Fit,
    within: &Range<usize>,
) -> bool {
    let Some(node) = nodes.get(index) else { return false };
    let Some((which, at)) = open.first(node, conversations, least, within) else {
        return false;
    };
    let has_arguments = node.operation.tool.as_ref().is_some_and(|used| used.arguments.is_some());
    let ambiguous = least == Fit::Other && has_arguments && node.kind() != Kind::Handoff;
    let span_id = node.span_id;
    if let Some(asked) = conversations.get_mut(which).and_then(|conversation| conversation.calls.get_mut(at)) {
        asked.tools.push(index);
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

/// The agent that a handoff passes the run to.
pub(super) fn handed_to(node: &Node) -> Option<&str> {
    let state = node.operation.state.as_ref().filter(|_| node.kind() == Kind::Handoff)?;
    state.new_value.as_ref()?.as_str()
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
    if !failed && tool.result.is_none() && !answer.is_without_result() {
        tool.result = Some(answer.result_value());
    }
    if answer.is_error && !failed {
        node.operation.failure = Some(Failure {
            message: Some(words(&answer.result_value())),
            ..Failure::default()
        });
    } else if let Some(failure) = &mut node.operation.failure
        && failure.message.as_ref().is_none_or(|words| words.eq_ignore_ascii_case("error"))
        && !answer.is_without_result()
    {
        failure.message = Some(words(&answer.result_value())).filter(|words| !words.is_empty());
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
        let results = nodes
            .get_mut(agent)
            .map(|node| std::mem::take(&mut node.child_results))
            .unwrap_or_default();
        if results.is_empty() {
            continue;
        }
        let mut tools: Vec<usize> = nodes
            .of_kind(Kind::Tool)
            .into_iter()
            .filter(|index| nodes.ancestors(*index).any(|up| up == agent))
            .collect();
        tools.sort_by_key(|index| nodes.get(*index).map(|node| (node.end_or_start(), node.span_id)));
        for result in results {
            let place = tools.iter().position(|index| {
                nodes.get(*index).is_some_and(|node| {
                    let name = node.operation.tool.as_ref().and_then(|tool| tool.name.as_ref());
                    name == Some(&result.tool) && node.end_or_start() <= result.at
                })
            });
            let Some(node) = place.map(|place| tools.remove(place)).and_then(|index| nodes.get_mut(index)) else {
                continue;
            };
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
