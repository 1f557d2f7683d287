//! Nodes and tool calls that only messages tell of, made into steps.

use serde_json::Value;

use super::conversation::Conversation;
use super::names;
use super::node::Nodes;
use super::scope::Scopes;
use super::stitch::words;
use super::{Observed, Step};
use crate::hash::HashMap;
use crate::operation::{Failure, Kind, Operation, ToolUse};
use crate::span::{UnixNanos, hex};

/// Steps in no order yet, and where each node and each call went.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) list: Vec<Step>,
    /// The step of each node.
    pub(super) of_node: Vec<Option<usize>>,
    /// The steps made of messages alone, by conversation and call.
    pub(super) of_call: HashMap<(usize, usize), usize>,
    /// For each scope the step that called its agent.
    pub(super) called_by: Vec<Option<usize>>,
}

/// Takes the operations of the nodes that become steps: of such a node's operation only the kind stays.
pub(super) fn make(nodes: &mut Nodes, scopes: &Scopes, conversations: &[Conversation]) -> Steps {
    let mut steps = Steps {
        of_node: vec![None; nodes.list.len()],
        called_by: vec![None; scopes.list.len()],
        ..Steps::default()
    };
    from_nodes(nodes, scopes, &mut steps);
    dispatch(nodes, scopes, conversations, &mut steps);
    from_messages(nodes, scopes, conversations, &mut steps);
    callers(nodes, scopes, &mut steps);
    turns(&mut steps);
    steps
}

fn from_nodes(nodes: &mut Nodes, scopes: &Scopes, steps: &mut Steps) {
    steps.list.reserve(nodes.list.len());
    let mut kept = vec![false; nodes.list.len()];
    for index in 0..nodes.list.len() {
        if nodes.stands(index) && nodes.kind(index) != Kind::Plain {
            if let Some(slot) = kept.get_mut(index) {
                *slot = true;
            }
            for up in nodes.ancestors(index) {
                match kept.get_mut(up) {
                    Some(slot) if !*slot => *slot = true,
                    _ => break,
                }
            }
        }
    }
    // By start, a parent may come after its child: places first, links after.
    for (index, node) in nodes.list.iter_mut().enumerate() {
        if kept.get(index) != Some(&true) || node.merged_into.get().is_some() {
            continue;
        }
        if let Some(slot) = steps.of_node.get_mut(index) {
            *slot = Some(steps.list.len());
        }
        let mut operation = node.operation.take();
        if operation.kind == Kind::Agent && operation.agent.name.is_none() {
            operation.agent.name = names::agent_of_span(&operation.name);
        }
        if operation.kind == Kind::Tool
            && let Some(tool) = operation.tool.as_mut().filter(|tool| tool.name.is_none())
        {
            tool.name = names::tool_of_span(&operation.name).map(str::to_owned);
        }
        steps.list.push(Step {
            id: hex(node.span_id.bytes()),
            span_id: Some(node.span_id),
            parent: None,
            scope: scopes.scope_of(index),
            observed: Observed::Span,
            operation,
            started_at: node.start,
            ended_at: node.end,
            turn: None,
            dispatched_by: None,
            call_index: None,
            inside_tool: None,
            called_by: None,
            evidence: sorted(std::mem::take(&mut node.evidence)),
            same_call_as: None,
        });
    }
    let around = nodes.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool));
    for (index, around) in around.into_iter().enumerate() {
        let Some(step) = steps.of_node.get(index).copied().flatten() else {
            continue;
        };
        let parent = nodes.parent(index).and_then(|up| steps.of_node.get(up).copied().flatten());
        let tool = around.filter(|up| nodes.kind(*up) == Kind::Tool);
        let inside = tool
            .filter(|_| is_lookup(nodes.kind(index)))
            .and_then(|tool| steps.of_node.get(tool).copied().flatten());
        if let Some(step) = steps.list.get_mut(step) {
            step.parent = parent;
            step.inside_tool = inside;
        }
    }
}

fn is_lookup(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Retrieval | Kind::Rerank | Kind::Embedding | Kind::MemoryRead | Kind::MemoryWrite | Kind::Handoff
    )
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list.dedup();
    list
}

/// Which model call asked for each tool.
fn dispatch(nodes: &Nodes, scopes: &Scopes, conversations: &[Conversation], steps: &mut Steps) {
    for conversation in conversations {
        for asked in &conversation.calls {
            let by = asked.by.and_then(|by| steps.of_node.get(by).copied().flatten());
            for tool in &asked.tools {
                if let Some(step) = steps.of_node.get(*tool).copied().flatten().and_then(|at| steps.list.get_mut(at)) {
                    step.dispatched_by = by;
                    step.call_index = Some(asked.index);
                }
            }
        }
    }
    // A tool that no message tells of belongs to the latest call of its scope that began before it.
    let mut calls: HashMap<usize, Vec<usize>> = HashMap::default();
    for call in nodes.of_kind(Kind::Llm) {
        calls.entry(scopes.scope_of(call)).or_default().push(call);
    }
    for (index, node) in nodes.list.iter().enumerate() {
        let Some(at) = steps.of_node.get(index).copied().flatten() else {
            continue;
        };
        let is_open = steps
            .list
            .get(at)
            .is_some_and(|step| step.dispatched_by.is_none() && step.operation.kind == Kind::Tool);
        if !is_open {
            continue;
        }
        // Nodes stand by start.
        let latest = calls.get(&scopes.scope_of(index)).and_then(|calls| {
            let behind = calls.partition_point(|call| nodes.get(*call).is_some_and(|call| call.start <= node.start));
            calls.get(behind.checked_sub(1)?)
        });
        let by = latest.and_then(|call| steps.of_node.get(*call).copied().flatten());
        if let Some(step) = steps.list.get_mut(at) {
            step.dispatched_by = by;
        }
    }
}

/// Tool executions that no span shows: the next model input holds their result, or an agent of that name ran.
fn from_messages(nodes: &Nodes, scopes: &Scopes, conversations: &[Conversation], steps: &mut Steps) {
    // Agents that stand below no tool, by the scope around them.
    let mut below: HashMap<usize, Vec<usize>> = HashMap::default();
    for (scope, draft) in scopes.list.iter().enumerate() {
        if let (None, Some(_), Some(up)) = (draft.tool, draft.node, draft.parent) {
            below.entry(up).or_default().push(scope);
        }
    }
    for (which, conversation) in conversations.iter().enumerate() {
        let mut agents: Vec<usize> = conversation
            .scopes
            .iter()
            .filter_map(|up| below.get(up))
            .flatten()
            .copied()
            .collect();
        agents.sort_unstable();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::default();
        for scope in agents {
            if let Some(name) = scopes.list.get(scope).and_then(|draft| draft.agent.as_deref()) {
                by_name.entry(names::plain(name)).or_default().push(scope);
            }
        }
        for (place, asked) in conversation.calls.iter().enumerate() {
            let Some(by) = asked.by.and_then(|by| nodes.get(by).map(|node| (by, node))) else {
                continue;
            };
            if !asked.tools.is_empty() {
                continue;
            }
            let named = if by_name.is_empty() {
                None
            } else {
                by_name.get_mut(&names::plain(&asked.call.name))
            };
            let agent = named.and_then(|agents| {
                let began = |scope: &usize| Some(nodes.get(scopes.list.get(*scope)?.node?)?.start);
                let at = agents
                    .iter()
                    .position(|scope| began(scope).is_some_and(|began| began >= by.1.start))?;
                Some(agents.remove(at))
            });
            if agent.is_none() && asked.answer.is_none() {
                continue;
            }
            let step = told_by_messages(nodes, scopes, steps, asked, by.0, agent);
            let at = steps.list.len();
            steps.list.push(step);
            let _ = steps.of_call.insert((which, place), at);
            if let Some(scope) = agent
                && let Some(slot) = steps.called_by.get_mut(scope)
            {
                *slot = Some(at);
            }
        }
    }
}

fn told_by_messages(
    nodes: &Nodes,
    scopes: &Scopes,
    steps: &Steps,
    asked: &super::conversation::Asked,
    by: usize,
    agent: Option<usize>,
) -> Step {
    let call = nodes.get(by);
    let agent = agent.and_then(|scope| scopes.list.get(scope)).and_then(|draft| draft.node);
    let agent_node = agent.and_then(|node| nodes.get(node));
    let agent_step = agent
        .and_then(|node| steps.of_node.get(node).copied().flatten())
        .and_then(|at| steps.list.get(at));
    let seen = asked.answer.as_ref().and_then(|(_, seen)| nodes.get(*seen)).map(|node| node.start);
    let after = call.map_or(UnixNanos(0), super::node::Node::end_or_start);
    let (start, end) = match agent_node {
        Some(agent) => (agent.start, agent.end),
        None => (after, Some(seen.unwrap_or(after).max(after))),
    };
    let said = asked
        .answer
        .as_ref()
        .filter(|(answer, _)| !answer.is_without_result())
        .map(|(answer, _)| answer.result_value());
    let failed = asked.answer.as_ref().is_some_and(|(answer, _)| answer.is_error);
    let result = said
        .clone()
        .or_else(|| agent_step.and_then(|agent| agent.operation.output.get().cloned()));
    let by_id = call.map(|call| call.span_id.to_string()).unwrap_or_default();
    let call_id = asked.call.id.clone().unwrap_or_else(|| asked.index.to_string());
    Step {
        id: format!("{by_id}:{call_id}"),
        span_id: None,
        parent: nodes.parent(by).and_then(|up| steps.of_node.get(up).copied().flatten()),
        scope: scopes.scope_of(by),
        observed: Observed::Messages,
        operation: Box::new(Operation {
            kind: Kind::Tool,
            name: asked.call.name.clone(),
            tool: Some(Box::new(ToolUse {
                name: Some(asked.call.name.clone()),
                call_id: asked.call.id.clone(),
                arguments: asked.call.arguments.clone(),
                result: if failed { None } else { result },
                ..ToolUse::default()
            })),
            failure: failed.then(|| Failure {
                message: said.as_ref().map(words).filter(|words| !words.is_empty()),
                ..Failure::default()
            }),
            ..Operation::default()
        }),
        started_at: start,
        ended_at: end,
        turn: None,
        dispatched_by: steps.of_node.get(by).copied().flatten(),
        call_index: Some(asked.index),
        inside_tool: None,
        called_by: None,
        evidence: Vec::new(),
        same_call_as: None,
    }
}

/// The tool step that called each sub-agent.
fn callers(nodes: &Nodes, scopes: &Scopes, steps: &mut Steps) {
    for (scope, draft) in scopes.list.iter().enumerate() {
        let tool = draft
            .tool
            .and_then(|tool| steps.of_node.get(nodes.standing(tool)).copied().flatten());
        let caller = steps.called_by.get(scope).copied().flatten().or(tool);
        if let Some(slot) = steps.called_by.get_mut(scope) {
            *slot = caller;
        }
        if let Some(step) = draft
            .node
            .and_then(|node| steps.of_node.get(node).copied().flatten())
            .and_then(|at| steps.list.get_mut(at))
        {
            step.called_by = caller;
        }
    }
}

/// Counts the model calls of each scope; tools have the turn of the call that asked for them.
fn turns(steps: &mut Steps) {
    let mut order: Vec<usize> = (0..steps.list.len())
        .filter(|at| steps.list.get(*at).is_some_and(|step| step.operation.kind == Kind::Llm))
        .collect();
    order.sort_by_key(|at| steps.list.get(*at).map(|step| (step.started_at, step.id.clone())));
    let mut counts: HashMap<usize, u32> = HashMap::default();
    for at in order {
        if let Some(step) = steps.list.get_mut(at) {
            let count = counts.entry(step.scope).or_default();
            *count += 1;
            step.turn = Some(*count);
        }
    }
    let turns: Vec<Option<u32>> = steps
        .list
        .iter()
        .map(|step| step.dispatched_by.and_then(|by| steps.list.get(by)).and_then(|call| call.turn))
        .collect();
    for (step, turn) in steps.list.iter_mut().zip(turns) {
        if step.turn.is_none() {
            step.turn = turn;
        }
    }
}

/// The value of a recorded result, null where none was recorded.
pub(super) fn result_of(step: &Step) -> Value {
    step.operation
        .tool
        .as_ref()
        .and_then(|tool| tool.result.clone())
        .unwrap_or(Value::Null)
}
