//! Stage "steps": takes the nodes, the scopes and the conversations and returns the steps: nodes that have facts, and tool calls
//! known only from messages.
//!
//! This runs when all operations are complete, and moves the operations out of the nodes. Later stages look up the step of a
//! node in [`DraftSteps::of_node`].

use super::conversation::{CallRef, Conversations, DraftCall};
use super::id::{Id, IdVec, NodeId, ScopeId, StepId};
use super::model::{Observed, Step};
use super::names;
use super::node::Nodes;
use super::results::result_text;
use super::scopes::Scopes;
use crate::dialect::span_names;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Failure, Kind, Operation, ToolUse};
use crate::span::{ANNOTATION_SCOPE, TIMES_UNKNOWN, UnixNanos, hex};
use crate::trace::Finding;

/// Steps during assembly, and the step of each node and call.
#[derive(Debug, Default)]
pub(super) struct DraftSteps {
    pub(super) list: IdVec<StepId, Step>,
    /// The step of each node.
    pub(super) of_node: IdVec<NodeId, Option<StepId>>,
    /// The steps of calls known only from messages.
    pub(super) of_call: HashMap<CallRef, StepId>,
    /// For each scope, the step that called its agent.
    pub(super) called_by: IdVec<ScopeId, Option<StepId>>,
    /// Proofs from histories: the first step ended before the second, a model call, began.
    pub(super) read_by: Vec<(StepId, StepId)>,
    /// Findings about the nodes.
    pub(super) findings: Vec<Finding>,
}

impl DraftSteps {
    /// The step of a node, with its id.
    pub(super) fn step_of(&self, node: NodeId) -> Option<(StepId, &Step)> {
        let id = self.of_node.known(node)?;
        Some((id, self.list.get(id)?))
    }
}

pub(super) fn make(nodes: Nodes, scopes: &Scopes, conversations: &Conversations) -> DraftSteps {
    let mut steps = from_nodes(nodes, scopes);
    steps.called_by = IdVec::filled(None, scopes.list.len());
    dispatch(conversations, &mut steps);
    from_messages(scopes, conversations, &mut steps);
    callers(scopes, &mut steps);
    turns(scopes, &mut steps);
    steps
}

/// The steps of the nodes, in the same order, linked to those around them.
fn from_nodes(nodes: Nodes, scopes: &Scopes) -> DraftSteps {
    let of_node = places(&nodes);
    let around = nodes.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool));
    let step_of = |node: NodeId| of_node.known(node);
    // Ordered by start, a parent may follow its child, so links need all places to be known.
    let links: Vec<(Option<StepId>, Option<StepId>)> = nodes
        .list
        .enumerate()
        .map(|(id, node)| {
            let parent = nodes.parent(id).and_then(step_of);
            let tool = around
                .known(id)
                .filter(|up| is_lookup(node.kind()) && nodes.kind(*up) == Kind::Tool);
            (parent, tool.and_then(step_of))
        })
        .collect();
    let ids = nodes.list.ids();
    let mut list = IdVec::with_capacity(nodes.list.len());
    for ((id, node), (parent, inside_tool)) in ids.zip(nodes.list).zip(links) {
        if of_node.known(id).is_none() {
            continue;
        }
        let mut operation = node.operation;
        if operation.kind == Kind::Agent && operation.agent.name.is_none() {
            operation.agent.name = span_names::agent(&operation.name).map(str::to_owned);
        }
        if operation.kind == Kind::Tool
            && let Some(tool) = operation.tool.as_mut().filter(|tool| tool.name.is_none())
        {
            tool.name = span_names::tool(&operation.name).map(str::to_owned);
        }
        let span = hex(node.span_id.bytes());
        let (span_id, observed, name) = match node.agent_turn {
            Some(place) => (None, Observed::Messages, format!("{span}:turn{place}")),
            None if node.scope.name == ANNOTATION_SCOPE => (Some(node.span_id), Observed::Annotation, span),
            None => (Some(node.span_id), Observed::Span, span),
        };
        list.push(Step {
            span_id,
            parent,
            inside_tool,
            observed,
            evidence: sorted(node.evidence),
            ..Step::new(name, scopes.scope_of(id), operation, (node.start, node.end))
        });
    }
    DraftSteps {
        list,
        of_node,
        findings: nodes.findings,
        ..DraftSteps::default()
    }
}

/// Assigns step ids to nodes: a plain node is kept only if it contains another kind.
fn places(nodes: &Nodes) -> IdVec<NodeId, Option<StepId>> {
    let mut kept: IdVec<NodeId, bool> = IdVec::filled(false, nodes.list.len());
    for (id, _) in nodes.list.enumerate().filter(|(_, node)| node.kind() != Kind::Plain) {
        kept.set(id, true);
        for up in nodes.ancestors(id) {
            if kept.is_set(up) {
                break;
            }
            kept.set(up, true);
        }
    }
    let mut next = (0..).map(StepId::new);
    kept.into_iter().map(|kept| if kept { next.next() } else { None }).collect()
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

/// Finds the model call that asked for each tool.
fn dispatch(conversations: &Conversations, steps: &mut DraftSteps) {
    // The number of tool calls of each model call that no tool ran.
    let mut open: HashMap<StepId, usize> = HashMap::default();
    for call in conversations.iter().flat_map(|conversation| &conversation.calls) {
        let by = call.by.and_then(|by| steps.of_node.known(by));
        if let Some(by) = by.filter(|_| call.tools.is_empty() && call.call.answered.is_none()) {
            *open.entry(by).or_default() += 1;
        }
        for tool in &call.tools {
            if let Some(step) = steps.of_node.known(*tool).and_then(|at| steps.list.get_mut(at)) {
                step.dispatched_by = by;
                step.call_index = Some(call.index);
            }
        }
        // Take the first attempt: another may follow the call that read its result.
        let ran = call
            .tools
            .iter()
            .filter_map(|tool| steps.step_of(*tool))
            .min_by_key(|(_, step)| step.started_at);
        let reader = call.result.as_ref().and_then(|seen| steps.of_node.known(seen.node));
        if let (Some((tool, _)), Some(reader)) = (ran, reader) {
            steps.read_by.push((tool, reader));
        }
    }
    // A tool that fits no call belongs to the latest model call that began before it, if that has a call that no tool ran, or if
    // the scope's model calls are recorded without tool calls. Steps are still ordered by start.
    let mut calls: HashMap<ScopeId, Vec<(UnixNanos, StepId)>> = HashMap::default();
    let mut with_calls: HashSet<ScopeId> = HashSet::default();
    for (id, call) in steps.list.enumerate().filter(|(_, step)| step.operation.kind == Kind::Llm) {
        calls.entry(call.scope).or_default().push((call.started_at, id));
        if call
            .operation
            .output_messages
            .iter()
            .flatten()
            .any(|message| !message.tool_calls.is_empty())
        {
            let _ = with_calls.insert(call.scope);
        }
    }
    let is_silent = |call: StepId| steps.list.get(call).is_some_and(|step| step.operation.output_messages.is_none());
    let silent: HashSet<StepId> = calls
        .values()
        .flatten()
        .map(|(_, call)| *call)
        .filter(|call| is_silent(*call))
        .collect();
    // A turn that an agent's span describes asks for no tool that began before the turn's end.
    let busy_until: HashMap<StepId, UnixNanos> = calls
        .values()
        .flatten()
        .filter_map(|(_, call)| Some((*call, steps.list.get(*call)?)))
        .filter(|(_, step)| step.observed == Observed::Messages && step.operation.output_messages.is_some())
        .filter_map(|(call, step)| Some((call, step.ended_at?)))
        .collect();
    for step in &mut steps.list {
        if step.dispatched_by.is_some() || step.operation.kind != Kind::Tool {
            continue;
        }
        let latest = calls.get(&step.scope).and_then(|calls| {
            let behind = calls.partition_point(|(start, _)| *start <= step.started_at);
            calls.get(behind.checked_sub(1)?)
        });
        let latest = latest.map(|(_, call)| *call);
        let is_later = |call: &StepId| busy_until.get(call).is_some_and(|end| step.started_at < *end);
        step.dispatched_by = latest.filter(|call| !is_later(call)).filter(|call| {
            let has_open = open.get_mut(call).filter(|count| **count > 0).map(|count| *count -= 1).is_some();
            has_open || !with_calls.contains(&step.scope) || silent.contains(call)
        });
    }
}

/// Adds tool executions without a span: the next model input contains their result, or an agent of that name ran.
fn from_messages(scopes: &Scopes, conversations: &Conversations, steps: &mut DraftSteps) {
    // Agents that are not below a tool, by the scope around them.
    let mut below: HashMap<ScopeId, Vec<ScopeId>> = HashMap::default();
    for (scope, draft) in scopes.list.enumerate() {
        if let (None, Some(_), Some(up)) = (draft.tool, draft.node, draft.parent) {
            below.entry(up).or_default().push(scope);
        }
    }
    let next_turns = next_turns(steps);
    for (id, conversation) in conversations.enumerate() {
        let mut agents: Vec<ScopeId> = conversation
            .scopes
            .iter()
            .filter_map(|up| below.get(up))
            .flatten()
            .copied()
            .collect();
        agents.sort_unstable();
        let mut by_name: HashMap<String, Vec<ScopeId>> = HashMap::default();
        for scope in agents {
            if let Some(name) = scopes.list.get(scope).and_then(|draft| draft.agent.as_deref()) {
                by_name.entry(names::plain(name)).or_default().push(scope);
            }
        }
        for (call, draft) in conversation.calls.enumerate().filter(|(_, draft)| draft.tools.is_empty()) {
            let Some((by, caller)) = draft.by.and_then(|by| steps.step_of(by)) else {
                continue;
            };
            let named = if by_name.is_empty() {
                None
            } else {
                by_name.get_mut(&names::plain(&draft.call.name))
            };
            let agent_step = |scope: ScopeId| steps.step_of(scopes.list.get(scope)?.node?).map(|(_, step)| step);
            let agent = named.and_then(|agents| {
                let began_after = |scope: &ScopeId| agent_step(*scope).is_some_and(|agent| agent.started_at >= caller.started_at);
                let at = agents.iter().position(began_after)?;
                Some(agents.remove(at))
            });
            if agent.is_none() && draft.result.is_none() {
                continue;
            }
            let next = next_turns.get(&by).copied();
            let next_at = next.and_then(|next| steps.list.get(next)).map(|next| next.started_at);
            let step = step_from_messages(steps, draft, (by, caller, next_at), agent.and_then(agent_step));
            let at = steps.list.push(step);
            steps.read_by.extend(next.map(|next| (at, next)));
            let conversation = id;
            steps.of_call.insert(CallRef { conversation, call }, at);
            if let Some(scope) = agent {
                steps.called_by.set(scope, Some(at));
            }
        }
    }
}

/// For each turn known only from an agent's messages, the next one: tools between them ran in between, whoever records the results.
fn next_turns(steps: &DraftSteps) -> HashMap<StepId, StepId> {
    let mut last: HashMap<StepId, StepId> = HashMap::default();
    let told = steps
        .list
        .enumerate()
        .filter(|(_, step)| step.operation.kind == Kind::Llm && step.observed == Observed::Messages);
    told.filter_map(|(id, step)| Some((last.insert(step.parent?, id)?, id))).collect()
}

/// A step for a call's execution. `next_at`: the start of the next turn after the caller, if only messages record both.
fn step_from_messages(
    steps: &DraftSteps,
    draft: &DraftCall,
    (by, caller, next_at): (StepId, &Step, Option<UnixNanos>),
    agent: Option<&Step>,
) -> Step {
    let seen = draft.result.as_ref();
    let seen_at = next_at.or_else(|| seen.and_then(|seen| steps.step_of(seen.node)).map(|(_, reader)| reader.started_at));
    let after = caller.end_or_start();
    let time = match agent {
        Some(agent) => (agent.started_at, agent.ended_at),
        None => (after, Some(seen_at.unwrap_or(after).max(after))),
    };
    let answer = seen.map(|seen| &seen.message);
    let recorded = answer
        .filter(|answer| !answer.is_without_result())
        .map(|answer| answer.result_value());
    let failed = answer.is_some_and(|answer| answer.is_error);
    let failure = failed.then(|| Failure {
        message: recorded
            .as_ref()
            .map(|value| result_text(value).into_owned())
            .filter(|text| !text.is_empty()),
        ..Failure::default()
    });
    let result = recorded.or_else(|| agent.and_then(|agent| agent.operation.output.get().cloned()));
    let operation = Operation {
        kind: Kind::Tool,
        name: draft.call.name.clone(),
        tool: Some(Box::new(ToolUse {
            name: Some(draft.call.name.clone()),
            call_id: draft.call.id.as_deref().map(str::to_owned),
            arguments: draft.call.arguments.clone(),
            result: if failed { None } else { result },
            ..ToolUse::default()
        })),
        failure,
        ..Operation::default()
    };
    let mut operation = operation;
    if agent.is_none() {
        let reader = seen.and_then(|seen| steps.step_of(seen.node)).map(|(_, reader)| reader);
        let unknown = [
            caller.known_end().is_none().then_some("start"),
            reader.is_some_and(|reader| reader.known_start().is_none()).then_some("end"),
        ];
        let unknown: Vec<&str> = unknown.into_iter().flatten().collect();
        if !unknown.is_empty() && caller.ended_at.is_some() {
            operation.unmapped.insert(TIMES_UNKNOWN.to_owned(), unknown.join(", ").into());
        }
    }
    let call_id = draft.call.id.as_deref().map_or_else(|| draft.index.to_string(), str::to_owned);
    Step {
        parent: caller.parent,
        observed: Observed::Messages,
        dispatched_by: Some(by),
        call_index: Some(draft.index),
        ..Step::new(format!("{}:{call_id}", caller.id), caller.scope, operation, time)
    }
}

/// The tool step that called each sub-agent.
fn callers(scopes: &Scopes, steps: &mut DraftSteps) {
    for (scope, draft) in scopes.list.enumerate() {
        let tool = draft.tool.and_then(|tool| steps.of_node.known(tool));
        let caller = steps.called_by.known(scope).or(tool);
        steps.called_by.set(scope, caller);
        let agent = draft.node.and_then(|node| steps.of_node.known(node));
        if let Some(step) = agent.and_then(|at| steps.list.get_mut(at)) {
            step.called_by = caller;
        }
    }
}

/// Numbers the model calls of each scope; tools have the turn of the call that asked for them.
fn turns(scopes: &Scopes, steps: &mut DraftSteps) {
    let counted_in = |scope: ScopeId| {
        let draft = scopes.list.get(scope).filter(|draft| draft.is_unrelated);
        draft.and_then(|draft| draft.parent).unwrap_or(scope)
    };
    let mut calls: Vec<StepId> = steps
        .list
        .enumerate()
        .filter(|(_, step)| step.operation.kind == Kind::Llm)
        .map(|(id, _)| id)
        .collect();
    calls.sort_by_key(|id| (steps.list.get(*id).map(|step| step.started_at), *id));
    let mut counts: HashMap<ScopeId, u32> = HashMap::default();
    for id in calls {
        if let Some(step) = steps.list.get_mut(id) {
            let count = counts.entry(counted_in(step.scope)).or_default();
            *count += 1;
            step.turn = Some(*count);
        }
    }
    let turn_of = |id: StepId| steps.list.get(id).and_then(|call| call.turn);
    let turns: Vec<Option<u32>> = steps.list.iter().map(|step| step.dispatched_by.and_then(turn_of)).collect();
    for (step, turn) in steps.list.iter_mut().zip(turns) {
        if step.turn.is_none() {
            step.turn = turn;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::{nodes, reading};

    #[test]
    fn plain_nodes_stay_only_around_others() {
        let nodes = nodes([
            (reading(1, Kind::Plain, 0..90), None),
            (reading(2, Kind::Plain, 5..8), Some(0)),
            (reading(3, Kind::Llm, 10..20), Some(0)),
            (reading(4, Kind::Tool, 30..40), Some(0)),
        ]);
        let scopes = Scopes::of(&nodes);
        let steps = make(nodes, &scopes, &Conversations::default());
        let ids: Vec<&str> = steps.list.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(ids, ["0000000000000001", "0000000000000003", "0000000000000004"]);
        let [root, call, tool] = [0, 1, 2].map(StepId::new);
        assert_eq!(
            steps.list.get(call).map(|step| (step.parent, step.turn)),
            Some((Some(root), Some(1)))
        );
        let tool = steps.list.get(tool).map(|step| (step.dispatched_by, step.turn));
        assert_eq!(tool, Some((Some(call), Some(1))), "the latest call before it");
    }
}
