//! Stage "calls of agents": takes the nodes and adds the model calls that agents' own spans describe, where agents have none.
//!
//! The client of a remote agent, the Claude Agent SDK and GenAI instrumentations of agents record messages, tokens and cost on the
//! agent's span, with no model call below it, or one without content. The agent's text remains its question and answer; only
//! messages are taken as calls. This runs after the duplicates, since two spans of one agent describe one call, and before
//! everything that reads model calls.

mod elsewhere;
mod inner_tools;
mod known;
mod messages;
mod prompts;
mod recorded_around;
mod sums;
mod unseen_calls;

use std::sync::Arc;

use known::Described;
use messages::{is_exchange, may_describe_calls, messages_of, opening};
use prompts::is_prompt;

use super::id::{Id, IdVec, NodeId};
use super::node::{Node, Nodes};
use crate::dialect::Beside;
use crate::dialect::messages::Direction;
use crate::hash::HashMap;
use crate::operation::{Kind, Message, Operation, Role};
use crate::span::UnixNanos;
use crate::trace::Finding;

/// Adds the calls, and fills calls without content from their agent.
pub(super) fn add(nodes: &mut Nodes) {
    elsewhere::give_definitions(nodes);
    elsewhere::give_results(nodes);
    let known = Described::of(nodes);
    known.no_agents(nodes);
    let mut new = exchanges(nodes);
    for (agent, calls) in known.own_calls.enumerate() {
        if !may_describe_calls(nodes.kind(agent)) {
            continue;
        }
        if nodes.kind(agent) == Kind::Agent && !calls.is_empty() {
            let tools = known.tools.get(agent).map_or(&[][..], Vec::as_slice);
            complete(nodes, agent, (calls, tools), known.around.is_set(agent));
        } else if known.describes(nodes, agent) {
            let tools = known.tools.get(agent).map_or(&[][..], Vec::as_slice);
            let recorded = turns(nodes, agent, tools, known.within.is_set(agent));
            let recorded = recorded.into_iter().map(|node| NewCall {
                node,
                by: agent,
                parent: Some(agent),
            });
            new.extend(recorded);
        }
    }
    insert(nodes, new);
    inner_tools::show(nodes);
    let new = exchanges(nodes);
    insert(nodes, new);
    prompts::settle(nodes);
}

/// The earlier calls of each exchange that is recorded as the output of one call.
fn exchanges(nodes: &mut Nodes) -> Vec<NewCall> {
    let mut new = Vec::new();
    for call in nodes.of_kind(Kind::Llm) {
        exchange(nodes, call, &mut new);
    }
    new
}

/// A call that another span describes.
struct NewCall {
    node: Node,
    by: NodeId,
    parent: Option<NodeId>,
}

/// Splits an exchange with tools that is recorded as the output of one call: the call keeps the last turn, the turns before become
/// separate calls.
fn exchange(nodes: &mut Nodes, call: NodeId, new: &mut Vec<NewCall>) {
    let parent = nodes.parent(call);
    let Some(node) = nodes.get_mut(call) else { return };
    let is_exchange = |list: &Vec<Message>| list.iter().any(|message| message.role == Role::Tool);
    let Some(said) = node.operation.output_messages.take_if(|list| is_exchange(list)) else {
        return;
    };
    let mut rounds = rounds(said);
    let (last, _) = rounds.pop().unwrap_or_default();
    let mut history = node.operation.input_messages.take().unwrap_or_default().into_vec();
    let mut new_results: Vec<Message> = Vec::new();
    for (place, (answer, results)) in rounds.into_iter().enumerate() {
        let operation = Operation {
            kind: Kind::Llm,
            name: node.operation.name.clone(),
            model: node.operation.model.clone(),
            input_messages: turn_input(place, &history, &new_results).map(Into::into),
            output_messages: answer.clone().map(|answer| vec![answer]),
            ..Operation::default()
        };
        new.push(NewCall {
            node: call_of_turn(node, operation, place, (node.start, Some(node.start))),
            by: call,
            parent,
        });
        history.extend(answer);
        new_results.clone_from(&results);
        history.extend(results);
    }
    node.operation.input_messages = Some(history).filter(|list| !list.is_empty()).map(Into::into);
    node.operation.output_messages = last.map(|answer| vec![answer]);
}

/// The calls in an agent's messages, one per turn of the answer. `is_around`: its counts include calls of other agents.
fn turns(nodes: &mut Nodes, agent: NodeId, tools: &[NodeId], is_around: bool) -> Vec<Node> {
    let Some(node) = nodes.get(agent) else { return Vec::new() };
    let operation = &node.operation;
    let mut history = messages_of(operation.input_messages.as_deref(), &operation.input, Direction::Input, true);
    let mut said = messages_of(operation.output_messages.as_deref(), &operation.output, Direction::Output, true);
    // Only the prompt is known of the input.
    if history.is_empty() && !said.is_empty() {
        history.extend(
            operation
                .input_messages
                .iter()
                .flatten()
                .filter(|message| is_prompt(message))
                .cloned(),
        );
    }
    // A state repeats the input.
    let repeats = !history.is_empty() && said.starts_with(&history);
    let said = if repeats { said.split_off(history.len()) } else { said };
    // The output holds the whole conversation.
    let said = if history.is_empty() && is_exchange(&said) {
        let mut said = said;
        let answers = said.split_off(opening(&said));
        history = said;
        answers
    } else {
        said
    };
    let said = with_turns_of_input(&mut history, said);
    let mut rounds = rounds(said);
    if rounds.is_empty() {
        rounds.push((None, Vec::new()));
    }
    // The state of a workflow with many turns is a history: it does not show which turns are the workflow's own calls.
    if node.kind() == Kind::Chain && rounds.len() > 1 {
        return Vec::new();
    }
    let asked = unseen_calls::round(nodes, &history, &rounds, tools);
    let findings: Vec<Finding> = asked
        .iter()
        .flat_map(|(_, tools)| tools.iter().map(|tool| unseen_calls::finding(*tool)))
        .collect();
    if let Some(((asking, results), _)) = asked {
        history.extend(asking);
        history.extend(results);
    }
    let by_id: HashMap<&str, &Node> = tools
        .iter()
        .filter_map(|tool| {
            let tool = nodes.get(*tool)?;
            Some((tool.operation.tool.as_ref()?.call_id.as_deref()?, tool))
        })
        .collect();
    let (mut start, count) = (node.start, rounds.len());
    let mut new_results: Vec<Message> = Vec::new();
    let mut out: Vec<Node> = Vec::with_capacity(count);
    for (place, (answer, results)) in rounds.into_iter().enumerate() {
        let ran: Vec<&Node> = answer
            .iter()
            .flat_map(|answer| &answer.tool_calls)
            .filter_map(|call| by_id.get(call.id.as_deref()?).copied())
            .collect();
        let is_last = place + 1 == count;
        let asked_until = ran.iter().map(|tool| tool.start).min();
        let end = if is_last { node.end } else { asked_until.or(Some(start)) };
        let answered = answer.is_some();
        let call = Operation {
            kind: Kind::Llm,
            name: operation.name.clone(),
            model: operation.model.clone(),
            input_messages: turn_input(place, &history, &new_results).map(Into::into),
            output_messages: answer.clone().map(|answer| vec![answer]),
            ..Operation::default()
        };
        out.push(call_of_turn(node, call, place, (start, end.map(|end| end.max(start)))));
        if answered {
            history.extend(answer);
            new_results.clone_from(&results);
            history.extend(results);
        }
        let back = ran.iter().map(|tool| tool.end_or_start()).max();
        start = back.unwrap_or(start).max(start);
    }
    nodes.findings.extend(findings);
    let Some(node) = nodes.get_mut(agent) else { return out };
    // The messages belong to the calls now. [`prompts::settle`] moves a prompt alone.
    node.operation.output_messages = None;
    let _ = node.operation.input_messages.take_if(|list| !list.iter().all(is_prompt));
    if !is_around && let [_, _, ..] = out.as_slice() {
        sums::give_each(node, &mut out);
    }
    match out.as_mut_slice() {
        _ if is_around => {}
        [call] => give_counts(&mut node.operation, &mut call.operation),
        [.., last] => {
            let counts = sums::give(&mut node.operation, &mut last.operation, (true, true));
            nodes.findings.extend(counts.map(|what| sums::finding(last.span_id, what, count)));
        }
        [] => {}
    }
    out
}

/// The output, with the turns that a client recorded as input before it: an input that ends with an answer is the whole conversation
/// of the run (pydantic-ai), and everything after its last question is the agent's.
fn with_turns_of_input(history: &mut Vec<Message>, said: Vec<Message>) -> Vec<Message> {
    let ends = history
        .last()
        .is_some_and(|last| last.role == Role::Assistant && !last.asks_for_tools());
    let question = history.iter().rposition(|message| message.role == Role::User).filter(|_| ends);
    let Some(question) = question else { return said };
    let mut turns = history.split_off(question.saturating_add(1));
    let repeats = |only: &Message| turns.last().is_some_and(|last| last.content().trim() == only.content().trim());
    if !matches!(said.as_slice(), [only] if repeats(only)) {
        turns.extend(said);
    }
    turns
}

/// Moves an agent's counts to its only call.
fn give_counts(agent: &mut Operation, call: &mut Operation) {
    call.usage = std::mem::take(&mut agent.usage);
    call.cost = std::mem::take(&mut agent.cost);
    call.finish_reason = call.finish_reason.take().or(agent.finish_reason.take());
    call.response_id = call.response_id.take().or(agent.response_id.take());
    call.time_to_first_token = call.time_to_first_token.or(agent.time_to_first_token.take());
}

/// The call for one turn that a span describes; `place` is the turn's index.
fn call_of_turn(span: &Node, operation: Operation, place: usize, (start, end): (UnixNanos, Option<UnixNanos>)) -> Node {
    Node {
        span_id: span.span_id,
        operation: Box::new(operation),
        evidence: Vec::new(),
        beside: Beside::default(),
        start,
        end,
        scope: Arc::clone(&span.scope),
        resource: Arc::clone(&span.resource),
        is_server: span.is_server,
        is_partial: span.is_partial || place >= WHOLE_HISTORIES,
        agent_turn: Some(place),
    }
}

/// Number of turns of one span that get the whole history as input. Later ones get only new messages: work stays linear in the input.
const WHOLE_HISTORIES: usize = 64;

/// The input of a turn's call.
fn turn_input(place: usize, history: &[Message], new_results: &[Message]) -> Option<Vec<Message>> {
    let given = if place < WHOLE_HISTORIES { history } else { new_results };
    (!given.is_empty()).then(|| given.to_vec())
}

/// The turns in a list of an agent's messages, each with the tool results that followed. Text after a request for tools is another
/// turn.
fn rounds(said: Vec<Message>) -> Vec<(Option<Message>, Vec<Message>)> {
    let mut out: Vec<(Option<Message>, Vec<Message>)> = Vec::new();
    for message in said {
        match message.role {
            Role::Assistant => match out.last_mut() {
                Some((Some(open), results))
                    if results.is_empty() && (open.tool_calls.is_empty() || message.parts.is_empty() && !message.tool_calls.is_empty()) =>
                {
                    open.parts.extend(message.parts);
                    open.tool_calls.extend(message.tool_calls);
                    open.finish_reason = message.finish_reason.or(open.finish_reason.take());
                }
                _ => out.push((Some(message), Vec::new())),
            },
            _ => {
                if let Some((_, results)) = out.last_mut() {
                    results.push(message);
                }
            }
        }
    }
    out
}

/// If no call has content, gives the first the agent's question and the last its answer. Counts move, too, unless they include calls
/// of other agents below (`is_around`).
fn complete(nodes: &mut Nodes, agent: NodeId, (calls, tools): (&[NodeId], &[NodeId]), is_around: bool) {
    let Some(node) = nodes.get(agent) else { return };
    let is_silent = |call: &NodeId| {
        nodes.get(*call).is_some_and(|node| {
            !node.has_messages() && node.operation.input.is_none() && node.operation.output.is_none() && node.operation.failure.is_none()
        })
    };
    let operation = &node.operation;
    if calls.iter().all(is_silent) {
        let heard = messages_of(operation.input_messages.as_deref(), &operation.input, Direction::Input, true);
        let said = messages_of(operation.output_messages.as_deref(), &operation.output, Direction::Output, true);
        let answer = said
            .into_iter()
            .rfind(|message| message.role == Role::Assistant && message.has_words() && !message.asks_for_tools());
        // Text after a tool is not the answer of the call before it.
        let last_end = calls.last().and_then(|call| nodes.get(*call)).map(Node::end_or_start);
        let is_later = |tool: &NodeId| nodes.get(*tool).map(|tool| tool.start) >= last_end;
        let answer = answer.filter(|_| !tools.iter().any(is_later));
        if let (Some(first), false) = (calls.first().and_then(|call| nodes.get_mut(*call)), heard.is_empty()) {
            first.operation.input_messages = Some(heard.into());
        }
        if let (Some(last), Some(answer)) = (calls.last().and_then(|call| nodes.get_mut(*call)), answer) {
            last.operation.output_messages = Some(vec![answer]);
        }
    }
    if !is_around {
        sums::settle(nodes, agent, calls);
    }
}

/// Inserts new nodes by start: after an agent that describes them, before a call that does.
fn insert(nodes: &mut Nodes, mut new: Vec<NewCall>) {
    if new.is_empty() {
        return;
    }
    new.sort_by_key(|recorded| (recorded.node.start, recorded.by, recorded.node.agent_turn));
    let count = nodes.list.len();
    let mut places: IdVec<NodeId, Option<NodeId>> = IdVec::filled(None, count);
    let mut list: IdVec<NodeId, Node> = IdVec::with_capacity(count + new.len());
    let mut parents: Vec<Option<NodeId>> = Vec::with_capacity(count + new.len());
    let mut new = new.into_iter().peekable();
    let old = std::mem::take(&mut nodes.list).into_iter().zip(std::mem::take(&mut nodes.parents));
    for (index, (node, parent)) in old.enumerate() {
        let here = NodeId::new(index);
        let comes = |recorded: &NewCall| {
            recorded.node.start <= node.start && (recorded.by < here || recorded.by == here && recorded.parent != Some(here))
        };
        while let Some(recorded) = new.next_if(|recorded| comes(recorded)) {
            list.push(recorded.node);
            parents.push(recorded.parent);
        }
        places.set(here, Some(NodeId::new(parents.len())));
        list.push(node);
        parents.push(parent);
    }
    for recorded in new {
        list.push(recorded.node);
        parents.push(recorded.parent);
    }
    nodes.list = list;
    nodes.parents = parents.into_iter().map(|parent| places.known(parent?)).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::{nodes, reading};

    fn agent(number: u64, input: &str, output: &str) -> Node {
        let mut agent = reading(number, Kind::Agent, 0..90);
        agent.operation.input_messages = Some(vec![Message::text(Role::User, input)].into());
        agent.operation.output_messages = Some(vec![Message::text(Role::Assistant, output)]);
        agent.operation.usage.input = Some(7);
        agent
    }

    fn calls(nodes: &Nodes) -> Vec<(Option<String>, Option<u64>)> {
        let calls = nodes.list.iter().filter(|node| node.kind() == Kind::Llm);
        let said = |node: &Node| Some(node.operation.output_messages.as_ref()?.first()?.content());
        calls.map(|node| (said(node), node.operation.usage.input)).collect()
    }

    #[test]
    fn a_remote_agent_made_a_call() {
        let mut alone = nodes([(agent(1, "Where?", "Here."), None), (reading(2, Kind::Tool, 5..9), Some(0))]);
        add(&mut alone);
        assert_eq!(calls(&alone), [(Some("Here.".to_owned()), Some(7))]);
        assert_eq!(
            alone.parents.iter().copied().collect::<Vec<_>>(),
            [None, Some(NodeId::new(0)), Some(NodeId::new(0))]
        );
        assert_eq!(
            alone.get(NodeId::new(0)).map(|node| node.operation.usage.input),
            Some(None),
            "counted once"
        );
    }

    #[test]
    fn each_turn_has_the_tokens_that_its_message_has() {
        let of = |sum: u64| {
            let mut agent = agent(1, "Where?", "Here.");
            let result = Message::text(Role::Tool, "3C");
            let said = agent.operation.output_messages.get_or_insert_default();
            said.insert(0, result);
            said.insert(0, Message::text(Role::Assistant, "Let me see."));
            agent.operation.usage.input = Some(sum);
            (agent.beside.turn_input, agent.beside.turn_output) = (vec![3, 4], vec![1, 1]);
            let mut alone = nodes([(agent, None)]);
            add(&mut alone);
            calls(&alone).into_iter().map(|(_, input)| input).collect::<Vec<_>>()
        };
        assert_eq!(of(7), [Some(3), Some(4)]);
        assert_eq!(of(9), [None, Some(9)], "not the agent's sum");
    }

    #[test]
    fn a_call_without_content_says_what_its_agent_tells() {
        let mut silent = nodes([(agent(1, "Where?", "Here."), None), (reading(2, Kind::Llm, 5..9), Some(0))]);
        add(&mut silent);
        assert_eq!(calls(&silent), [(Some("Here.".to_owned()), Some(7))]);
    }

    #[test]
    fn an_agent_around_agents_that_speak_made_none() {
        let mut nested = nodes([(agent(1, "Where?", "Here."), None), (agent(2, "Where?", "Here."), Some(0))]);
        add(&mut nested);
        assert_eq!(calls(&nested).len(), 1);
    }
}
